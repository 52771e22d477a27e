"""When a run says that it has nothing to learn from, why, and what it shows with it."""

import json
from random import Random

import numpy as np
import pytest

from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import correct, for_its_seat
from redqueen.credit.rewards import payoff, score
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.groups import attempts, with_facts
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.language.answers import Boxed
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.asking import SOLVE
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.runs.signal import Signal
from redqueen.types import Reply, Task
from redqueen.views.terminal import example

UPDATE = {"loss": 0.0}


class Says:
    """A player whose reply to every ask is the next one of a list, over and over."""

    name = "learner"

    def __init__(self, *replies):
        self.replies, self.count = replies, 0

    def reply(self, asks):
        found = [self.replies[(self.count + place) % len(self.replies)] for place in range(len(asks))]
        self.count += len(asks)
        return found


def said(text, **how):
    return Reply(text, "learner", tokens=np.arange(len(text.split())), **how)


def tries(player, tasks, count=4, answer="7", rights=None):
    """Trajectories of `count` attempts at each of as many tasks, in order right as in `rights`, over and over; without
    them by the answer."""
    dealt = [Task(f"t{number}", prompt=f"What is 3 + 4, number {number}?", answer=answer) for number in range(tasks)]
    groups = attempts(SOLVE, dealt, player, count, Random(0))
    verdicts = iter([rights[place % len(rights)] for place in range(tasks * count)] if rights else [])
    facts = [
        {"right": next(verdicts) if rights else each.outcome.facts["reply"] == answer}
        for group in groups
        for each in group.attempts
    ]
    return score(with_facts(groups, facts), correct)


def observed(signal, trajectories, metrics=UPDATE, updated=True, line=None, asked_for=None):
    signal.observe(trajectories, GroupRelative()(trajectories), metrics, asked_for=asked_for)
    return signal.check(line or {}, updated)


def test_four_wrong_replies_of_four_ring_nothing_and_forty_eight_ring_once_with_three_replies():
    signal = Signal()
    assert observed(signal, tries(Says(said("8")), 1)) == {}
    assert signal.alarms() == [] and signal.shown() == {}
    assert observed(signal, tries(Says(said("I think 8")), 12)) == {"alarm/all_wrong": 1.0}
    (message,) = signal.alarms()
    assert message == (
        "all wrong: all 52 replies of the solver to 13 tasks are wrong: easier tasks, a better model or another prompt "
        "are needed"
    )
    shown = signal.shown()["replies"]
    assert shown == [
        {
            "asked": f"What is 3 + 4, number {number}?",
            "replied": "I think 8",
            "tokens": 3,
            "expected": "7",
            "reward": 0.0,
        }
        for number in range(3)
    ]
    assert observed(signal, tries(Says(said("8")), 12)) == {"alarm/all_wrong": 1.0}
    assert signal.shown() == {}  # it is said once
    assert observed(signal, tries(Says(said("7"), said("8")), 12)) == {"alarm/all_wrong": 0.0}
    assert signal.alarms() == []


def test_it_rings_again_where_it_sets_in_later():
    signal = Signal()
    observed(signal, tries(Says(said("7"), said("8")), 12))
    for _ in range(2):
        assert observed(signal, tries(Says(said("7")), 12)) == {}  # the window still holds what was learned from
    assert observed(signal, tries(Says(said("7")), 12)) == {"alarm/all_right": 1.0}
    assert "144 replies of the solver to 36 tasks are right" in signal.alarms()[0]
    assert len(signal.shown()["replies"]) == 3


def test_all_replies_cut_off_are_told_with_their_lengths_before_that_they_are_wrong():
    signal = Signal()
    long, short = said("one two three four", truncated=True), said("one two", truncated=True)
    assert observed(signal, tries(Says(long, short), 12)) == {"alarm/truncated": 1.0}
    assert signal.alarms() == [
        "truncated: 48 of 48 replies of the solver were cut off; their lengths are 2 to 4 tokens, half of them 3 or "
        "more: allow longer replies (--max-completion-length), or ask for shorter ones"
    ]


def test_unreadable_replies_are_shown_whole_with_their_thoughts():
    signal = Signal()
    reply = said("", thought="it is seven " + "or so " * 100, malformed=True)
    told = {"solver": Boxed().instruction}.__getitem__
    assert observed(signal, tries(Says(reply), 12), asked_for=told) == {"alarm/unreadable": 1.0}
    assert signal.alarms() == [
        "unreadable: in 48 of 48 replies of the solver no answer in the stated format was found, although it was told: "
        "Think first, then put your final answer in \\boxed{}."
    ]
    shown = signal.shown()["replies"][0]
    assert shown["replied"].startswith("it is seven or so") and shown["replied"].endswith("or so")
    assert len(shown["replied"]) < 250 and shown["expected"] == "7"


