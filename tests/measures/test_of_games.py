import json
from collections import Counter
from dataclasses import dataclass, field

import pytest

from redqueen.games.catalogue import find_game
from redqueen.games.corridor import Corridor
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.last_round import LastRound
from redqueen.games.leduc_poker import LeducPoker
from redqueen.games.negotiation import Negotiation
from redqueen.games.signalling import Signalling
from redqueen.games.talk import told
from redqueen.games.tic_tac_toe import TicTacToe
from redqueen.measures import of_games as measures
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.sampled import sampled_exploitability
from redqueen.measures.figures import headline
from redqueen.measures.of_games import (
    Exploitability,
    MeanScore,
    MinimaxRegret,
    Named,
    Payoff,
    SampledExploitability,
    Success,
    usual_measures,
)
from redqueen.players.language.answers import Boxed
from redqueen.players.scripted import Constant, Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.players.transformer.loading import tiny_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.recipes.games import spiral
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.finding import find_recipe
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import changed
from redqueen.types import Ask, Basis, Outcome, Seat, Task

KUHN = GameTree(KuhnPoker())


def test_where_all_share_a_score_it_is_what_a_run_is_told_by():
    (alike,) = usual_measures(Signalling(), TabularPolicy(), 0)
    figures = alike()
    assert figures["mean_score"] == pytest.approx(2 / 3)  # 1 - E[(a - s)^2] / 4 of uniform play
    assert headline(figures) == "mean_score" and alike.basis()["mean_score"].exact
    (apart,) = usual_measures(Signalling(bias=1.0), TabularPolicy(), 0)
    assert "mean_score" not in apart()


def free():
    return TransformerPolicy(
        tiny_model(0, hidden=16, heads=2), answer=Boxed(), constrain=False, max_completion_length=4
    )


def held():
    return TransformerPolicy(tiny_model(0, hidden=16, heads=2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "made", "kinds"),
    [
        (KuhnPoker(), TabularPolicy, [Exploitability]),
        (KuhnPoker(), held, [Exploitability]),
        (KuhnPoker(), free, [SampledExploitability, Payoff]),
        (LeducPoker(), held, [Exploitability]),
        (LeducPoker(), free, [Payoff]),  # 288 states are too many to ask about
        (TicTacToe(), TabularPolicy, [MinimaxRegret, Payoff]),
        (TicTacToe(), free, [Payoff]),
        (Negotiation(), free, []),
    ],
    ids=lambda value: getattr(value, "name", getattr(value, "__name__", "")),
)
def test_what_is_measured_suits_the_game_and_the_learner(game, made, kinds):
    assert [type(measure) for measure in usual_measures(game, made(), 0)] == kinds


def test_a_board_with_many_positions_is_measured_by_play_alone(monkeypatch):
    monkeypatch.setattr(measures, "FEW_POSITIONS", 4_000)
    assert [type(measure) for measure in usual_measures(TicTacToe(), TabularPolicy(), 0)] == [Payoff]


def test_a_frozen_copy_is_as_open_as_its_learner():
    assert TabularPolicy().freeze().open
    assert held().freeze().open
    assert not free().freeze().open


def test_the_sampled_measure_reports_the_estimate_and_what_it_does_not_know():
    found = sampled_exploitability(KUHN, Uniform(), 16, seed=3)
    measure = SampledExploitability(KUHN, Uniform(), seed=3, samples=16)
    assert measure() == {
        "sampled_exploitability": found.exploitability.mean,
        "sampled_exploitability_low": found.exploitability.low,
        "sampled_exploitability_high": found.exploitability.high,
        "malformed_replies": 0.0,
        "illegal_replies": 0.0,
        "unheard": 0.0,
    }
    state = measure.state()
    assert measure() == measure()  # the same seeds at every measurement
    measure.restore(json.loads(json.dumps(state)))
    assert Named("kuhn_poker", measure)()["kuhn_poker/unheard"] == 0.0


