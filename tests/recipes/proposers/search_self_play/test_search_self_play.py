import json
from dataclasses import replace
from random import Random

import pytest
import torch

from experiments.search_self_play import SEARCH_FRONTIER, SEARCH_PLAY, Controlled, rehearsal
from experiments.search_self_play import train as controlled
from redqueen.credit.learnability import FailureShare
from redqueen.demonstrations.apart import drawn_apart, shows
from redqueen.measures import accuracy
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.language.writing import refreshed
from redqueen.players.scripted import Scripted
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.asking import SOLVE
from redqueen.recipes.proposers.search_self_play.recipe import Config, train
from redqueen.recipes.proposers.search_self_play.steps import Pool, Rewards, SameMeaning, equipped, questions_of
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings import roles
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError, Reply, Task

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=8)
SMALL = Config(learner=TINY, steps=2, proposals=3, attempts=2, problems=1)


def trained(config, folder, **parts):
    run = Run(folder, 0, Schedule(evaluate_every=9, checkpoint_every=9, record_episodes=4))
    train(config, run, **parts)
    return read_metrics(folder)


def varied(config, folder, **changes):
    """The lines of a control of the experiment."""
    controlled(Controlled(config, config.steps, **changes), Run(folder, 0, Schedule(9, 9, record_episodes=4)))
    return read_metrics(folder)


@pytest.mark.parametrize("experiment", [SEARCH_PLAY, SEARCH_FRONTIER])
def test_the_start_is_kept_from_the_test_questions_in_other_worlds_too(experiment):
    questions = questions_of(experiment.config.method)
    apart = experiment.measured(experiment.config, 3)
    tests = accuracy.held_out(questions, experiment.config.method.problems, seed=3)
    assert apart == tests != experiment.measured(experiment.config, 4)
    held, prompts = shows(questions, apart), {task.prompt for tasks in tests.values() for task in tasks}
    shown = [each for _, each in rehearsal(800, Random(0))]
    assert prompts & {each.task.prompt for each in shown}
    assert not prompts & {each.task.prompt for each in drawn_apart(lambda count: shown, 200, held)}


class Spoken:
    """Makes every policy say what a script says of its role, in its own tokens, and counts the updates."""

    def __init__(self, monkeypatch, propose, solve):
        self.batches = []

        def reply(policy, asks):
            said = []
            for ask in asks:
                script = propose if ask.seat.role == "proposer" else solve
                recited = policy.recite(ask, script(ask))
                said.append(replace(recited, version=policy.version, recited=False))
            return said

        update = TransformerPolicy.update

        def recorded(policy, batch, objective):
            self.batches.append((policy.version, batch))
            return update(policy, batch, objective)

        monkeypatch.setattr(TransformerPolicy, "reply", reply)
        monkeypatch.setattr(TransformerPolicy, "update", recorded)


def good_proposer(ask):
    """One search for the answer, and a question about the first that is found."""
    answer = ask.messages[0].text.split("\n")[-1].split()[-1].rstrip(".")
    if len(ask.past) == 0:
        return f"<search> {answer}</search>"
    words = ask.messages[-1].text.removeprefix("<information>").split("\n")[0].split()
    return f"<question>What is the {words[1]} of {words[3]}?</question>"


def by_seed(ask):
    """Right or wrong, by chance."""
    question = ask.messages[0].text.split("\n")[-1].rstrip("?").split()
    if len(ask.past) == 0:
        return f"<search> {' '.join(question[-3:])}</search>" if ask.seed % 2 else "nothing"
    return ask.messages[-1].text.removeprefix("<information>").split("\n")[0]


def test_a_proposer_is_paid_what_its_questions_cost_the_solver():
    pays = FailureShare(pay_unsolved=True)
    assert [pays.at(rate) for rate in (0.0, 0.2, 1.0)] == pytest.approx([1.0, 0.8, 0.0])


def test_a_step_in_which_nothing_is_proposed_goes_on(tmp_path):
    lines = trained(SMALL, tmp_path)
    assert [line["step"] for line in lines] == [0, 1]
    assert [line["accepted"] for line in lines] == [0.0, 0.0]
    assert "solver/reward/solver" not in lines[0]


