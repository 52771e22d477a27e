"""Classifiers of two layers: what they are shown, what is made of their logits, what they refuse."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from redqueen.checks.preferences import BothOrders, ByReward
from redqueen.players.transformer.loading import tiny_tokenizer
from redqueen.players.transformer.scorer import PairScorer, RewardScorer
from redqueen.types import Message, RedQueenError, Task

TASKS = [Task("a", prompt="Bet or pass?"), Task("b", prompt="Who wins?")]
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """A function that saves a classifier with random weights and gives its folder and itself."""

    def save(labels=1, template=None, positions=64, kind="sequence", pads=None, pad_token=None, vocabulary=0):
        from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification

        tokenizer = tiny_tokenizer()
        tokenizer.chat_template = template
        tokenizer.pad_token = pad_token
        config = LlamaConfig(
            vocab_size=vocabulary or len(tokenizer),
            hidden_size=16,
            intermediate_size=24,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=positions,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            num_labels=labels,
            pad_token_id=pads,
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            model = (LlamaForCausalLM if kind == "words" else LlamaForSequenceClassification)(config).eval()
            with torch.no_grad():
                for value in model.parameters():
                    value += 0.3 * torch.randn_like(value)
        folder = tmp_path_factory.mktemp("classifier")
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return str(folder), model, tokenizer

    return save


def read(model, tokens):
    """The body at the last token through the head, alone and unpadded."""
    with torch.inference_mode():
        hidden = model.model(input_ids=torch.tensor([tokens])).last_hidden_state[0, -1]
        return model.score(hidden).tolist()


def logits(model, tokenizer, text):
    return read(model, tokenizer.encode(text, add_special_tokens=False))


def test_a_reward_is_the_logit_of_prompt_and_answer(saved):
    folder, model, tokenizer = saved()
    rewards = RewardScorer(folder)([*TASKS, TASKS[0]], ["bet", "nobody wins this one", "pass"])
    texts = ("Bet or pass?\nbet", "Who wins?\nnobody wins this one", "Bet or pass?\npass")
    assert rewards == pytest.approx([logits(model, tokenizer, text)[0] for text in texts], abs=1e-5)
    assert len(set(rewards)) == 3


def test_the_chat_template_is_used_where_there_is_one_and_roles_are_kept(saved):
    folder, model, tokenizer = saved(template=TEMPLATE)
    told = (("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello."), ("user", "Bye"))
    said = tuple(Message(role, text) for role, text in told)
    tasks = [TASKS[0], Task("c", prompt="text", messages=said)]
    texts = (
        "[user]Bet or pass?[assistant]bet",
        "[system]Be brief.[user]Hi[assistant]Hello.[user]Bye[assistant]bet",
    )
    expected = [logits(model, tokenizer, text)[0] for text in texts]
    assert RewardScorer(folder)(tasks, ["bet", "bet"]) == pytest.approx(expected, abs=1e-5)


def test_between_two_rewards_bradley_and_terry_decide(saved):
    folder, _, _ = saved()
    one, other = RewardScorer(folder)([TASKS[0]] * 2, ["bet", "pass"])
    (chance,) = ByReward(RewardScorer(folder))(TASKS[:1], ["bet"], ["pass"], Random(0))
    assert chance == pytest.approx(1.0 / (1.0 + np.exp(other - one)), abs=1e-6)


def test_the_size_of_a_batch_does_not_matter(saved):
    folder, _, _ = saved()
    tasks, answers = TASKS * 4, [f"answer {'x' * n}" for n in range(8)]
    alone, together = (RewardScorer(folder, batch=size)(tasks, answers) for size in (1, 8))
    assert alone == pytest.approx(together, abs=1e-5)


@pytest.mark.parametrize("labels", [1, 2])
def test_a_pair_is_two_texts_with_a_mark_between_them(saved, labels):
    folder, model, tokenizer = saved(labels)
    (chance,) = PairScorer(folder)(TASKS[:1], ["bet"], ["pass"], Random(0))
    found = logits(model, tokenizer, "Bet or pass?\nbet<|end|>Bet or pass?\npass")
    expected = torch.tensor(found).softmax(0)[0] if labels == 2 else torch.tensor(found[0]).sigmoid()
    assert chance == pytest.approx(float(expected), abs=1e-5)


def test_the_mean_of_both_orders_favours_no_side(saved):
    folder, _, _ = saved(2)
    oracle = BothOrders(PairScorer(folder))
    (one,), (other,) = (oracle(TASKS[:1], *pair, Random(0)) for pair in ((["bet"], ["pass"]), (["pass"], ["bet"])))
    assert one + other == pytest.approx(1.0)


def encoder(folder, labels, template=None):
    """Saves a classifier whose tokenizer has marks of its own and knows the words of the first task, 4 to 8."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    words = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "Bet", "or", "pass", "?", "bet"]
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(words),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=24,
            max_position_embeddings=32,
            num_labels=labels,
            pad_token_id=0,
        )
        model = BertForSequenceClassification(config).eval()
        with torch.no_grad():
            for value in model.parameters():
                value += 0.3 * torch.randn_like(value)
    tokenizer.chat_template = template
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def test_an_encoder_gets_its_own_mark_and_kinds_of_words(tmp_path):
    model = encoder(tmp_path, 2)
    one, other = [4, 5, 6, 7, 8], [4, 5, 6, 7, 6]
    ids = torch.tensor([[1, *one, 2, *other, 2]])
    kinds = torch.tensor([[0] * 7 + [1] * 6])
    with torch.inference_mode():
        expected = model(input_ids=ids, token_type_ids=kinds).logits[0].softmax(0)[0]
    (chance,) = PairScorer(str(tmp_path))(TASKS[:1], ["bet"], ["pass"], Random(0))
    assert chance == pytest.approx(float(expected), abs=1e-5)


