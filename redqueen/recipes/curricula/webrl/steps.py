"""WebRL's tasks that grow out of failures, its update, and its judge of outcomes (2411.02337)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from redqueen.checks.judge import Label
from redqueen.credit.advantages.statistics import WithCritic
from redqueen.credit.outcomes import whole_reply
from redqueen.credit.rewards import payoff, score
from redqueen.curricula.experience import TRAJECTORY, Experience, trajectory_from_json, trajectory_to_json
from redqueen.curricula.refused import refused_shares
from redqueen.games.acting import Acting
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.measures.judges import Agreement
from redqueen.objectives.batch import free_positions, pack_samples
from redqueen.objectives.preference import Sppo
from redqueen.objectives.references import Reference
from redqueen.play.groups import attempts, episodes_of
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import COUNT, Critic, Objective, Policy, Resumable, State, has, shaped
from redqueen.questions.asked_judges import AskedJudge
from redqueen.questions.task_done import NO, YES, of_episode
from redqueen.recipes.curricula.webrl.objective import CodedRegression, coded_advantages, mean_chances
from redqueen.recipes.curricula.webrl.questions import Hindsight, Wanderer
from redqueen.records import TASK, task_from_json, task_to_json
from redqueen.settings.learning_step import critic_of
from redqueen.settings.roles import Cast
from redqueen.types import (
    Batch,
    Episode,
    Group,
    Mean,
    Metrics,
    Outcome,
    RedQueenError,
    Refusal,
    Task,
    Trajectory,
)
from redqueen.worlds.hindsight import that_takes_goals

EMPTY = Alarm(
    "no_task_can_be_set",
    "set",
    "of {posed:.0f} tasks that were to be set so far none is learned from ({why}): take another --setter, such as "
    "drawn, or a wider --band",
    limit=1e-9,
    steps=2,
    below=True,
)


class Course:
    """The tasks of each phase: at first some of the world's own, then new ones in place of those that are done always,
    begun where others failed; and the acts of earlier successes that are replayed.

    A new task is kept if the critic's value of its first view lies in `config.band`. What is replayed are acts of
    successes whose tokens the policy, as it was at the start of the phase, gives a geometric mean chance above the
    lower end of `config.window` and up to its upper end.
    """

    def __init__(self, config: Any, game: Any) -> None:
        if not isinstance(game, Acting):
            raise RedQueenError(f"tasks grow in a world in which one acts, such as acting:site, not in {config.game}")
        for name in ("band", "window"):
            low, high = getattr(config, name)
            if not low < high:
                raise RedQueenError(f"--{name} goes from a lower to a higher value, not from {low:g} to {high:g}")
        self._config, self._game = config, game
        own = list(game.tasks())
        self._grows = config.growth == "evolved"
        self._hindsight = Hindsight(that_takes_goals(game.world) if self._grows else game.world)
        self.wanderer = Wanderer(self._hindsight)
        self._own = {task.id: task for task in own}
        self.tasks = own if config.growth == "drawn" else own[: config.seeds]
        self._seeds = {task.id for task in self.tasks}
        self._successes = Experience(4, config.steps)
        self._failed: dict[str, Task] = {}  # of the phase
        self._rates: dict[str, list[bool]] = {}
        self._near: list[tuple[Trajectory, list[int]]] = []  # successes, and which of their acts are replayed
        self._refused, self._posed, self._set = Counter[str](), 0, 0
        self._alarms = Alarms([EMPTY], quiet=True)

    def invited(self, step: int, rng: Random) -> list[Task]:
        """Requests for new tasks, each with up to `config.shown` failures of the last phase; none in the first."""
        failed = list(self._failed.values())
        if step == 0 or not failed or not self._grows:
            return []
        drawn = [rng.sample(failed, min(self._config.shown, len(failed))) for _ in range(self._config.proposals)]
        return [self._hindsight.invite(each, number) for number, each in enumerate(drawn)]

    def grow(
        self, invitations: Sequence[Task], proposals: Sequence[Group], learner: Policy, critic: Critic, rng: Random
    ) -> None:
        """Begins a phase: takes in the tasks that can be learned from, and forgets the failures; tasks that were done
        at every attempt of the last phase leave, the world's own apart; and looks anew which acts of earlier
        successes are near the policy as it is now."""
        if proposals:
            replies = [whole_reply(each) for each in episodes_of(proposals)]
            found = self._new(self._hindsight.read(invitations, replies))
            kept = self._in_band(found, learner, critic, rng)
            self._posed, self._set = self._posed + len(replies), self._set + len(kept)
            done = {name for name, rates in self._rates.items() if all(rates) and name not in self._seeds}
            self.tasks = [task for task in self.tasks if task.id not in done] + kept
        self._failed, self._rates = {}, {}
        self._renew(learner)

    def _new(self, read: Sequence[Task | Refusal]) -> list[Task]:
        """The tasks that are not known."""
        known, found = {task.id for task in self.tasks}, list[Task]()
        for each in read:
            if isinstance(each, Refusal) or each.id in known:
                self._refused[each.reason if isinstance(each, Refusal) else "known"] += 1
            else:
                known.add(each.id)
                found.append(each)
        return found

    def _in_band(self, tasks: Sequence[Task], learner: Policy, critic: Critic, rng: Random) -> list[Task]:
        """The tasks whose first view has a value in the band: one act is played for each. All for a table, whose
        critic knows nothing of a view that it has not met."""
        if not tasks or isinstance(learner, TabularPolicy):
            return list(tasks)
        seen = score(attempts(self._game.within(1), tasks, learner, 1, rng), payoff)
        values = [float(each[0]) for each in critic.values(seen)]
        low, high = self._config.band
        for value in values:
            self._refused["hopeless"] += value < low
            self._refused["too easy"] += value > high
        return [task for task, value in zip(tasks, values, strict=True) if low <= value <= high]

    def _renew(self, learner: Policy) -> None:
        kept = self._successes.fresh() if self._config.replayed else []
        acts = [act_of(each, place) for each in kept for place in free_turns(each)]
        chances = iter(chances_of_acts(learner, acts))
        low, high = self._config.window
        near = [(each, [place for place in free_turns(each) if low < next(chances) <= high]) for each in kept]
        self._near = [(each, places) for each, places in near if places]

    def draw(self, rng: Random) -> list[Task]:
        """The tasks of a step."""
        return [rng.choice(self.tasks) for _ in range(self._config.tasks)]

    def observe(self, trajectories: Sequence[Trajectory], step: int) -> None:
        """Takes in the attempts of a step: which were done, which failed."""
        for each in trajectories:
            if not np.isnan(each.rewards).any():
                task, done = each.episode.task, bool(each.rewards.sum() > 0.0)
                self._rates.setdefault(task.id, []).append(done)
                if not done:
                    self._failed[task.id] = task
        self._successes.add([each for each in trajectories if each.rewards.sum() > 0.0], step)

    def replayed(self, fresh: Sequence[Trajectory], rng: Random) -> list[Trajectory]:
        """Acts of earlier successes, each as a trajectory: `config.replayed` of the batch that they make with those of
        the `fresh` ones, as far as there are."""
        share, acts = self._config.replayed, sum(len(free_turns(each)) for each in fresh)
        near = [act_of(each, place) for each, places in self._near for place in places]
        return rng.sample(near, min(round(acts * share / (1.0 - share)), len(near)))

    def metrics(self) -> Metrics:
        """How many tasks there are, and how many acts may be replayed; of all that was to be set so far the share that
        is learned from and that was refused, by reason."""
        found: Metrics = {
            "tasks/known": float(len(self.tasks)),
            "buffer/near": float(sum(len(places) for _, places in self._near)),
        }
        if not self._posed:
            return found
        shares, why = refused_shares(self._refused, self._posed)
        kept = Mean(self._set / self._posed, self._posed)
        said = self._alarms.observe({"set": kept, "posed": float(self._posed), "why": why})
        return found | {"tasks/set": kept} | shares | said

    def alarms(self) -> list[str]:
        return self._alarms.alarms()

    def state(self) -> State:
        return {
            "tasks": [task_to_json(task) for task in self.tasks if task.id not in self._own],
            "own": [task.id for task in self.tasks if task.id in self._own],
            "failed": [task_to_json(task) for task in self._failed.values()],
            "rates": {name: list(rates) for name, rates in self._rates.items()},
            "successes": self._successes.state(),
            "near": [{**trajectory_to_json(each), "acts": places} for each, places in self._near],
            "refused": dict(self._refused),
            "posed": self._posed,
            "set": self._set,
            "alarms": self._alarms.state(),
        }

    def restore(self, state: State) -> None:
        shaped(state, _STATE, "the course: ")
        unknown = [name for name in state["own"] if name not in self._own]
        if unknown:
            raise RedQueenError(f"the course: the world has no task {unknown[0]!r:.80}")
        self.tasks = [*(self._own[name] for name in state["own"]), *map(task_from_json, state["tasks"])]
        self._failed = {task.id: task for task in map(task_from_json, state["failed"])}
        self._rates = {name: list(rates) for name, rates in state["rates"].items()}
        self._successes.restore(state["successes"])
        self._near = [(trajectory_from_json(each), list(each["acts"])) for each in state["near"]]
        self._refused = Counter(state["refused"])
        self._posed, self._set = state["posed"], state["set"]
        self._alarms.restore(state["alarms"])


_STATE: dict[str, Any] = {
    "tasks": [TASK],
    "own": [str],
    "failed": [TASK],
    "rates": {...: [bool]},
    "successes": dict,
    "near": [{**TRAJECTORY, "acts": [COUNT]}],
    "refused": {...: COUNT},
    "posed": COUNT,
    "set": COUNT,
    "alarms": dict,
}


# --- single acts -------------------------------------------------------------------------------


def free_turns(trajectory: Trajectory) -> list[int]:
    """The turns in which more than one act was legal."""
    replies = [turn.reply for turn in trajectory.turns]
    free = [any(free_positions(each.legal_tokens, tuple(each.tokens.tolist()))) for each in replies]
    return [place for place, each in enumerate(free) if each]


def act_of(trajectory: Trajectory, place: int) -> Trajectory:
    """The turn at a place of a trajectory as one of its own: an act, all that was said before it, and all that was
    earned from there on."""
    rewards = trajectory.rewards[place:].sum(keepdims=True)
    return replace(trajectory, turns=trajectory.turns[place : place + 1], rewards=rewards, parts={})


def chances_of_acts(policy: Policy, acts: Sequence[Trajectory]) -> list[float]:
    """The geometric mean chance of the free tokens of each act under the policy: 1 over its perplexity."""
    if not acts:
        return []
    batch = pack_samples(acts, [0.0] * len(acts))
    return mean_chances(policy.likelihoods(batch).logprobs, batch).tolist()


# --- the update --------------------------------------------------------------------------------


class Regression:
    """The update of WebRL: log-ratios to the reference are taken to the advantages of a critic, over beta; its `parts`
    are kept from step to step."""

    def __init__(self, config: Any, learner: Policy) -> None:
        self._coded = config.as_coded
        self._estimator = WithCritic(critic_of(learner), whiten=False)
        self.reference = Reference(learner, config.reference)
        self._objective: Objective = CodedRegression() if config.as_coded else Sppo(1.0 / config.beta)
        self.parts: list[Resumable] = [self._estimator, self.reference]

    @property
    def critic(self) -> Critic:
        return self._estimator.critic

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[N] for each trajectory, the advantage of each act."""
        found = self._estimator(trajectories)
        if not self._coded:
            return found
        values = self.critic.values(trajectories)
        return [coded_advantages(known, each.rewards) for known, each in zip(values, trajectories, strict=True)]

    def pack(self, trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]) -> Batch:
        """One batch, rated by the reference, in which every act that was free is a sample of its own, whose value is
        its advantage, and all acts count the same."""
        pairs = [(each, own, free_turns(each)) for each, own in zip(trajectories, advantages, strict=True)]
        acts = [act_of(each, place) for each, _, places in pairs for place in places]
        return self.reference.rated(pack_samples(acts, [float(own[place]) for _, own, at in pairs for place in at]))

    def update(self, learner: Policy, batch: Batch) -> Metrics:
        """Metrics of one update of the policy and of the critic."""
        return learner.update(batch, self._objective) | self._estimator.update()


