"""Pragmatic synthesis: the card's vectors, the exact ceiling by other code, what is chosen, taught and forgotten."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.credit.rewards import payoff, score
from redqueen.games.by_example import ByExample, as_sets
from redqueen.objectives.batch import pack_samples
from redqueen.play.groups import attempts
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, FirstChoice, Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.games.pragmatic_synthesis import recipe
from redqueen.recipes.games.pragmatic_synthesis.measures import Exact, Likeliest, Understood, exact_share, literal_share
from redqueen.recipes.games.pragmatic_synthesis.recipe import Config
from redqueen.recipes.games.pragmatic_synthesis.steps import (
    Examples,
    Students,
    at_random,
    for_another,
    game_of,
    literal_listener,
    pragmatic_listener,
    pragmatic_speaker,
    rational,
    sampled_lexicon,
)
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Cast, Role
from redqueen.types import Damaged, RedQueenError, Task

GAME = ByExample()
THREE = np.array([[1.0, 1, 0], [1, 0, 1], [1, 1, 1]])


def test_the_vectors_of_three_programs():
    known = literal_listener(THREE)
    assert pytest.approx(np.array([[1 / 3, 1 / 3, 1 / 3], [1 / 2, 0, 1 / 2], [0, 1 / 2, 1 / 2]])) == known.T
    shown = pragmatic_speaker(THREE)
    assert shown[0] == pytest.approx([0.4, 0.6, 0])
    assert shown[2] == pytest.approx([0.25, 0.375, 0.375])
    assert rational(THREE, Random(0)) == 1
    # the released code counts a target twice that is sampled too
    assert pragmatic_speaker(np.vstack([THREE, THREE[:1]]))[0] == pytest.approx([0.428571, 0.571429, 0], abs=1e-6)
    assert pragmatic_speaker(np.array([[1.0, 1], [1, 0]]))[0] == pytest.approx([1 / 3, 2 / 3])


def test_a_listener_who_knows_the_speaker():
    found = pragmatic_listener(THREE)
    assert found.sum(axis=0) == pytest.approx([1, 1, 1])
    assert found[:, 1] == pytest.approx(np.array([0.6, 0, 0.375]) / 0.975)
    nobody = np.array([[1.0, 0], [1, 0]])
    assert pragmatic_listener(nobody)[:, 1] == pytest.approx([0, 0])


def test_random_lexicons_come_to_the_figures_of_the_card():
    """200 programs, 100 examples, each true of .4: the chance of the target after 1 to 4 examples."""
    random, chosen = np.zeros(4), np.zeros(4)
    draws = 60
    for seed in range(draws):
        lexicon = (np.random.default_rng(seed).random((200, 100)) < 0.4).astype(float)
        rng = Random(seed)
        for kind, found in ((at_random, random), (rational, chosen)):
            rows, left = lexicon, [column for column in range(100) if lexicon[0, column]]
            for number in range(4):
                place = left.pop(kind(rows[:, left], rng))
                rows = rows[rows[:, place] == 1]
                found[number] += 1 / len(rows) / draws
    assert random == pytest.approx([0.012, 0.031, 0.079, 0.194], abs=0.02)
    assert chosen == pytest.approx([0.015, 0.054, 0.257, 0.990], abs=0.02)


def by_hand(game, target):
    """What the exact listener names, by fractions and nothing of ours but the lexicon."""
    lexicon = {name: set(examples) for name, examples in game.lexicon().items()}

    def speaker(name, given):
        agree = [each for each in lexicon if set(given) <= lexicon[each]]
        weights = {
            text: Fraction(1, sum(text in lexicon[each] for each in agree)) for text in lexicon[name] - set(given)
        }
        return {text: weight / sum(weights.values()) for text, weight in weights.items()}

    given = []
    while len(given) < game.examples and (shown := speaker(target, given)):
        given.append(min(shown, key=lambda text: (-shown[text], text)))
    agree = [each for each in lexicon if set(given) <= lexicon[each]]
    chances = dict.fromkeys(agree, Fraction(1))
    for number, text in enumerate(given):
        for each in agree:
            chances[each] *= speaker(each, given[:number])[text]
    return given, {each: chance / sum(chances.values()) for each, chance in chances.items()}


@pytest.mark.parametrize("game", [ByExample(), ByExample(negative=True, examples=1), ByExample(longest=3, examples=1)])
def test_the_ceiling_is_what_other_code_finds(game):
    exact = Exact(game)
    named = []
    for target in list(game.lexicon())[::3]:
        given, chances = by_hand(game, target)
        assert exact.shown(target) == tuple(given)
        found = dict(zip(exact.patterns, exact.posterior(given), strict=True))
        assert {each: found[each] for each in chances} == pytest.approx({k: float(v) for k, v in chances.items()})
        best = max(chances.values())
        named.append(next(each for each in game.lexicon() if chances.get(each) == best) == target)
    assert exact_share(game, list(game.lexicon())[::3]) == pytest.approx(np.mean(named), abs=0.05)


def test_the_floor_is_one_of_those_that_agree():
    game = ByExample(longest=1, examples=1)  # a, b and . alone
    assert list(game.lexicon()) == ["a", "b", "."]
    assert literal_share(game, ["a", "b"], 1, 0) == pytest.approx(1 / 2)
    assert exact_share(game, ["a", "b", "."]) == pytest.approx(2 / 3)


def test_patterns_count_once_that_agree_with_the_same_examples():
    texts = ["aab", "ab"]
    known = as_sets(GAME)
    assert {"aab", "ab"} <= known["a+b"] & known[".*b"]
    lexicon = sampled_lexicon("a+b", ["a+b", ".*b", ".b", ".b", "ab"], texts, GAME)
    assert lexicon.tolist() == [[1, 1], [0, 1]]
    assert rational(lexicon, Random(0)) == 0


def test_the_controls_choose_otherwise():
    lexicon = np.array([[1.0, 1, 1], [0, 1, 1], [0, 0, 1]])  # the target, and two whom other examples suit
    assert rational(lexicon, Random(0)) == 0
    assert {for_another(lexicon, Random(seed)) for seed in range(20)} == {1, 2}
    assert {at_random(lexicon, Random(seed)) for seed in range(20)} == {0, 1, 2}
    assert for_another(lexicon[:1], Random(0)) in (0, 1, 2)


def one_more(task, speaker, listener, choose=rational):
    examples = Examples(GAME, choose)
    sets = examples.begun([task])
    said = attempts(GAME, examples.asked("speaker", sets), speaker, 40, Random(0))
    guessed = attempts(GAME, examples.asked("listener", sets), listener, 40, Random(0))
    return examples.extended(sets, said, guessed, Random(0)), examples.metrics()


def test_the_example_is_chosen_that_rivals_do_not_agree_with():
    task = Task("one", facts={"pattern": "a+b", "given": ("ab",)})
    rivals = [name for name in GAME.agreeing(["ab"]) if name != "a+b"]
    ((found,), metrics) = one_more(task, Uniform(), Uniform())
    counts = {text: sum(text in GAME.lexicon()[name] for name in rivals) for text in ("aab", "aaab")}
    assert found.facts["given"] == ("ab", min(counts, key=lambda text: (counts[text], text)))
    assert set(metrics) == {"telling"}
    assert one_more(task, Uniform(), Constant("a+b"))[1]["telling"] == 0.0


def test_without_anything_said_that_agrees_a_set_stays_as_it_is():
    task = Task("one", facts={"pattern": "a+b", "given": ("ab",)})
    ((found,), metrics) = one_more(task, Constant("ba"), Uniform())
    assert found.facts["given"] == ("ab",)
    assert metrics == {}
    alone = Task("two", facts={"pattern": "a", "given": ("a",)})
    assert Examples(GAME, rational).asked("speaker", [alone]) == []


def test_a_set_teaches_each_example_and_the_pattern_after_each():
    learner = TabularPolicy()
    task = Task("one", facts={"pattern": "a+b", "given": ("ab", "aab")})
    shown = Examples(GAME, rational).lessons([task], {"listener": learner, "speaker": learner})
    said = [(each.turns[0].ask.seat.role, each.turns[0].reply.text) for each in play(shown, Random(0))]
    assert said == [("listener", "a+b")] * 3 + [("speaker", "ab"), ("speaker", "aab")]
    asked = [match.task.facts["given"] for match in shown]
    assert asked == [(), ("ab",), ("ab", "aab"), (), ("ab",)]
    only = Task("two", facts={"pattern": "a", "given": ("a",)})  # nothing else could be shown
    roles = [match.task.facts["asked"] for match in Examples(GAME, rational).lessons([only], {"speaker": learner})]
    assert roles == []


class Seeds:
    def derived(self, *path):
        return 0


@pytest.mark.parametrize("restart", [True, False])
def test_a_round_begins_where_the_literal_one_ended(restart):
    students = Students(Cast(Config(), Seeds(), table_learning_rate=1.0), 4, restart)
    learner = students.roles["listener"]
    matches = Examples(GAME, rational).lessons(
        [Task("one", facts={"pattern": "a+b", "given": ("ab",)})], students.roles
    )
    lessons = score(play(matches, Random(0)), payoff)
    ask = lessons[0].turns[0].ask
    chance = []
    for number in range(3):
        students.begin(number)
        chance.append(learner.probabilities([ask])[0].max())
        students.take(learner, pack_samples(lessons, [1.0] * len(lessons)), number)
        students.update(8, Random(0))
        students.restore(students.state())
    assert chance[1] > chance[0]
    assert (chance[2] == chance[1]) == restart
    with pytest.raises(Damaged, match="must be of learner"):
        students.restore({"literal": {"speaker": {}}})


def test_the_sets_of_later_rounds_add_up_and_literal_ones_do_not(tmp_path):
    settings = {"steps": 4, "updates": 1, "literal": 30, "tasks": 4, "attempts": 4}
    pairs = [line["round/pairs"] for line in metrics(trained(recipe, Config(**settings), tmp_path))]
    assert pairs[0] > 2 * pairs[1]
    assert pairs[1] < pairs[2] < pairs[3]


def test_two_models_learn_their_own_seats(tmp_path):
    tiny = Learner(model="tiny:hidden=16,heads=2")
    config = Config(tiny, Role("separate"), "by_example:longest=2,examples=1", 2, 1, 4, 4, 4)
    lines = metrics(trained(recipe, config, tmp_path))
    assert {"loss", "speaker/loss", "reward/listener", "speaker/reward/speaker", "speaker/round/pairs"} <= set(lines[1])
    assert "reward/speaker" not in lines[1]


def test_a_speaker_that_does_not_learn_teaches_the_listener_alone(tmp_path):
    config = Config(speaker=Role("frozen"), steps=2, updates=1, literal=4, tasks=4, attempts=4)
    lines = metrics(trained(recipe, config, tmp_path))
    assert "reward/speaker" not in lines[1]
    assert lines[1]["reward/listener"] == 1.0


def test_what_is_measured_is_what_is_thought_likeliest():
    first = Likeliest(FirstChoice())
    found = Understood(ByExample(apart=4), first, first)
    assert found()["understood"] <= 0.2
    basis = found.basis()
    assert basis["understood"].references["exact rational speech acts"] > 0.9
    assert 0.05 < basis["understood_random"].references["the truth alone"] < 0.3
    found.limit(40)
    assert found.basis()["understood"].count == 3  # matches of four replies, three of each pattern


def test_another_game_is_refused():
    with pytest.raises(RedQueenError, match="those of by_example"):
        game_of("kuhn_poker")
