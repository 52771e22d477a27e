"""Players by name."""

import dataclasses
import json
from dataclasses import replace
from random import Random

import pytest

from redqueen.games.catalogue import find_game
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.leduc_poker import LeducPoker
from redqueen.games.mini_kitchen import MiniKitchen
from redqueen.games.relay import Relay
from redqueen.games.stag_hunt import StagHunt
from redqueen.games.talk import told
from redqueen.games.tic_tac_toe import TicTacToe
from redqueen.games.volley import Volley
from redqueen.play.lockstep import play
from redqueen.players.by_role import ByRole
from redqueen.players.scripted import FirstChoice, Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.games import spiral
from redqueen.recipes.games.hcsp import recipe as hcsp
from redqueen.recipes.games.marft import recipe as marft
from redqueen.runs.folder import stored_policy
from redqueen.runs.named_players import Named, find_player, mind_of, undrawn, unnamed, warn_of_strangers
from redqueen.runs.player_names import PLAYERS
from redqueen.runs.run import Run, Schedule
from redqueen.types import Ask, Match, Message, Outcome, RedQueenError, Seat, Task

ASK = Ask(Seat("first"), (Message("game", "Your move?"),), ("pass", "bet"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "spiral-0"
    config, schedule = spiral.Config(steps=4, matches_per_step=2), Schedule(checkpoint_every=2)
    spiral.train(config, Run(folder, 0, schedule))
    settings = {"recipe": "spiral", "config": dataclasses.asdict(config), "seed": 0, "schedule": {}, "versions": {}}
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("name", ["uniform", "equilibrium", "honest"])
def test_a_bot_goes_by_the_name_it_was_called(name):
    assert find_player(name, KuhnPoker()).name == name


def test_what_a_player_cannot_read_its_name_and_its_roles_do_not_hide():
    class Short(TabularPolicy):
        def unreadable(self, ask):
            return f"{ask.seat.role} reads little"

    asks = [replace(ASK, seat=Seat(role)) for role in ("first", "second")]
    mixed = Named(ByRole(Short(), {"second": TabularPolicy()}), "run")
    assert [mixed.unreadable(ask) for ask in asks] == ["first reads little", ""]
    assert [Named(Uniform(), "bot").unreadable(ask) for ask in asks] == ["", ""]


@pytest.mark.parametrize("name", ["proactive", "cook:idle"])
def test_a_cook_goes_by_the_name_it_was_called(name):
    assert find_player(name, MiniKitchen()).name == name


@pytest.mark.parametrize(
    ("spec", "game", "expected"),
    [
        ("proactive", KuhnPoker(), "cooks in mini_kitchen"),
        ("cook:idle", MiniKitchen(remember=False), "where cooks remember"),
        ("cook:master", MiniKitchen(), "a cook is one of greedy, idle, blocker, dishes, onions, not 'master'"),
        ("cook:proactive", MiniKitchen(), "a cook is one of greedy, idle, blocker, dishes, onions, not 'proactive'"),
    ],
)
def test_a_cook_that_is_not_there_is_refused(spec, game, expected):
    with pytest.raises(RedQueenError, match=expected):
        find_player(spec, game)


@pytest.mark.slow
def test_minimax_never_loses_a_board_game():
    player = find_player("minimax", TicTacToe())
    assert player.name == "minimax"


def test_a_run_is_its_newest_policy_under_the_words_that_named_it(run):
    game = KuhnPoker()
    newest, older = find_player(str(run), game), find_player(f"{run}@2", game)
    assert (newest.name, older.name) == (str(run), f"{run}@2")
    assert newest.reply([ASK])[0].version == 4
    assert older.reply([ASK])[0].version == 2


def test_a_named_player_says_what_the_other_would_under_its_own_name():
    (said,), (own,) = FirstChoice().reply([ASK]), Named(FirstChoice(), "me").reply([ASK])
    assert own == dataclasses.replace(said, player="me")
    assert Named(Uniform(), "me").name == "me"


def test_a_server_is_a_model_at_an_address():
    player = find_player("http://localhost:8000/v1#some/model", KuhnPoker())
    assert "some/model" in player.name


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("nobody", "there is no player 'nobody': name uniform, minimax"),
        ("minimax", "kuhn_poker cannot be solved by minimax"),
        ("server:model", "an endpoint is written http://HOST/v1#model now, not 'server:model'"),
        ("server:m@http://x/v1", "an endpoint is written http://x/v1#m now, not 'server:m@http://x/v1'"),
        ("http://localhost:1/v1", "name the model of the endpoint after a #: http://localhost:1/v1#MODEL"),
        ("{run}@last", "write an older checkpoint as RUN@STEP with a number"),
        ("{run}@3", "has no checkpoint at step 3: it has 2, 4"),
        ("{run}/checkpoints", "is not a run"),
    ],
)
def test_who_cannot_be_seated_gets_one_clear_line(spec, expected, run):
    with pytest.raises(RedQueenError) as caught:
        find_player(spec.format(run=run), KuhnPoker())
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["equilibrium", "honest"])
def test_a_player_made_for_one_game_is_refused_in_another(name):
    with pytest.raises(RedQueenError, match=f"the player '{name}' is known for kuhn_poker only, not for tic_tac_toe"):
        find_player(name, TicTacToe())