# --- the judge ---------------------------------------------------------------------------------


class Judge:
    """Whether the attempts did their tasks, as the player of the role `judge` says who is shown task, acts and last
    views; without one, as the world says. The score becomes 1 for a yes, 0 for a no; what cannot be read is no
    verdict."""

    def __init__(self, config: Any, cast: Cast) -> None:
        player = None if config.judge.player == "world" else cast["judge"]
        self._judge = None if player is None else AskedJudge(player, f"the judge {player.name}")
        speaks = config.judge.speech.answer is not None  # in a format of its own, not in listed replies
        self._rates = has(player, Policy) and player.open and not speaks
        self._agreement = Agreement()

    def __call__(self, groups: Sequence[Group], rng: Random) -> list[Group]:
        if self._judge is None:
            return list(groups)
        episodes = episodes_of(groups)
        chances = self._asked(self._judge, [of_episode(each) for each in episodes], rng)
        self._agreement.observe(chances, [each.outcome.scores[each.seats[0]] for each in episodes])
        said = iter([None if chance is None else chance >= 0.5 for chance in chances])
        return [
            replace(group, attempts=tuple(with_verdict(each, next(said)) for each in group.attempts))
            for group in groups
        ]

    def _asked(self, judge: AskedJudge, tasks: Sequence[Task], rng: Random) -> list[float | None]:
        """The chance of a yes to each; 1 or 0 of a player that only speaks, None where it says neither."""
        about = [("done", task.prompt) for task in tasks]
        if self._rates:
            return [None if np.isnan(row[0]) else float(row[0]) for row in judge.chances(tasks, about, rng)]
        said = map(Label((YES, NO)).read, judge.said(tasks, about, rng))
        return [None if each is None else float(each == YES) for each in said]

    def metrics(self) -> Metrics:
        return {} if self._judge is None else self._agreement.metrics() | self._judge.metrics()

    def alarms(self) -> list[str]:
        return self._agreement.alarms()

    def state(self) -> State:
        asked = {} if self._judge is None else self._judge.state()
        return {"agreement": self._agreement.state(), "asked": asked}

    def restore(self, state: State) -> None:
        shaped(state, {"agreement": dict, "asked": dict}, "the judge: ")
        self._agreement.restore(state["agreement"])
        if self._judge is not None:
            self._judge.restore(state["asked"])


def with_verdict(episode: Episode, done: bool | None) -> Episode:
    """The episode with the score that a judge gives it, None without a verdict."""
    facts = {**episode.outcome.facts, "right": done}
    return replace(episode, outcome=Outcome(dict.fromkeys(episode.outcome.scores, float(bool(done))), facts))
