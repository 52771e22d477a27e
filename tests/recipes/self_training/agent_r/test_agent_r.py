"""Agent-R: the paths of its card by hand, in a grid; what is refused; and what an actor sees."""

from random import Random

import numpy as np
import pytest

from redqueen.contracts.worlds import check_world
from redqueen.games.acting import AGENT, Acting
from redqueen.games.catalogue import find_game
from redqueen.play.groups import attempts, grouped
from redqueen.play.lockstep import play
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.self_training.agent_r.measures import drawn_acts, recoveries
from redqueen.recipes.self_training.agent_r.recipe import Config
from redqueen.recipes.self_training.agent_r.steps import (
    Splices,
    about,
    acts_of,
    begun,
    ends,
    first_bad,
    graft,
    grafted,
    pairs_of,
    value,
    way_back,
)
from redqueen.recipes.self_training.agent_r.world import REVISE, STEPS, Grid, open_from, revising, walk, ways_from
from redqueen.types import Match, RedQueenError, Reply

GAME = revising(Acting(Grid(side=7), 8))
TASK = walk((2, 3), (0, 3))
WRONG, RIGHT = ("east", "east", "south"), ("west", "west")


class Says:
    """Says these acts in order, then the last for ever; as a verifier it calls `bad` bad, others `otherwise`."""

    name = "learner"

    def __init__(self, *acts, bad=(), otherwise="good"):
        self.acts, self.bad, self.otherwise = acts, bad, otherwise

    def reply(self, asks):
        return [Reply(self._text(ask), self.name, tokens=np.arange(1), logprobs=np.zeros(1)) for ask in asks]

    def _text(self, ask):
        if ask.seat.role == "verifier":
            called = ask.messages[-1].text.rpartition("The last act, ")[2].partition(":")[0]
            return "bad" if called in self.bad else self.otherwise
        return self.acts[min(len(ask.past), len(self.acts) - 1)]

    def recite(self, ask, text):
        return Reply(text, self.name, tokens=np.arange(1), logprobs=np.zeros(1), recited=True)

    def in_format(self, ask, text, answer=""):
        return text


def group_of(*paths, game=GAME, task=TASK):
    matches = [Match(game, task, {AGENT: Says(*path)}, seed) for seed, path in enumerate(paths)]
    (group,) = grouped(play(matches, Random(0)), len(paths))
    return group


def bad_and_good():
    (pair,) = pairs_of(group_of((*WRONG, "north", "south"), RIGHT), 0.5, 0.2)
    return pair


def test_a_bad_path_is_cut_revised_led_back_and_goes_on_as_the_good_one():
    """E E S with its first act called bad: E | revise W W W, which is five turns, of which the first is not learned."""
    found = graft(GAME, bad_and_good(), 0, back=3)
    assert found.acts == ("east", REVISE, "west", "west", "west")
    assert found.wrong == 1
    later = graft(GAME.within(12), bad_and_good(), 2, back=3)
    assert later.acts[:4] == (*WRONG, REVISE)
    assert sorted(later.acts[4:7]) == ["north", "west", "west"]
    assert later.acts[7:] == RIGHT
    assert later.wrong == 3


def test_without_the_way_back_the_path_ends_elsewhere_and_is_refused():
    pair = bad_and_good()
    assert not ends(GAME, pair.bad, ("east", REVISE, *RIGHT), 1.0)
    assert ends(GAME, pair.bad, ("east", REVISE, "west", *RIGHT), 1.0)
    assert not ends(GAME, pair.bad, ("west", "west", "west"), 1.0), "nothing is said after the end"
    assert graft(GAME, pair, 0, back=0) is None
    assert graft(GAME, pair, 2, back=2) is None
    assert graft(revising(Acting(Grid(side=7), 4)), pair, 0, back=3) is None, "five acts, and the game has four"
    assert way_back(GAME, pair.bad, 0, 0, 3) == ("west",)


def test_what_stands_before_the_revision_is_not_learned_and_good_paths_are_whole():
    config = Config(cut="actor", branches=0)
    splices = Splices(config, GAME)
    paths = splices([group_of((*WRONG, "north", "south"), RIGHT)], Says("east", bad=("east",)), Random(0))
    assert [acts_of(each.episode) for each in paths] == [RIGHT, ("east", REVISE, "west", "west", "west")]
    assert [each.credit().tolist() for each in paths] == [[1, 1], [0, 1, 1, 1, 1]]
    assert all(value(each.episode) == 1.0 for each in paths)
    assert splices.metrics()["grafted"] == 1.0
    assert splices.metrics()["no_error"] == 0.0


