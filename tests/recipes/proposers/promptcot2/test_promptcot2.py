"""PromptCoT 2.0: the two halves of expectation maximisation in turn, then self-play."""

from random import Random

import pytest

from redqueen.play.groups import attempts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import PROPOSE
from redqueen.questions.small.templates import Templates
from redqueen.recipes.proposers.promptcot2 import recipe
from redqueen.recipes.proposers.promptcot2.steps import Rationales, SelfPlay
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.roles import FROZEN, Cast, Role
from redqueen.settings.speech import Speech
from redqueen.types import RedQueenError

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=6)
SMALL = {
    "learner": TINY,
    "questions": "redqueen.questions.small.templates:Templates",
    "steps": 6,
    "rounds": 1,
    "phase": 2,
    "corpus": 1,
    "candidates": 2,
    "tasks": 3,
    "attempts": 2,
    "problems": 1,
}


def lines(folder, checkpoint_every=100, self_play=None, **changes):
    run = Run(folder, 0, Schedule(100, checkpoint_every, record_episodes=0))
    recipe.train(recipe.Config(**SMALL | changes), run, self_play)
    return [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(folder)]


def test_explaining_and_writing_take_turns_and_self_play_follows(tmp_path):
    found = lines(tmp_path)
    roles = [next((key for key in line if "/reward/" in key), "") for line in found]
    assert roles[:4] == ["explainer/reward/explainer"] * 2 + ["proposer/reward/proposer"] * 2
    assert ["posed" in line for line in found] == [False] * 4 + [True] * 2


def test_a_step_without_a_pair_goes_on(tmp_path):
    for line in lines(tmp_path)[4:]:
        assert (line["pairs"], line["loss"], line["gradient_norm"]) == (0, 0.0, 0.0)


def test_self_play_may_be_on_problems_that_are_dealt(tmp_path):
    seeds = Templates().seeds()
    assert [line["posed"] for line in lines(tmp_path, self_play=SelfPlay(Templates(), seeds), tasks=4)[4:]] == [4, 4]


def test_a_problem_is_what_the_prompter_wrote_or_one_that_is_dealt():
    seeds = Templates().seeds()
    asked = SelfPlay(Templates()).invited(seeds[:2])
    proposals = attempts(PROPOSE, asked, Constant("add: 1+2"), 1, Random(0))
    assert [task.prompt for task in SelfPlay(Templates()).written(proposals, Random(0))] == ["What is 1+2?"] * 2
    dealt = SelfPlay(Templates(), seeds).written(proposals, Random(0))
    assert len(dealt) == 2
    assert all(task in seeds for task in dealt)


def test_one_model_may_play_every_role(tmp_path):
    assert len(lines(tmp_path, proposer=Role("shared"), explainer=Role("shared"))) == 6


def test_a_prompter_that_cannot_learn_is_refused(tmp_path):
    with pytest.raises(RedQueenError, match="the proposer is trained: --proposer must be separate"):
        lines(tmp_path, proposer=Role(FROZEN))


@pytest.mark.slow
def test_a_run_killed_between_the_halves_goes_on_as_if_nothing_had_happened(tmp_path):
    whole = lines(tmp_path / "whole", checkpoint_every=1)
    for steps in (1, 3, 5):
        lines(tmp_path / "parts", checkpoint_every=1, steps=steps)
    assert lines(tmp_path / "parts", checkpoint_every=1) == whole


@pytest.mark.parametrize(("answer", "begin", "end"), [("boxed", "\\boxed{", "}"), ("tagged", "<answer>", "</answer>")])
def test_what_is_imitated_stands_in_the_format_that_the_role_answers_in(answer, begin, end, tmp_path):
    config = recipe.Config(**SMALL | {"proposer": Role("separate", speech=Speech(answer=answer))})
    cast = Cast(config, Run(tmp_path, 0))
    proposer, explainer = cast.trained("proposer"), cast.trained("explainer")
    questions = Templates()
    drawn = questions.seeds()[:2]
    rationales = Rationales(questions, explainer, proposer)
    for learner, writes, marks in ((proposer, True, (begin, end)), (explainer, False, ("", ""))):
        for trajectory, task in zip(rationales.recited(drawn, ["why", "why"], learner, writes), drawn, strict=True):
            reply = trajectory.turns[0].reply
            wanted = questions.written(task, "why") if writes else "why"
            assert learner.format.decode(reply.tokens.tolist()) == f"{marks[0]}{wanted}{marks[1]}"
            assert reply.text == wanted