def test_spiral_in_free_text_is_measured_at_every_evaluation(tmp_path):
    config = spiral.Config(
        learner=Learner(model="tiny", answer="boxed", max_completion_length=3), steps=3, matches_per_step=4
    )
    run = Run(tmp_path, schedule=Schedule(evaluate_every=2))
    spiral.train(config, run)
    lines = [*read_metrics(tmp_path), json.loads((tmp_path / "final.json").read_text())]
    measured = [line for line in lines if "sampled_exploitability" in line]
    assert [line["step"] for line in measured] == [0, 2, 3]
    for line in measured:
        # three tokens hold no box, so nothing is heard, and that is said
        assert (
            line["sampled_exploitability_low"] <= line["sampled_exploitability"] <= line["sampled_exploitability_high"]
        )
        assert (line["unheard"], line["malformed_replies"]) == (1.0, 1.0)
        assert line["forfeits/uniform"] == 1.0


@dataclass
class Dealt:
    """A hundred deals, of which the last is as likely as all others; nobody speaks."""

    name: str = "dealt"
    roles: tuple[str, ...] = ("first", "second")
    met: Counter = field(default_factory=Counter)

    def tasks(self):
        return [Task(str(n), weight=99.0 if n == 99 else 1.0) for n in range(100)]

    def play(self, task, rng):
        self.met[task.id] += 1
        return Outcome({Seat("first"): 1.0 if task.id == "99" else 0.0, Seat("second"): 0.0})
        yield


def test_a_payoff_is_over_tasks_as_chance_deals_them():
    game = Dealt()
    measure = Payoff(game, TabularPolicy(), Uniform(), 80, seed=0)
    # of the 40 deals of each role one half pays, and only to the first
    found = measure()
    assert found["payoff/uniform"] == pytest.approx(0.25, abs=0.02)
    assert (found["payoff/uniform_low"], found["payoff/uniform_high"]) == pytest.approx((0.15, 0.35), abs=0.02)
    assert measure.basis()["payoff/uniform"] == Basis(count=80, of="games")  # its scores do not sum to zero
    met = dict(game.met)
    assert any(int(task) >= 50 for task in met if task != "99")
    assert all(count % 2 == 0 for count in met.values())  # the same for both roles
    measure()
    assert game.met == {task: 2 * count for task, count in met.items()}


@pytest.mark.slow
def test_measures_state_what_they_rest_on():
    exact = Exploitability(KUHN, TabularPolicy()).basis()["exploitability"]
    assert (exact.exact, exact.references["an equilibrium"]) == (True, 0.0)
    assert exact.references["uniform play"] == pytest.approx(11 / 24)
    sampled = Named("kuhn_poker", SampledExploitability(KUHN, Uniform(), seed=0, samples=16)).basis()
    assert sampled["kuhn_poker/sampled_exploitability"].count == 12
    regret, against = usual_measures(TicTacToe(), TabularPolicy(), 0)
    start = regret()
    assert {name: each.references["uniform play"] for name, each in regret.basis().items()} == pytest.approx(start)
    assert against.basis()["payoff/uniform"] == Basis(count=128, of="games", references={"an equal player": 0.0})


def test_seats_that_forget_are_measured_by_their_score():
    with pytest.warns(UserWarning, match="exact measures need perfect recall"):
        assert [type(each) for each in usual_measures(LastRound(rounds=3), TabularPolicy(), 0)] == [Payoff]
    assert [type(each) for each in usual_measures(LastRound(rounds=2), TabularPolicy(), 0)] == [Exploitability]


@pytest.mark.parametrize(("word", "score"), [("go", 1.0), ("stay", 0.0)])
def test_a_game_for_one_is_measured_by_its_mean_score(word, score):
    (usual,) = usual_measures(Corridor(), TabularPolicy(), 0)
    found = MeanScore(Corridor(), Constant(word), 128, 0)
    assert found() == {"mean_score": score, "mean_score_low": score, "mean_score_high": score}
    assert usual.basis() == found.basis() == {"mean_score": Basis(count=128, of="games")}
    assert headline(["entropy", "mean_score", "mean_score_low"]) == "mean_score"