@pytest.mark.parametrize(("cut", "wrong"), [("fork", 1), ("end", 2), ("none", None)])
def test_the_cuts_of_the_controls(cut, wrong):
    """The bad path uses up all eight acts: the second of them is the last after which there is room to go back, by two
    acts, and the good one's two."""
    splices = Splices(Config(cut=cut, branches=0), GAME)
    paths = splices([group_of((*WRONG, "north", "south"), RIGHT)], Says("east"), Random(0))
    assert [each.begin for each in paths] == ([0, wrong] if wrong else [0])


def test_of_several_places_the_first_with_a_graft_counts():
    game = revising(Acting(Grid(side=7), 5))
    pair = bad_and_good()
    assert grafted(game, pair, range(7, -1, -1), back=3) == graft(game, pair, 0, back=3)
    assert grafted(GAME, pair, [7, 6], back=3) is None


def test_no_error_is_seen_by_an_actor_that_calls_all_acts_good():
    splices = Splices(Config(branches=0), GAME)
    for _ in range(5):
        paths = splices([group_of((*WRONG, "north", "south"), RIGHT)], Says("east"), Random(0))
        found = splices.metrics()
    assert (found["no_error"], found["unread"]) == (1.0, 0.0)
    assert [each.begin for each in paths] == [0, 2], "cut as by --cut end"
    assert "--cut fork" in " ".join(splices.alarms())
    assert first_bad(["good", "uncertain"]) is None


def test_what_is_neither_good_nor_uncertain_stops_and_not_good_is_not_good():
    """Released code reads "not good" as good; here it is neither, which stops, and cannot be read, which is said."""
    splices = Splices(Config(branches=0), GAME)
    for _ in range(5):
        paths = splices([group_of((*WRONG, "north", "south"), RIGHT)], Says("east", otherwise="not good"), Random(0))
        found = splices.metrics()
    assert (found["no_error"], found["unread"]) == (0.0, 1.0)
    assert [each.begin for each in paths] == [0, 1]
    assert "none of good, uncertain and bad" in " ".join(splices.alarms())
    assert first_bad(["good", None, "uncertain", "bad", "bad"]) == 1


def test_an_actor_that_sees_errors_in_most_bad_paths_rings_no_alarm():
    splices = Splices(Config(branches=0), GAME)
    for step in range(12):
        bad = () if step % 4 == 3 else ("east",)
        splices([group_of((*WRONG, "north", "south"), RIGHT)], Says("east", bad=bad), Random(step))
        assert splices.metrics()["no_error"] == (0.0 if bad else 1.0)
    assert splices.alarms() == []


def test_the_actor_is_shown_what_came_before_an_act_and_what_came_of_it():
    shown = about(bad_and_good().bad, 1).prompt
    assert "At 3,3.\n> east\nAt 4,3." in shown
    assert "At 4,2." not in shown, "what comes later is not shown"


def test_pairs_need_a_distance_and_part_as_late_as_can_be():
    group = group_of(("west", "east", *WRONG), RIGHT, ("east", "west", *RIGHT))
    (pair,) = pairs_of(group, 0.5, 0.2)
    assert (acts_of(pair.good), pair.fork) == (RIGHT, 1)
    assert pairs_of(group, 0.5, 1.0) == []
    assert pairs_of(group, 1.0, 0.2) == []


def test_branches_begin_as_attempts_did_and_are_not_the_same_again():
    learner = TabularPolicy()
    splices = Splices(Config(branches=30), GAME)
    (group,) = splices.branched(attempts(GAME, [TASK], learner, 1, Random(0)), learner, Random(0))
    first, *others = group.attempts
    assert len(others) == 30
    assert len({acts_of(each) for each in others}) > 20
    assert all(each.turns[0].ask.messages == first.turns[0].ask.messages for each in others)
    assert np.mean([acts_of(each)[0] == acts_of(first)[0] for each in others]) > 0.6


