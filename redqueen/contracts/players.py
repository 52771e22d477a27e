"""What every player must satisfy, and every policy too. `check_player(MyPlayer())` returns one line that says all is
well, or raises an AssertionError with one line that says what is wrong and what would be right.

    replies        one for each ask, in the player's own name, legal where the legal ones are listed
    company        a reply is the same whatever else is asked at the same time, and in which order
    probabilities  are those of the replies (players whose probabilities can be read)

and of policies, which learn a little while they are checked:

    seeds          the seed of an ask decides: the same seed, the same reply; other seeds, other replies
    tokens         tokens, log-probabilities, version and text of a reply fit together
    ratings        its own tokens are rated as they were reported, and rating changes nothing
    update         rewarded tokens become likelier, and the version counts
    frozen copies  answer as the policy did, under another name
    state          `restore(state())` goes back, and `load` what `save` wrote

Players are asked in a game made here: two seats at once, in conversations that grow or begin afresh, with lists of one
to four replies.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from redqueen.chance import derive
from redqueen.credit.rewards import payoff, score
from redqueen.games.talk import told
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.protocols import MayBeClosed, OpenPlayer, Play, Player, Policy, has, lacking
from redqueen.types import Ask, Batch, Match, Message, Outcome, RedQueenError, Reply, Seat, Task, Trajectory

CHOICES = (("bet", "pass"), ("1", "10", "100"), ("be", "bet", "better", "no"), ("yes",))
MATCHES = 12
DRAWS = 2000  # of one reply, for its probability


def check_player(player: Player, twin: Callable[[], Policy] | None = None) -> str:
    """One line that says all is well. `twin` makes a policy as the checked one was made, and gives what was saved a
    place to be loaded to; without it, the policy itself is loaded back. Raises AssertionError at the first fault."""
    missing = lacking(player, Player)
    assert not missing, f"{type(player).__name__} is no player: it has no {' and no '.join(missing)}"
    try:
        check_replies(player)
    except RedQueenError as error:  # what play says of replies that do not fit
        raise AssertionError(str(error)) from error
    check_company(player)
    found = []
    if has(player, Policy):
        check_policy(player, twin)
        found.append("learns")
    if readable(player):
        check_probabilities(player)
        found.append("has the probabilities of its replies")
    return f"{player.name} keeps the contract of players: {' and '.join(['replies for itself', *found])}"


def check_policy(policy: Policy, twin: Callable[[], Policy] | None = None) -> None:
    """All that only a policy must satisfy, once it has learned a little, so that nothing is uniform by accident."""
    taught(policy)
    check_seeds(policy)
    check_tokens(policy)
    check_ratings(policy)
    check_rating_changes_nothing(policy)
    check_restore(policy)
    check_saved(policy, twin)
    check_frozen(policy)
    check_update(policy)


@dataclass(frozen=True)
class Conversations:
    """Two seats are asked at once, each in a conversation of its own that grows, or afresh every time."""

    name: str = "conversations"
    roles: tuple[str, ...] = ("left", "right")

    def tasks(self) -> list[Task]:
        return [Task(f"{kind}-{n}", kind) for kind in ("growing", "fresh") for n in range(3)]

    def play(self, task: Task, rng: Random) -> Play:
        shown = {role: told(f"Begin with {task.id}.") for role in self.roles}
        for number, choices in enumerate(CHOICES):
            asks = [Ask(Seat(role), messages, choices) for role, messages in shown.items()]
            replies = yield asks
            for role, reply in zip(self.roles, replies, strict=True):
                after = (Message(role, reply.text), *told(f"Question {number}?"))
                shown[role] = (*shown[role], *after) if task.kind == "growing" else told(f"{task.id}: {number}?")
        return Outcome({Seat("left"): 1.0, Seat("right"): -1.0})


def played(player: Player, count: int = MATCHES, seed: int = 0) -> list[Trajectory]:
    """The trajectories of matches in which the player holds both seats."""
    game = Conversations()
    tasks, cast = game.tasks(), dict.fromkeys(game.roles, player)
    matches = [Match(game, tasks[n % len(tasks)], cast, derive(seed, n)) for n in range(count)]
    return list(score(play(matches, Random(seed)), payoff))


def asks_of(player: Player) -> list[Ask]:
    """What the player is asked in these matches."""
    return [turn.ask for each in played(player) for turn in each.turns]


def reseeded(ask: Ask, seed: int) -> Ask:
    """The same ask with another seed."""
    return Ask(ask.seat, ask.messages, ask.choices, ask.past, seed)


def said(reply: Reply) -> tuple[Any, ...]:
    """What two equal replies have in common."""
    return (reply.text, reply.thought, reply.tokens.tolist(), reply.truncated, reply.malformed)


def readable(player: Player) -> bool:
    """Whether the probabilities of the player's replies can be read."""
    return has(player, OpenPlayer) and (player.open if has(player, MayBeClosed) else True)