def test_where_no_answer_can_be_read_that_is_the_cause_also_where_nobody_could_give_a_verdict():
    """Votes and judges say nothing of replies without an answer; the file lacks no column of answers then."""
    for trajectories in (
        tries(Says(said("", malformed=True)), 12, answer="", rights=[None]),
        tries(Says(said("", malformed=True)), 1, answer="", rights=[None]),
    ):
        signal = Signal()
        found = observed(signal, trajectories, updated=len(trajectories) > 4)
        assert found["alarm/unreadable"] == 1.0 and "alarm/no_verdict" not in found


@pytest.mark.parametrize(("share", "rings"), [(48, True), (47, True), (46, False), (24, False)])
def test_a_share_of_unreadable_replies_rings_where_it_is_surely_above_85_percent(share, rings):
    signal, bad, good = Signal(), said("", malformed=True), said("7")
    found = observed(signal, tries(Says(*[bad] * share, *[good] * (48 - share)), 12))
    assert (found == {"alarm/unreadable": 1.0}) == rings


def test_tasks_that_are_always_right_or_always_wrong_teach_nothing_once_they_are_many():
    signal = Signal()
    each = Says(*[said("7")] * 4, *[said("8")] * 4)  # four attempts at each task
    assert observed(signal, tries(each, 12)) == {}  # one mixed task in eight would leave twelve alike by chance
    assert observed(signal, tries(each, 24)) == {"alarm/unanimous": 1.0}
    assert "to each of 36 tasks earn the same" in signal.alarms()[0]


def test_tasks_without_answers_are_told_in_the_first_step_that_learns_nothing():
    signal = Signal()
    found = observed(signal, tries(Says(said("8")), 2, answer="", rights=[None]), updated=False)
    assert found == {"alarm/no_verdict": 1.0}
    assert signal.alarms() == [
        "no verdict: none of the 2 tasks of the solver has an answer, and no vote or judge gave a verdict: where "
        "the attempts vote, no two agree, so say what an answer looks like (--compare); where answers are known, name "
        "the column that holds them (--columns answer=COL)"
    ]


def test_replies_that_are_right_although_they_were_cut_off_are_told_as_right():
    signal = Signal()
    assert observed(signal, tries(Says(said("7", truncated=True)), 12)) == {"alarm/all_right": 1.0}


def test_replies_that_were_all_cut_off_are_not_told_as_missing_verdicts():
    signal = Signal()
    cut = tries(Says(said("8", truncated=True)), 12, answer="", rights=[None])
    assert observed(signal, cut, updated=False) == {"alarm/truncated": 1.0}
    assert "the newest have 1 tokens each: allow longer" in signal.alarms()[0]
    signal = Signal()  # also in a first step of few tasks
    cut = tries(Says(said("8", truncated=True)), 2, answer="", rights=[None])
    assert observed(signal, cut, updated=False) == {"alarm/truncated": 1.0}


class NoNumber:
    """A reward of a user's that goes wrong."""

    def of_group(self, group):
        return for_its_seat(group, {"mine": [None] * len(group.attempts)})


@pytest.mark.parametrize("cut", [False, True])
def test_a_reward_that_is_no_number_is_told_also_where_replies_were_cut_off(cut):
    tasks, player = [Task(f"t{number}", answer="7") for number in range(12)], Says(said("8", truncated=cut))
    found = score(with_facts(attempts(SOLVE, tasks, player, 4, Random(0)), [{"right": False}] * 48), NoNumber())
    signal = Signal()
    assert observed(signal, found, updated=False) == {"alarm/no_verdict": 1.0}
    assert signal.alarms()[0].startswith("no verdict: the reward of 48 of 48 replies of the solver is no number")


def test_a_mute_judge_is_told_from_a_missing_answer():
    groups = attempts(SOLVE, [Task(f"t{number}", prompt="Say.") for number in range(12)], Says(said("8")), 4, Random(0))
    heard = with_facts(groups, [{"right": None, "opinion": None}] * 48)
    signal = Signal()
    assert observed(signal, score(heard, correct)) == {"alarm/no_verdict": 1.0}
    assert signal.alarms()[0].startswith("no verdict: no judgement on 48 of 48 replies of the solver holds a score")


def test_replies_that_were_given_to_be_imitated_count_for_nothing():
    signal = Signal()
    given = tries(Says(said("8", recited=True)), 12)
    assert observed(signal, given) == {}


