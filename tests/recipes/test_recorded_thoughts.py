"""Recipes trained on recorded replies of models that think: closed, unclosed and empty thoughts, a judge in prose."""

import json
import re
from dataclasses import replace

import pytest

from redqueen.contracts.recipes import TINY, metrics, small, trained
from redqueen.objectives.additive import own_tokens
from redqueen.players.transformer.loading import tiny_tokenizer
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.fenced import texts_in
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import Run
from redqueen.settings.finding import find_recipe
from redqueen.settings.placement import PlayedAhead
from redqueen.types import SOLVER

TOKENIZER = tiny_tokenizer()
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
        "critic": ("Nothing is.\nright", "Its first digit.\n**Wrong**")[ask.seed % 2],
    }.get(ask.seat.role, solved(ask.messages[-1].text))
    if ask.seat.role != "solver":
        return f"<think>\nA {SECRET}, <score>1</score>, 1+1.\n</think>\n\n{said}"
    return (
        f"<think>\nA {SECRET} says 0, no.\n</think>\n\n{said}",
        f"<think>\nA {SECRET} says {said}, and on and on: {said}",
        f"<think>\n\n</think>\n\n{said}",
    )[ask.seed % 3]


def listen(monkeypatch, says):
    """What reaches each update, what each turn earned, and what was asked and replied, while replies are the recorded
    ones that `says` gives; a reply ends at a stop of its ask as a sampled one does."""
    masked, earned, spoken = [], [], []

    def write(policy, asks):
        return [spoken_by(policy, ask) for ask in asks]

    def spoken_by(policy, ask):
        voice = policy._voice(ask)
        tokens, completes = [*voice.chat.tokenizer.encode(says(ask)), voice.chat.end], voice.completes(ask)
        ends = [end for end in range(1, len(tokens)) if completes and completes(tokens[:end])]
        tokens = tokens[: ends[0]] if ends else tokens
        reply = voice.say(ask, policy.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False)
        spoken.append((ask, reply))
        return reply

    update, report = TransformerPolicy.update, Run.report

    def updated(policy, batch, objective):
        rows = zip(batch.tokens, own_tokens(batch), strict=True)
        masked.extend(policy.format.decode(tokens[mask].tolist()) for tokens, mask in rows)
        return update(policy, batch, objective)

    def reported(run, policy, trajectories, *rest, **named):
        earned.extend((each.seat.role, each.turns[-1].reply, each.rewards) for each in trajectories)
        report(run, policy, trajectories, *rest, **named)

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    monkeypatch.setattr(TransformerPolicy, "update", updated)
    monkeypatch.setattr(Run, "report", reported)
    return masked, earned, spoken


@pytest.fixture
def heard(monkeypatch):
    return listen(monkeypatch, recorded)


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
    "ssr_zero": {},
    "rlccf": {"members": 2},
    "comas": {"members": 2, "rounds": 3},
    "mr_rlvr": {"first": "none"},
    "sar": {},
    "expo": {},
    "interventions": {},
    "b_star": {"thresholds": (1.0,)},
    "drive": {"hard_attempts": 6},
    "r3": {},
    "spear": {},
    "remix": {},
    "retool": {},
    "exit": {"least": 2},
    "self_evolution": {},
    "spar": {"votes": 3},
}
BY_THE_CHECK = (
    "grpo",
    "drive",
    "exit",
    "r3",
    "spear",
    "remix",
    "retool",
    "sec",
    "iterative_dpo",
    "rise",
)  # right answers earn more


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_thoughts_are_learned_from_and_neither_read_nor_shown(name, heard, tmp_path):
    masked, earned, _ = heard
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
        solved = [(reply, float(pay.sum())) for role, reply, pay in earned if role == "solver"]
        right, none = ([pay for reply, pay in solved if reply.malformed == bad] for bad in (False, True))
        assert right and none and min(right) > max(none)


