from random import Random

import pytest

from redqueen.credit.rewards import payoff, score
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.talk import ask, told
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play import continuous, lockstep
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import Ask, Match, Message, Outcome, RedQueenError, Seat, Task


class Talk:
    """Two seats speak in turns, as often as the task says."""

    name = "talk"
    roles = ("one", "two")

    def play(self, task, rng):
        heard = [f"{task.id}. Begin."]
        for turn in range(int(task.facts["turns"])):
            seat = Seat(self.roles[turn % 2])
            said = yield from ask(seat, told(" ".join(heard)[-80:]))
            heard.append(said)
        return Outcome({Seat("one"): 1.0, Seat("two"): -1.0})


def policy_of(made, **settings):
    policy = TransformerPolicy(made(), constrain=False, max_completion_length=14, **settings)
    stops = frozenset(range(60)) | policy.manner.stops  # likely enough that replies differ in length
    policy.manner = type(policy.manner)(stops, policy.manner.limit, policy.manner.temperature)
    return policy


def matches(policy, count=9):
    tasks = [Task(f"t{n % 4}", facts={"turns": 1 + n % 5}) for n in range(count)]
    return [Match(Talk(), task, {"one": policy, "two": policy}) for task in tasks]


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_a_stream_says_what_rounds_say(made, rows):
    rounds = lockstep.play(matches(policy_of(made)), Random(1))
    stream = continuous.play(matches(policy_of(made)), Random(1), rows)
    lengths = {len(turn.reply.tokens) for episode in rounds for turn in episode.turns}
    assert len(lengths) > 3
    for one, other in zip(rounds, stream, strict=True):
        assert [turn.reply.text for turn in one.turns] == [turn.reply.text for turn in other.turns]
        for mine, theirs in zip(one.turns, other.turns, strict=True):
            assert mine.reply.tokens.tolist() == theirs.reply.tokens.tolist()
            assert mine.reply.logprobs == pytest.approx(theirs.reply.logprobs, abs=1e-5)
            assert mine.reply.truncated == theirs.reply.truncated


def test_replies_come_as_they_are_finished_and_others_join(made):
    policy = policy_of(made)
    asks = [Ask(Seat("one"), (Message("game", f"question {n}"),), seed=n) for n in range(12)]
    alone = {n: policy.reply([each])[0] for n, each in enumerate(asks)}
    stream = policy.stream(4)
    assert stream.put(asks[:7]) == list(range(7))
    first = stream.get()
    assert 1 <= len(first) < 7
    assert stream.put(asks[7:]) == list(range(7, 12))
    answers = [*first]
    while len(answers) < 12:
        found = stream.get()
        assert found
        answers += found
    assert stream.get() == []
    assert sorted(number for number, _ in answers) == list(range(12))
    for number, reply in answers:
        assert reply.tokens.tolist() == alone[number].tokens.tolist()


def test_listed_replies_need_no_waiting(made):
    game = KuhnPoker()
    policy = TransformerPolicy(made())
    pairs = [Match(game, task, {"first": policy, "second": policy}) for task in game.tasks()]
    rounds, stream = lockstep.play(pairs, Random(2)), continuous.play(pairs, Random(2), 4)
    texts = [[turn.reply.text for turn in episode.turns] for episode in rounds]
    assert [[turn.reply.text for turn in episode.turns] for episode in stream] == texts


def test_a_stream_ends_with_the_weights_it_was_opened_for(made):
    policy = policy_of(made)
    episodes = lockstep.play(matches(policy, 2), Random(3))
    trajectories = score(episodes, payoff)
    stream = policy.stream(4)
    stream.put([Ask(Seat("one"), (Message("game", "hello"),))])
    policy.update(pack(trajectories, [each.rewards + 1.0 for each in trajectories]), Reinforce())
    with pytest.raises(RedQueenError, match="learner was updated while a stream of its replies was open"):
        stream.get()
    with pytest.raises(RedQueenError, match="at least one row, not 0"):
        policy.stream(0)
