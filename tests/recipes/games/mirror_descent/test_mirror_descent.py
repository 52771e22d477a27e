"""Mirror descent: its closed form by hand, what replies brought, and the batch that leads to a wanted policy."""

from random import Random

import numpy as np
import pytest

from redqueen.games.catalogue import find_game
from redqueen.measures.exact.exploitability import GameTree, strategy_of
from redqueen.measures.exact.minimax import Solution
from redqueen.objectives.regularizers import ExactKL
from redqueen.players.scripted import Uniform
from redqueen.recipes.games.mirror_descent import recipe
from redqueen.recipes.games.mirror_descent.steps import (
    all_states,
    check_listed,
    closed_form,
    estimate,
    gains,
    pack_toward,
    parts_of,
    reply_values,
)
from redqueen.runs.run import Run, read_final
from redqueen.settings.learner import Learner
from redqueen.settings.optimization import Optimization
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Reply, Seat, Task, Trajectory, Turn

FIRST = Seat("first")
ASK = Ask(FIRST, (Message("game", "Your move?"),), ("pass", "bet"))
HALF = np.array([0.5, 0.5])


def trajectory(*turns):
    """One seat's turns, (ask, text, reward) each."""
    spoken = tuple(Turn(ask, Reply(text)) for ask, text, _ in turns)
    episode = Episode("talk", Task("t"), 0, spoken, Outcome({}), (FIRST,))
    return Trajectory(episode, FIRST, spoken, np.array([reward for *_, reward in turns]))


def test_the_closed_form_by_hand():
    """Gains of 1 and -1 at even odds: log-odds 2 without a pull, halved by a pull of 1 to a uniform magnet; by one to
    e to 1 they become (0 + 1 + 2) / 2."""
    gain = np.array([1.0, -1.0])
    assert closed_form(HALF, HALF, gain, 1.0, 0.0)[0] == pytest.approx(1 / (1 + np.exp(-2.0)))
    assert closed_form(HALF, HALF, gain, 1.0, 1.0)[0] == pytest.approx(1 / (1 + np.exp(-1.0)))
    magnet = np.array([np.e, 1.0]) / (np.e + 1.0)
    assert closed_form(HALF, magnet, gain, 1.0, 1.0)[0] == pytest.approx(1 / (1 + np.exp(-1.5)))
    assert closed_form(np.array([0.9, 0.1]), HALF, np.zeros(2), 2.0, 0.0) == pytest.approx([0.9, 0.1])


def test_a_reply_is_worth_what_it_brought_on_average_from_there_on():
    later = Ask(FIRST, (Message("game", "And now?"),), ("pass", "bet"))
    played = [
        trajectory((ASK, "bet", 0.0), (later, "pass", 2.0)),
        trajectory((ASK, "bet", 1.0), (later, "bet", -1.0)),
        trajectory((ASK, "bet", np.nan)),
    ]
    values = reply_values(played)
    assert np.isnan(values[ASK][0]) and values[ASK][1] == 1.0
    assert values[later].tolist() == [2.0, -1.0]
    found = gains(values, {ASK: np.array([0.3, 0.7]), later: np.array([0.25, 0.75])})
    assert found[ASK].tolist() == [0.0, 0.0]  # nobody passed: worth what is expected
    assert found[later] == pytest.approx([2.25, -0.75])
    _, _, given = estimate(played, Uniform())
    assert given[0].tolist() == [0.0, 1.5] and given[1].tolist() == [0.0, -1.5] and np.isnan(given[2]).all()


@pytest.mark.parametrize("model", ["tabular", "tiny:hidden=16,heads=2"])
def test_the_loss_is_the_divergence_of_whole_replies_from_what_is_wanted(model):
    """Replies of several tokens of which two begin alike."""
    asks = [Ask(FIRST, (Message("game", f"Number {n}?"),), ("aa", "ab", "b", "aab")) for n in (1, 2)]
    wanted = dict(zip(asks, (np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.7, 0.1, 0.1, 0.1])), strict=True))
    policy = Learner(model=model).build(seed=0)
    batch = pack_toward(policy, wanted, strategy_of(policy, asks))
    loss, _ = ExactKL(1.0)(policy.likelihoods(batch), batch)
    apart = [float(p @ np.log(p / wanted[ask])) for ask, p in zip(asks, policy.probabilities(asks), strict=True)]
    assert float(loss) == pytest.approx(np.mean(apart), abs=1e-5)
    assert batch.reference.logprobs[batch.loss_weights == 0].abs().max() == 0
    parts = parts_of(batch, 2, Random(0))
    assert sorted(float(ExactKL(1.0)(policy.likelihoods(part), part)[0]) for part in parts) == pytest.approx(
        sorted(apart), abs=1e-5
    )


def test_a_table_comes_near_the_equilibrium_of_kuhn_poker(tmp_path):
    config = recipe.Config(steps=15, matches_per_step=240)
    learner = recipe.train(config, Run(tmp_path))
    tree = GameTree(find_game("kuhn_poker"))
    assert tree.exploitability(tree.strategy(learner)) < 0.2  # uniform play has .458
    assert tree.values(tree.strategy(learner))[0] == pytest.approx(-1 / 18, abs=0.06)


