from dataclasses import replace

import numpy as np
import pytest
import torch

from redqueen.chance import derive
from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import ConstantMean, pack, take, token_mean
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.objectives.regularizers import EntropyBonus, KLPenalty, k2
from redqueen.players.language.answers import Bracketed
from redqueen.players.transformer.loading import add_lora
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.transformer.rows import parts_of
from redqueen.types import (
    Ask,
    Episode,
    Message,
    NonFiniteLoss,
    Outcome,
    RedQueenError,
    Reply,
    Seat,
    Task,
    Trajectory,
    Turn,
)

SEAT = Seat("first")
# replies that share beginnings, and replies that begin others
CHOICES = ("bet", "better", "be", "pass", "10", "1")
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def question(text="Your move?", choices=CHOICES, seed=0):
    return Ask(SEAT, (Message("game", text),), choices, seed=seed)


def questions(
    choices=CHOICES, count=12, texts=("Your card is the king.", "Your card is the queen. Your move?", "Move?")
):
    return [question(texts[n % len(texts)], choices, derive(1, n)) for n in range(count)]


def talked(policy, exchanges=3, count=3, choices=CHOICES, seed=0):
    """Trajectories of several turns in which each prompt extends the words before it."""
    trajectories = []
    for number in range(count):
        messages, turns = (), ()
        for exchange in range(exchanges):
            messages += (Message("game", f"Round {exchange}. Your move?"),)
            ask = Ask(SEAT, messages, choices, turns, derive(seed, number, exchange))
            (reply,) = policy.reply([ask])
            turns += (Turn(ask, reply),)
            messages += (Message("first", reply.text),)
        trajectories.append(gathered(turns))
    return trajectories


def gathered(turns):
    return Trajectory(Episode("talk", Task("t"), 0, turns, Outcome({}), ()), SEAT, turns, np.zeros(len(turns)))


def single(policy, asks):
    return [gathered((Turn(ask, reply),)) for ask, reply in zip(asks, policy.reply(asks), strict=True)]


def credit(trajectories):
    generator = np.random.default_rng(3)
    return [generator.normal(size=len(each.turns)) for each in trajectories]


def batch_of(trajectories, weigh=token_mean):
    return pack(trajectories, credit(trajectories), weigh)


def weights(policy):
    return {key: value.detach().clone() for key, value in policy.trainable.items()}


def equal(one, other):
    assert one.keys() == other.keys()
    return all(torch.equal(one[key], other[key]) for key in one)


def moment(policy, value):
    """The first moment of a weight: after one step, a tenth of the clipped gradient."""
    return policy._optimizer._adamw.state[value]["exp_avg"]


def plain_logprobs(model, tokens, temperature=1.0):
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([list(tokens)])).logits[0]
    return (logits.double() / temperature).log_softmax(dim=1)


def brute_force(policy, model, prompt, temperature):
    """Each reply's probability: word by word, renormalised over the words with which a legal reply goes on."""
    replies = [policy.format.reply_tokens(choice) for choice in CHOICES]
    chances = []
    for reply in replies:
        rated = plain_logprobs(model, [*prompt, *reply], temperature)
        chance = 1.0
        for at, token in enumerate(reply):
            legal = sorted({other[at] for other in replies if other[:at] == reply[:at] and len(other) > at})
            row = rated[len(prompt) + at - 1][legal].softmax(dim=0)
            chance *= float(row[legal.index(token)])
        chances.append(chance)
    return chances


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_probabilities_are_those_of_brute_force(any_model, temperature):
    policy = TransformerPolicy(any_model, temperature=temperature)
    asks = questions(count=3)
    for ask, chances in zip(asks, policy.probabilities(asks), strict=True):
        assert chances.sum() == pytest.approx(1.0, abs=1e-12)
        assert chances == pytest.approx(
            brute_force(policy, any_model.model, policy.format.prompt(ask), temperature), abs=1e-5
        )


def test_replies_have_the_stated_probabilities(made):
    policy = TransformerPolicy(made())
    ask = question()
    (chances,) = policy.probabilities([ask])
    replies = policy.reply([replace(ask, seed=derive(2, n)) for n in range(3000)])
    counts = np.array([sum(reply.text == choice for reply in replies) for choice in CHOICES])
    # five degrees of freedom: above 20.5 once in a thousand
    assert ((counts - 3000 * chances) ** 2 / (3000 * chances)).sum() < 20.5


