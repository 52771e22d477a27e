"""InT: where an attempt is cut, what is put there, what is dropped, and which tokens are learned."""

import time
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.play.groups import attempts
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.credit.interventions import recipe as interventions
from redqueen.recipes.credit.interventions import steps
from redqueen.recipes.credit.interventions.steps import Interventions, Waiting, failed, leaks, read, request, spliced
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError, Task

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=48)
PROBLEM = Task("p", prompt="17 +8 -9 half", answer="8", facts={"gold": "17+8=25\n25-9=16\n16/2=8"})
ATTEMPT = "17+8=25\n25-7=18\n18/2=9"


class Chain:
    """Questions whose answer is what the last line of a reply comes to."""

    name, levels = "chain", ("train",)

    def problems(self, level, count, rng):
        return [
            replace(PROBLEM, id=f"p{rng.random()}", prompt=f"{rng.randrange(999)} +8 -9 half") for _ in range(count)
        ]

    def right(self, tasks, answers):
        return [answer.rpartition("=")[2].strip() == task.answer for task, answer in zip(tasks, answers, strict=True)]


@pytest.fixture
def says(monkeypatch):
    """A tiny model that fails alone, intervenes at the second step, and goes on from there to the answer."""
    told = {"solver": ATTEMPT, "intervener": "2: 25-9=16", "onwards": "16/2=8"}

    def write(policy, asks):
        replies = []
        for ask in asks:
            goes_on = "Go on from here" in ask.messages[-1].text
            text = told["onwards"] if goes_on else told[ask.seat.role]
            voice = policy._voice(ask)
            tokens = [*voice.chat.tokenizer.encode(text), voice.chat.end]
            replies.append(voice.say(ask, policy.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False))
        return replies

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    return told


def tried(learner, task=PROBLEM, count=2):
    return graded(Chain(), attempts(SOLVE, [task], learner, count, Random(1)))


def found(learner, proposals=1):
    made = Interventions(Chain(), {"train": [PROBLEM]}, proposals, 2, "wrong")
    return made, made(tried(learner), learner, Random(2))


class Catches:
    """A learner that keeps the batches of its updates."""

    def __init__(self):
        self.batches = []

    def update(self, batch, objective):
        self.batches.append(batch)
        return {"loss": 1.0}


def learned(shown, learn="prefix"):
    """The batch of an update on what is shown."""
    learner = Catches()
    assert Waiting(learn, len(shown)).update(shown, learner, Random(0), False)
    (batch,) = learner.batches
    return batch


def own_words(batch, learner, row=0):
    return learner.format.decode(batch.tokens[row][batch.loss_weights[row] > 0].tolist())


def test_the_row_is_the_attempt_up_to_the_error_and_the_step_without_an_end(says):
    """Section 20: y = 17+8=25, 25-7=18, 18/2=9; the first error is step 2, in its place 25-9=16."""
    learner = TINY.build_model(0)
    made, shown = found(learner)
    assert len(shown) == 2  # one for each failed attempt
    row = learned(shown[:1])
    own = row.loss_weights[0] > 0
    assert own_words(row, learner) == "17+8=25\n25-9=16\n"
    assert int(row.tokens[0, -1]) not in learner.ends
    assert len(row) == 1
    assert bool(row.recited[0][own].all())
    assert "Reference" not in learner.format.decode(row.tokens[0].tolist())
    assert made.metrics()["led_on"] == 1.0
    assert made.metrics()["place"] == pytest.approx(2 / 3)


def test_of_the_step_alone_the_attempt_is_prompt(says):
    learner = TINY.build_model(0)
    _, (shown, _) = found(learner)
    row = learned([shown], "step")
    assert own_words(row, learner) == "25-9=16\n"
    assert learner.format.decode(row.tokens[0].tolist()).endswith("17+8=25\n25-9=16\n")