def test_exact_values_need_no_match(tmp_path, monkeypatch):
    """A table follows the closed form on the values of the game tree: a step from uniform play by hand, then forty."""
    monkeypatch.setattr(recipe, "play", lambda matches, rng: pytest.fail("a match was played") if matches else [])
    tree = GameTree(find_game("kuhn_poker"))
    state = next(ask for ask in tree.states if "Your card is the jack. Nobody has moved" in ask.messages[-1].text)
    one = recipe.Config(steps=1, matches_per_step=0, step_size=0.8, pull=0.5)
    chances = recipe.train(one, Run(tmp_path / "one")).probabilities([state])[0]
    worth = {"pass": -1.25, "bet": -0.5}  # of a jack against uniform play
    first, second = (worth[choice] for choice in state.choices)
    assert np.log(chances[0] / chances[1]) == pytest.approx(0.8 * (first - second) / (1 + 0.8 * 0.5), abs=1e-6)
    forty = recipe.train(recipe.Config(steps=40, matches_per_step=0, last_pull=0.05), Run(tmp_path / "forty"))
    reached = 0.047839  # by a simulation of the closed form that shares no code with this one
    assert tree.exploitability(tree.strategy(forty)) == pytest.approx(reached, abs=2e-6)
    assert read_final(tmp_path / "forty")["exploitability"] == pytest.approx(reached, abs=2e-6)


def test_of_a_board_game_each_position_is_worked_out_once():
    positions = all_states(find_game("connect:2,3,2"), Uniform())
    assert isinstance(positions, Solution)
    assert isinstance(all_states(find_game("kuhn_poker"), Uniform()), GameTree)
    assert all_states(find_game("kuhn_poker"), Uniform(), needed=False) is None
    now, gained, _ = estimate([], Uniform(), positions)
    assert list(now) == list(gained) == positions.states


def test_a_state_to_which_play_never_comes_stays_as_it_is():
    nothing = {ASK: np.array([np.nan, np.nan])}
    assert gains(nothing, {ASK: HALF}) == {}


def test_each_step_ends_at_the_closed_form_with_a_moving_magnet(tmp_path, monkeypatch):
    asked = []

    def noted(now, magnet, gained, size, pull):
        asked.append((now, strategy_of(magnet, list(gained)), mirror_step(now, magnet, gained, size, pull)))
        return asked[-1][2]

    mirror_step = recipe.mirror_step
    monkeypatch.setattr(recipe, "mirror_step", noted)
    recipe.train(recipe.Config(steps=3, matches_per_step=60, magnet_every=2), Run(tmp_path))
    assert [len(wanted) for *_, wanted in asked] == [12, 12, 12]
    for ask, reached in asked[0][2].items():
        assert asked[1][0][ask] == pytest.approx(reached, abs=1e-7)  # one step later
        assert asked[1][1][ask] == pytest.approx(HALF)  # the magnet of step 0, a new table
        assert asked[2][1][ask] == pytest.approx(asked[2][0][ask], abs=1e-12)


def test_a_language_model_follows_with_either_optimizer(tmp_path):
    for name, updates in (("natural", 1), ("adamw", 3)):
        learner = Learner(model="tiny:hidden=16,heads=2", optimization=Optimization(optimizer=name))
        run = Run(tmp_path / name)
        recipe.train(recipe.Config(learner, steps=2, matches_per_step=12, updates=updates), run)
        assert learner.optimization.optimizer == name


class FreeTalk:
    """A game of one reply in free text."""

    name, roles, zero_sum = "free_talk", ("first", "second"), True

    def tasks(self):
        return [Task("t")]

    def play(self, task, rng):
        yield Ask(FIRST, (Message("game", "Say something."),))
        return Outcome({FIRST: 0.0, Seat("second"): 0.0})


def test_where_there_is_nothing_to_choose_the_batch_is_empty():
    only = Ask(FIRST, (Message("game", "Go on?"),), ("yes",))
    policy = Learner(model="tiny:hidden=16,heads=2").build(seed=0)
    assert len(pack_toward(policy, {only: np.ones(1)}, {only: np.ones(1)})) == 0


def test_free_text_is_refused_before_anything_is_played(tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "play", lambda *_: pytest.fail("a match was played"))
    said = "needs games that list their legal replies, and free_talk asks for free text: train magnetic or spiral"
    with pytest.raises(RedQueenError, match=said):
        check_listed(FreeTalk(), Uniform())
    learner = Learner(model="tiny:hidden=16,heads=2", answer="boxed", max_completion_length=2)
    with pytest.raises(RedQueenError, match="in a format of its own: leave --answer out, or train magnetic or spiral"):
        recipe.train(recipe.Config(learner, steps=1, matches_per_step=2), Run(tmp_path))
