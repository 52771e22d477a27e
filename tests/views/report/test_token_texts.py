import numpy as np
import pytest

from redqueen.cli.main import main
from redqueen.players.transformer.loading import tiny_model
from redqueen.recipes.games import spiral
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import Run, Schedule
from redqueen.settings.learner import Learner
from redqueen.types import Reply
from redqueen.views.report.collected import _at
from redqueen.views.report.token_texts import tokenizer_of, words_of


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_model(0).tokenizer


@pytest.mark.parametrize("text", ["bet", "two words", "naïve café", "日本語 🎲!", "a\nb"])
def test_the_pieces_join_to_what_was_said(tokenizer, text):
    tokens = np.array(tokenizer.encode(text, add_special_tokens=False))
    found = words_of(Reply(text, tokens=tokens, logprobs=np.linspace(-2.0, -0.1, len(tokens))), tokenizer)
    assert "".join(piece for piece, _, _ in found) == tokenizer.decode(tokens.tolist())
    assert [logprob for _, logprob, _ in found] == [round(x, 4) for x in np.linspace(-2.0, -0.1, len(tokens)).tolist()]
    assert all(free for *_, free in found)


class Counted:
    """Counts the tokens that are decoded."""

    def __init__(self, tokenizer):
        self.tokenizer, self.count = tokenizer, 0

    def decode(self, tokens):
        self.count += len(tokens)
        return self.tokenizer.decode(tokens)


def test_a_long_reply_is_told_in_a_time_that_grows_with_it(tokenizer):
    text = "naïve café 日本語 🎲! " * 300
    tokens = np.array(tokenizer.encode(text, add_special_tokens=False))
    counted = Counted(tokenizer)
    found = words_of(Reply(text, tokens=tokens, logprobs=np.zeros(len(tokens))), counted)
    assert len(tokens) > 3000
    assert "".join(piece for piece, _, _ in found) == tokenizer.decode(tokens.tolist())
    assert counted.count < 200 * len(tokens)  # and not half its square


def test_a_token_that_no_tokenizer_has_leaves_the_reply_without_its_tokens(tokenizer):
    assert words_of(Reply("x", tokens=np.array([-1]), logprobs=np.zeros(1)), tokenizer) == []


def test_a_word_that_had_to_come_is_not_free(tokenizer):
    legal = ((5, 7, 9), (5, 8, 9))
    found = words_of(Reply("x", tokens=np.array([5, 7, 9]), logprobs=np.zeros(3), legal_tokens=legal), tokenizer)
    assert [free for *_, free in found] == [False, True, False]


def test_without_a_tokenizer_or_tokens_there_are_no_words(tokenizer):
    assert words_of(Reply("x", tokens=np.array([5]), logprobs=np.zeros(1)), None) == []
    assert words_of(Reply("x"), tokenizer) == []


def test_the_tokenizer_is_that_of_the_newest_checkpoint(tmp_path):
    assert tokenizer_of(tmp_path) is None
    config = spiral.Config(learner=Learner(model="tiny:hidden=16,heads=2"), steps=1, matches_per_step=2)
    spiral.train(config, Run(tmp_path, schedule=Schedule(checkpoint_every=1)))
    tokenizer = tokenizer_of(tmp_path)
    assert tokenizer is not None
    (_, episode, _), *_ = stored_episodes(tmp_path)
    reply = episode.turns[0].reply
    assert "".join(piece for piece, _, _ in words_of(reply, tokenizer)).startswith(reply.text)


def test_a_reward_that_nobody_knows_is_shown_as_none():
    """An attempt without a verdict, as where no majority was found, stands as null in its record."""
    assert [_at([0.5, None], place) for place in range(3)] == [0.5, None, None]


def test_a_reply_that_ends_within_a_character_keeps_its_mark(tokenizer):
    tokens = np.array(tokenizer.encode("bet 日", add_special_tokens=False))[:-1]
    found = words_of(Reply("x", tokens=tokens, logprobs=np.zeros(len(tokens))), tokenizer)
    assert "".join(piece for piece, _, _ in found) == tokenizer.decode(tokens.tolist())
    assert found[-1][0].endswith("�")


def test_a_demonstration_is_told_as_one_and_has_no_chances(tokenizer, tmp_path, capsys):
    words = "train cold_start --questions sums --model tiny:hidden=16,heads=2 --steps 1 --demonstrations-per-step 2"
    assert main([*words.split(), "--problems", "2", "--output", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert main(["replay", str(tmp_path / "run"), "0.0"]) == 0
    shown = capsys.readouterr().out
    assert "demonstrated to learner" in shown and "log-probability" not in shown
    text = Reply("bet", tokens=np.array([5]), logprobs=np.zeros(1), recited=True)
    assert words_of(text, tokenizer) == []
