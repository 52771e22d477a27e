import threading
import time
from contextlib import closing
from random import Random

import pytest
import torch

from redqueen.chance import derive
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.games.iterated_dilemma import IteratedDilemma
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.talk import ask, told
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.opponents.pools import Snapshots
from redqueen.play import lockstep
from redqueen.play.flow import Flow
from redqueen.play.seating import mirror, rotate
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.records import episode_to_json
from redqueen.types import Ask, Match, Outcome, RedQueenError, Reply, Seat, Task

KUHN, DILEMMA = KuhnPoker(), IteratedDilemma()
LEFT, RIGHT = Seat("left"), Seat("right")


class Slow:
    """Another player, who takes its time and is asked in threads."""

    asked_in_threads = True
    lock = threading.Lock()

    def __init__(self, player, seconds=0.0):
        self._player, self._seconds = player, seconds
        self.name = player.name
        self.threads = []
        self.at_once = self.most = 0

    def reply(self, asks):
        with self.lock:
            self.threads.append(threading.current_thread())
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        time.sleep(self._seconds)
        with self.lock:
            self.at_once -= 1
        return self._player.reply(asks)


class Gated:
    """Answers in threads, and only once it is let."""

    name = "gated"
    asked_in_threads = True

    def __init__(self):
        self.open = threading.Event()
        self.asked = threading.Event()

    def reply(self, asks):
        self.asked.set()
        assert self.open.wait(10)
        return [Reply("pass", self.name) for _ in asks]


class Turns:
    """The left seat speaks as often as the task says."""

    name = "turns"
    roles = ("left",)

    def play(self, task, rng):
        for turn in range(task.facts["turns"]):
            yield from ask(LEFT, told(f"turn {turn} of {task.id}"), ("a", "b"))
        return Outcome({LEFT: 1.0})


class Together:
    """Both seats speak at once, three times."""

    name = "together"
    roles = ("left", "right")

    def tasks(self):
        return [Task("t")]

    def play(self, task, rng):
        for _ in range(3):
            yield [Ask(LEFT, told("hello"), ("a", "b")), Ask(RIGHT, told("hello"), ("a", "b"))]
        return Outcome({LEFT: 0.0, RIGHT: 0.0})


def lots(flow, turns, learner):
    """As many matches of so many turns as there is room for."""
    return [Match(Turns(), Task(f"{turns}", facts={"turns": turns}), {"left": learner}) for _ in range(flow.room)]


def learn(learner, episodes):
    trajectories = spoken_by(learner, score(episodes, payoff))
    advantages = [trajectory.rewards for trajectory in trajectories]
    learner.update(pack(trajectories, advantages), Reinforce())


def as_data(episodes):
    return [episode_to_json(episode) for episode in episodes]


def versions(episodes):
    return [[turn.reply.version for turn in episode.turns] for episode in episodes]


def four_updates(game, play, learner, other, read):
    log = []
    for step in range(4):
        rng = Random(derive(3, step))
        cast = dict(zip(game.roles, (learner, other), strict=True))
        tasks = game.tasks()
        episodes = play([Match(game, tasks[n % len(tasks)], cast) for n in range(12)], rng)
        learn(learner, episodes)
        log += [read(episodes), rng.random()]
    return log


@pytest.mark.parametrize("game", [KUHN, DILEMMA, Together()])
def test_without_staleness_the_episodes_are_those_of_lockstep(game):
    learners = TabularPolicy(1.0), TabularPolicy(1.0)
    rounds = four_updates(game, lockstep.play, learners[0], Uniform(), as_data)
    flowing = four_updates(game, Flow([game], learners[1], 12).play, learners[1], Uniform(), as_data)
    assert flowing == rounds
    assert learners[1].state() == learners[0].state()


@pytest.mark.parametrize("game", [KUHN, DILEMMA, Together()])
def test_a_slow_player_changes_no_word_without_staleness(game):
    """A table numbers its states as it meets them, so what it calls a prompt may differ."""

    def words(episodes):
        return [[(turn.ask, turn.reply.text, turn.reply.logprobs.tolist()) for turn in each.turns] for each in episodes]

    learners = TabularPolicy(1.0), TabularPolicy(1.0)
    rounds = four_updates(game, lockstep.play, learners[0], Uniform(), words)
    with closing(Flow([game], learners[1], 12)) as flow:
        assert four_updates(game, flow.play, learners[1], Slow(Uniform()), words) == rounds


def test_players_are_asked_in_the_company_of_lockstep():
    """What a language model says is rounded in company."""

    calls = []

    class Counted(Uniform):
        def reply(self, asks):
            calls.append([(ask.seed, ask.seat) for ask in asks])
            return super().reply(asks)

    matches = mirror(KUHN, KUHN.tasks() * 3, Counted())
    lockstep.play(matches, Random(4))
    rounds = len(calls)
    Flow([KUHN], TabularPolicy(), len(matches)).play(matches, Random(4))
    assert calls[rounds:] == calls[:rounds]