def taught(policy: Policy) -> None:
    """One update on a few matches."""
    trajectories = played(policy, 4)
    policy.update(pack(trajectories, [each.rewards + 0.3 for each in trajectories]), Reinforce())


def rewarded(trajectories: Sequence[Trajectory], equally: bool = False) -> Batch:
    """A batch with the rewards as advantages, or with one everywhere."""
    return pack(trajectories, [np.ones_like(each.rewards) if equally else each.rewards for each in trajectories])


def check_replies(player: Player) -> None:
    """A reply to each ask, in the name of the player, and none to none."""
    asks = asks_of(player)
    replies = player.reply(asks)
    assert len(replies) == len(asks), f"{player.name} gave {len(replies)} replies to {len(asks)} asks: one to each"
    for ask, reply in zip(asks, replies, strict=True):
        assert type(reply) is Reply, f"{player.name} must give Reply objects, not {type(reply).__name__}"
        assert reply.player == player.name, (
            f"{player.name} replies in the name {reply.player!r}: put its own name into Reply.player"
        )
        assert not (has(player, OpenPlayer) and readable(player)) or reply.text in ask.choices, (
            f"{player.name} says {reply.text!r:.40} where the legal replies are {ask.choices}"
        )
    assert list(player.reply([])) == [], f"{player.name} replies to no asks: reply([]) is []"


def check_company(player: Player) -> None:
    """A reply is the same alone, in company and in another order."""
    asks = asks_of(player)
    together = player.reply(asks)
    order = list(range(len(asks)))
    Random(1).shuffle(order)
    shuffled = player.reply([asks[n] for n in order])
    alone = [(n, player.reply([asks[n]])[0]) for n in range(0, len(asks), 7)]
    for number, reply in [*zip(order, shuffled, strict=True), *alone]:
        assert said(reply) == said(together[number]), (
            f"{player.name} replies {reply.text!r:.40} to an ask in other company, and {together[number].text!r:.40} "
            "before: take all chance from Ask.seed"
        )


def check_seeds(policy: Policy) -> None:
    """The seed of an ask decides what is said."""
    ask = next(ask for ask in asks_of(policy) if len(ask.choices) > 1)
    same = {str(said(reply)) for reply in policy.reply([reseeded(ask, 5)] * 20)}
    assert len(same) == 1, f"{policy.name} says {len(same)} things to one ask with one seed: take chance from Ask.seed"
    other = {str(said(reply)) for reply in policy.reply([reseeded(ask, seed) for seed in range(60)])}
    assert len(other) > 1, f"{policy.name} says the same whatever the seed of an ask: draw its reply by Ask.seed"


def check_tokens(policy: Policy) -> None:
    """Tokens, log-probabilities, version and text of each reply fit together."""
    for each in played(policy):
        for turn in each.turns:
            reply, who = turn.reply, policy.name
            assert reply.tokens.shape == reply.logprobs.shape, (
                f"{who} reports {len(reply.tokens)} tokens and {len(reply.logprobs)} log-probabilities: one for each"
            )
            assert len(reply.tokens) > 0, f"{who} reports no tokens of {reply.text!r:.40}"
            assert len(reply.prompt_tokens) > 0, f"{who} reports no tokens of the prompt of {reply.text!r:.40}"
            assert reply.version == policy.version, (
                f"{who} has the version {policy.version} and reports the version {reply.version} in its reply"
            )
            if reply.legal_tokens:
                assert tuple(reply.tokens.tolist()) in reply.legal_tokens, f"{who} says tokens that are not legal"
                assert reply.text in turn.ask.choices, f"{who} says {reply.text!r:.40}, which is none of the choices"


def check_ratings(policy: Policy) -> None:
    """Its own tokens are rated as they were reported."""
    batch = rewarded(played(policy))
    own = batch.loss_weights != 0
    rated = policy.likelihoods(batch)
    apart = (rated.logprobs[own].double() - batch.sampled_logprobs[own].double()).abs()
    near = 2e-5 + 1e-5 * batch.sampled_logprobs[own].double().abs()
    assert bool((apart <= near).all()), (
        f"{policy.name} rates its own tokens otherwise than it reported them, by up to {float(apart.max()):.2g}: "
        "likelihoods() and the log-probabilities of a reply are of the same distribution"
    )
    assert bool((rated.entropies[own] >= 0).all()), f"{policy.name} has an entropy below zero"
    assert bool((rated.logprobs[own] <= 0).all()), f"{policy.name} has a log-probability above zero"