@pytest.mark.slow
@pytest.mark.parametrize("template", [None, CHATML])
@pytest.mark.parametrize("held", [True, False])
def test_a_policy_rates_its_own_words_as_it_reported_them(any_model, template, held):
    any_model.tokenizer.chat_template = template
    policy = TransformerPolicy(any_model, temperature=0.8, constrain=held, max_completion_length=7)
    for trajectories in (single(policy, questions()), talked(policy)):
        batch = batch_of(trajectories)
        own = batch.loss_weights != 0
        rated = policy.likelihoods(batch)
        torch.testing.assert_close(rated.logprobs[own].double(), batch.sampled_logprobs[own], atol=2e-5, rtol=1e-5)
        assert not rated.logprobs[~own].any()
        if held:
            shares = rated.legal_logprobs[own].exp()
            torch.testing.assert_close(shares.sum(dim=1), torch.ones(len(shares)), atol=1e-5, rtol=0)
        else:
            assert rated.legal_logprobs is None
    any_model.tokenizer.chat_template = None


def test_an_append_only_conversation_is_one_row(made):
    policy = TransformerPolicy(made())
    trajectories = talked(policy, exchanges=4, count=2)
    batch = batch_of(trajectories)
    assert len(batch) == 2
    assert [len(row) for row in batch.constraints] == [4, 4]


def test_a_reply_depends_on_its_seed_and_not_on_its_company(made):
    policy = TransformerPolicy(made(), constrain=False, max_completion_length=6, answer=Bracketed())
    held = TransformerPolicy(made())
    for speaker in (policy, held):
        together = speaker.reply(questions())
        for ask, reply in zip(questions(), together, strict=True):
            (alone,) = speaker.reply([ask])
            assert (alone.text, alone.thought, alone.tokens.tolist()) == (
                reply.text,
                reply.thought,
                reply.tokens.tolist(),
            )


def prefixes(rows):
    return {tuple(row[:end]) for row in rows for end in range(1, len(row) + 1)}


def needed(batch):
    """The tokens that must be read to rate the words of each row: all before its last own word."""
    rows = []
    for tokens, weighs in zip(batch.tokens.tolist(), (batch.loss_weights != 0).tolist(), strict=True):
        rows.append(tokens[: max(at for at, own in enumerate(weighs) if own)])
    return rows


def test_equal_prompts_are_computed_once(made, counted):
    policy = TransformerPolicy(made())
    sizes = counted(policy.forward)
    ask = question("Only one.", ("bet", "pass"))
    policy.reply([replace(ask, seed=n) for n in range(500)])
    prompt, replies = policy.format.prompt(ask), [policy.format.reply_tokens(choice) for choice in ask.choices]
    assert replies[0][0] != replies[1][0]  # so all is said once a reply has begun
    assert sizes == [len(prompt)]
    policy.probabilities([ask])
    policy.reply([ask])
    assert len(sizes) == 1  # still known

    trajectories = single(policy, [replace(ask, seed=n) for n in range(500)])
    policy.update(batch_of(trajectories), Reinforce())
    assert sizes == [len(prompt)] * 2
    policy.reply([ask])
    assert sizes == [len(prompt)] * 3  # the weights have changed


def test_equal_prompts_of_free_text_are_read_once(made, counted):
    policy = TransformerPolicy(made(), constrain=False, max_completion_length=1)
    sizes = counted(policy.forward)
    ask = question("Only one.")
    policy.reply([replace(ask, seed=n) for n in range(50)])
    assert sizes == [len(policy.format.prompt(ask))]


def test_a_forced_reply_asks_the_model_nothing(made, counted):
    policy = TransformerPolicy(made())
    sizes = counted(policy.forward)
    (reply,) = policy.reply([question(choices=("fold",))])
    assert (reply.text, sizes) == ("fold", [])
    assert not reply.logprobs.any()
    assert policy.probabilities([question(choices=("fold",))])[0].tolist() == [1.0]
    assert len(batch_of([gathered((Turn(question(choices=("fold",)), reply),))])) == 0