def test_a_staleness_of_two_keeps_two_lots_in_flight_and_returns_the_oldest():
    learner = TabularPolicy()
    flow = Flow([Turns()], learner, 2, staleness=2)
    rooms, ages, numbers = [], [], []
    for call in range(5):
        rooms.append(flow.room)
        put = [Match(Turns(), Task(f"{call}", facts={"turns": 1}), {"left": learner}) for _ in range(flow.room)]
        numbers += [episode.task.id for episode in flow.play(put, Random(call))]
        ages.append((flow.metrics()["queue/age"], flow.metrics()["queue/oldest"]))
    assert rooms == [6, 2, 2, 2, 2]
    assert numbers == ["0", "0", "0", "0", "0", "0", "1", "1", "2", "2"]
    assert ages == [(0, 0), (1, 1), (2, 2), (2, 2), (2, 2)]


def test_a_match_goes_on_by_a_round_in_each_call_and_to_its_end_when_it_is_due():
    """Of matches of three turns in flight for two updates the first turn is two updates old, the second one. One of
    five turns speaks the last three when it is due."""
    learner = TabularPolicy()
    flow = Flow([Turns()], learner, 1, staleness=2)
    found = []
    for turns in (1, 3, 3, 5, 3, 3):
        episodes = flow.play(lots(flow, turns, learner), Random(turns))
        found += versions(episodes)
        learn(learner, episodes)
    # begun in call 0: three matches of one turn, which are over at once
    assert found == [[0], [0], [0], [1, 2, 3], [2, 3, 4], [3, 4, 5, 5, 5]]


def test_how_old_words_are_is_counted_in_updates_of_the_learner():
    learner = TabularPolicy()
    flow = Flow([Turns()], learner, 1, staleness=2)
    for turns in (1, 3, 3, 3):
        episodes = flow.play(lots(flow, turns, learner), Random(turns))
        metrics = flow.metrics()
        learn(learner, episodes)
    assert versions(episodes) == [[1, 2, 3]]
    assert (metrics["queue/lag"], metrics["stale_share"]) == (pytest.approx(1.0), pytest.approx(2 / 3))
    assert (metrics["queue/depth"], metrics["queue/ready"], metrics["queue/idle"]) == (2.0, 0.0, 0.0)


def test_every_token_of_a_row_has_the_version_of_the_turn_that_it_was_said_in():
    learner = TabularPolicy()
    flow = Flow([Turns()], learner, 1, staleness=1)
    for turns in (2, 2, 2):
        episodes = flow.play(lots(flow, turns, learner), Random(turns))
        trajectories = spoken_by(learner, score(episodes, payoff))
        batch = pack(trajectories, [trajectory.rewards for trajectory in trajectories])
        learn(learner, episodes)
    assert batch.versions[:, -1].tolist() == [1, 2]


def run(steps, staleness, pool_size, kill_after=None):
    """Fictitious self-play by hand; after `kill_after` steps everything is made anew from what was saved."""

    def made():
        learner = TabularPolicy()
        pool = Snapshots(learner, capacity=pool_size)
        return learner, pool, Flow([KUHN], learner, 10, staleness, lambda: pool.players)

    learner, pool, flow = made()
    log = []
    for step in range(steps):
        rng = Random(derive(9, step))
        pool.add(learner.freeze())
        matches = rotate(KUHN, rng.choices(KUHN.tasks(), k=flow.room), learner, pool, rng)
        episodes = flow.play(matches, rng)
        learn(learner, episodes)
        log.append((as_data(episodes), flow.metrics()))
        if step == kill_after:
            states = [learner.state(), pool.state(), flow.state()]
            learner, pool, flow = made()
            for part, state in zip((learner, pool, flow), states, strict=True):
                part.restore(state)
    return log, learner.state(), flow.state()


@pytest.mark.parametrize("staleness", [0, 1, 3])
@pytest.mark.parametrize("pool_size", [1, 50])
def test_a_killed_run_goes_on_bit_for_bit(staleness, pool_size):
    """Also where a past self that sits in a match in flight has left the pool."""
    whole = run(8, staleness, pool_size)
    assert run(8, staleness, pool_size, kill_after=4) == whole
    names = [record["cast"]["second"][1] for record in whole[2]["matches"]]
    assert bool(whole[2]["gone"]) == (staleness > 1 and pool_size == 1)
    assert len(names) == 10 * staleness


def test_the_state_goes_through_a_checkpoint(tmp_path):
    state = run(4, 2, 1)[2]
    torch.save(state, tmp_path / "state.pt")
    assert torch.load(tmp_path / "state.pt", weights_only=True) == state