def test_an_error_in_the_first_step_leaves_the_step_alone(says):
    learner = TINY.build_model(0)
    says["intervener"] = "1: 17+8=25"
    _, (shown, _) = found(learner)
    assert len(shown.turns) == 1
    assert own_words(learned([shown], "step"), learner) == own_words(learned([shown]), learner) == "17+8=25\n"


def test_an_update_waits_for_enough_interventions_and_each_counts_alike(says):
    writer, catches = TINY.build_model(0), Catches()
    _, two = found(writer)
    waiting = Waiting("prefix", 5)
    nothing = {"loss": 0.0, "gradient_norm": 0.0}
    assert [waiting.update(two, catches, Random(0), False) for _ in range(2)] == [nothing, nothing]
    assert waiting.metrics() == {"waiting": 4.0}
    again = Waiting("prefix", 5)
    again.restore(waiting.state())
    says["intervener"] = "1: 17+8=25"
    _, short = found(writer)
    assert again.update(short, catches, Random(0), False) == {"loss": 1.0}
    (batch,) = catches.batches
    assert batch.loss_weights.sum(dim=1).tolist() == pytest.approx([1 / 6] * 6)
    assert again.metrics() == {"waiting": 0.0}
    assert again.update([], catches, Random(0), True) == nothing and not again.alarms()  # it has learned from some
    last = Waiting("prefix", 5)
    assert last.update(two, catches, Random(0), True) == nothing
    assert last.alarms()[0].startswith("too few: 2 interventions wait and an update takes 5")


def test_a_wrong_step_with_the_right_answer_is_no_failed_attempt(says):
    learner = TINY.build_model(0)
    says["solver"] = "17+8=25\n25-8=17\n17/2=8"
    assert failed(tried(learner), learner) == []


