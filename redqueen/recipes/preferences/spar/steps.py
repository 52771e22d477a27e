"""Replies that their judge rejects, a small tree of edits that mend them, and the pairs of both (SPaR, 2412.11605)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from random import Random
from typing import Annotated, Literal, NamedTuple

import numpy as np

from redqueen.credit.group_rewards import Stated
from redqueen.credit.outcomes import cut_off, number, whole_reply
from redqueen.credit.pairs import Pairs, against
from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import Apart
from redqueen.demonstrations.refinement import CRITICISE, about, again
from redqueen.demonstrations.transfer import said_plainly, unaided
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.measures.judges import NO_VERDICT, Agreement, Inflation
from redqueen.objectives.batch import pack_samples
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.rounds import Round
from redqueen.play.groups import attempts, episodes_of, with_facts
from redqueen.players.language.writing import Writer
from redqueen.protocols import Player, Questions, State, shaped
from redqueen.questions.asking import SOLVE, graded, judgements_of, said
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.questions.verifying import RIGHT, verdict
from redqueen.settings.limits import Count, NotWith
from redqueen.settings.roles import learning
from redqueen.texts import likeness
from redqueen.types import Episode, Group, Metrics, Task, Trajectory, mean_of

Keep = Literal["own", "right"]
Beam = Annotated[Count, NotWith("depth", 1)]  # the edits of the last level are not edited
PASSES = 0.5  # an edit is accepted by more than this share of its criticisms
FALSE_PAIRS = Alarm(
    "false_pairs",
    "pairs_right",
    "only {value:.0%} of the pairs prefer a right edit to a wrong reply: train the judge first, or ask more --votes",
    limit=0.5,
    below=True,
)
INFLATED = Alarm(
    "inflated",
    "inflation",
    "the share of replies that are mended has risen by {value:.0%} more in the judge's eyes than by the check",
    limit=0.1,
    steps=2,
)
NOTHING_MENDED = Alarm(
    "nothing_mended", "repaired", "only {value:.0%} of the searches find an edit that is accepted", 0.02, below=True
)


class Judged(NamedTuple):
    """A reply, and what its criticisms say of it."""

    episode: Episode
    criticisms: tuple[tuple[Episode, bool | None], ...]  # and whether each accepts it, None where that cannot be read
    value: float
    """the share of those read that accept it, or whether it is right; 0 for a reply that says nothing, NaN where no
    verdict can be read"""

    @property
    def accepted(self) -> bool | None:
        """None for a tie, and without a verdict."""
        return None if math.isnan(self.value) or self.value == PASSES else self.value > PASSES

    @property
    def told(self) -> Episode | None:
        """The first criticism that says what is held of the reply: one that rejects it, unless it is accepted."""
        return next((one for one, says in self.criticisms if says is (self.accepted is True)), None)

    @property
    def criticism(self) -> Episode:
        """What an editor is shown."""
        return self.told or self.criticisms[0][0]

    @property
    def votes(self) -> list[bool]:
        """What the criticisms say that can be read."""
        return [says for _, says in self.criticisms if says is not None]


@dataclass
class Tree:
    """The search for an edit of a reply that was rejected."""

    root: Judged
    kept: list[Judged]  # to be edited next
    parents: dict[int, Judged] = field(default_factory=dict)  # by the id of an edit
    edits: list[Judged] = field(default_factory=list)
    found: Judged | None = None

    def grow(self, edits: Sequence[tuple[Judged, Judged]], beam: int) -> None:
        """Takes the edits of a whole level, each after what it mends. The first of those most accepted ends the search
        if it passes; else the `beam` most accepted are edited next."""
        self.parents |= {id(edit): parent for parent, edit in edits}
        self.edits += [edit for _, edit in edits]
        best = sorted((edit for _, edit in edits if not math.isnan(edit.value)), key=lambda edit: -edit.value)
        self.found = best[0] if best and best[0].accepted else None
        self.kept = [] if self.found else best[:beam]


class Searched(NamedTuple):
    """What a search comes to."""

    groups: list[Group]  # graded, each reply with the share of its criticisms that accept it as the fact `opinion`
    judged: list[Judged]  # the replies, in their order
    trees: list[Tree]  # one for each group of which a reply was rejected

    def pairs(self, replies: Sequence[Trajectory], learner: Writer) -> Pairs:
        """The pairs that the learner learns from."""
        return pairs(self.trees, replies, learner)

    @property
    def every(self) -> list[Judged]:
        """The replies and the edits."""
        return [*self.judged, *chain.from_iterable(tree.edits for tree in self.trees)]


class Search:
    """Judges replies by `votes` criticisms each, and searches an edit of one reply of each group that is rejected: up
    to `depth` levels, on each of which up to `beam` replies are edited `branch` times (`tree` is branch, beam, depth).
    With `keep` "right" the check decides in place of the criticisms, which the editor is still shown. Raises
    RedQueenError where the question set does not know the answers to its `tests` then."""

    reward = Stated("opinion")  # of a reply, for figures alone

    def __init__(
        self,
        questions: Questions,
        tests: Apart,
        keep: Keep,
        votes: int,
        tree: tuple[int, int, int],
        truncated: Truncated,
    ) -> None:
        if keep == "right":
            check_known(questions, tests, "--keep own goes by the model's own criticisms, ")
        self._questions, self._keep, self._votes = questions, keep, votes
        self._branch, self._beam, self._depth = tree
        self._truncated: Truncated = truncated
        self._figures: Metrics = {}
        self._inflation = Inflation()  # of the share of replies that are mended
        self._agreement = Agreement()
        self._alarms = Alarms([NO_VERDICT, FALSE_PAIRS, INFLATED, NOTHING_MENDED], quiet=True)

    def __call__(self, groups: Sequence[Group], refiner: Player, rng: Random) -> Searched:
        groups = graded(self._questions, groups, self._truncated)
        replies = self.judged(episodes_of(groups), refiner, rng)
        rest, trees = iter(replies), list[Tree]()
        for group in groups:
            rejected = [each for each in (next(rest) for _ in group.attempts) if each.accepted is False]
            if rejected:
                root = rng.choice(rejected)
                trees.append(Tree(root, [root]))
        for _ in range(self._depth):
            self._level([tree for tree in trees if tree.kept], refiner, rng)
        opinions = [{"opinion": None if math.isnan(each.value) else each.value} for each in replies]
        found = Searched(with_facts(groups, opinions), replies, trees)
        self._observe(found)
        return found

    def _level(self, trees: Sequence[Tree], refiner: Player, rng: Random) -> None:
        if not trees:
            return
        parents = [(tree, each) for tree in trees for each in tree.kept]
        shown = [again(tree.root.episode.task, _aloud(each.episode), _aloud(each.criticism)) for tree, each in parents]
        groups = graded(self._questions, attempts(SOLVE, shown, refiner, self._branch, rng), self._truncated)
        tried = [
            (tree, parent, edit)
            for (tree, parent), group in zip(parents, groups, strict=True)
            for edit in group.attempts
            if self._whole(edit) and _aloud(edit) != _aloud(tree.root.episode)
        ]
        plain = [tree.root.episode.task for tree, *_ in tried]
        edits = self.judged([edit for *_, edit in tried], refiner, rng, plain)
        for tree in trees:
            own = [(one, edit) for (of, one, _), edit in zip(tried, edits, strict=True) if of is tree]
            tree.grow(own, self._beam)

    def judged(
        self, episodes: Sequence[Episode], critic: Player, rng: Random, tasks: Sequence[Task] = ()
    ) -> list[Judged]:
        """The graded replies, each with its criticisms as an answer to its own task, or to the one of `tasks`."""
        if not episodes:
            return []
        asked = list(map(about, tasks or [each.task for each in episodes], map(_aloud, episodes)))
        found = []
        for episode, group in zip(episodes, attempts(CRITICISE, asked, critic, self._votes, rng), strict=True):
            verdicts = [verdict(text) for text in judgements_of([group])]
            says = tuple(None if each is None else each == RIGHT for each in verdicts)
            value = float(np.mean([float(each) for each in says if each is not None] or [math.nan]))
            value = value if _aloud(episode) else 0.0  # nothing was said that a criticism could accept
            criticisms = tuple(zip(group.attempts, says, strict=True))
            found.append(Judged(episode, criticisms, value if self._keep == "own" else _right(episode)))
        return found

    def _whole(self, episode: Episode) -> bool:
        cut = cut_off(episode) and self._truncated != "graded"
        return not cut and bool(said([episode])[0].strip())

    def _observe(self, found: Searched) -> None:
        every, trees = found.every, found.trees
        self._figures = {
            "unread": mean_of([1.0 - len(each.votes) / self._votes for each in every]),
            "accepted": mean_of([each.accepted is True for each in found.judged]),
            "searched": mean_of([1.0] * len(trees) + [0.0] * (len(found.groups) - len(trees))),
        }
        if trees:
            self._figures["repaired"] = mean_of([tree.found is not None for tree in trees])
            self._figures["edits"] = mean_of([len(tree.edits) for tree in trees])
            self._figures |= _of_known(trees)
        ends = [(_aloud(tree.root.episode), _aloud(tree.found.episode)) for tree in trees if tree.found]
        alike = [each for each in (likeness(*pair) for pair in ends) if each is not None]
        self._figures |= {"likeness": mean_of(alike)} if alike else {}
        shares = [float(np.mean(each.votes)) if each.votes else None for each in every]
        self._agreement.observe(shares, [_right(each.episode) for each in every])
        told = {name: float(value) for name, value in self._figures.items()}
        if "repaired_right" in told:
            told["inflation"] = self._inflation.rise(told["repaired"], told["repaired_right"])
        self._figures |= self._alarms.observe(told)

    def metrics(self) -> Metrics:
        """Figures of the last iteration, alarms, and how well the judge agrees with the check (`judge_*`): shares of
        the criticisms without a verdict (`unread`), of the replies that are `accepted`, of the prompts `searched`, and
        of the searches that end with an accepted edit (`repaired`); `edits` of a search; the `likeness` of both sides
        of a pair (0 to 1). Where it is known what is right: shares of the replies to be mended that are wrong
        (`rejected_wrong`), of the searches that end with a right edit (`repaired_right`), and of the pairs of a right
        edit and a wrong reply (`pairs_right`). Nothing where there was none since the last call."""
        found, self._figures = self._figures, {}
        return found | self._agreement.metrics() if found else {}

    def alarms(self) -> list[str]:
        return self._alarms.alarms()

    def state(self) -> State:
        return {
            "alarms": self._alarms.state(),
            "agreement": self._agreement.state(),
            **self._inflation.state(),
        }

    def restore(self, state: State) -> None:
        shaped(state, {"alarms": dict, "agreement": dict, "first": list}, "the search: ")
        self._alarms.restore(state["alarms"])
        self._agreement.restore(state["agreement"])
        self._inflation.restore({"first": state["first"]})


def pairs(trees: Sequence[Tree], replies: Sequence[Trajectory], learner: Writer) -> Pairs:
    """Each accepted edit, as the learner's reply to the plain question (chosen), and the reply that it mends, which is
    among `replies` (rejected)."""
    ended = [(tree.root.episode, tree.found.episode) for tree in trees if tree.found]
    own = {(each.episode.task.id, each.episode.seed): each for each in replies}
    rejected = [own[root.task.id, root.seed] for root, _ in ended]
    edits = score([edit for _, edit in ended], payoff)
    chosen = [said_plainly(edit, root.task, learner) for edit, (root, _) in zip(edits, ended, strict=True)]
    return against(chosen, rejected)


def lessons(found: Searched) -> list[Episode]:
    """What a refiner imitates: of each accepted edit the criticism that led to it and itself, and of each reply that
    its criticisms are divided about one that says what most say."""
    ends = [(tree.parents[id(tree.found)].told, tree.found.episode) for tree in found.trees if tree.found]
    divided = [each.told for each in found.every if len(set(each.votes)) > 1 and each.accepted is not None]
    episodes = {id(each): each for each in [*chain.from_iterable(ends), *divided]}.values()
    return [each for each in episodes if each is not None]


class Refining:
    """Teaches a refiner, if it learns, the `lessons` of a search, which it said itself, in at most `passes` passes."""

    def __init__(self, refiner: Player, passes: int) -> None:
        self._learns = learning([refiner])
        self._round = Round(passes)

    def renew(self, found: Searched) -> None:
        """Takes the lessons of the next iteration."""
        for player in self._learns:
            said_before = score(lessons(found), payoff)
            shown = unaided(said_before, [each.episode.task for each in said_before], player)
            self._round.renew(pack_samples(shown, [1.0] * len(shown)))

    def update(self, count: int, rng: Random) -> Metrics:
        """Metrics of one update on `count` lessons, each `refiner/NAME`; nothing where it does not learn."""
        found = [self._round.update(player, count, Imitation(), rng) for player in self._learns]
        return {f"refiner/{name}": value for metrics in found for name, value in metrics.items()}

    def state(self) -> State:
        return self._round.state()

    def restore(self, state: State) -> None:
        self._round.restore(state)


def _of_known(trees: Sequence[Tree]) -> Metrics:
    """Figures of the trees whose ends the check knows."""
    ends = [(_right(tree.root.episode), _right(tree.found.episode) if tree.found else None) for tree in trees]
    known = [(root, end) for root, end in ends if not math.isnan(root) and not (end is not None and math.isnan(end))]
    if not known:
        return {}
    found: Metrics = {
        "rejected_wrong": mean_of([root == 0.0 for root, _ in known]),
        "repaired_right": mean_of([end == 1.0 for _, end in known]),
    }
    pairs = [root == 0.0 and end == 1.0 for root, end in known if end is not None]
    return found | ({"pairs_right": mean_of(pairs)} if pairs else {})


def _aloud(episode: Episode) -> str:
    """A reply with its working, and without its thoughts."""
    return whole_reply(episode).strip()


def _right(episode: Episode) -> float:
    return number(episode.outcome.facts["right"])