def test_without_an_update_of_its_own_a_report_says_nothing_of_advantages():
    signal = Signal()
    assert observed(signal, tries(Says(said("8")), 12), metrics={}) == {}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            {"round/pairs": 9, "round/passes": 3, "round/stopped": 0.0},
            "since the 9 pairs of this iteration were used 3",
        ),
        ({"round/pairs": 9, "round/passes": 1, "round/stopped": 1.0}, "since a ceiling has stopped this iteration"),
        ({"round/pairs": 0, "round/passes": 0, "round/equal": 4}, "since all 4 pairs of this iteration say the same"),
        (
            {"round/pairs": 0, "round/passes": 0, "round/stopped": 0.0},
            "since nothing was kept to learn from: no reply, or no pair",
        ),
        ({}, "since there was nothing in its batch"),
        (
            {"samples": {"skipped": [1, 9, 0], "measured": [9, 9, 9]}},
            "since all 10 replies that it could learn from were left out of its batch: 9 were cut off; allow longer",
        ),
        (
            {"samples": {"skipped": [1, 1, 8]}},
            "since all 10 replies that it could learn from were left out of its batch",
        ),
        (
            {"samples": {"skipped": [8, 2, 0]}},
            "since all 10 replies that it could learn from were left out of its batch",
        ),
    ],
)
def test_a_step_without_an_update_says_why(line, why):
    signal = Signal()
    assert signal.check(line, True) == {}
    assert signal.check(line, False) == {"alarm/no_update": 1.0}
    assert signal.alarms()[0].startswith(f"no update: no policy was updated, {why}")
    assert signal.check(line, True) == {"alarm/no_update": 0.0}


def test_sampler_and_learner_that_disagree_ring_at_once_and_clipped_tokens_in_the_second_step():
    signal = Signal()
    assert signal.check({"solver/sampler_mismatch_mean": 0.01, "solver/clip_fraction": 0.1}, True) == {}
    line = {"sampler_mismatch_mean": 0.31, "solver/clip_fraction": 0.8, "dual_clip_fraction": 0.0}
    assert signal.check(line, True) == {"alarm/sampler": 1.0}
    assert signal.check(line, True) == {"alarm/sampler": 1.0, "alarm/clipped": 1.0}
    sampler, clipped = signal.alarms()
    assert sampler.startswith("sampler: sampler and learner rate the same tokens 0.31 nats apart")
    assert clipped.startswith("clipped: 80% of the tokens are beyond the clip")


def test_a_restored_signal_goes_on_as_if_it_had_not_stopped():
    whole, first, second = Signal(), Signal(), Signal()
    steps = [tries(Says(said("8")), 8), tries(Says(said("8")), 8), tries(Says(said("7")), 12)]
    found = [observed(whole, each) for each in steps]
    assert found[1] == {"alarm/all_wrong": 1.0}
    assert observed(first, steps[0]) == found[0]
    second.restore(json.loads(json.dumps(first.state())))
    assert [observed(second, each) for each in steps[1:]] == found[1:]
    assert second.state() == whole.state()


def train(folder, steps, learns):
    """Self-play in Kuhn poker whose learner is updated in the steps that are named."""
    run, learner = Run(folder, 0, Schedule(record_episodes=0)), TabularPolicy()
    for step in run.steps(steps, [learner]):
        trajectories = score(play(mirror(KuhnPoker(), KuhnPoker().tasks(), learner), run.rng), payoff)
        credit = [each.rewards for each in trajectories]
        metrics = learner.update(pack(trajectories, credit), Reinforce()) if step in learns else {"loss": 0.0}
        run.report(learner, trajectories, credit, metrics)
    return read_metrics(folder)


def test_replies_that_a_recipe_leaves_out_are_shown_where_nothing_was_learned(tmp_path):
    run, learner = Run(tmp_path, 0, Schedule(record_episodes=0)), TabularPolicy()
    for _ in run.steps(1, [learner]):
        play(mirror(KuhnPoker(), KuhnPoker().tasks(), learner), run.rng)
    (line,) = read_metrics(tmp_path)
    count = line["samples"]["skipped"][0]
    assert f"all {count} replies that it could learn from were left out of its batch, as where" in line["alarms"][0]
    assert [each["left_out"] for each in line["replies"]] == [True] * 3
    assert "(1 tokens, left out of the batch)" in example(line["replies"][0])


def test_a_run_says_which_steps_made_no_update_and_keeps_it_in_its_metrics(tmp_path):
    lines = train(tmp_path, 4, learns=(0, 1, 3))
    assert [line.get("alarm/no_update") for line in lines] == [None, None, 1.0, 0.0]
    assert [line.get("alarms") for line in lines] == [
        None,
        None,
        ["no update: no policy was updated, since there was nothing in its batch"],
        None,
    ]
    assert [len(line.get("replies", [])) for line in lines] == [0, 0, 3, 0]


def test_where_nothing_is_better_and_most_are_cut_off_the_cause_stays_that_they_were_cut_off():
    """The share that is cut off is now above 85 %, now below: one cause all the same, until it is under a third."""
    whole, cut, signal = said("8"), said("8 8 8", truncated=True), Signal()

    def told(cut_off):  # of 64 replies to 32 tasks
        trajectories = tries(Says(*[cut] * cut_off, *[whole] * (64 - cut_off)), 32, count=2)
        return observed(signal, trajectories)

    for cut_off in (64, 50, 56, 34, 23):
        assert told(cut_off) == {"alarm/truncated": 1.0}
        assert signal.alarms()[0].startswith(f"truncated: {cut_off} of 64 replies of the solver were cut off")
    assert told(21)["alarm/all_wrong"] == 1.0
    signal = Signal()
    assert told(32) == {"alarm/all_wrong": 1.0}  # half of them explain no more than that all are wrong