def test_what_gives_the_answer_away_is_dropped_by_whole_numbers(says):
    """The rule of the released code would drop the first two too: 8 stands in 17+8=25 and in 18-8=10."""
    assert [leaks(step, "8") for step in ("17+8=25", "18-8=10", "16/2=8", "so it is 8.", "it is 18")] == [
        False, False, True, True, False,
    ]  # fmt: skip
    assert [leaks(f"5*250={said}", "1250") for said in ("1,250", "1250.0", "$1250", "250", "-1250")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    says["intervener"] = "3: 16/2=8"
    made, shown = found(TINY.build_model(0))
    assert shown == []
    assert made.metrics()["leaking"] == 1.0


def test_what_does_not_lead_on_is_dropped(says):
    says["onwards"] = "16/2=7"
    made, shown = found(TINY.build_model(0))
    assert shown == []
    assert made.metrics()["led_on"] == 0.0


def test_only_a_line_with_a_step_of_the_attempt_is_read(says):
    learner = TINY.build_model(0)
    (one, _) = failed(tried(learner), learner)
    assert one.steps == ("17+8=25", "25-7=18", "18/2=9")
    assert read("I see: no.\nStep 2: 25-9=16", one).place == 1
    assert read("1: 17+8=25 is right\n2: 25-9=16", one)[1:] == (1, "25-9=16")  # the last of such lines
    assert [read(text, one) for text in ("", "none", "0: 1+1=2", "4: 1+1=2", "2:")] == [None] * 5
    assert "2: 25-7=18" in request(one).prompt
    assert "25-9=16" in request(one).prompt  # of the reference


def test_a_thought_stays_before_the_steps_and_is_not_shown(says):
    learner = TINY.build_model(0)
    says["solver"] = f"<think>\nA zebra.\n</think>\n\n{ATTEMPT}"
    (one, _) = failed(tried(learner), learner)
    assert one.steps == ("17+8=25", "25-7=18", "18/2=9")
    assert "zebra" not in request(one).prompt
    shown = spliced(steps.Proposed(one, 1, "25-9=16"), learner)
    text = "".join(learner.format.decode(turn.reply.tokens.tolist()) for turn in shown.turns)
    assert text == "<think>\nA zebra.\n</think>\n\n17+8=25\n25-9=16\n"


def test_solved_groups_are_left_alone_and_unread_interventions_are_counted(says):
    learner = TINY.build_model(0)
    says["intervener"] = "it is wrong"
    made, shown = found(learner, proposals=3)
    assert shown == []
    assert made.metrics()["unread"] == 1.0
    for _ in range(5):
        made(tried(learner), learner, Random(2))
        made.metrics()
    assert made.alarms()[0].startswith("unread: 100% of the interventions")
    says["solver"] = "16/2=8"
    assert made(tried(learner), learner, Random(2)) == []
    assert made.metrics().get("unread") is None


@pytest.mark.parametrize("learn", ["prefix", "step"])
def test_it_learns_first_from_interventions_and_then_from_outcomes(says, learn, tmp_path, monkeypatch):
    monkeypatch.setattr(interventions, "find_questions", lambda name: Chain())
    config = interventions.Config(
        learner=TINY,
        learn=learn,
        steps=4,
        supervised=2,
        tasks=2,
        attempts=2,
        proposals=1,
        interventions=4,
        continuations=1,
        problems=2,
    )
    lines = metrics(trained(interventions, config, tmp_path))
    assert ["led_on" in line for line in lines] == [True, True, False, False]
    assert [line["gradient_norm"] > 0.0 for line in lines] == [True, True, False, False]  # all attempts stay wrong


def test_without_answers_it_stops_with_one_line(tmp_path):
    (tmp_path / "open.jsonl").write_text("".join(f'{{"question": "What is {at}+1?"}}\n' for at in range(8)))
    questions = find_questions(str(tmp_path / "open.jsonl"))
    with pytest.raises(RedQueenError, match="does not know what is right"):
        Interventions(questions, {"held_out": questions.problems("train", 2, Random(0))}, 1, 1, "wrong")


def test_interventions_that_never_lead_on_ring_and_those_that_do_are_silent(says):
    learner, alarms = TINY.build_model(0), []
    for onwards in ("16/2=7", "16/2=8"):
        says["onwards"] = onwards
        made, _ = found(learner)
        for _ in range(6):
            made(tried(learner), learner, Random(2))
            made.metrics()
        alarms.append([line.partition(":")[0] for line in made.alarms()])
    assert alarms == [["no use"], []]


def test_attempts_that_come_to_stop_after_a_step_ring_and_right_ones_do_not(says):
    learner, alarms = TINY.build_model(0), []
    for later in ("17+8=25", "16/2=8", ATTEMPT):
        says["solver"] = ATTEMPT
        made, _ = found(learner)
        assert made.metrics()["one_line"] == 0.0
        says["solver"] = later
        for _ in range(3):
            made(tried(learner), learner, Random(2))
            assert made.metrics()["one_line"] == (later == "17+8=25")
        alarms.append([line for line in made.alarms() if line.startswith("stops")])
        again = Interventions(Chain(), {"train": [PROBLEM]}, 1, 2, "wrong")
        again.restore(made.state())
        assert again.alarms() == made.alarms() and again.state() == made.state()
    assert [len(each) for each in alarms] == [1, 0, 0] and "100% more of the attempts" in alarms[0][0]


@pytest.mark.parametrize("reply", ["\n" * 200_000, f"1: x{' ' * 200_000}y", "1:" + "\n" * 200_000, "step " * 40_000])
def test_a_long_reply_is_read_at_once(reply):
    began = time.process_time()
    assert read(reply, SimpleNamespace(steps=())) is None
    assert time.process_time() - began < 1.5


def test_an_intervention_may_be_told_over_two_lines():
    one = SimpleNamespace(steps=("a", "b", "c"))
    found = [read(reply, one) for reply in ("Step 2:\n 16/2=8 \nor so", "x\n\n  2 : 16/2=8\t\n")]
    assert [(each.place, each.step) for each in found] == [(1, "16/2=8")] * 2
