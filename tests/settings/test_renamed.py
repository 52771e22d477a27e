from dataclasses import dataclass

import pytest

from redqueen.cli.words import parse
from redqueen.runs.folder import rebuild
from redqueen.settings.renamed import RENAMED, renamed
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class Config:
    questions: str = "sums"
    attempts: int = 8
    proposer: Role = Role()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--domain", "sums"], "--domain is --questions now (redqueen train mine --help)"),
        (["--domain=sums"], "--domain is --questions now (redqueen train mine --help)"),
        (["--novelty", "0.5"], "--novelty is no flag any more but a variant: see experiments/"),
        (["--tries", "3"], "--tries is --attempts now (redqueen train mine --help)"),
    ],
)
def test_an_old_flag_is_answered_with_the_new_one(words, said):
    with pytest.raises(RedQueenError) as refused:
        parse(Config, words, "redqueen train mine")
    assert str(refused.value) == said


def test_a_recipe_without_the_new_one_is_not_sent_there():
    assert renamed("--tries", ["--steps"]) is None
    assert renamed("--stepz", ["--steps"]) is None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"domain": "sums"}, "the run is older than this version: its --domain is --questions now; train it anew"),
        ({"proposer": "shared"}, "the run is older than this version: its proposer is a word, 'shared'; train it anew"),
    ],
)
def test_an_old_run_is_refused_with_the_new_name(data, said):
    with pytest.raises(RedQueenError) as refused:
        rebuild(Config, data)
    assert str(refused.value) == said


def test_every_name_is_a_flag_and_no_new_one_is_an_old_one_of_itself():
    for old, new in RENAMED.items():
        assert all(name.startswith("--") and "_" not in name for name in (old, *new))
        assert old not in new and new


@dataclass(frozen=True)
class OverDocuments:
    corpus: str = ""
    tests: str = ""


def test_a_file_of_questions_is_not_sent_to_the_flag_of_held_out_ones_alone():
    with pytest.raises(RedQueenError) as refused:
        parse(OverDocuments, ["--questions", "sums.jsonl"], "redqueen train mine")
    said = str(refused.value)
    assert said.startswith("--questions: this recipe writes its questions itself, about documents: --corpus FILE holds")
    assert "--tests FILE questions with answers that are held out" in said
    with pytest.raises(RedQueenError, match="unknown argument '--questions'"):
        parse(Role, ["--questions", "sums.jsonl"], "redqueen train mine")
