"""A policy on a server says, rates, learns and remembers as the same policy on this machine does."""

from random import Random

import numpy as np
import pytest
import torch

from redqueen.credit.rewards import payoff, score
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.talk import told
from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import beside, pack, pack_pairs
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.policy_gradient import Cispo, ClippedRatio, Gspo, Reinforce
from redqueen.objectives.preference import Dpo
from redqueen.objectives.references import Reference, check_start
from redqueen.objectives.regularizers import EntropyBonus, ExactKL
from redqueen.opponents.pools import Snapshots
from redqueen.play.lockstep import play
from redqueen.players.language.answers import Boxed
from redqueen.players.tinker.policy import TinkerPolicy
from redqueen.types import Ask, Match, Message, NonFiniteLoss, Outcome, RedQueenError, Seat, Task


class Chat:
    """One seat speaks three times, in a conversation that grows."""

    name, roles = "chat", ("speaker",)

    def __init__(self, choices=(), stops=()):
        self._choices, self._stops = choices, stops

    def tasks(self):
        return [Task(f"{n}") for n in range(3)]

    def play(self, task, rng):
        shown = told(f"Begin with {task.id}.")
        for number in range(3):
            (reply,) = yield [Ask(Seat("speaker"), shown, self._choices, stops=self._stops)]
            shown = (*shown, Message("speaker", reply.text), *told(f"Question {number}?"))
        return Outcome({Seat("speaker"): 1.0})


def played(player, game, count=6):
    tasks = game.tasks()
    matches = [Match(game, tasks[n % len(tasks)], dict.fromkeys(game.roles, player), n) for n in range(count)]
    return score(play(matches, Random(0)), payoff)


def batch_of(player, game=None, count=6):
    trajectories = played(player, game or KuhnPoker(), count)
    credit = [np.linspace(-1.0, 1.5, len(each.turns)) + 0.3 * n for n, each in enumerate(trajectories)]
    return pack(trajectories, credit)