def test_proposer_and_solver_are_updated_one_after_the_other(tmp_path, monkeypatch):
    spoken = Spoken(monkeypatch, good_proposer, by_seed)
    lines = trained(replace(SMALL, proposals=6, attempts=4), tmp_path)
    assert [version for version, _ in spoken.batches] == [0, 1, 2, 3]
    assert lines[0]["accepted"] == 1.0
    assert lines[0]["accepted/right"] == 1.0
    assert lines[0]["accepted/hops"] == 1.0
    assert 0.0 < lines[0]["solver/reward/solver"] < 1.0
    assert lines[0]["proposer/reward/proposer"] == pytest.approx(1.0 - lines[0]["solver/reward/solver"])


def test_a_question_that_is_held_out_is_tried_and_not_learned_from(tmp_path, monkeypatch):
    learned, report = [], Run.report

    def spied(run, policy, trajectories, *rest, **named):
        learned.extend(each.episode.task.prompt for each in trajectories if each.seat.role == "solver")
        report(run, policy, trajectories, *rest, **named)

    monkeypatch.setattr(Run, "report", spied)
    Spoken(monkeypatch, good_proposer, by_seed)
    config = replace(SMALL, proposals=6, attempts=4, steps=3, problems=2)
    (first,) = trained(replace(config, steps=1), tmp_path / "all")
    asked = list(dict.fromkeys(learned))
    assert len(asked) > 3
    learned.clear()
    held = {"1_hops": [Task(f"test {number}", "question", prompt) for number, prompt in enumerate(asked[:3])]}
    monkeypatch.setattr(accuracy, "held_out", lambda domain, problems, besides, seed: held)
    (line,) = trained(replace(config, steps=1), tmp_path / "some")
    assert list(dict.fromkeys(learned)) == asked[3:]
    assert line["proposer/reward/proposer"] == first["proposer/reward/proposer"]


def test_the_solver_s_old_log_probabilities_are_computed_anew(tmp_path, monkeypatch):
    spoken = Spoken(monkeypatch, good_proposer, by_seed)
    trained(replace(SMALL, proposals=6, attempts=4, steps=1), tmp_path)
    (_, proposer), (_, solver) = spoken.batches
    own = proposer.loss_weights != 0
    assert not proposer.sampled_logprobs[own].any()  # what was recited says nothing of probabilities
    own = solver.loss_weights != 0
    assert (solver.sampled_logprobs[own] < 0).all()


def test_fresh_words_keep_their_log_probabilities():
    class Learner:
        version = 3

    class Batch:
        versions = torch.tensor([[0, 3], [2, 3]])
        loss_weights = torch.tensor([[0.0, 0.5], [0.0, 0.5]])
        recited = torch.zeros(2, 2, dtype=torch.bool)

    batch = Batch()
    assert refreshed(Learner(), batch) is batch


def test_without_the_gate_wrong_questions_are_tried(tmp_path, monkeypatch):
    def wrong(ask):
        return good_proposer(ask).replace("What is the", "What is the rank of the") if ask.past else good_proposer(ask)

    Spoken(monkeypatch, wrong, lambda ask: "nothing")
    lines = trained(replace(SMALL, steps=1), tmp_path / "gated")
    assert lines[0]["accepted"] == 0.0
    assert lines[0]["asked/wrong"] == 1.0
    assert lines[0]["proposer/reward/proposer"] == 0.0
    lines = varied(replace(SMALL, steps=1), tmp_path / "open", gate="none")
    assert lines[0]["accepted"] == 1.0
    assert lines[0]["accepted/right"] == 0.0
    assert lines[0]["proposer/reward/proposer"] == 1.0  # nobody can answer what has no answer
    lines = trained(replace(SMALL, steps=1), tmp_path / "fined", rewards=Rewards(invalid=-0.1))
    assert lines[0]["proposer/reward/proposer"] == pytest.approx(-0.1)


