"""Exact preference games, held-out pairs, and wins against the start."""

import json
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import TINY
from redqueen.curricula.held_out import held_out
from redqueen.measures.divergence import Replies, question
from redqueen.measures.wins import (
    AgainstStart,
    HeldOutPairs,
    HeldOutPreferences,
    PreferenceGame,
    length_controlled,
    pairs_told_apart,
    preferred,
    regularised_equilibrium,
    watched,
)
from redqueen.objectives.references import Reference
from redqueen.opponents.pools import Snapshots
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.dataset import Preferring
from redqueen.questions.small.known import Known
from redqueen.questions.small.matchups import TABLES, Matchups
from redqueen.records import ask_to_json
from redqueen.types import Reply


def table(domain):
    """A learner that has met the domain's question."""
    learner = TabularPolicy()
    learner.probabilities([question(domain.task())])
    return learner


def become(learner, domain, chances):
    logits = [float(np.log(max(chance, 1e-12))) for chance in chances]
    asks = [ask_to_json(question(domain.task()))]
    learner.restore({"name": "learner", "version": learner.version, "asks": asks, "logits": [logits]})


def test_exploitability_of_the_iterates_and_of_their_averages():
    domain = Matchups("rock_paper_scissors")
    learner = table(domain)
    measure = PreferenceGame(domain, learner)
    become(learner, domain, (1, 0, 0))
    assert measure() == pytest.approx(
        {
            f"{which}{name}": value
            for which in ("", "average_", "late_average_")
            for name, value in (("exploitability", 0.5), ("distance", 4 / 3))
        }
    )
    become(learner, domain, (0, 1, 0))
    again = PreferenceGame(domain, learner)
    again.restore(measure.state())
    found = again()
    # half rock, half paper: paper draws half and wins half; counted linearly one third and two thirds: paper and
    # scissors both win 2/3, a sixth more than one half
    assert found["exploitability"] == pytest.approx(0.5)
    assert found["average_exploitability"] == pytest.approx(0.25)
    assert found["late_average_exploitability"] == pytest.approx(1 / 6)
    assert found["average_distance"] == pytest.approx(2 * (1 / 6) + 1 / 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("tau", [0.05, 0.5])
def test_the_regularised_equilibrium_answers_itself(name, tau):
    wins = Matchups(name).wins
    reference = np.full(len(wins), 1 / len(wins))
    reference[0] *= 2
    reference = reference / reference.sum()
    found = regularised_equilibrium(wins, reference, tau)
    answer = reference * np.exp(wins @ found / tau)
    assert found == pytest.approx(answer / answer.sum(), abs=1e-6)


def test_without_preferences_the_reference_is_the_equilibrium():
    reference = np.array([0.2, 0.8])
    assert regularised_equilibrium(np.full((2, 2), 0.5), reference, 0.1, 100) == pytest.approx(reference)


def test_held_out_pairs_compare_gold_with_the_reference():
    domain = Known(outcomes=2)
    learner = table(domain)
    reference = Reference(learner)
    tests = {"outcome": [domain.task("a", number) for number in range(40)]}
    measure = HeldOutPairs(learner, reference, tests)
    assert measure() == {
        "held_out/preference_accuracy": 0.5,
        "held_out/preference_margin": 0.0,
        "held_out/chosen_ratio": 0.0,
        "held_out/rejected_ratio": 0.0,
    }
    become(learner, domain, (0.75, 0.25))
    found = measure()
    assert found["held_out/preference_accuracy"] == 1.0
    assert found["held_out/chosen_ratio"] == pytest.approx(np.log(1.5))
    assert found["held_out/rejected_ratio"] == pytest.approx(np.log(0.5))
    become(learner, domain, (1.0, 0.0))
    reference.refresh()
    assert measure() == {}, "the reference says what is written"


def test_wins_against_the_start_of_the_last_iterate_and_of_their_average():
    domain = Matchups("transitive")
    learner = table(domain)
    become(learner, domain, (0, 0, 1))
    tests = {"matchup": domain.problems("matchup", 200, Random(0))}
    iterates = Snapshots(learner)
    measure = AgainstStart(domain.oracle, learner, tests, iterates)
    assert measure() == {
        "wins/last": 0.5,
        "wins/length_controlled": pytest.approx(0.5),
        "wins/chosen_length": 4.0,
        "wins/rejected_length": 4.0,
        "wins/average": 0.5,
    }
    become(learner, domain, (1, 0, 0))
    iterates.add(learner.freeze())
    found = measure()
    assert found["wins/last"] == pytest.approx(0.9)
    assert found["wins/average"] == pytest.approx(0.7, abs=0.05), "half of its tasks meet the first iterate"


def sigmoid(value):
    return 1.0 / (1.0 + np.exp(-np.asarray(value)))


@pytest.mark.parametrize(("better", "longer"), [(0.0, 2.0), (0.8, 1.0), (-0.5, -1.5), (0.4, 0.0)])
def test_the_length_controlled_rate_is_that_of_equal_lengths(better, longer):
    """Wins that are known to rise with length and with merit: merit remains."""
    rng = np.random.default_rng(0)
    ours, theirs = rng.integers(20, 400, 300), rng.integers(10, 200, 300)
    gaps = ours - theirs
    wins = sigmoid(better + longer * np.tanh(gaps / gaps.std()))
    assert length_controlled(wins, ours, theirs) == pytest.approx(float(sigmoid(better)), abs=1e-3)
    if longer == 2.0:
        assert wins.mean() > 0.65, "the plain rate rewards length"


def test_the_length_controlled_rate_is_the_plain_one_where_all_are_equally_long_and_finite_where_all_is_won():
    same = np.full(20, 7)
    assert length_controlled(np.array([1.0, 0.0] * 5 + [1.0] * 10), same, same) == pytest.approx(0.75, abs=1e-3)
    assert 0.99 < length_controlled(np.ones(20), same + np.arange(20), same) < 1.0


def test_lengths_of_the_preferred_and_of_the_other_held_out_replies():
    class Says:
        """A learner whose replies are as long as it is told to make them."""

        name, version, text = "learner", 0, "xx"

        def reply(self, asks):
            return [Reply(self.text, self.name, self.version, *(np.zeros(0, dtype=np.int64),) * 3) for _ in asks]

    def longest(tasks, first, second, rng):
        return np.array([float(len(one) > len(other)) for one, other in zip(first, second, strict=True)])

    learner = Says()
    measure = AgainstStart(longest, learner, {"matchup": [Matchups().task()] * 3})
    measure.limit(0)  # its run asks for the replies of the start
    learner.text = "xxxxx"
    found = measure()
    assert (found["wins/last"], found["wins/chosen_length"], found["wins/rejected_length"]) == (1.0, 5.0, 2.0)


def test_the_distance_from_the_start_is_the_divergence_of_the_replies():
    domain = Known(outcomes=2)
    learner = table(domain)
    tasks = [domain.task("a", number) for number in range(2000)]
    measure = Replies(domain, learner, tasks, start=learner.freeze())
    assert measure()["kl_from_start"] == 0.0
    become(learner, domain, (0.75, 0.25))
    exact = 0.75 * np.log(1.5) + 0.25 * np.log(0.5)
    assert measure()["kl_from_start"] == pytest.approx(exact, abs=0.04)


def test_equal_answers_are_a_half_and_no_verdict_is_none():
    oracle = Matchups("biased").oracle
    tasks = [Matchups().task()] * 3
    assert preferred(oracle, tasks, ["a", "b", "?"], ["b", "b", "a"], Random(0)) == pytest.approx((0.9 + 0.5) / 2)
    assert np.isnan(preferred(oracle, tasks[:1], ["?"], ["a"], Random(0)))


def test_each_domain_is_watched_by_what_suits_it():
    def figures(domain):
        tests = held_out(domain, 4)
        learner = TabularPolicy()
        return set(watched(domain, learner, tests, 0)())

    always = {"coverage", "accuracy", "reply_length", "repeated_4grams", "distinct_2grams", "kl_from_start"}
    always |= {"alarm/coverage", "alarm/length"}
    assert figures(Known()) == always | {"data_kl", "told_apart"}
    game = {f"{w}{name}" for w in ("", "average_", "late_average_") for name in ("exploitability", "distance")}
    assert figures(Matchups()) == always | game


def test_each_seed_samples_replies_of_its_own():
    domain = Matchups("transitive")
    learner = table(domain)

    def replies(seed):
        measure = watched(domain, learner, held_out(domain, 20), seed)
        return [measure()[name] for name in ("accuracy", "coverage", "reply_length")]

    assert replies(1) == replies(1)
    assert len({str(replies(seed)) for seed in range(4)}) > 1


def test_each_seed_holds_out_pairs_of_its_own(tmp_path):
    rows = [{"prompt": f"number {number}", "chosen": "good", "rejected": "bad"} for number in range(60)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    questions = find_questions_with(f"dataset:path={tmp_path}/pairs.jsonl,held_out=0.5", Preferring)
    learner = TINY.build_model(0)

    def prompts(seed):
        _, watch = pairs_told_apart(questions, learner, Reference(learner, "initial"), 4, seed)
        (found,) = [each for each in watch._measures if isinstance(each, HeldOutPreferences)]
        return found._batch.tokens.tolist()

    assert prompts(1) == prompts(1)
    assert len({str(prompts(seed)) for seed in range(4)}) > 1


def test_a_measure_of_preferences_has_no_more_replies_than_its_limit():
    domain = Matchups("transitive")
    learner = table(domain)
    tests = {"matchup": domain.problems("matchup", 50, Random(0))}
    measure = watched(domain, learner, tests, 0, AgainstStart(domain.oracle, learner, tests))
    measure.limit(7)
    found = measure()
    assert (found["wins/last"].count, found["reply_length"].count, found["coverage"].count) == (7, 7, 7)
    assert measure.basis()["wins/last"].count == 7