FREE = {"constrain": False, "max_completion_length": 6}
CASES = {
    "listed": (KuhnPoker(), {}),
    "listed at another temperature": (KuhnPoker(), {"temperature": 0.7}),
    "listed turns of one conversation": (Chat(("be", "bet", "better", "no")), {}),
    "free": (Chat(), FREE),
    "boxed": (Chat(), {**FREE, "answer": Boxed()}),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.mark.slow
def test_its_words_have_the_log_probabilities_that_the_same_model_gives_here(policy, twin, case):
    game, settings = case
    there, here = policy(**settings), twin(**settings)
    batch = batch_of(there, game)
    remote, local = there.likelihoods(batch), here.likelihoods(batch)
    torch.testing.assert_close(remote.logprobs, local.logprobs, atol=1e-5, rtol=0)
    own = batch.loss_weights != 0
    torch.testing.assert_close(remote.logprobs[own].double(), batch.sampled_logprobs[own], atol=1e-5, rtol=0)
    if settings.get("constrain", True):
        torch.testing.assert_close(remote.entropies, local.entropies, atol=1e-5, rtol=0)
        torch.testing.assert_close(remote.legal_logprobs, local.legal_logprobs, atol=1e-5, rtol=0)


def test_listed_replies_are_those_the_same_model_chooses_here(policy, twin):
    there, here = policy(), twin()
    for game in (KuhnPoker(), Chat(("be", "bet", "better", "no"))):
        texts = [
            [turn.reply.text for each in played(player, game, 20) for turn in each.turns] for player in (there, here)
        ]
        assert texts[0] == texts[1]
        asks = [turn.ask for each in played(here, game) for turn in each.turns]
        for one, other in zip(there.probabilities(asks), here.probabilities(asks), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


OBJECTIVES = {
    "reinforce": Reinforce(),
    "clipped": ClippedRatio(0.01, 0.02),
    "clipped twice": ClippedRatio(0.01, 0.02, dual=1.1),
    "cispo": Cispo(0.01, 0.02),
    "gspo": Gspo(0.01, 0.02),
    "imitation": Imitation(),
}


def assert_alike(there, here, batch, objective):
    """After one step: the figures, and what the two think of the words."""
    remote, local = there.update(batch, objective), here.update(batch, objective)
    unknown = {"entropy"} if not any(batch.constraints) else set()
    assert remote.keys() == local.keys()
    for key in local.keys() - unknown:
        assert remote[key] == pytest.approx(local[key], rel=1e-3, abs=1e-5), key
    torch.testing.assert_close(there.likelihoods(batch).logprobs, here.likelihoods(batch).logprobs, atol=2e-4, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
@pytest.mark.parametrize("name", ["listed", "free"])
def test_an_update_is_that_of_the_same_model_here(policy, twin, objective, name):
    game, settings = CASES[name]
    there, here = policy(**settings), twin(**settings)
    batch = batch_of(there, game)
    batch.sampled_logprobs.add_(torch.where(batch.loss_weights != 0, 0.03 * torch.sin(batch.tokens.double()), 0.0))
    assert_alike(there, here, batch, objective)
    assert_alike(there, here, batch, objective)  # with moments


def test_penalties_on_listed_replies_are_exact_too(policy, twin):
    there, here = policy(), twin()
    batch = batch_of(there)
    batch = beside(batch, twin(temperature=1.5).likelihoods(batch))
    assert_alike(there, here, batch, Sum(Reinforce(), EntropyBonus(0.5), ExactKL(0.5)))


def test_pairs_are_learned_from_through_the_gradient_alone(policy, twin):
    there, here = policy(**FREE), twin(**FREE)
    batch = pack_pairs(played(there, Chat(), 3), played(here, Chat(), 3))
    reference = there.freeze()
    batch = beside(batch, reference.likelihoods(batch))
    check_start(there, batch)
    remote = there.update(batch, Dpo(0.5))
    local = here.update(batch, Dpo(0.5))
    assert remote["loss"] == pytest.approx(np.log(2), abs=1e-5)
    assert remote["gradient_norm"] == pytest.approx(local["gradient_norm"], rel=1e-3)
    assert_alike(there, here, batch, Dpo(0.5))


def test_an_entropy_bonus_for_free_text_is_refused_since_nobody_knows_the_entropy(policy):
    there = policy(**FREE)
    with pytest.raises(RedQueenError, match="entropies of this player carry no gradient"):
        there.update(batch_of(there, Chat()), Sum(Reinforce(), EntropyBonus(0.1)))


def test_an_objective_that_the_server_has_takes_one_pass_and_another_two(policy, service):
    there = policy(**FREE)
    batch = batch_of(there, Chat())
    there.likelihoods(batch)
    del service.log[:]
    there.update(batch, ClippedRatio())
    assert [line.split()[0] for line in service.log] == ["ppo", "optim_step"]
    del service.log[:]
    there.update(batch, Gspo())
    linear = "cross_entropy" if service.kind == "tinker" else "cispo"
    assert [line.split()[0] for line in service.log] == ["forward", linear, "optim_step"]


def test_equal_rows_are_sent_once(policy, service):
    there = policy()
    batch = batch_of(there, count=60)
    assert len(batch) > 60
    del service.log[:]
    there.update(batch, Reinforce())
    assert [int(line.split()[1]) for line in service.log[:2]] <= [32, 32]  # twelve information states, two replies


def test_rows_without_an_advantage_are_not_sent_and_a_step_without_rows_is_a_step(policy, twin):
    there, here = policy(), twin()
    batch = batch_of(there)
    assert_alike(there, here, batch, Reinforce())
    batch.advantages.zero_()
    assert_alike(there, here, batch, Reinforce())  # the moments move it


def test_a_loss_that_is_not_finite_stops_before_the_step(policy):
    there = policy()
    batch = batch_of(there)
    batch.advantages[0].fill_(torch.inf)
    before = there.likelihoods(batch).logprobs
    with pytest.raises(NonFiniteLoss, match="the loss of learner is not finite"):
        there.update(batch, Reinforce())
    torch.testing.assert_close(there.likelihoods(batch).logprobs, before)
    assert there.version == 0


@pytest.mark.slow
def test_past_selves_stay_as_they_were_and_leave_the_learner_alone(policy):
    there = policy(**FREE)
    batch = batch_of(there, Chat())
    asks = [turn.ask for each in played(there, Chat()) for turn in each.turns]
    past, before = there.freeze(), there.likelihoods(batch).logprobs
    said = [reply.tokens.tolist() for reply in there.reply(asks)]
    there.update(batch, Reinforce())
    after = there.likelihoods(batch).logprobs
    assert float((after - before).abs().max()) > 1e-2
    assert past.name == "learner@0"
    assert not past.learns
    assert [reply.tokens.tolist() for reply in past.reply(asks)] == said
    torch.testing.assert_close(past.likelihoods(batch).logprobs, before, atol=1e-5, rtol=0)
    torch.testing.assert_close(there.likelihoods(batch).logprobs, after)
    with pytest.raises(AssertionError, match="learner@0 is frozen"):
        past.update(batch, Reinforce())


@pytest.mark.slow
def test_what_it_writes_after_an_update_is_written_by_what_it_has_become(policy):
    there = policy(**FREE)
    there.update(batch_of(there, Chat()), Reinforce())
    fresh = batch_of(there, Chat())
    own = fresh.loss_weights != 0
    rated = there.likelihoods(fresh).logprobs[own].double()
    torch.testing.assert_close(rated, fresh.sampled_logprobs[own], atol=1e-5, rtol=0)
    assert set(fresh.versions[own].tolist()) == {1}


@pytest.mark.slow
def test_one_past_self_of_a_version_is_saved_and_few_are_kept_open(connect, service):
    gone = []
    connection = connect(service, most_open=2, unload=gone.append)
    adapter = connection.create(4, 0)
    there = TinkerPolicy(adapter, connection.tokenizer(adapter), learning_rate=1e-2)
    batch = batch_of(there)
    pool = []
    for _ in range(4):
        pool += [there.freeze(), there.freeze()]
        there.update(batch, Reinforce())
    assert len(service.saved) == 4
    thoughts = [past.likelihoods(batch).logprobs for past in pool]
    again = [past.likelihoods(batch).logprobs for past in pool]
    for one, other in zip(thoughts, again, strict=True):
        torch.testing.assert_close(one, other)
    assert len({round(float(thought.sum()), 6) for thought in thoughts}) == 4
    if service.kind == "skyrl-jax":
        assert len(service.models) - len(gone) == 3  # the learner and two


@pytest.mark.slow
def test_what_was_saved_goes_on_as_if_it_had_never_stopped(policy, tmp_path):
    there = policy()
    batch = batch_of(there)
    there.update(batch, Reinforce())
    there.save(tmp_path)
    expected = there.update(batch, Reinforce())
    other = policy()
    other.load(tmp_path)
    assert (other.name, other.version) == ("learner", 1)
    assert other.update(batch, Reinforce()) == expected
    torch.testing.assert_close(other.likelihoods(batch).logprobs, there.likelihoods(batch).logprobs)


def test_a_pool_of_past_selves_comes_back(policy):
    there = policy()
    batch = batch_of(there)
    pool = Snapshots(there)
    there.update(batch, Reinforce())
    pool.add(there.freeze())
    thoughts = [past.likelihoods(batch).logprobs for past in pool.players]
    other = Snapshots(there)
    other.restore(pool.state())
    assert [past.name for past in other.players] == ["learner@0", "learner@1"]
    for past, thought in zip(other.players, thoughts, strict=True):
        torch.testing.assert_close(past.likelihoods(batch).logprobs, thought)


@pytest.mark.slow
def test_a_state_taken_earlier_is_gone_back_to(policy):
    there = policy()
    batch = batch_of(there)
    start, before = there.state(), there.likelihoods(batch).logprobs
    there.update(batch, Reinforce())
    there.restore(start)
    assert there.version == 0
    torch.testing.assert_close(there.likelihoods(batch).logprobs, before)
    first = there.freeze()
    there.update(batch, Reinforce())
    there.restore(start)
    torch.testing.assert_close(first.likelihoods(batch).logprobs, there.freeze().likelihoods(batch).logprobs)


def test_a_sibling_starts_as_its_kin_and_goes_its_own_way(policy):
    there = policy()
    batch = batch_of(there)
    there.update(batch, Reinforce())
    twin = there.sibling("other")
    before = there.likelihoods(batch).logprobs
    assert (twin.name, twin.version, twin.learns) == ("other", 0, True)
    torch.testing.assert_close(twin.likelihoods(batch).logprobs, before)
    twin.update(batch, Reinforce())
    torch.testing.assert_close(there.likelihoods(batch).logprobs, before)


def test_an_average_of_weights_that_lie_on_a_server_is_refused(policy):
    with pytest.raises(RedQueenError, match="the weights of learner lie on a server, which takes no averages"):
        Reference(policy(), "average")


def test_free_text_depends_on_its_own_seed_alone_and_ends_at_a_stop(policy):
    there = policy(**FREE)
    asks = [Ask(Seat("a"), told(f"Say {n}."), seed=n) for n in range(5)]
    together = there.reply(asks)
    for ask, reply in zip(asks, together, strict=True):
        (alone,) = there.reply([ask])
        assert alone.tokens.tolist() == reply.tokens.tolist()
    assert len({reply.text for reply in together}) > 1
    stop = together[0].text[1:2]
    (cut,) = there.reply([Ask(Seat("a"), told("Say 0."), seed=0, stops=(stop,))])
    assert cut.tokens.tolist() == together[0].tokens.tolist()[: len(cut.tokens)]
    assert len(cut.tokens) < len(together[0].tokens)
    assert stop in cut.text
    assert not cut.truncated


def test_text_that_is_recited_is_the_learners_to_learn(policy, twin):
    ask = Ask(Seat("a"), told("Choose a or b."), ("a", "b"))
    for settings in ({}, FREE):
        there, here = policy(**settings).recite(ask, "a"), twin(**settings).recite(ask, "a")
        assert (there.tokens.tolist(), there.legal_tokens, there.version) == (
            here.tokens.tolist(),
            here.legal_tokens,
            here.version,
        )


def test_free_text_at_another_temperature_is_refused(policy):
    with pytest.raises(RedQueenError, match="a server rates free text at temperature 1"):
        policy(temperature=0.5, **FREE)
    listed = policy(temperature=0.5)
    with pytest.raises(RedQueenError, match="learner writes free text at temperature 1"):
        listed.reply([Ask(Seat("a"), told("Say."))])


def test_more_tokens_than_the_model_reads_are_refused_before_they_are_sent(policy, service):
    service.longest = 30
    there = policy(**FREE)
    with pytest.raises(RedQueenError, match=r"do not fit the 30 that tiny/base reads at http://here"):
        there.reply([Ask(Seat("a"), told("word " * 30))])