def test_a_mind_is_read_under_any_name_where_it_is_open(run):
    policy = find_player(str(run), KuhnPoker())
    assert mind_of(policy) is unnamed(policy) is not policy
    assert mind_of(policy).probabilities([ASK])[0].sum() == pytest.approx(1.0)
    assert mind_of(find_player("http://localhost:8000/v1#m", KuhnPoker())) is None

    class Free(Uniform):
        open = False

    assert mind_of(Free()) is None


def test_what_can_be_named_is_listed():
    bots = {"uniform", "minimax", "equilibrium", "honest", "proactive", "cook:KIND"}
    assert bots | {"RUN", "world:WORLD", "http://HOST/v1#MODEL"} == set(PLAYERS)


def test_a_table_of_another_game_is_said_to_play_untrained(run):
    with pytest.warns(UserWarning, match="the table of .*spiral-0@2 has no position of leduc_poker"):
        find_player(f"{run}@2", LeducPoker())


def test_a_table_is_no_stranger_to_another_deal_of_its_game(run):
    game = KuhnPoker()
    table = unnamed(find_player(str(run), game))
    table.met = lambda asks: False  # as where a game has more deals than were trained on
    warn_of_strangers(table, game, "run", run)
    with pytest.warns(UserWarning, match="the table of run has no position of stag_hunt"):
        warn_of_strangers(table, StagHunt(), "run", run)


def kept(folder, recipe, config):
    """A run of this recipe, with the settings that its folder names."""
    recipe.train(config, Run(folder, 0, Schedule(checkpoint_every=config.steps)))
    name = recipe.__name__.split(".")[-2]
    settings = {"recipe": name, "config": dataclasses.asdict(config), "seed": 0, "schedule": {}, "versions": {}}
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


def held(folder, name):
    """A policy of the newest checkpoint, as it was saved."""
    policy = TabularPolicy()
    (checkpoint,) = (folder / "checkpoints").iterdir()
    policy.load(checkpoint / name)
    return policy


@pytest.mark.parametrize("model", ["tabular", "tiny:hidden=16,heads=2"])
def test_roles_of_a_run_with_a_policy_each_are_played_by_these(tmp_path, model):
    learner = marft.Config().learner
    config = marft.Config(dataclasses.replace(learner, model=model), steps=3, matches_per_step=64)
    folder, game = kept(tmp_path / "marft", marft, config), Relay()
    (episode,) = play([Match(game, game.tasks()[6], dict.fromkeys(game.roles, FirstChoice()))], Random(0))
    asks = [turn.ask for turn in episode.turns]
    team, alone = find_player(str(folder), game), stored_policy(folder)
    of_planner, of_solver = mind_of(team).probabilities(asks)
    assert of_planner == pytest.approx(alone.probabilities(asks[:1])[0])
    assert of_solver != pytest.approx(alone.probabilities(asks[1:])[0])
    assert [reply.player for reply in team.reply(asks)] == [str(folder)] * 2
    if model == "tabular":
        assert of_solver == pytest.approx(held(folder, "solver").probabilities(asks[1:])[0])


def test_a_recipe_says_which_of_its_policies_takes_which_role(tmp_path):
    config = hcsp.Config(steps=10, drill_steps=2, matches_per_step=8)
    folder, game = kept(tmp_path / "hcsp", hcsp, config), Volley(remember=False)
    episodes = play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, Uniform()))] * 32, Random(0))
    asks = [turn.ask for each in episodes for turn in each.turns]
    policies = {True: held(folder, "learner"), False: held(folder, "skills")}
    expected = [policies["captain" in ask.seat.role].probabilities([ask])[0] for ask in asks]
    found = mind_of(find_player(str(folder), game)).probabilities(asks)
    assert {("captain" in ask.seat.role) for ask in asks} == {True, False}
    assert all(one == pytest.approx(other) for one, other in zip(found, expected, strict=True))


class TwoWriters:
    """Two writers say what they like, then a guesser chooses."""

    name, roles = "two_writers", ("writer", "guesser")

    def tasks(self):
        return [Task("one")]

    def play(self, task, rng):
        for number in (1, 2):
            yield [Ask(Seat("writer", number), told("Write."))]
        yield [Ask(Seat("guesser"), told("Guess."), ("1", "2"))]
        return Outcome(dict.fromkeys((Seat("writer", 1), Seat("writer", 2), Seat("guesser")), 0.0))


def test_who_draws_among_listed_replies_cannot_write_beside_a_person_of_the_same_role():
    assert undrawn(TwoWriters(), "writer") == undrawn(TwoWriters(), "guesser") == {"writer"}
    assert undrawn(find_game("price_talk:words=6"), "adviser") == set()
    assert undrawn(find_game("price_talk:words=6"), "buyer") == {"adviser"}
    assert undrawn(find_game("negotiation"), "first") == {"second"}