def check_rating_changes_nothing(policy: Policy) -> None:
    """Rating the same twice gives the same, and counts as no update."""
    batch, version = rewarded(played(policy)), policy.version
    first, second = policy.likelihoods(batch), policy.likelihoods(batch)
    assert torch.equal(first.logprobs, second.logprobs), f"{policy.name} rates the same batch in two ways"
    assert policy.version == version, f"{policy.name} counts a rating as an update"


def check_update(policy: Policy) -> None:
    """A small step makes rewarded tokens likelier, and the version counts it."""
    batch, version, rate = rewarded(played(policy), equally=True), policy.version, policy.learning_rate
    own = batch.loss_weights != 0
    before = float(policy.likelihoods(batch).logprobs[own].sum())
    policy.learning_rate = rate / 100
    policy.update(batch, Reinforce())
    policy.learning_rate = rate
    after = float(policy.likelihoods(batch).logprobs[own].sum())
    assert after > before, f"an update makes rewarded tokens of {policy.name} less likely, {before:.6g} to {after:.6g}"
    assert policy.version == version + 1, f"{policy.name} has the version {policy.version} after update {version + 1}"


def check_frozen(policy: Policy) -> None:
    """A frozen copy goes on answering as the policy did, which itself learns something else."""
    asks, rate = asks_of(policy), policy.learning_rate
    copy = policy.freeze()
    expected = f"{policy.name}@{policy.version}"
    assert copy.name == expected, f"the frozen copy of {policy.name} is called {copy.name!r}, not {expected!r}"
    then = [said(reply) for reply in policy.reply(asks)]
    policy.learning_rate = rate * 50
    policy.update(rewarded(played(policy), equally=True), Reinforce())
    policy.learning_rate = rate
    assert [said(reply) for reply in copy.reply(asks)] == then, (
        f"a frozen copy of {policy.name} changes when the policy learns: freeze() copies the weights"
    )
    assert [said(reply) for reply in policy.reply(asks)] != then, f"{policy.name} learns nothing from a large update"


def check_restore(policy: Policy) -> None:
    """`restore` takes back what `state` gave."""
    state, version, asks = policy.state(), policy.version, asks_of(policy)
    then = [said(reply) for reply in policy.reply(asks)]
    policy.update(rewarded(played(policy)), Reinforce())
    policy.restore(state)
    assert policy.version == version, f"{policy.name} has the version {policy.version} after restore(), not {version}"
    assert [said(reply) for reply in policy.reply(asks)] == then, (
        f"{policy.name} replies otherwise after restore(state()): state() holds copies of all that an update changes"
    )


def check_saved(policy: Policy, twin: Callable[[], Policy] | None = None) -> None:
    """What `save` wrote, `load` takes back: into a `twin`, else into the policy itself after an update."""
    asks, version = asks_of(policy), policy.version
    then = [said(reply) for reply in policy.reply(asks)]
    with tempfile.TemporaryDirectory() as folder:
        policy.save(Path(folder) / policy.name)
        loaded = policy if twin is None else twin()
        if twin is None:
            policy.update(rewarded(played(policy)), Reinforce())
        loaded.load(Path(folder) / policy.name)
    assert [said(reply) for reply in loaded.reply(asks)] == then, f"{policy.name} replies otherwise after save and load"
    assert (loaded.name, loaded.version) == (policy.name, version), (
        f"{policy.name} at version {version} is {loaded.name} at version {loaded.version} after save and load"
    )


def check_probabilities(player: Player) -> None:
    """The probabilities of the choices sum to one, and replies are drawn by them."""
    assert has(player, OpenPlayer), f"{player.name} has no probabilities"
    ask = next(ask for ask in asks_of(player) if len(ask.choices) == 2)
    (chances,) = player.probabilities([ask])
    assert chances.shape == (2,), f"{player.name} gives probabilities of shape {chances.shape} for two choices"
    assert math.isclose(chances.sum(), 1.0, rel_tol=1e-6), f"the probabilities of {player.name} sum to {chances.sum()}"
    drawn = Counter(reply.text for reply in player.reply([reseeded(ask, derive(9, n)) for n in range(DRAWS)]))
    deviation = math.sqrt(DRAWS * chances[0] * chances[1])
    assert abs(drawn[ask.choices[0]] - DRAWS * chances[0]) <= 4 * deviation, (
        f"{player.name} says {ask.choices[0]!r} in {drawn[ask.choices[0]]} of {DRAWS} replies, and gives it the "
        f"probability {chances[0]:.3f}"
    )
