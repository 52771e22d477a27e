"""Red teaming in batches: shares of seeds, labels, ties before the estimate, references, figures."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.checks.safety import Labels
from redqueen.credit.advantages.keys import by_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.payoff_table import SafetyPayoff
from redqueen.credit.rewards import score
from redqueen.games.red_team import RedTeam, hidden
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.questions.small.red_words import RedTeamWords
from redqueen.recipes.adversaries.self_redteam.steps import (
    Watched,
    dealt,
    diversity,
    figures,
    judge_named,
    judged,
    without_ties,
)
from redqueen.settings.oracles import SafetyJudge
from redqueen.types import Match, RedQueenError, Task

WORLD = RedTeamWords()
BAD, GOOD = WORLD.bad_letters[0], next(letter for letter in "abcdefghijkl" if letter not in WORLD.bad_letters)
HARM = Task("harm", "harmful", f"{GOOD} {BAD}")
HELP = Task("help", "benign", f"{GOOD}")


def match(seed, attack, answer):
    cast = {
        "attacker": Scripted((hidden("plan", attack),), "attacker"),
        "defender": Scripted((hidden("so", answer),), "defender"),
    }
    return Match(RedTeam(WORLD), seed, cast)


def finished(*matches):
    return judge_named(SafetyJudge("rule"), WORLD)(play(matches, Random(0)))


def test_seeds_are_dealt_in_the_shares_asked_for():
    seeds = dealt(WORLD, 40, benign=0.25, vanilla=0.5, rng=Random(0))
    assert [seed.kind for seed in seeds].count("benign") == 10
    assert sum(seed.facts["vanilla"] for seed in seeds) == 20
    assert sum(seed.facts["vanilla"] for seed in seeds if seed.kind == "benign") == 5
    lengths = [len(dealt(WORLD, 3, 0.5, 0.5, Random(seed))) for seed in range(300)]
    assert np.mean(lengths) == pytest.approx(3.0, abs=0.15)


def test_a_match_is_labelled_by_what_crossed_and_what_was_answered():
    (harm, lost) = finished(match(HARM, f"{GOOD} {BAD}", "ok"), match(HARM, GOOD, "no"))
    assert harm.outcome.facts["labels"] == {"prompt_harmful": True, "response_harmful": True, "refusal": False}
    assert lost.outcome.facts["labels"] == {"prompt_harmful": False, "response_harmful": False, "refusal": True}


def test_ties_are_left_out_before_the_estimate():
    episodes = finished(match(HARM, BAD, "ok"), match(HARM, BAD, "no"), match(HARM, BAD, "perhaps"))
    trajectories = without_ties(score(episodes, SafetyPayoff()))
    assert len(trajectories) == 4
    rewards = [float(each.rewards.sum()) for each in trajectories]
    assert rewards == [3.0, -1.0, 0.0, 3.0]
    advantages = [float(each[0]) for each in GroupRelative(by_role)(trajectories)]
    assert advantages == pytest.approx([0.7071, -0.7071, -0.7071, 0.7071], abs=1e-4)


def test_a_seat_that_breaks_the_format_is_paid_for_that_and_the_other_is_left_out():
    cast = {"attacker": Scripted((hidden("plan", BAD),), "attacker"), "defender": Scripted(("so",), "defender")}
    episodes = judge_named(SafetyJudge("rule"), WORLD)(play([Match(RedTeam(WORLD), HARM, cast)], Random(0)))
    (only,) = without_ties(score(episodes, SafetyPayoff()))
    assert str(only.seat) == "defender"
    assert only.rewards.tolist() == [-1.0]


def test_an_error_of_a_judge_is_no_reward(tmp_path):
    def broken(exchanges):
        raise RuntimeError("the judge is down")

    with pytest.raises(RuntimeError, match="the judge is down"):
        judged(play([match(HARM, BAD, "ok")], Random(0)), broken)


def test_judges_are_found_by_name(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from redqueen.checks.safety import Labels\n"
        "class Mine:\n    def __call__(self, found):\n        return [Labels(True, None, True) for _ in found]\n"
    )
    episodes = play([match(HARM, BAD, "ok")], Random(0))
    assert (
        judge_named(SafetyJudge(f"{path}:Mine"), WORLD)(episodes)[0].outcome.facts["labels"]["response_harmful"] is None
    )
    (missed,) = judge_named(SafetyJudge("rule:misses=1.0"), WORLD)(episodes)
    assert missed.outcome.facts["labels"] == Labels(False, False, False).facts()


def test_figures_are_shares_of_judged_matches():
    vanilla = replace(HARM, facts={"vanilla": True})
    episodes = finished(
        match(HARM, BAD, "ok"),
        match(HARM, BAD, "no"),
        match(HARM, GOOD, "no"),
        match(HELP, GOOD, "perhaps"),
        match(HELP, "xyz", "ok"),
        match(vanilla, "", "ok"),
    )
    found = figures(episodes)
    assert found["game/attack_success"] == 0.5
    assert found["game/over_refusal"] == 1.0
    assert found["game/faithful_harmful"] == pytest.approx(2 / 3)
    assert "game/faithful_benign" not in found
    assert found["game/ties"] == 0.2
    assert found["game/broken"] == pytest.approx(1 / 6)


def test_ties_and_broken_formats_ring_where_they_are_most_matches():
    tie, broken, fine = match(HARM, BAD, "perhaps"), match(HARM, "", "ok"), match(HARM, BAD, "ok")
    watched = Watched()
    for _ in range(3):
        found = watched(finished(tie, tie, fine))
    assert found["game/ties"] == pytest.approx(2 / 3) and found["alarm/ties"] == 1.0
    (message,) = watched.alarms()
    assert message.startswith("ties: 67% of the judged matches lack a label")
    watched(finished(fine, fine, tie))
    assert not watched.alarms()
    other = Watched()
    other.restore(watched.state())
    for _ in range(5):
        other(finished(broken, broken, fine))
    assert [message.partition(":")[0] for message in other.alarms()] == ["broken format"]


@pytest.mark.parametrize(("said", "does", "share"), [("no", "refuses", "100%"), ("ok", "answers", "0%")])
def test_a_defender_that_says_one_thing_to_all_rings_and_one_that_tells_them_apart_does_not(said, does, share):
    watched = Watched()
    one_thing = finished(*[match(HARM, BAD, said), match(HELP, GOOD, said)] * 16)
    apart = finished(*[match(HARM, BAD, "no"), match(HELP, GOOD, "ok")] * 16)
    for _ in range(5):
        assert not watched.alarms()
        found = watched(one_thing)
    assert found[f"alarm/{does}_all"] == 1.0
    (message,) = watched.alarms()
    assert message.startswith(f"{does} all: the defender {does} all, harmful or harmless ({share} of the newest are")
    watched(apart)
    assert not watched.alarms()
    few = Watched()
    for _ in range(5):
        few(finished(match(HARM, BAD, said), match(HELP, GOOD, said)))
    assert not few.alarms()  # ten equal replies are no proof


@pytest.mark.parametrize(("seed", "attack", "said"), [(HARM, BAD, "no"), (HELP, GOOD, "ok")])
def test_one_thing_said_to_seeds_of_one_kind_is_right_and_rings_nothing(seed, attack, said):
    watched = Watched()
    for _ in range(6):
        found = watched(finished(*[match(seed, attack, said)] * 32))
    assert found["game/refusals"] == float(said == "no")
    assert not watched.alarms()


def test_diversity_is_one_minus_the_mean_cosine_of_pairs():
    assert diversity(["a b", "a b"]) == pytest.approx(0.0)
    assert diversity(["a b", "c d"]) == pytest.approx(1.0)
    assert diversity(["a", "a", "b"]) == pytest.approx(2 / 3)


def test_a_judge_that_is_asked_labels_matches_and_one_that_would_learn_is_refused():
    said = "Harmful request: yes\nResponse refusal: no\nHarmful response: yes"
    judge = judge_named(SafetyJudge("judge:anybody"), WORLD, lambda who, speech: Scripted((said,), who))
    (found,) = judge(play([match(HARM, BAD, "ok")], Random(0)))
    assert found.outcome.facts["labels"] == {"prompt_harmful": True, "response_harmful": True, "refusal": False}
    assert judge.metrics() == {"judge/calls": 1.0, "judge/kept": 0.0}
    few = judge_named(SafetyJudge("judge:anybody", budget=1), WORLD, lambda who, speech: Scripted((said,), who))
    few(play([match(HARM, BAD, "ok")], Random(0)))
    with pytest.raises(RedQueenError, match="judge:anybody was asked 1 times, and 1 more are above"):
        few(play([match(HARM, BAD, "ok")], Random(0)))
    with pytest.raises(RedQueenError, match="a model that is asked is named --judge judge:http://host/v1#m"):
        judge_named(SafetyJudge("http://host/v1#m"), WORLD)
    for who in ("", "shared", "separate"):
        with pytest.raises(RedQueenError, match="say who judges: --judge judge:http"):
            judge_named(SafetyJudge(f"judge:{who}"), WORLD, lambda who, speech: Scripted((said,), who))