def test_recovery_of_who_undoes_and_of_who_does_not():
    tasks = [TASK] * 12
    acts = [drawn_acts(GAME, TASK, Random(seed)) for seed in range(12)]
    assert {len(each) for each in acts} == {1, 2, 3}
    assert not any(REVISE in each for each in acts)
    assert recoveries(GAME, tasks, Says("south"), 0)["recovery"] == 0.0
    table = TabularPolicy()
    begins = begun(GAME, TASK, ("east",), Says("x", REVISE, "west", "west", "west"), 0)
    (episode,) = play([begins], Random(0))
    assert acts_of(episode) == ("east", REVISE, "west", "west", "west")
    assert 0.0 < recoveries(GAME, tasks * 4, table, 0)["revised"] < 1.0


def test_a_revision_is_heard_and_changes_nothing():
    world = GAME.world.open(TASK, 0)
    before, listed = world.state(), world.look().choices
    assert listed == ("east", "west", "north", "south", REVISE)
    found = world.act(REVISE)
    assert (found.shown, found.choices, found.over) == ("ok.", listed, False)
    assert world.state() == before


@pytest.mark.parametrize("game", ["corridor", "kuhn_poker"])
def test_a_game_without_a_world_is_refused(game):
    with pytest.raises(RedQueenError, match="acting:site"):
        revising(find_game(game))


def test_a_grid_that_holds_nothing_out_is_refused():
    with pytest.raises(RedQueenError, match="12 tasks"):
        Grid(side=2, count=12)


def test_a_maze_leaves_a_way_everywhere_and_its_walls_are_not_listed():
    maze = Grid(walls=9, count=200, tests=40)
    assert len(maze.maze) == 9 and maze.maze == Grid(walls=9).maze != Grid(walls=9, seed=1).maze
    assert Grid().maze == frozenset() and len(ways_from((2, 1), 4, maze.maze)) == 16
    fields = ways_from((0, 0), 4, maze.maze)
    steps = [(field, there) for field in fields for there in open_from(field, 4, maze.maze).values()]
    assert len(steps) == 2 * (24 - 9) and {(there, field) for field, there in steps} == set(steps), "each is undone"
    assert not {(min(step), max(step)) for step in steps} & maze.maze
    one, other = next(iter(sorted(maze.maze)))
    (through,) = [name for name, (dx, dy) in STEPS.items() if (one[0] + dx, one[1] + dy) == other]
    visit = maze.open(walk(one, other), 0)
    assert through not in visit.look().choices
    assert visit.act(through).shown == f"At {one[0]},{one[1]}.", "a wall is not walked through"


def test_the_world_of_mazes_keeps_the_contract_and_knows_the_shortest_ways():
    maze = Grid(walls=9)
    assert "keeps the contract" in check_world(maze)
    longer = [len(maze.expert(task)) - apart(task) for task in maze.tasks()]
    assert min(longer) == 0 < max(longer)
    assert all(len(Grid().expert(task)) == apart(task) for task in maze.tasks())


def apart(task):
    """How many steps two fields are from each other where there are no walls."""
    (x, y), (to_x, to_y) = task.facts["before"], task.facts["after"]
    return abs(x - to_x) + abs(y - to_y)


def test_a_bad_path_in_a_maze_is_led_back_by_undoing_it():
    """Behind a dead end the way back is that of the wrong acts, in the opposite order."""
    maze = Grid(side=3, walls=4, count=40, tests=20, seed=2)
    game = revising(Acting(maze, 12))
    undo = {"east": "west", "west": "east", "north": "south", "south": "north"}
    found = 0
    for task in maze.tasks():
        right = maze.expert(task)
        others = [name for name in open_from(tuple(task.facts["before"]), 3, maze.maze) if name != right[0]]
        for wrong in others[:1]:
            pairs = pairs_of(group_of((wrong,) * 12, right, game=game, task=task), 0.5, 0.2)
            grafted = graft(game, pairs[0], 0, back=3) if pairs else None
            if grafted and len(grafted.acts) > 2 + len(right):
                assert grafted.acts == (wrong, REVISE, undo[wrong], *right)
                found += 1
    assert found > 5


def test_more_walls_than_leave_a_way_everywhere_are_refused():
    with pytest.raises(RedQueenError, match="at most 9 walls that leave a way everywhere, not 10"):
        Grid(walls=10)