def test_a_score_that_nobody_knows_is_no_part_of_the_mean(monkeypatch):
    monkeypatch.setattr(measures, "unknown", lambda episode: episode.task.facts["steps"] > 4)
    found = MeanScore(Corridor(), Constant("stay"), 100, 0)()
    assert found["mean_score"] == 0.0
    assert found["mean_score_unknown"].count == 100
    assert found["mean_score_unknown"] == pytest.approx(0.6, abs=0.2)
    monkeypatch.setattr(measures, "unknown", lambda episode: True)
    assert list(MeanScore(Corridor(), Constant("stay"), 100, 0)()) == ["mean_score_unknown"]


def test_held_out_tasks_are_dealt_by_the_seed():
    game = find_game("quests:count=4,held=24")
    dealt = {seed: [task.id for task in Success(game, Uniform(), 8, seed)._tasks] for seed in (0, 1)}
    assert dealt[0] != dealt[1]
    assert [task.id for task in Success(game, Uniform(), 8, 1)._tasks] == dealt[1]
    for ids in dealt.values():
        assert len(set(ids)) == 8
        assert set(ids) <= {task.id for task in game.held_out()}
    assert [task.id for task in Success(game, Uniform(), 99, 1)._tasks] == [task.id for task in game.held_out()]


@dataclass(frozen=True)
class Paid:
    """Held-out tasks that pay what they say."""

    scores: tuple[float, ...]
    name: str = "paid"
    roles: tuple[str, ...] = ("one",)

    def tasks(self):
        return [Task("trained")]

    def held_out(self):
        return [Task(str(number), facts={"score": score}) for number, score in enumerate(self.scores)]

    def play(self, task, rng):
        yield [Ask(Seat("one"), told(task.id), ("go",))]
        return Outcome({Seat("one"): task.facts["score"]})


@pytest.mark.parametrize(
    ("scores", "bounds"),
    [
        ((1.0,) * 8, (8 / (8 + 1.959964**2), 1.0)),  # Wilson's
        ((0.0,) * 8, (0.0, 1 - 8 / (8 + 1.959964**2))),
        ((0.0, 0.5, 1.0, 0.5), (0.5 - 3.182446 * 6**-0.5 / 2, 0.5 + 3.182446 * 6**-0.5 / 2)),  # Student's, t at 3
        ((0.5,) * 4, (None, None)),
    ],
)
def test_a_mean_score_on_held_out_tasks_says_how_sure_it_is(scores, bounds):
    found = Success(Paid(scores), Uniform(), 8, 0)()
    assert found["held_out_score"] == sum(scores) / len(scores)
    known = tuple(found.get(f"held_out_score_{end}") for end in ("low", "high"))
    assert known == (bounds if None in bounds else pytest.approx(bounds, abs=1e-6))


class Found(Exception):
    """Says what a recipe measures."""


def found(measures):
    raise Found(measures)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("grpo", {"game": "tic_tac_toe"}),
        ("spiral", {"game": "tic_tac_toe"}),
        ("spiral", {"game": "kuhn_poker", "also": ("tic_tac_toe",)}),
        ("first_steps", {}),
        ("mars", {}),
        ("league", {"game": "tic_tac_toe"}),
        ("magnetic", {"game": "tic_tac_toe"}),
        ("mirror_descent", {"game": "tic_tac_toe"}),
        ("fictitious_self_play", {"game": "tic_tac_toe"}),
    ],
)
def test_the_matches_that_measure_a_run_are_dealt_by_its_tests(name, changes, tmp_path, monkeypatch):
    monkeypatch.setattr(Run, "steps", lambda self, steps, policies, parts=(), measures=(): found(measures))
    recipe, run = find_recipe(name), Run(tmp_path / "run", 0, Schedule(), tests=7)
    config = recipe.Config() if name == "first_steps" else changed(recipe.Config(), {"learner.model": "tabular"})
    with pytest.raises(Found) as raised:
        recipe.train(changed(config, changes), run)
    sampled = [each for each in map(unnamed, raised.value.args[0]) if isinstance(each, Payoff)]
    assert {each._seed for each in sampled} == {7}


def unnamed(measure):
    return measure._inner if isinstance(measure, Named) else measure