def conversing(speakers, exchanges=4, texts=("king", "queen", "jack"), choices=CHOICES):
    """For each speaker its trajectories: conversations that go on side by side, all asked for their next words at
    once."""
    turns = [[() for _ in texts] for _ in speakers]
    for exchange in range(exchanges):
        for speaker, mine in zip(speakers, turns, strict=True):
            asks = []
            for number, (text, past) in enumerate(zip(texts, mine, strict=True)):
                messages = (*past[-1].ask.messages, Message("first", past[-1].reply.text)) if past else ()
                messages += (Message("game", f"The {text} is yours, round {exchange}."),)
                asks.append(Ask(SEAT, messages, choices, past, derive(11, number, exchange)))
            for number, (ask, reply) in enumerate(zip(asks, speaker.reply(asks), strict=True)):
                mine[number] += (Turn(ask, reply),)
    return [[gathered(past) for past in mine] for mine in turns]


def rows_of(trajectories):
    """The tokens of each conversation, where each prompt goes on where the words before it ended."""
    for each in trajectories:
        for before, after in zip(each.turns, each.turns[1:], strict=False):
            words = [*before.reply.prompt_tokens.tolist(), *before.reply.tokens.tolist()]
            assert after.reply.prompt_tokens[: len(words)].tolist() == words
    ends = [each.turns[-1].reply for each in trajectories]
    return [[*end.prompt_tokens.tolist(), *end.tokens.tolist()] for end in ends]


def test_each_word_of_a_conversation_is_read_once(made, counted):
    policy = TransformerPolicy(made(), constrain=False, max_completion_length=9)
    sizes = counted(policy.forward)
    (trajectories,) = conversing([policy])
    rows = rows_of(trajectories)
    assert sum(sizes) == len(prefixes([row[:-1] for row in rows]))  # the last word of all has not been read
    assert len(rows[0]) > 60


def test_each_word_of_a_conversation_in_listed_replies_is_read_once(made, counted):
    policy = TransformerPolicy(made())
    sizes = counted(policy.forward)
    (trajectories,) = conversing([policy], choices=("bet", "pass"))
    rows_of(trajectories)
    assert sum(sizes) == len(prefixes([each.turns[-1].reply.prompt_tokens.tolist() for each in trajectories]))


@pytest.mark.parametrize("rank", [0, 4])
@pytest.mark.parametrize("held", [True, False])
def test_a_learner_and_a_frozen_copy_remember_each_for_itself(made, counted, rank, held):
    policy = TransformerPolicy(
        made(rank=rank), learning_rate=3e-2, constrain=held, max_completion_length=6, cache_gigabytes=0.1
    )
    copy = policy.freeze()
    policy.update(batch_of(single(policy, questions())), Reinforce())
    for speaker, trajectories in zip((policy, copy), conversing([policy, copy]), strict=True):
        batch = batch_of(trajectories)
        own = batch.loss_weights != 0
        rated = speaker.likelihoods(batch)
        torch.testing.assert_close(rated.logprobs[own].double(), batch.sampled_logprobs[own], atol=2e-5, rtol=1e-5)
    sizes = counted(policy.forward)
    asks = questions(texts=("Something new.",), count=1)
    for speaker in (policy, copy):
        sizes.clear()
        speaker.reply(asks)
        assert sum(sizes) >= len(policy.format.prompt(asks[0]))  # the other's reading is of no use


def plain_loss(policy, model, batch):
    """REINFORCE on rows padded on the right, held words renormalised over what could stand there."""
    mask = torch.arange(batch.tokens.shape[1]) < batch.lengths[:, None]
    logits = model(input_ids=batch.tokens, attention_mask=mask.long()).logits / policy.temperature
    loss = torch.zeros(())
    for row, (tokens, constraints) in enumerate(zip(batch.tokens.tolist(), batch.constraints, strict=True)):
        for at in range(1, int(batch.lengths[row])):
            weight = batch.loss_weights[row, at] * batch.advantages[row, at]
            if not weight:
                continue
            legal = list(range(logits.shape[2]))
            for held in constraints:
                said = tuple(tokens[held.start : at])
                going_on = sorted({r[len(said)] for r in held.replies if r[: len(said)] == said and len(r) > len(said)})
                if held.start <= at and going_on:
                    legal = going_on
            loss = loss - weight * logits[row, at - 1, legal].log_softmax(dim=0)[legal.index(tokens[at])]
    return loss