def test_players_in_flight_must_be_known():
    learner, bot = TabularPolicy(), Uniform()

    def flow(known):
        return Flow([KUHN], learner, 2, 1, known)

    def matches(count):
        return [Match(KUHN, KUHN.tasks()[n], {"first": learner, "second": bot}) for n in range(count)]

    with pytest.raises(RedQueenError, match="'uniform' may be in flight for long: it must be among the known players"):
        flow(tuple).play(matches(4), Random(0))
    known = flow(lambda: [bot])
    known.play(matches(4), Random(0))
    with pytest.raises(RedQueenError, match="player 'uniform' sits in a match in flight, but is not among"):
        flow(tuple).restore(known.state())
    with pytest.raises(RedQueenError, match="'kuhn_poker' is in flight, which is not played now"):
        Flow([DILEMMA], learner, 2, 1, lambda: [bot]).restore(known.state())


def test_a_slow_player_does_not_hold_up_others():
    """A due match ends while another one, not yet due, waits for its slow player, and the learner goes on to learn."""
    gated, learner = Gated(), TabularPolicy()
    bot = Uniform()
    flow = Flow([KUHN], learner, 1, staleness=1, known=lambda: [gated, bot])
    quick = Match(KUHN, KUHN.tasks()[0], {"first": learner, "second": bot})
    slow = Match(KUHN, KUHN.tasks()[1], {"first": gated, "second": learner})
    (first,) = flow.play([quick, slow], Random(0))
    learn(learner, [first])
    assert gated.asked.wait(10)
    assert (first.task, flow.metrics()["queue/depth"], flow.metrics()["queue/ready"]) == (KUHN.tasks()[0], 1.0, 0.0)
    gated.open.set()
    (second,) = flow.play([quick], Random(1))
    assert second.task == KUHN.tasks()[1]
    assert [turn.reply.version for turn in second.turns if turn.reply.player == "learner"] == [1]
    flow.close()


def test_what_a_slow_player_says_while_the_learner_learns_is_there_at_the_next_call():
    slow = Slow(Uniform(), 0.05)
    with closing(Flow([Turns()], TabularPolicy(), 1, 1, lambda: [slow], at_once=1)) as flow:
        flow.play(lots(flow, 1, slow), Random(0))
        assert flow.metrics()["queue/idle"] > 0.5
        time.sleep(0.2)
        flow.play(lots(flow, 1, slow), Random(1))
        assert flow.metrics()["queue/idle"] == 0.0


def test_several_calls_of_a_slow_player_run_at_once_and_no_more_than_wished():
    learner, slow = TabularPolicy(), Slow(Uniform(), 0.05)
    flow = Flow([KUHN], learner, 12, at_once=3)
    flow.play(mirror(KUHN, KUHN.tasks() * 2, slow), Random(0))
    assert slow.most == 3
    assert threading.main_thread() not in slow.threads
    flow.close()
    assert not any(thread.is_alive() for thread in slow.threads)


def test_an_error_of_a_slow_player_surfaces_and_leaves_no_thread():
    class Broken(Slow):
        def reply(self, asks):
            super().reply(asks)
            raise ZeroDivisionError("as it is")

    class Short(Slow):
        def reply(self, asks):
            return super().reply(asks)[1:]

    before = threading.active_count()
    for player, error in ((Broken, ZeroDivisionError), (Short, RedQueenError)):
        broken = player(Uniform(), 0.01)
        flow = Flow([KUHN], TabularPolicy(), 12)
        with pytest.raises(error, match=r"as it is|'uniform' gave \d replies to \d asks"):
            flow.play(mirror(KUHN, KUHN.tasks() * 2, broken), Random(0))
        assert threading.active_count() == before


def test_threads_end_with_the_flow():
    slow = Slow(Uniform())
    flow = Flow([KUHN], TabularPolicy(), 6)
    flow.play(mirror(KUHN, KUHN.tasks(), slow), Random(0))
    del flow
    for thread in slow.threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in slow.threads)


def test_a_closed_flow_asks_again():
    gated, learner = Gated(), TabularPolicy()
    bot = Uniform()
    flow = Flow([KUHN], learner, 1, staleness=1, known=lambda: [gated, bot])
    quick = Match(KUHN, KUHN.tasks()[0], {"first": learner, "second": bot})
    flow.play([quick, Match(KUHN, KUHN.tasks()[1], {"first": gated, "second": learner})], Random(0))
    gated.open.set()
    flow.close()
    (episode,) = flow.play([quick], Random(1))
    assert episode.turns[0].reply.player == "gated"
    flow.close()


def test_bad_input_is_refused():
    learner = TabularPolicy()
    for settings in ({"count": 0}, {"count": 1, "staleness": -1}, {"count": 1, "at_once": 0}):
        with pytest.raises(RedQueenError, match="1 match or more"):
            Flow([KUHN], learner, **settings)
    with pytest.raises(RedQueenError, match="room for 6 matches in flight, not for 2"):
        Flow([KUHN], learner, 2, staleness=2).play(mirror(KUHN, KUHN.tasks()[:2], learner), Random(0))