def test_a_template_brings_its_own_marks_and_they_are_not_put_twice(tmp_path):
    model = encoder(tmp_path, 1, "[CLS] {% for m in messages %}{{ m.content }} {% endfor %}[SEP]")
    with torch.inference_mode():
        expected = float(model(input_ids=torch.tensor([[1, 4, 5, 6, 7, 8, 2]])).logits)
    assert RewardScorer(str(tmp_path))(TASKS[:1], ["bet"]) == pytest.approx([expected], abs=1e-5)


def test_what_is_too_long_has_no_verdict_and_is_counted(saved):
    folder, _, _ = saved(positions=16)
    scorer, pairs = RewardScorer(folder), PairScorer(folder)
    assert scorer.metrics() == {"scorer_too_long": 0.0}
    found = scorer([TASKS[0]] * 2, ["bet", "never " * 40])
    assert np.isnan(found).tolist() == [False, True]
    assert scorer.metrics() == {"scorer_too_long": 0.5}
    assert np.isnan(pairs(TASKS[:1], ["bet"], ["never " * 40], Random(0))).all()
    assert pairs.metrics() == {"scorer_too_long": 1.0}


def test_or_it_loses_its_beginning_and_is_counted(saved):
    folder, model, tokenizer = saved(positions=16)
    scorer = RewardScorer(folder, truncate=True)
    words = tokenizer.encode(f"Bet or pass?\n{'never ' * 40}bet", add_special_tokens=False)
    assert len(words) > 16
    assert scorer(TASKS[:1], ["never " * 40 + "bet"]) == pytest.approx(read(model, words[-16:]), abs=1e-5)
    assert scorer.metrics() == {"scorer_too_long": 1.0}


@pytest.mark.parametrize("times, kept", [((0, 60), (5, 10)), ((60, 0), (10, 5)), ((60, 60), (7, 8))])
def test_of_a_pair_that_is_too_long_both_sides_are_kept(saved, times, kept):
    """Of sixteen places one is the mark's; a side that needs less than half of the rest, five here, is kept whole."""
    folder, model, tokenizer = saved(positions=16)
    task, answers = Task("q", prompt="Q?"), [f"{'x ' * count}bet" for count in times]
    one, other = (tokenizer.encode(f"Q?\n{answer}", add_special_tokens=False) for answer in answers)
    row = [*one[-kept[0] :], tokenizer.eos_token_id, *other[-kept[1] :]]
    (chance,) = PairScorer(folder, truncate=True)([task], answers[:1], answers[1:], Random(0))
    assert chance == pytest.approx(1.0 / (1.0 + np.exp(-read(model, row)[0])), abs=1e-5)


def test_nothing_to_score_is_an_empty_answer(saved):
    folder, _, _ = saved()
    assert RewardScorer(folder)([], []) == []
    assert PairScorer(folder)([], [], [], Random(0)).shape == (0,)


