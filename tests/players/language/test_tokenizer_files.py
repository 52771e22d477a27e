import json

import pytest
import torch

from redqueen.players.language.tokenizer_files import refuse_growth, repeats_twice
from redqueen.players.transformer.loading import load_model, load_tokenizer, tiny_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import Ask, Message, RedQueenError, Seat


@pytest.fixture
def saved(tmp_path):
    """A folder with a whole model."""
    loaded = tiny_model(seed=5)
    loaded.model.save_pretrained(tmp_path)
    loaded.tokenizer.save_pretrained(tmp_path)
    return tmp_path


def change(folder, **parts):
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **parts}))


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def replace(sign, content):
    return {"type": "Replace", "pattern": {"String": sign}, "content": content}


KNOWN = (  # GPT-2, Llama 3, Qwen 2, o200k, BLOOM, DeepSeek
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}]*[\p{Ll}\p{Lm}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|\s+",
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺ]+",
    r"\((a+\)*",
    "",
)


@pytest.mark.parametrize("pattern", KNOWN)
def test_patterns_of_known_models_repeat_nothing_twice(pattern):
    assert not repeats_twice(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(.|.)*x", "(?:a*){2,}", "((a+)b)*", "x(?i:a|A)+", r"(\(a|b)*"])
def test_patterns_that_repeat_what_repeats_are_told(pattern):
    assert repeats_twice(pattern)


def test_a_tokenizer_with_such_a_pattern_is_refused(saved):
    change(saved, pre_tokenizer=split("(a+)+$"))
    with pytest.raises(RedQueenError, match="a pattern of its pre_tokenizer repeats what repeats"):
        load_model(str(saved), torch.float32, "cpu")


def test_replacements_that_multiply_a_text_are_refused(saved):
    change(saved, normalizer={"type": "Sequence", "normalizers": [replace("a", "a" * 100)] * 6})
    with pytest.raises(RedQueenError, match=r"its normalizer makes up to 1e\+12 characters of one, more than 64"):
        load_model(str(saved), torch.float32, "cpu")


def test_replacements_of_known_models_pass(saved):
    change(saved, normalizer={"type": "Sequence", "normalizers": [replace(" ", "▁"), replace("``", '"')]})
    refuse_growth(saved)


def test_a_tokenizer_at_which_the_library_panics_is_one_line(saved):
    """Found by the torture: a prefix that is longer than what it is the prefix of."""
    path = saved / "tokenizer.json"
    found = json.loads(path.read_text())
    found["model"]["continuing_subword_prefix"] = "../../outside"
    path.write_text(json.dumps(found))
    with pytest.raises(RedQueenError, match="the tokenizer cannot be read from"):
        load_model(str(saved), torch.float32, "cpu")
    with pytest.raises(RedQueenError, match="the tokenizer cannot be read from"):
        load_tokenizer(saved)


@pytest.mark.parametrize("content", ["", "null", "[]", "[" * 100_000, '{"normalizer": [1, {"type": "Replace"}]}'])
def test_a_file_that_is_none_is_left_to_transformers(content, tmp_path):
    (tmp_path / "tokenizer.json").write_text(content)
    refuse_growth(tmp_path)


def test_a_pattern_that_tries_too_often_is_one_line(saved):
    """The library counts tries, and panics past ten million; a panic is no Exception."""
    change(saved, pre_tokenizer=split("a*a*a*a*a*a*a*a*a*$"))
    loaded = load_model(str(saved), torch.float32, "cpu")
    player = TransformerPolicy(loaded, max_completion_length=2)
    with pytest.raises(RedQueenError, match="the tokenizer cannot read a prompt of"):
        player.reply([Ask(Seat("solver"), (Message("system", "a" * 200 + "!"),), seed=1)])
