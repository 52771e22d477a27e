from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pytest

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.opponents.pools import Fixed
from redqueen.play.lockstep import play
from redqueen.play.seating import both_seatings, dealt, mirror, rotate, seat_learner, shared_out
from redqueen.players.scripted import FirstChoice, Uniform
from redqueen.protocols import Play, Player
from redqueen.types import Match, Outcome, RedQueenError, Task

GAME = KuhnPoker()
LEARNER, RIVAL = FirstChoice(), Uniform()


@dataclass(frozen=True)
class Roles:
    """A game of any roles, in which nobody speaks."""

    roles: tuple[str, ...]
    name: str = "roles"

    def tasks(self) -> Sequence[Task]:
        return [Task(str(number)) for number in range(6)]

    def play(self, task: Task, rng: Random) -> Play:
        return Outcome({})
        yield


THREE = Roles(("a", "b", "c"))


def learner_roles(matches: list[Match]) -> list[list[str]]:
    return [[role for role, player in match.cast.items() if player is LEARNER] for match in matches]


def test_chance_deals_the_same_for_the_same_seed_and_all_there_is():
    game = KuhnPoker()
    assert [dealt(game, seed).id for seed in range(20)] == [dealt(game, seed).id for seed in range(20)]
    assert {dealt(game, seed).id for seed in range(100)} == {task.id for task in game.tasks()}


def test_a_mirror_seats_the_learner_everywhere():
    matches = mirror(THREE, THREE.tasks(), LEARNER)
    assert [match.task.id for match in matches] == list("012345")
    assert learner_roles(matches) == [["a", "b", "c"]] * 6


def test_both_seatings_play_each_task_in_each_role():
    matches = both_seatings(GAME, GAME.tasks()[:2], LEARNER, RIVAL)
    assert learner_roles(matches) == [["first"], ["second"]] * 2
    assert [match.task.id for match in matches] == ["jack-queen", "jack-queen", "jack-king", "jack-king"]
    assert learner_roles(both_seatings(THREE, THREE.tasks()[:1], LEARNER, RIVAL)) == [["a"], ["b"], ["c"]]
    assert all(match.seed is None for match in matches)


def test_seatings_of_one_task_share_their_chance():
    seeds = [match.seed for match in both_seatings(GAME, GAME.tasks()[:2], LEARNER, RIVAL, seed=4)]
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]
    again = [match.seed for match in both_seatings(GAME, GAME.tasks()[:2], LEARNER, RIVAL, seed=4)]
    assert seeds == again


def test_rotation_gives_the_learner_every_role_in_turn():
    matches = rotate(THREE, THREE.tasks(), LEARNER, Fixed(RIVAL), Random(0))
    assert learner_roles(matches) == [["a"], ["b"], ["c"]] * 2
    assert learner_roles(rotate(THREE, THREE.tasks()[:2], LEARNER, Fixed(RIVAL), Random(0), start=2)) == [["c"], ["a"]]


@pytest.mark.parametrize("count", [1, 3, 4])
def test_a_rotation_that_goes_on_from_step_to_step_favours_no_role(count):
    tasks = GAME.tasks()[:count]
    steps = [rotate(GAME, tasks, LEARNER, Fixed(RIVAL), Random(0), start=step * count) for step in range(4)]
    roles = [role for matches in steps for (role,) in learner_roles(matches)]
    assert roles == ["first", "second"] * (2 * count)


def test_rotation_draws_an_opponent_for_each_match():
    class Pool:
        def draw(self, rng: Random) -> Player:
            return Uniform(f"rival {rng.randrange(3)}")

        add = observe = state = restore = None

    matches = rotate(THREE, THREE.tasks() * 5, LEARNER, Pool(), Random(0))
    rivals = [{player.name for player in match.cast.values() if player is not LEARNER} for match in matches]
    assert all(len(names) == 1 for names in rivals)
    assert set().union(*rivals) == {"rival 0", "rival 1", "rival 2"}


def test_matches_made_here_can_be_played():
    episodes = play(rotate(GAME, GAME.tasks(), LEARNER, Fixed(RIVAL), Random(0)), Random(0))
    assert [episode.turns[0].reply.player for episode in episodes] == ["first_choice", "uniform"] * 3


def test_a_role_the_game_lacks_is_named():
    with pytest.raises(RedQueenError, match="kuhn_poker has no role 'dealer': its roles are first, second"):
        seat_learner(GAME, GAME.tasks()[0], LEARNER, RIVAL, "dealer")


def test_a_game_of_one_role_has_no_seat_for_an_opponent():
    alone = Roles(("team",))
    with pytest.raises(RedQueenError, match="one role, 'team': there is no seat for an opponent"):
        both_seatings(alone, alone.tasks(), LEARNER, RIVAL)
    with pytest.raises(RedQueenError, match="no seat for an opponent"):
        rotate(alone, alone.tasks(), LEARNER, Fixed(RIVAL), Random(0))


def test_a_kind_is_drawn_for_each_match_and_of_one_kind_nothing():
    rng = Random(0)
    assert shared_out(7, 1, rng) == [7]
    assert rng.random() == Random(0).random()
    counts = shared_out(3000, 3, Random(1))
    assert sum(counts) == 3000
    assert all(900 < count < 1100 for count in counts)