def test_questions_that_fail_are_replaced_from_a_pool_that_is_cleared(tmp_path, monkeypatch):
    calls = []

    def tired(ask):
        calls.append(ask.seed)
        return good_proposer(ask) if len(calls) <= 6 else "none"

    Spoken(monkeypatch, tired, by_seed)
    lines = trained(replace(SMALL, steps=12), tmp_path)
    assert [line["accepted"] for line in lines[:3]] == [1.0, 0.0, 0.0]
    assert ["solver/reward/solver" in line for line in lines] == [True] * 10 + [False] * 2


def test_a_pool_that_is_given_is_taken_even_if_it_is_empty(tmp_path, monkeypatch):
    Spoken(monkeypatch, good_proposer, by_seed)
    pool = Pool(steps=99)
    trained(replace(SMALL, steps=12), tmp_path, pool=pool)
    assert len(pool) > 15  # of 36 asked for, never cleared


def test_a_fixed_set_is_asked_for_before_the_first_step_and_never_again(tmp_path, monkeypatch):
    Spoken(monkeypatch, good_proposer, by_seed)
    lines = varied(replace(SMALL, steps=12, pool_steps=5), tmp_path, fixed=True)
    held = {line["pool/held"] for line in lines}
    assert len(held) == 1 and 0 < held.pop() <= 15
    assert not any("proposer/loss" in line or line["accepted"] for line in lines)
    assert all("solver/reward/solver" in line for line in lines)


def test_what_a_search_gave_carries_no_weight(tmp_path, monkeypatch):
    spoken = Spoken(monkeypatch, good_proposer, by_seed)
    trained(replace(SMALL, steps=1, attempts=6), tmp_path)
    tokenizer = Learner(model="tiny").build_model(0).format.tokenizer
    (_, solver) = spoken.batches[1]
    for row, weights in zip(solver.tokens, solver.loss_weights, strict=True):
        own = tokenizer.decode(row[weights != 0].tolist())
        assert "information" not in own


def test_a_missing_corpus_is_one_clear_line(tmp_path):
    config = replace(SMALL, corpus=str(tmp_path / "none.jsonl"), answers="none.txt", reader=Role("frozen"))
    with pytest.raises(RedQueenError, match="cannot be read"):
        train(config, Run(tmp_path / "run"))
    with pytest.raises(RedQueenError, match="needs a file of answers"):
        train(replace(SMALL, corpus="x"), Run(tmp_path / "run"))


def test_documents_of_one_s_own_are_read_by_a_player(tmp_path, monkeypatch):
    (tmp_path / "docs").write_text(json.dumps({"id": "1", "text": "Mary wrote the book called F."}))
    (tmp_path / "answers").write_text("Mary")

    def propose(ask):
        asked = "<question>Who is it that wrote the book that is called F?</question>"  # eleven words, two searches
        return ("<search>Mary</search>", "<search>book F</search>", asked)[len(ask.past)]

    Spoken(monkeypatch, propose, lambda ask: "Mary")  # the reader as well
    files = {"corpus": str(tmp_path / "docs"), "answers": str(tmp_path / "answers"), "reader": Role("frozen")}
    lines = trained(replace(SMALL, steps=1, **files), tmp_path / "run")
    assert lines[0]["accepted"] == 1.0
    assert lines[0]["solver/reward/solver"] == 1.0
    assert "accepted/right" not in lines[0]


def test_two_learners_each_report_under_their_name(tmp_path, monkeypatch):
    Spoken(monkeypatch, good_proposer, by_seed)
    lines = trained(replace(SMALL, steps=1, proposer=Role("separate")), tmp_path)
    assert "proposer/loss" in lines[0]
    assert "solver/loss" in lines[0]


def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path, monkeypatch):
    Spoken(monkeypatch, good_proposer, by_seed)
    weights = []
    for name, stops in (("whole", (4,)), ("killed", (2, 4))):
        for steps in stops:
            run = Run(tmp_path / name, 0, Schedule(9, 2, record_episodes=0))
            policy = train(replace(SMALL, steps=steps, attempts=4), run)
        weights.append(policy.state()["weights"])
    assert all(torch.equal(one, weights[1][name]) for name, one in weights[0].items())