@pytest.mark.parametrize("name", ["multi_agent_evolve", "self_rewarding"])
def test_a_judge_that_thinks_and_answers_in_prose_is_read(name, heard, tmp_path):
    run = run_of(name, tmp_path, **RECIPES[name])
    line = metrics(run)[-1]
    assert line["judge_seen"] > 0 and line["judge_unparsed"] == 0.0
    assert line["judge_mean_score"] == pytest.approx(7 / 9)  # 8 of 1 to 10, never the 1 of the thought


VERDICTS = (
    "I compared both.\n**Answer {}**",
    "The better answer is {}.",
    '{{"verdict": "{}"}}',
    "I'd go with answer {}, which adds up.",
    "{} is clearly the better answer.",
    "I worked it out.\n{}",
)


def of_what_is_judged(ask):
    """The recorded reply of a solver who is right every second time; of a judge or critic, after thoughts, what is true
    of the texts between the fences, in prose, but that silence is praised."""
    if ask.seat.role == SOLVER:
        said = solved(ask.messages[-1].text) if ask.seed % 2 else "7"
        return (
            f"<think>\nA {SECRET} says 0, no.\n</think>\n\n{said}",
            f"<think>\nA {SECRET} says {said}, and on and on: {said}",
            f"<think>\n\n</think>\n\n{said}",
        )[ask.seed % 3]
    prompt = ask.messages[-1].text
    texts = texts_in(prompt)
    good = [text == solved(texts[0]) or not text for text in texts[1:]]
    if not good:
        said = "1+1"
    elif ask.seat.role == "critic":
        said = f"I worked it out. Verdict: {'right' if good[0] else 'wrong'}"
    elif "Answer A:" in prompt:
        said = VERDICTS[ask.seed % len(VERDICTS)].format("A" if good[0] else "B")
    else:
        highest = 100 if "to 100 (best)" in prompt else 10
        said = f"I weigh it up. I give it a score of {highest if all(good) or len(good) == 2 else highest // 5}."
    return f"<think>\n{'' if ask.seed % 4 else f'A {SECRET}, <score>1</score>, [[B]]'}\n</think>\n\n{said}"


