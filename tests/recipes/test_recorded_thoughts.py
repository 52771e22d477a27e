"""Recipes trained on recorded replies of models that think: closed, unclosed and empty thoughts, a judge in prose."""

import re

import pytest

from redqueen.contracts.recipes import TINY, metrics, small, trained
from redqueen.objectives.additive import own_tokens
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import Run
from redqueen.settings.finding import find_recipe

SECRET = "zebra"  # is thought, and never said
JUDGEMENTS = (
    "<score>8</score>",
    "8/10",
    "I give it a score of 8.",
    "[[8]]",
    '{"score": 8}',
    "Score: 8",
    "**Rating: 8**",
    "The score is 8.",
    "It is clear and can be solved.\n8",
    "Clear: 8 out of 10.",
)


def solved(prompt):
    """The answer to the last sum in a text, as the question set writes it: its digits from the last to the first."""
    sums = re.findall(r"(\d+)\+(\d+)", prompt)
    return str(int(sums[-1][0]) + int(sums[-1][1]))[::-1] if sums else "4"


def recorded(ask):
    """What a model that thinks was heard to say in this role."""
    said = {
        "judge": JUDGEMENTS[ask.seed % len(JUDGEMENTS)],
        "proposer": f"{ask.seed % 90 + 10}+{ask.seed % 7}",
    }.get(ask.seat.role, solved(ask.messages[-1].text))
    if ask.seat.role != "solver":
        return f"<think>\nA {SECRET}, <score>1</score>, 1+1.\n</think>\n\n{said}"
    return (
        f"<think>\nA {SECRET} says 0, no.\n</think>\n\n{said}",
        f"<think>\nA {SECRET} says {said}, and on and on: {said}",
        f"<think>\n\n</think>\n\n{said}",
    )[ask.seed % 3]


@pytest.fixture
def heard(monkeypatch):
    """What reaches each update, and what each attempt of a solver earned, while replies are recorded ones."""
    masked, earned = [], []

    def write(policy, asks):
        said = []
        for ask in asks:
            voice = policy._voice(ask)
            tokens = [*voice.chat.tokenizer.encode(recorded(ask)), voice.chat.end]
            said.append(voice.say(ask, policy.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False))
        return said

    update, report = TransformerPolicy.update, Run.report

    def updated(policy, batch, objective):
        rows = zip(batch.tokens, own_tokens(batch), strict=True)
        masked.extend(policy.format.decode(tokens[mask].tolist()) for tokens, mask in rows)
        return update(policy, batch, objective)

    def reported(run, policy, trajectories, *rest, **named):
        solvers = [each for each in trajectories if each.seat.role == "solver"]
        earned.extend((each.turns[-1].reply, float(each.rewards.sum())) for each in solvers)
        report(run, policy, trajectories, *rest, **named)

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    monkeypatch.setattr(TransformerPolicy, "update", updated)
    monkeypatch.setattr(Run, "report", reported)
    return masked, earned


def run_of(name, folder, **changes):
    recipe = find_recipe(name)
    settings = {"learner": TINY, "questions": "sums", "steps": 2, "attempts": 6, "tasks": 4, "problems": 2} | changes
    return trained(recipe, small(recipe, **settings), folder, record_episodes=200)


RECIPES = {
    "grpo": {},
    "sec": {},
    "absolute_zero": {"proposals": 4},
    "multi_agent_evolve": {"questions": "judged:sums", "proposals": 4},
    "iterative_dpo": {},
    "self_rewarding": {"questions": "judged:sums"},
    "rise": {},
    "score": {},
    "evol_rl": {"votes": 6},
}
BY_THE_CHECK = ("grpo", "sec", "iterative_dpo", "rise")  # a right answer earns more than none


@pytest.mark.parametrize("name", RECIPES)
def test_thoughts_are_learned_from_and_neither_read_nor_shown(name, heard, tmp_path):
    masked, earned = heard
    run = run_of(name, tmp_path, **RECIPES[name])
    turns = [turn for _, episode, _ in stored_episodes(run.folder) for turn in episode.turns]
    assert turns
    for turn in turns:
        assert SECRET not in turn.reply.text or turn.reply.malformed
        own = sum(SECRET in message.text for message in turn.ask.messages if message.speaker == str(turn.ask.seat))
        assert own == sum(SECRET in message.text for message in turn.ask.messages), turn.ask.messages
    assert any(SECRET in turn.reply.thought for turn in turns)
    solvers = [turn.reply for turn in turns if turn.ask.seat.role == "solver"]
    assert {reply.malformed for reply in solvers} == {True, False}
    assert all(reply.text == "" for reply in solvers if reply.malformed)
    assert all(re.fullmatch(r"\d+", reply.text) for reply in solvers if not reply.malformed)
    assert masked or name == "self_rewarding"  # its judge scores all alike, which makes no pair
    assert all(text.startswith("<think>") for text in masked)  # all of a reply is in the loss, and no prompt
    if name in BY_THE_CHECK:
        right, none = ([pay for reply, pay in earned if reply.malformed == bad] for bad in (False, True))
        assert right and none and min(right) > max(none)


@pytest.mark.parametrize("name", ["multi_agent_evolve", "self_rewarding"])
def test_a_judge_that_thinks_and_answers_in_prose_is_read(name, heard, tmp_path):
    run = run_of(name, tmp_path, **RECIPES[name])
    line = metrics(run)[-1]
    assert line["judge_seen"] > 0 and line["judge_unparsed"] == 0.0
    assert line["judge_mean_score"] == pytest.approx(7 / 9)  # 8 of 1 to 10, never the 1 of the thought