def test_who_has_no_search_left_is_told_and_may_answer():
    """Four searches, a fifth that is not made, and the answer."""
    limits = equipped(Config(searches=4), Scripted(("x",))).game.limits
    assert (limits.calls, limits.turns) == (4, 6)
    talker = Scripted(("<search>rank</search>",) * 5 + ("m3",))
    (episode,) = play(alone(SOLVE, [Task("t", prompt="What is it?")], equipped(Config(searches=4), talker)), Random(0))
    assert episode.outcome.facts["reply"] == "m3"


class Prose:
    """A judge that says in prose whether an answer holds the right one."""

    name = "judge"

    def reply(self, asks):
        said = []
        for ask in asks:
            line = next(each for each in ask.messages[-1].text.split("\n") if each.startswith("====="))
            parts = ask.messages[-1].text.split(f"{line}\n")
            right, answer = parts[3].strip(), parts[5].strip()
            said.append("It depends." if "?" in answer else "The verdict is YES." if right in answer else "**NO**")
        return [Reply(each, self.name) for each in said]


def test_a_judge_is_asked_where_a_solution_is_in_other_words():
    questions = questions_of(Config(), [SameMeaning(Prose())])
    task = questions.problem(1, Random(0))
    said = [task.answer, f"I think {task.answer} it must be", "k1", "maybe?", ""]
    assert questions.right([task] * 5, said) == [True, True, False, None, False]
    assert questions_of(Config()).right([task] * 5, said) == [True, False, False, False, False]


@pytest.mark.parametrize(("text", "found"), [("The answer is YES", None), ("I looked.\nYES", True)])
def test_of_a_verdict_that_was_cut_off_only_a_word_alone_counts(text, found):
    class CutOff:
        name = "cut off"

        def reply(self, asks):
            return [Reply(text, self.name, truncated=True) for _ in asks]

    task = questions_of(Config()).problem(1, Random(0))
    assert SameMeaning(CutOff())([task], ["k1"]) == [found]


def test_a_run_with_a_judge_pays_solutions_in_other_words(tmp_path, monkeypatch):
    monkeypatch.setattr(roles, "bind", lambda name, *bound, **more: Prose() if name == "judge" else bound[2])
    Spoken(monkeypatch, good_proposer, lambda ask: by_seed(ask) + (" or so" if ask.past else ""))
    config = replace(SMALL, proposals=6, attempts=4, steps=1)
    (alone,) = trained(config, tmp_path / "alone")
    (judged,) = trained(replace(config, judge=Role("frozen")), tmp_path / "judged")
    assert alone["solver/reward/solver"] == 0.0 < judged["solver/reward/solver"]


def test_a_judge_that_says_little_rings_and_one_that_says_nothing_stops_the_run(tmp_path, monkeypatch):
    tasks = [questions_of(Config()).problem(1, Random(0))] * 63
    mute = SameMeaning(Dumb())
    assert mute(tasks, ["k1"] * 63) == [None] * 63
    assert mute.metrics()["alarm/unread"] == 1.0
    assert mute.alarms() == ["unread: 63 of the last 63 verdicts of the judge say neither YES nor NO"]
    again = SameMeaning(Prose())
    again.restore(mute.state())
    assert again.alarms() == mute.alarms()
    with pytest.raises(RedQueenError, match=r"on any of 64 answers: it is to end with YES or NO, and said 'It depends"):
        mute(tasks[:1], ["k1"])
    heard = SameMeaning(Prose())
    assert heard(tasks[:2], ["k1", "maybe?"]) == [False, None] and heard.alarms() == [] and not heard.metrics()

    monkeypatch.setattr(roles, "bind", lambda name, *bound, **more: Dumb() if name == "judge" else bound[2])
    Spoken(monkeypatch, good_proposer, lambda ask: by_seed(ask) + (" or so" if ask.past else ""))
    with pytest.raises(RedQueenError, match="the judge gave no verdict that can be read"):
        trained(replace(SMALL, proposals=6, attempts=4, steps=1, problems=8, judge=Role("frozen")), tmp_path)


class Dumb:
    name = "judge"

    def reply(self, asks):
        return [Reply("It depends.", self.name) for _ in asks]
