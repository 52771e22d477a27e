"""`redqueen prompts`: what each role is shown."""

import re

from redqueen.cli.main import main


def test_every_role_is_shown_with_its_own_prompt(capsys, tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("You are a teacher.\n{prompt}")
    words = [
        "prompts",
        "absolute_zero",
        "--model",
        "tiny:hidden=16,heads=2",
        "--questions",
        "sums",
        "--answer",
        "boxed",
    ]
    assert main([*words, "--proposer.prompt", str(file)]) == 0
    said = capsys.readouterr().out
    assert "--- proposer (learner) ---\nYou are a teacher.\nWrite a sum.\n" in said
    assert re.search(
        r"--- solver \(learner\) ---\nWhat is .*\?\nThink first, then put your final answer in \\boxed{}", said
    )
    assert "--proposer.prompt FILE puts a prompt of your own around one, in a text with {prompt} in its place" in said


def test_a_judge_whose_probabilities_are_read_is_shown_too(capsys):
    assert main(["prompts", "ssr_zero", "--model", "tiny:hidden=16,heads=2"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"--- judge \(learner\) ---\nHow good is an answer\?", said) and "not asked" not in said


def test_a_role_that_was_not_asked_is_named(capsys):
    words = ["prompts", "sws", "--model", "tiny:hidden=16,heads=2"]
    assert main(words) == 0
    assert "not asked in two small steps of this model: proposer\n" in capsys.readouterr().out


def test_a_recipe_must_be_named(capsys):
    assert main(["prompts"]) == 2
    assert "name a recipe: redqueen prompts RECIPE" in capsys.readouterr().err


def test_a_prompt_of_ones_own_is_offered_only_where_it_is_taken(capsys):
    assert main(["prompts", "spiral", "--model", "tiny:hidden=16,heads=2"]) == 0
    assert ".prompt FILE" not in capsys.readouterr().out
    assert main(["prompts", "magnetic"]) == 0
    said = capsys.readouterr().out
    assert "no language model was asked, and a table is shown no prompt" in said and ".prompt FILE" not in said