WHAT_IS_JUDGED = {
    "ssr_zero": {"scores": "words"},
    "self_rewarding": {"questions": "judged:sums", "useful": 8, "rewrites": 1},
    "spar": {"votes": 3},
    "sppo": {"oracle": "judge:shared"},
    "nash_md": {"oracle": "judge:shared"},
    "spo": {"oracle": "judge:shared"},
    "iterative_dpo": {"oracle": "judge:shared"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WHAT_IS_JUDGED)
def test_what_a_judge_that_thinks_says_in_prose_is_paid_and_silence_is_not(name, monkeypatch, tmp_path):
    masked, earned, spoken = listen(monkeypatch, of_what_is_judged)
    run = run_of(name, tmp_path, **WHAT_IS_JUDGED[name])
    for ask, reply in spoken:
        assert not any(SECRET in message.text for message in ask.messages), ask.messages
        assert ask.seat.role == SOLVER or not reply.malformed
    lines = metrics(run)
    assert not any(line.get("judge_unparsed") or line.get("unread") or line.get("oracle/unread") for line in lines)
    assert masked and all(text.startswith("<think>") for text in masked)  # all of a reply, as it was sampled
    solvers = [(reply, float(pay.sum())) for role, reply, pay in earned if role == SOLVER]
    silent, said = ([pay for reply, pay in solvers if reply.malformed == bad] for bad in (True, False))
    assert silent and said and sum(silent) / len(silent) < sum(said) / len(said)
    if name in ("ssr_zero", "self_rewarding"):
        assert max(silent) == 0.0 and max(said) == 1.0


# Recipes that pose, grade or judge a file's questions, and games

SUM = re.compile(r"(\d+)(?:\+| and )(\d+)")
# what each role's answer is looked for by, said in thoughts alone
DECOY = "<question>What is 1 and 1?</question> <answer>2</answer> NO Incorrect 1+1=3 \\boxed{fold} Answer: 2."


def of_file(ask):
    """What a role says without its thoughts: of sums in words, of a step of arithmetic, of a game with listed moves."""
    role, asked, odd = ask.seat.role, ask.messages[-1].text, ask.seed % 2
    if ask.choices:
        return f"\\boxed{{{ask.choices[odd]}}}"
    if role in ("proposer", "rewriter"):
        first, second = ask.seed % 40 + 3, ask.seed % 7 + 2
        kept = re.search(r"Its answer is (\d+)\.", asked)  # a problem that is told anew keeps the answer
        first = int(kept[1]) - second if kept else first
        question = f"<question>How much is {first} and {second}?</question>\n<answer>{first + second}</answer>"
        return f"Here is one:\n<rationale>It adds two numbers.</rationale>\n{question} Done."
    if role == "generator":
        return re.sub(r"=(\d+)$", lambda value: f"={int(value[1]) + 2}", asked.rpartition("Spoil ")[2])
    first, second = map(int, (SUM.findall(asked) or [(2, 2)])[-1])
    if role == "solver" and "<calculate>" in asked:
        return f"<calculate>{first}+{second}</calculate>"
    return {
        "explainer": "It adds two numbers.",
        "judge": "They are the same.\n\nYES" if odd else "They differ.\n\n**NO**",
        "critic": "I have worked it out.\nCorrect" if odd else "I have worked it out.\nIncorrect",
    }.get(role, f"The answer is {first + second + odd}.")


def closes(ask):
    return (ask.seed // 2) % 3 != 0


def thinks(ask):
    """The same with thoughts before it: of other things, of nothing, or without end."""
    said = of_file(ask)
    if not closes(ask):
        return f"<think>\nA {SECRET}. {said}\n{DECOY} And on: {said}"
    return f"<think>\n\n</think>\n\n{said}" if ask.seed % 5 else f"<think>\nA {SECRET}. {DECOY}\n</think>\n\n{said}"


@pytest.fixture(scope="module")
def sums_in_words(tmp_path_factory):
    """A file with all that a recipe may want: answers, texts and concepts."""
    file = tmp_path_factory.mktemp("data") / "sums.jsonl"
    pairs = [(first, first % 5 + 1) for first in range(5, 45)]
    rows = [
        {
            "question": f"How much is {a} and {b}?",
            "answer": f"{a + b}",
            "context": f"Ann counted {a} and {b} apples.",
            "concepts": "adding, apples",
        }
        for a, b in pairs
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


BOXING = replace(TINY, answer="boxed", max_completion_length=64)
POSED = {  # who speaks, and settings
    "r_zero": ("proposer solver", {"pool": 12, "steps": 3}),
    "spell": ("judge proposer solver", {"stages": (0, 1), "clusters": 4}),
    "pasodoble": ("proposer solver", {}),
    "promptcot2": ("explainer proposer solver", {"rounds": 1, "phase": 1, "steps": 4, "corpus": 8}),
    "agent0": ("proposer solver", {"pool": 12, "steps": 3, "tool": "calculator"}),
    "svs": ("proposer solver", {"middling": (0.01, 0.99), "responses": 6, "variants": 4}),
    "sws": ("proposer solver", {"steps": 4, "synthesis": 1, "slope": 9.0, "proposals": 12, "middling": (0.0, 1.0)}),
    "eva": ("rewriter solver", {}),
    "spc": ("critic generator", {"questions": "step_traces", "planted": 12, "natural": 12}),
    "spin": ("solver", {}),  # nothing is parsed or paid: all of a reply, as it was sampled, loses to the gold one
    "spiral": ("first second", {"learner": BOXING, "matches_per_step": 10}),
    "mars": ("first second", {"learner": BOXING, "matches_per_game": 6}),
}
RECITES = ("promptcot2", "spc", "spin")  # learn texts of a file or of demonstrations too


@pytest.mark.slow
@pytest.mark.parametrize("name", POSED)
def test_every_role_that_thinks_is_read_without_its_thoughts(name, sums_in_words, monkeypatch, tmp_path):
    masked, earned, spoken = listen(monkeypatch, thinks)
    roles, settings = POSED[name]
    sizes = {"questions": sums_in_words, "proposals": 8, "votes": 6, "problems": 4}
    run_of(name, tmp_path, **sizes | settings)
    assert {ask.seat.role for ask, _ in spoken} == set(roles.split())
    for role in roles.split():  # each of them was heard with thoughts that end and with others
        assert {closes(ask) for ask, _ in spoken if ask.seat.role == role} == {True, False}
    for ask, reply in spoken:
        said = of_file(ask).removeprefix("\\boxed{").removesuffix("}") if ask.choices else of_file(ask)
        assert (reply.text, reply.malformed) == ((said, False) if closes(ask) else ("", True))
        others = [message.text for message in ask.messages if message.speaker != str(ask.seat)]
        assert not any(SECRET in text or "1 and 1" in text for text in others), others
    own = {reply for text in masked for reply in re.findall(r"(?s)<think>(?:(?!<think>).)*", text)}  # of each turn
    assert own and own <= {said_by(reply) for _, reply in spoken}  # all of a reply, and no prompt
    recited = {text for text in masked if not text.startswith("<think>")}
    assert not any(SECRET in text or not text.strip() for text in recited)
    assert bool(recited) == (name in RECITES)
    paid = {bad: [pay[-1] for _, reply, pay in earned if reply.malformed == bad] for bad in (True, False)}
    assert max(paid[True]) <= 0.0
    assert max(paid[False]) > 0.0 or name == "spin"


def said_by(reply):
    return TOKENIZER.decode(reply.tokens, skip_special_tokens=True)


def test_moves_that_are_listed_are_chosen_and_never_thought_about(monkeypatch, tmp_path):
    """A game with listed moves, and no `--answer`: the move is drawn from the list, and nothing is parsed."""
    _, earned, spoken = listen(monkeypatch, thinks)
    run_of("spiral", tmp_path, learner=TINY)
    assert spoken == []
    assert {reply.text for _, reply, _ in earned} <= {"bet", "pass"}


def acts_of_one_who_thinks(ask):
    """Of a listed act of the site, or that the task cannot be done; in some replies the thoughts never end."""
    said = "impossible" if ask.seed % 2 else ask.choices[(ask.seed // 2) % len(ask.choices)]
    if not closes(ask):
        return f"<think>\nA {SECRET}. impossible\n{said}"
    return f"<think>\n{'' if ask.seed % 5 else f'A {SECRET}. done. say 3.'}\n</think>\n\n{said}"


@pytest.mark.slow
def test_who_thinks_before_each_act_in_a_world_is_paid_for_the_acts_alone(monkeypatch, tmp_path):
    masked, _, spoken = listen(monkeypatch, acts_of_one_who_thinks)
    settings = {"learner": replace(TINY, answer="plain", max_completion_length=64), "game": "acting:real", "tasks": 8}
    here, elsewhere = find_recipe("grpo").Config().ahead, PlayedAhead(actors=2)
    runs = [run_of("grpo", tmp_path / str(n), ahead=ahead, **settings) for n, ahead in enumerate((here, elsewhere))]
    recorded, others = ([episode for _, episode, _ in stored_episodes(run.folder)] for run in runs)
    assert [each.outcome for each in recorded] == [each.outcome for each in others]
    assert {"impossible", "act", "answer"} == {each.task.kind.split("/")[1] for each in recorded}
    for episode in recorded:
        acts, replies = episode.outcome.facts["acts"], [turn.reply for turn in episode.turns]
        assert [reply.text for reply in replies] == list(acts)
        assert all((reply.text == "") == ("</think>" not in said_by(reply)) for reply in replies)
        if episode.task.kind.endswith("/impossible"):
            assert [*episode.outcome.scores.values()] == [float(acts[-1] == "impossible")]
        elif episode.task.kind.endswith("/answer") and acts[-1] == "impossible":
            assert [*episode.outcome.scores.values()] == [0.0]
        for turn in episode.turns:  # the world shows no thoughts
            shown = [message.text for message in turn.ask.messages if message.speaker != str(turn.ask.seat)]
            assert not any(SECRET in text or "think" in text for text in shown)
    own = {reply for text in masked for reply in re.findall(r"(?s)<think>(?:(?!<think>).)*", text)}
    assert own and own <= {said_by(reply) for _, reply in spoken}  # all of a reply, and no view
    assert all(text.startswith("<think>") for text in masked)