def refused(folder, kind=RewardScorer, **settings):
    with pytest.raises(RedQueenError) as error:
        kind(str(folder), **settings)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_is_no_classifier_is_refused_in_one_line(saved, tmp_path):
    assert "there is no model folder" in refused(tmp_path / "nowhere")
    assert "has no config.json" in refused(tmp_path)
    assert "is no sequence classifier but LlamaForCausalLM" in refused(saved(kind="words")[0])
    assert "has 3 labels: a reward model has 1" in refused(saved(3)[0])
    assert "has 3 labels: a model of pairs has 1 or 2" in refused(saved(3)[0], PairScorer)
    assert "at least one text at a time" in refused(saved()[0], batch=0)
    (tmp_path / "config.json").write_text("{")
    assert "config.json is not JSON" in refused(tmp_path)


@pytest.mark.parametrize("pads", [None, 3])
@pytest.mark.parametrize("padded", ["", "the end of a text", "another"])
def test_a_reward_is_read_at_the_end_of_a_text_whatever_pads(saved, pads, padded):
    """A chat template that ends in the token with which the tokenizer pads: transformers reads one text alone there."""
    end = tiny_tokenizer().eos_token
    token = {"": None, "another": "z"}.get(padded, end)
    folder, model, tokenizer = saved(template=TEMPLATE + "{{ eos_token }}", pads=pads, pad_token=token)
    rewards = RewardScorer(folder)([*TASKS, TASKS[0]], ["bet", "nobody wins this one", "pass"])
    said = (("Bet or pass?", "bet"), ("Who wins?", "nobody wins this one"), ("Bet or pass?", "pass"))
    texts = [f"[user]{one}[assistant]{other}{end}" for one, other in said]
    with torch.inference_mode():
        alone = [
            model(torch.tensor([tokenizer.encode(text, add_special_tokens=False)])).logits[0, 0].item()
            for text in texts
        ]
    assert rewards == pytest.approx(alone, abs=1e-5)
    assert rewards == pytest.approx([logits(model, tokenizer, text)[0] for text in texts], abs=1e-5)


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(saved):
    folder, _, _ = saved(vocabulary=12)
    with pytest.raises(RedQueenError, match="and the model has 12: it is the tokenizer of another model"):
        RewardScorer(folder)(TASKS, ["bet", "pass"])


def test_a_head_that_was_not_saved_is_not_made_up(saved):
    from safetensors.torch import load_file, save_file

    folder, _, _ = saved()
    weights = load_file(f"{folder}/model.safetensors")
    del weights["score.weight"]
    save_file(weights, f"{folder}/model.safetensors", {"format": "pt"})
    assert "lacks weights, which would be random: score.weight" in refused(folder)


def test_a_broken_folder_is_said_to_be_one(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["BertForSequenceClassification"]}))
    assert "has no tokenizer" in refused(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    assert "cannot load the classifier" in refused(tmp_path)
    (tmp_path / "config.json").write_text("[" * 9000 + "]" * 9000)
    assert "config.json is not JSON" in refused(tmp_path)


def test_equal_answers_are_read_once(saved):
    folder, _, _ = saved(positions=16)
    scorer = RewardScorer(folder)
    rewards = scorer([TASKS[0]] * 3, ["bet", "never " * 40, "bet"])
    assert rewards[0] == rewards[2]
    assert scorer.metrics() == {"scorer_too_long": 0.5}


def test_a_reward_model_with_three_labels_and_a_folder_without_a_tokenizer_are_refused(saved):
    three, _, _ = saved(3)
    with pytest.raises(RedQueenError, match="has 3 labels: a reward model has 1, the reward"):
        RewardScorer(three)
    with pytest.raises(RedQueenError, match="has 3 labels: a model of pairs has 1 or 2"):
        PairScorer(three)
    bare, _, _ = saved()
    for file in Path(bare).glob("tokenizer*"):
        file.unlink()
    with pytest.raises(RedQueenError, match=r"has no tokenizer \(tokenizer.json\): save the model's own into it"):
        RewardScorer(bare)


def test_a_name_that_is_not_to_be_had_is_one_line(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(RedQueenError, match="it is no folder here, and the hub does not answer"):
        RewardScorer("nobody/reward")
    with pytest.raises(RedQueenError, match=r"there is no model folder \./reward"):
        RewardScorer("./reward")