@pytest.mark.slow
@pytest.mark.parametrize("held", [True, False])
def test_an_update_is_the_plain_padded_step(any_model, held):
    policy = TransformerPolicy(
        any_model, constrain=held, max_completion_length=5, learning_rate=1e-2, weight_decay=0.1, max_grad_norm=0.1
    )
    batch = batch_of([*single(policy, questions()), *talked(policy)])
    before = weights(policy)
    loss = plain_loss(policy, any_model.model, batch)
    gradient = dict(zip(policy.trainable, torch.autograd.grad(loss, list(policy.trainable.values())), strict=True))
    norm = torch.stack([part.norm() for part in gradient.values()]).norm()
    metrics = policy.update(batch, Reinforce())
    assert metrics["loss"] == pytest.approx(float(loss.detach()), abs=1e-5)
    assert metrics["gradient_norm"] == pytest.approx(float(norm), rel=1e-4)
    assert norm > 0.1  # so the gradient was clipped
    # the first moment of the first step is (1 - 0.9) times the clipped gradient
    for key, value in policy.trainable.items():
        torch.testing.assert_close(moment(policy, value), 0.1 * gradient[key] * (0.1 / norm), atol=1e-6, rtol=1e-4)
        # and AdamW's first step moves every weight by its sign, besides the decay
        certain = gradient[key].abs() * (0.1 / norm) > 1e-5
        step = -1e-2 * gradient[key].sign() - 1e-2 * 0.1 * before[key]
        torch.testing.assert_close((value - before[key])[certain], step[certain], atol=1e-4, rtol=1e-2)


def test_micro_batches_do_not_change_the_gradient(made):
    objective = Sum(Reinforce(), EntropyBonus(0.1))
    policies = [TransformerPolicy(made(), token_budget=budget) for budget in (100_000, 70, 1)]
    batch = batch_of([*single(policies[0], questions()), *talked(policies[0])], ConstantMean(3))
    parts = [[part.rows for part in parts_of(batch, policy._budget)] for policy in policies]
    assert len(parts[0]) == 1 < len(parts[1]) < len(parts[2])
    for each in parts:
        assert sorted(torch.cat(each).tolist()) == list(range(len(batch)))
    metrics = [policy.update(batch, objective) for policy in policies]
    for policy, figures in zip(policies[1:], metrics[1:], strict=True):
        assert figures == pytest.approx(metrics[0], rel=1e-4, abs=1e-5)
        for key, value in policy.trainable.items():
            other = moment(policies[0], policies[0].trainable[key])
            torch.testing.assert_close(moment(policy, value), other, atol=1e-6, rtol=1e-4)


def test_likelihoods_do_not_depend_on_the_budget_or_the_company(made):
    one, other = TransformerPolicy(made()), TransformerPolicy(made(), token_budget=1)
    batch = batch_of([*single(one, questions()), *talked(one)])
    whole, parts = one.likelihoods(batch), other.likelihoods(batch)
    alone = one.likelihoods(take(batch, torch.tensor([5])))
    torch.testing.assert_close(whole.logprobs, parts.logprobs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(whole.entropies, parts.entropies, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(whole.legal_logprobs, parts.legal_logprobs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(whole.logprobs[5:6], alone.logprobs, atol=1e-5, rtol=1e-5)


def test_practice_makes_likely(any_model):
    policy = TransformerPolicy(any_model, learning_rate=2e-2)
    ask = question(choices=("bet", "pass"))
    for update in range(20):
        trajectories = single(policy, [replace(ask, seed=derive(update, n)) for n in range(16)])
        won = [np.array([1.0 if each.turns[0].reply.text == "pass" else -1.0]) for each in trajectories]
        policy.update(pack(trajectories, won), Reinforce())
    assert policy.probabilities([ask])[0][1] > 0.95


def test_nothing_to_learn_is_no_update(made):
    policy = TransformerPolicy(made())
    before = weights(policy)
    assert policy.update(pack([], []), Reinforce()) == {"loss": 0.0, "gradient_norm": 0.0}
    assert policy.version == 0
    assert policy.likelihoods(pack([], [])).logprobs.shape == (0, 0)
    muted = batch_of(single(policy, questions()))
    policy.update(replace(muted, loss_weights=torch.zeros_like(muted.loss_weights)), Reinforce())
    assert equal(weights(policy), before)


@pytest.mark.parametrize("rank", [0, 4])
def test_a_frozen_copy_stays_as_it_is(made, rank):
    policy = TransformerPolicy(made(rank=rank), learning_rate=1e-2)
    policy.update(batch_of(single(policy, questions())), Reinforce())
    asks = questions(count=3)
    before = policy.probabilities(asks)
    copy = policy.freeze()
    assert (copy.name, copy.version) == ("learner@1", 1)
    for _ in range(2):
        policy.update(batch_of(single(policy, questions())), Reinforce())
    for now, then, learner in zip(copy.probabilities(asks), before, policy.probabilities(asks), strict=True):
        assert now.tolist() == then.tolist()
        assert now.tolist() != learner.tolist()
    assert copy.freeze().name == "learner@1"
    assert {reply.player for reply in copy.reply(asks)} == {"learner@1"}
    with pytest.raises(AssertionError, match="learner@1 is frozen"):
        copy.update(batch_of(single(copy, asks)), Reinforce())


@pytest.mark.parametrize("rank", [0, 4])
def test_a_state_is_a_picture_and_restoring_goes_back_to_it(made, rank):
    policy = TransformerPolicy(made(rank=rank), learning_rate=1e-2)
    batch = batch_of(single(policy, questions()))
    policy.update(batch, Reinforce())
    state = policy.state()

    def two_more(learner):
        metrics = [learner.update(batch, Reinforce()) for _ in range(2)]
        return metrics, weights(learner), learner.version

    metrics, after, version = two_more(policy)
    for _ in range(2):  # twice: learning on does not touch the state
        policy.restore(state)
        again, same, number = two_more(policy)
        assert again == metrics
        assert equal(same, after)
        assert number == version == 3
    twin = TransformerPolicy(made(rank=rank, seed=0), learning_rate=1e-2)
    twin.restore(state)
    assert two_more(twin)[0] == metrics


def test_a_frozen_copy_is_restored_from_its_state(made):
    policy = TransformerPolicy(made(), learning_rate=1e-2)
    copy = policy.freeze()
    state, chances = copy.state(), copy.probabilities(questions())
    policy.update(batch_of(single(policy, questions())), Reinforce())
    learners = weights(policy)
    other = policy.freeze()
    other.restore(state)
    assert (other.name, other.version) == ("learner@0", 0)
    assert all(a.tolist() == b.tolist() for a, b in zip(chances, other.probabilities(questions()), strict=True))
    assert equal(weights(policy), learners)


@pytest.mark.parametrize("rank", [0, 4])
def test_loading_goes_on_bit_for_bit(made, tmp_path, rank):
    policy = TransformerPolicy(made(rank=rank), learning_rate=1e-2)
    batch = batch_of(single(policy, questions()))
    for _ in range(2):
        policy.update(batch, Reinforce())
    policy.save(tmp_path / "learner")
    twin = TransformerPolicy(made(rank=rank), learning_rate=1e-2, name="other")
    twin.load(tmp_path / "learner")
    assert (twin.name, twin.version) == ("learner", 2)
    assert equal(weights(twin), weights(policy))
    assert [twin.update(batch, Reinforce()) for _ in range(2)] == [policy.update(batch, Reinforce()) for _ in range(2)]
    assert equal(weights(twin), weights(policy))
    assert [r.logprobs.tolist() for r in twin.reply(questions())] == [
        r.logprobs.tolist() for r in policy.reply(questions())
    ]


@pytest.mark.parametrize("family", ["llama", "qwen3", "gpt2"])
def test_plain_transformers_loads_what_was_saved(made, tmp_path, family):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    policy = TransformerPolicy(made(family), learning_rate=1e-2)
    policy.update(batch_of(single(policy, questions())), Reinforce())
    policy.save(tmp_path / "learner")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "learner")
    words = AutoTokenizer.from_pretrained(tmp_path / "learner").encode("Your move?")
    assert words == policy.format.tokenizer.encode("Your move?")
    assert torch.equal(plain_logprobs(model, words), plain_logprobs(policy._loaded.model, words))


def test_plain_peft_loads_what_was_saved(made, tmp_path):
    from peft import PeftModel

    policy = TransformerPolicy(made(rank=4), learning_rate=1e-2)
    policy.update(batch_of(single(policy, questions())), Reinforce())
    policy.save(tmp_path / "learner")
    base = made(rank=4).model.unload()  # the same base, its adapter taken off
    model = PeftModel.from_pretrained(base, tmp_path / "learner")
    assert torch.equal(plain_logprobs(model, range(9)), plain_logprobs(policy._loaded.model, range(9)))


@pytest.mark.parametrize("rank", [0, 4])
def test_a_frozen_copy_saves_and_loads_its_own_weights(made, tmp_path, rank):
    policy = TransformerPolicy(made(rank=rank), learning_rate=1e-2)
    copy = policy.freeze()
    policy.update(batch_of(single(policy, questions())), Reinforce())
    learners = weights(policy)
    copy.save(tmp_path / "old")
    assert equal(weights(policy), learners)
    other = policy.freeze()
    other.load(tmp_path / "old")
    assert equal(weights(policy), learners)
    assert other.name == "learner@0"
    pairs = zip(copy.probabilities(questions()), other.probabilities(questions()), strict=True)
    assert all(a.tolist() == b.tolist() for a, b in pairs)


class Broken:
    """Finite on the first part, and then the loss, or only its gradient, is no number."""

    def __init__(self, gradient_only):
        self.gradient_only = gradient_only
        self.calls = 0

    def __call__(self, likelihoods, batch):
        self.calls += 1
        words = likelihoods.logprobs.sum()
        if self.calls == 1:
            return words, {}
        return (words * 0.0).sqrt() if self.gradient_only else words * torch.nan, {}


@pytest.mark.parametrize(
    ("gradient_only", "says"), [(False, "the loss of learner is nan"), (True, "a gradient of learner")]
)
def test_a_loss_that_is_not_finite_leaves_the_weights_as_they_were(made, gradient_only, says):
    policy = TransformerPolicy(made(), token_budget=1, learning_rate=1e-2)
    batch = batch_of(single(policy, questions()))
    policy.update(batch, Reinforce())
    before = policy.state()
    with pytest.raises(NonFiniteLoss, match=says) as error:
        policy.update(batch, Broken(gradient_only))
    assert error.value.batch is batch
    after = policy.state()
    assert equal(after["weights"], before["weights"])
    assert str(after["optimizer"]) == str(before["optimizer"])
    assert policy.version == 1
    policy.update(batch, Reinforce())  # and it can go on
    assert all(torch.isfinite(value).all() for value in policy.trainable.values())


def test_what_is_computed_in_one_step_does_not_depend_on_earlier_steps(made, counted):
    for held in (True, False):
        policy = TransformerPolicy(made(), constrain=held, max_completion_length=1)
        copy = policy.freeze()
        sizes = counted(policy.forward)
        copy.reply(questions())
        first = list(sizes)
        policy.update(batch_of(single(policy, questions())), Reinforce())
        sizes.clear()
        copy.reply(questions())
        assert sizes == first


def plainly(likelihoods, batch):
    """Reinforce, which here does not say that it is silent where there is no advantage."""
    return Reinforce()(likelihoods, batch)


def some_without_advantage(policy):
    """Rows of which every other one has no advantage, and which of them have one."""
    trajectories = [*conversing([policy], exchanges=2)[0], *single(policy, questions())]
    advantages = credit(trajectories)
    for number, row in enumerate(advantages):
        if number % 2:
            row[:] = 0.0
    batch = pack(trajectories, advantages)
    assert len(batch) == len(trajectories)
    return batch, torch.arange(0, len(batch), 2)


@pytest.mark.parametrize("held", [True, False])
def test_rows_without_advantage_are_left_out_and_change_nothing(made, counted, held):
    one, other = (
        TransformerPolicy(made(), constrain=held, max_completion_length=5, learning_rate=1e-2) for _ in range(2)
    )
    batch, speaking = some_without_advantage(one)
    before = weights(one)
    rated = one.likelihoods(batch)
    sizes, all_sizes = counted(one.forward), counted(other.forward)
    fewer, whole = one.update(batch, Reinforce()), other.update(batch, plainly)

    assert sum(sizes) == len(prefixes(needed(take(batch, speaking))))
    assert sum(all_sizes) == len(prefixes(needed(batch)))
    assert sum(sizes) < sum(all_sizes)
    assert fewer["rows_without_signal"] == len(batch) - len(speaking)
    assert "rows_without_signal" not in whole
    for key in ("loss", "policy_loss", "gradient_norm"):
        assert fewer[key] == pytest.approx(whole[key], rel=1e-4, abs=1e-6)
    for key, value in one.trainable.items():
        gradient = moment(one, value)
        torch.testing.assert_close(gradient, moment(other, other.trainable[key]), atol=1e-6, rtol=1e-4)
        certain = gradient.abs() > 1e-6  # a first step goes by the sign alone
        torch.testing.assert_close(value[certain], other.trainable[key][certain], atol=1e-4, rtol=1e-4)
    assert not equal(weights(one), before)

    # what is a mean over words is one over the words that were computed
    shares = batch.loss_weights[speaking] / batch.loss_weights[speaking].sum()
    assert fewer["entropy"] == pytest.approx(float((shares * rated.entropies[speaking]).sum()), abs=1e-5)
    assert whole["entropy"] == pytest.approx(float((batch.loss_weights * rated.entropies).sum()), abs=1e-5)


def test_nothing_is_left_out_where_an_objective_speaks_without_advantage(made, counted):
    policy = TransformerPolicy(made(), learning_rate=1e-2)
    batch, _ = some_without_advantage(policy)
    reference = policy.likelihoods(batch)
    sizes = counted(policy.forward)
    metrics = policy.update(replace(batch, reference=reference), Sum(Reinforce(), KLPenalty(0.1, k2)))
    assert "rows_without_signal" not in metrics
    assert sum(sizes) == len(prefixes(needed(batch)))


def test_a_batch_without_any_advantage_is_not_computed(made, counted):
    policy = TransformerPolicy(made(), learning_rate=1e-2)
    batch = batch_of(single(policy, questions()))
    before = weights(policy)
    sizes = counted(policy.forward)
    metrics = policy.update(replace(batch, advantages=torch.zeros_like(batch.advantages)), Reinforce())
    assert metrics == {"loss": 0.0, "gradient_norm": 0.0, "rows_without_signal": 12.0}
    assert sizes == []
    assert policy.version == 1
    assert equal(weights(policy), before)


@pytest.mark.parametrize("held", [True, False])
def test_the_sampler_and_the_trainer_agree_on_fresh_words(any_model, held):
    policy = TransformerPolicy(any_model, constrain=held, max_completion_length=6, temperature=0.9, learning_rate=1e-3)
    metrics = policy.update(batch_of([*talked(policy), *single(policy, questions())]), plainly)
    assert 0.0 <= metrics["sampler_mismatch_mean"] <= metrics["sampler_mismatch_max"] < 1e-5


def test_the_mismatch_is_that_of_words_said_with_the_present_weights(made):
    policy = TransformerPolicy(made(), learning_rate=1e-3)
    batch = batch_of(single(policy, questions()))
    own = batch.loss_weights != 0
    off = torch.where(own, 0.125, 0.0)
    off[0] *= -3.0
    said = replace(batch, sampled_logprobs=policy.likelihoods(batch).logprobs.double() + off)
    metrics = policy.update(said, plainly)
    first, rest = int(own[0].sum()), int(own[1:].sum())
    assert metrics["sampler_mismatch_max"] == pytest.approx(0.375, abs=1e-5)
    assert metrics["sampler_mismatch_mean"] == pytest.approx(0.125 * (3 * first + rest) / (first + rest), abs=1e-5)
    stale = policy.update(said, plainly)  # words of an older policy may differ as they like
    assert not {"sampler_mismatch_mean", "sampler_mismatch_max"} & stale.keys()
    fresh = batch_of(single(policy, questions()))
    policy.version -= 1
    assert "sampler_mismatch_max" not in policy.update(fresh, plainly)


def halved(made, rank=0):
    loaded = made(rank=rank)
    loaded.model.to(torch.bfloat16)
    return loaded


@pytest.mark.parametrize("rank", [0, 4])
@pytest.mark.parametrize("held", [True, False])
def test_a_policy_in_bfloat16_learns_and_tells_its_mismatch(made, rank, held):
    policy = TransformerPolicy(halved(made, rank), constrain=held, max_completion_length=6, learning_rate=1e-3)
    before = weights(policy)
    assert {value.dtype for value in before.values()} == {torch.bfloat16}
    metrics = policy.update(batch_of([*talked(policy), *single(policy, questions())]), plainly)
    assert 0.0 < metrics["sampler_mismatch_mean"] <= metrics["sampler_mismatch_max"] < 0.1
    assert not equal(weights(policy), before)
    assert all(torch.isfinite(value).all() for value in policy.trainable.values())
    assert {value.dtype for value in policy.trainable.values()} == {torch.bfloat16}


def test_practice_makes_likely_in_bfloat16_too(made):
    policy = TransformerPolicy(halved(made), learning_rate=1e-3)
    ask = question(choices=("bet", "pass"))
    (before,) = policy.probabilities([ask])
    for update in range(20):
        trajectories = single(policy, [replace(ask, seed=derive(update, n)) for n in range(16)])
        won = [np.array([1.0 if each.turns[0].reply.text == "pass" else -1.0]) for each in trajectories]
        policy.update(pack(trajectories, won), Reinforce())
    assert policy.probabilities([ask])[0][1] > max(0.9, before[1])


@pytest.mark.parametrize("rank", [0, 4])
def test_a_policy_in_bfloat16_goes_on_bit_for_bit(made, tmp_path, rank):
    policy = TransformerPolicy(halved(made, rank), learning_rate=1e-4)
    batch = batch_of(single(policy, questions()))
    for _ in range(2):
        policy.update(batch, Reinforce())
    state = policy.state()
    policy.save(tmp_path / "learner")
    restored, loaded = (TransformerPolicy(halved(made, rank), learning_rate=1e-4) for _ in range(2))
    restored.restore(state)
    loaded.load(tmp_path / "learner")
    assert equal(weights(loaded), weights(policy))

    def onward(learner):
        metrics = [learner.update(batch, Reinforce()) for _ in range(3)]
        return metrics, weights(learner), learner.state()["optimizer"]["masters"]

    metrics, after, masters = onward(policy)
    for twin in (restored, loaded, restored):
        if twin.version == 5:
            twin.restore(state)
        again, same, kept = onward(twin)
        assert again == metrics
        assert equal(same, after)
        assert equal(kept, masters)


def test_free_text_has_no_exact_probabilities(made):
    with pytest.raises(RedQueenError, match="answers in free text"):
        TransformerPolicy(made(), constrain=False).probabilities([question()])
    with pytest.raises(RedQueenError, match="answers in free text"):
        TransformerPolicy(made()).probabilities([question(choices=())])


def test_replies_that_are_the_same_words_are_refused(made):
    with pytest.raises(RedQueenError, match="the same tokens"):
        TransformerPolicy(made()).reply([question(choices=("bet", "bet"))])


@pytest.mark.parametrize(("temperature", "held"), [(-1.0, False), (0.0, True)])
def test_a_temperature_without_meaning_is_refused(made, temperature, held):
    with pytest.raises(RedQueenError, match="the temperature must be positive"):
        TransformerPolicy(made(), temperature=temperature, constrain=held)


def test_words_of_a_player_without_tokens_are_rendered(made):
    policy = TransformerPolicy(made())
    first = question(choices=("bet", "pass"))
    past = (Turn(first, Reply("bet", "bot")),)
    ask = Ask(SEAT, (*first.messages, Message("first", "bet"), Message("game", "And now?")), ("bet", "pass"), past)
    (reply,) = policy.reply([ask])
    assert policy.format.decode(reply.prompt_tokens) == "Your move?\nbet\nAnd now?\n"


def test_what_an_idle_copy_remembered_goes_with_the_next_update(made):
    policy = TransformerPolicy(made(), constrain=False, max_completion_length=4)
    copy = policy.freeze()
    copy.reply([question(choices=())])
    assert len(copy.store) > 0
    policy.update(batch_of(single(policy, [question(choices=())])), Reinforce())
    assert len(copy.store) == len(policy.store) == 0


def test_the_likeliest_word_alone_cannot_be_learned_from(made):
    policy = TransformerPolicy(made(), constrain=False, max_completion_length=4, temperature=0.0)
    with pytest.raises(RedQueenError, match="learner always takes the likeliest token"):
        policy.likelihoods(batch_of(single(policy, [question(choices=())])))


def test_the_identity_is_that_of_weights_and_manner_and_not_of_an_adapter_that_says_nothing(made):
    one, again = (TransformerPolicy(add_lora(made(), 4, seed)).identity() for seed in (1, 2))
    assert one == again
    shaken = TransformerPolicy(add_lora(made(), 4, 1))
    with torch.no_grad():
        for value in shaken.trainable.values():
            value += 0.1
    assert shaken.identity() != one
    assert shaken.freeze().identity() == shaken.identity()
    assert TransformerPolicy(add_lora(made(), 4, 1), system="Be brief.").identity() != one
