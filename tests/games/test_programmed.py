"""Matches that a program plays: what it asks, which conversation that belongs to, and how it ends."""

import threading
import time
from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest

from redqueen.credit.rewards import payoff
from redqueen.games.programmed import Conversations, Desk, MatchOver, Programmed, Wish, as_recorded
from redqueen.objectives.batch import pack
from redqueen.play import continuous, lockstep
from redqueen.play.flow import Flow
from redqueen.play.table import Table
from redqueen.players.tabular import TabularPolicy
from redqueen.records import episode_to_json
from redqueen.types import Ask, Match, Message, Outcome, RedQueenError, Reply, Seat, Task, Trajectory, Turn

AGENT = Seat("agent")
TASKS = (Task("one", prompt="1"), Task("two", prompt="2"), Task("three", prompt="3"))


def game(text):
    return Message("game", text)


def own(text):
    return Message("agent", text)


@dataclass
class Scripted:
    """Plays by a function of the task and a function that asks."""

    function: object
    name: str = "scripted"
    roles: tuple = ("agent",)
    threads: list = field(default_factory=list)

    def tasks(self):
        return TASKS

    def held_out(self):
        return TASKS

    def begin(self, task, desk):
        def say(messages, role="agent", stops=()):
            return desk.ask(role, messages, stops).result().text

        def play():
            try:
                desk.end(self.function(task, say))
            except Exception as error:
                desk.fail(f"{type(error).__name__}: {error}")

        self.threads.append(threading.Thread(target=play, daemon=True))
        self.threads[-1].start()


class Echo:
    """Answers with the number of words in the last message."""

    name = "echo"

    def __init__(self):
        self.together = []

    def reply(self, asks):
        self.together.append(len(asks))
        return [Reply(str(len(ask.messages[-1].text.split())), self.name) for ask in asks]


def played(function, tasks=TASKS[:1], player=None, **rules):
    program = Programmed(Scripted(function, rules.pop("name", "scripted"), rules.pop("roles", ("agent",))), **rules)
    cast = dict.fromkeys(program.roles, player or Echo())
    return lockstep.play([Match(program, task, cast, number) for number, task in enumerate(tasks)], Random(0))


def told(episodes):
    return [episode_to_json(episode) for episode in episodes]


def two_turns(task, say):
    first = (game(f"{task.prompt} a b"),)
    said = say(first)
    return float(say((*first, own(said), game("and again"))) == "2")


def test_a_program_asks_when_it_likes_and_says_the_score():
    (episode,) = played(two_turns)
    assert [turn.reply.text for turn in episode.turns] == ["3", "2"]
    assert episode.outcome == Outcome({AGENT: 1.0}, {"conversations": 1})
    assert episode.turns[1].ask.messages == (game("1 a b"), own("3"), game("and again"))
    assert episode.turns[1].ask.past == episode.turns[:1]


def test_programs_at_work_at_once_are_answered_together():
    player = Echo()
    played(two_turns, TASKS, player)
    assert player.together == [3, 3]


def test_a_slow_program_does_not_hold_up_the_others():
    order = []

    def program(task, say):
        if task.id == "one":
            time.sleep(0.5)
        say((game("x"),))
        order.append(task.id)
        return 0.0

    player = Echo()
    played(program, TASKS, player)
    assert order[-1] == "one"
    assert player.together == [2, 1]


@pytest.mark.parametrize("play", [continuous.play, lockstep.play])
def test_all_ways_to_play_give_the_same_episodes(play):
    program = Programmed(Scripted(two_turns))

    class Drawn:
        name = "drawn"

        def reply(self, asks):
            return [Reply(str(ask.seed % 5), self.name) for ask in asks]

    matches = [Match(program, task, {"agent": Drawn()}, number) for number, task in enumerate(TASKS)]
    assert told(play(matches, Random(1))) == told(lockstep.play(matches, Random(2)))


class Short(Echo):
    """Reads up to four letters."""

    name = "short"

    def unreadable(self, ask):
        size = sum(len(message.text) for message in ask.messages)
        return f"{size} letters are more than 4" if size > 4 else ""

    def reply(self, asks):
        assert not any(map(self.unreadable, asks))
        return super().reply(asks)


def too_much_at_first(task, say):
    try:
        say((game("a b c d"),))
    except RedQueenError as error:
        return {"one": 1.0, "other": float(str(error) == "7 letters are more than 4" and say((game("a b"),)) == "2")}
    return {"one": 0.0, "other": 0.0}


def in_flight(matches, rng):
    flow = Flow([matches[0].game], TabularPolicy(), len(matches), known=lambda: list(matches[0].cast.values()))
    return flow.play(matches, rng)


@pytest.mark.parametrize("play", [continuous.play, lockstep.play, in_flight])
def test_a_call_that_the_player_cannot_read_is_refused_and_the_match_goes_on(play):
    program = Programmed(Scripted(too_much_at_first, roles=("one", "other")))
    player = Short()
    matches = [Match(program, task, {"one": player, "other": player}, number) for number, task in enumerate(TASKS)]
    program.program.function = lambda task, say: too_much_at_first(task, lambda asked: say(asked, "other"))
    for episode in play(matches, Random(0)):
        assert episode.outcome.scores == {Seat("one"): 1.0, Seat("other"): 1.0}
        assert episode.outcome.facts == {"conversations": 1, "turned_away": 1}
        assert [turn.ask.messages for turn in episode.turns] == [(game("a b"),)]


def test_a_seat_that_is_refused_does_not_keep_the_others_from_being_answered():
    heard = []

    @dataclass
    class Both(Scripted):
        def begin(self, task, desk):
            asked = [desk.ask("one", (game("a b c d"),)), desk.ask("other", (game("a b"),))]

            def wait():
                for each in asked:
                    heard.append(str(each.exception()) if each.exception() else each.result().text)
                desk.end({"one": 0.0, "other": 1.0})

            threading.Thread(target=wait, daemon=True).start()

    program, player = Programmed(Both(None, roles=("one", "other"))), Short()
    (episode,) = lockstep.play([Match(program, TASKS[0], {"one": player, "other": player}, 0)], Random(0))
    assert heard == ["7 letters are more than 4", "2"]
    assert len(episode.turns) == 1


@pytest.mark.parametrize("play", [continuous.play, lockstep.play, in_flight])
def test_of_calls_that_come_one_upon_the_other_each_that_is_too_long_is_turned_away(play):
    class Asks(Scripted):
        def begin(self, task, desk):
            asked = [desk.ask("agent", (game(text),)) for text in ("a b c d", "five words", "a b", "longer")]
            threading.Thread(
                target=lambda: desk.end(sum(each.exception() is None for each in asked)), daemon=True
            ).start()

    program = Programmed(Asks(None))
    (episode,) = play([Match(program, TASKS[0], {"agent": Short()}, 0)], Random(0))
    assert [turn.reply.text for turn in episode.turns] == ["2"]
    assert episode.outcome == Outcome({AGENT: 1.0}, {"conversations": 1, "turned_away": 3})


def test_any_other_game_is_told_by_its_player():
    class Game:
        name, roles, zero_sum = "other", ("agent",), False

        def tasks(self):
            return list(TASKS)

        def play(self, task, rng):
            yield [Ask(AGENT, (game("a b c d"),))]
            return Outcome({AGENT: 0.0})

    with pytest.raises(AssertionError):  # of the player
        lockstep.play([Match(Game(), TASKS[0], {"agent": Short()}, 0)], Random(0))


def test_matches_stay_in_flight_and_are_restored():
    program = Programmed(Scripted(two_turns))
    learner = TabularPolicy()

    echo = Echo()
    flow = Flow([program], learner, 2, staleness=1, known=lambda: [echo])
    matches = [Match(program, TASKS[n % 3], {"agent": echo}, n) for n in range(flow.room)]
    first = flow.play(matches, Random(0))
    state = flow.state()
    again = Flow([program], learner, 2, staleness=1, known=lambda: [echo])
    again.restore(state)
    more = [Match(program, TASKS[0], {"agent": echo}, n) for n in range(10, 10 + flow.room)]
    assert told(again.play(more, Random(1))) == told(flow.play(more, Random(1)))
    assert [episode.seed for episode in first] == [0, 1]


def ask_of(tree, *messages):
    return tree.placed(Wish(AGENT, messages, ()))


def test_a_conversation_goes_on_a_changed_one_is_another_branch():
    tree = Conversations(AGENT)
    first = ask_of(tree, game("q"))
    tree.hear(first, Reply(" six "))
    on = ask_of(tree, game("q"), own("six"), game("sure?"))  # as a client sends it, without the spaces
    assert on.messages == (game("q"), own(" six "), game("sure?"))
    assert [turn.reply.text for turn in on.continues] == [" six "]
    tree.hear(on, Reply("yes"))
    changed = ask_of(tree, game("q"), own("seven"), game("sure?"))
    assert changed.continues == ()
    assert changed.messages == (game("q"), own("seven"), game("sure?"))
    tree.hear(changed, Reply("no"))
    assert tree.begun == 2


def test_a_conversation_goes_on_without_the_stop_that_ended_a_reply():
    tree = Conversations(AGENT)
    first = tree.placed(Wish(AGENT, (game("go"),), ("Observation:",)))
    tree.hear(first, Reply("Thought: a\nObservation: and more"))
    told = (game("go"), own("Thought: a"), game("Observation: it rains"))
    second = tree.placed(Wish(AGENT, told, ("Observation:",)))
    assert len(second.continues) == 1 and tree.begun == 1
    assert second.messages[1].text == "Thought: a\nObservation: and more", "as it was said"
    tree.hear(second, Reply("b"))
    assert len(ask_of(tree, *told, own("b"), game("c")).continues) == 2
    assert ask_of(tree, told[0], own("Thought: b"), told[2]).continues == ()


def test_branches_share_their_trunk_and_conversations_may_alternate():
    tree = Conversations(AGENT)
    for number, text in enumerate(("plan", "act")):
        tree.hear(ask_of(tree, game(text)), Reply(f"r{number}"))
    plan = ask_of(tree, game("plan"), own("r0"), game("next"))
    tree.hear(plan, Reply("r2"))
    act = ask_of(tree, game("act"), own("r1"), game("next"))
    other = ask_of(tree, game("plan"), own("r0"), game("another"))
    assert [turn.reply.text for turn in plan.continues] == ["r0"]
    assert [turn.reply.text for turn in act.continues] == ["r1"]
    assert other.continues == plan.continues
    deep = ask_of(tree, game("plan"), own("r0"), game("next"), own("r2"), game("end"))
    assert [turn.reply.text for turn in deep.continues] == ["r0", "r2"]
    assert tree.begun == 2


def test_conversations_that_alternate_are_one_row_each():
    def turn(prompt, reply, messages, past):
        said = Reply("", "learner", 0, np.array(prompt), np.array(reply), np.zeros(len(reply)))
        return Turn(Ask(AGENT, messages, continues=past), said)

    turns = (turn([1], [2], (game("a"),), ()), turn([5], [6], (game("b"),), ()), turn([1, 2, 3], [4], (game("c"),), ()))
    (episode,) = played(lambda task, say: 0.0)
    batch = pack([Trajectory(episode, AGENT, turns, np.zeros(3))], [np.array([1.0, 2.0, 3.0])])
    assert batch.tokens.tolist() == [[1, 2, 3, 4], [5, 6, 0, 0]]
    assert batch.advantages.tolist() == [[0, 1.0, 0, 3.0], [0, 2.0, 0, 0]]


def test_a_match_replays_with_its_program_and_from_its_record():
    episodes = played(two_turns, TASKS)
    for episode in episodes:
        assert told([lockstep.replay(Programmed(Scripted(two_turns)), episode)]) == told([episode])
        assert told([lockstep.replay(as_recorded(episode), episode)]) == told([episode])


def test_what_a_program_asks_at_once_replays_in_whatever_order_it_comes():
    def asks(names):
        def program(task, say):
            said = {name: say((game(name),)) for name in names}
            return float([say((game(name), own(said[name]), game("so?"))) for name in names] == ["1"] * len(names))

        return program

    (episode,) = played(asks(["a", "b b", "c c c"]))
    again = lockstep.replay(Programmed(Scripted(asks(["c c c", "a", "b b"]))), episode)
    assert again.outcome == episode.outcome == Outcome({AGENT: 1.0}, {"conversations": 3})
    assert [turn.reply.text for turn in again.turns] == ["3", "1", "2", "1", "1", "1"]
    with pytest.raises(RedQueenError, match="turn 1 of the record is not what 'scripted' asks agent now"):
        lockstep.replay(Programmed(Scripted(asks(["a", "x", "b b"]))), episode)


def test_calls_that_were_turned_away_are_turned_away_again():
    def rambles(task, say):
        for text in ("a b c d", "five words", "a b"):
            try:
                return float(say((game(text),)) == "2")
            except RedQueenError:
                continue
        return 0.0

    (episode,) = played(rambles, player=Short())
    assert episode.outcome == Outcome({AGENT: 1.0}, {"conversations": 1, "turned_away": 2})
    assert told([lockstep.replay(Programmed(Scripted(rambles)), episode)]) == told([episode])


def test_a_program_that_asks_otherwise_does_not_replay():
    (episode,) = played(two_turns)
    with pytest.raises(RedQueenError, match="turn 0 of the record is not what 'scripted' asks agent now"):
        lockstep.replay(Programmed(Scripted(lambda task, say: float(say((game("?"),)) == ""))), episode)


def test_scores_of_several_seats_by_role():
    def program(task, say):
        say((game("x"),), "one")
        return {"one": 2, "two": -1}

    (episode,) = played(program, roles=("one", "two"))
    assert episode.outcome.scores == {Seat("one"): 2.0, Seat("two"): -1.0}


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (1.0, "2 seats need a score each, by role, not 1.0 alone"),
        ({"one": 1.0}, "the seats are one, two, and scored are one"),
        ({"one": 1.0, "two": "x"}, "a score is a number"),
        (Outcome({Seat("one"): 1.0}), "the seats are one, two, and scored are one"),
        (Outcome({Seat("one"): 1.0, Seat("two", 1): 1.0}), "the seats are one, two, and scored are one, two1"),
        (Outcome({Seat("one"): 1.0, Seat("two"): "x"}), "a score is a number"),
    ],
)
def test_scores_that_do_not_fit_leave_the_match_without_a_verdict(scores, said):
    (episode,) = played(lambda task, say: scores, roles=("one", "two"))
    assert said in episode.outcome.facts["reason"]
    assert episode.outcome.facts["right"] is None


def test_an_outcome_with_a_score_that_nobody_knows_keeps_its_facts_and_has_no_verdict():
    outcome = Outcome({Seat("two"): float("nan"), Seat("one"): 1.0}, {"read": 3})
    (episode,) = played(lambda task, say: outcome, roles=("one", "two"))
    assert episode.outcome.scores == {Seat("one"): 0.0, Seat("two"): 0.0}
    assert episode.outcome.facts == {"conversations": 0, "read": 3, "right": None}


def fails(task, say):
    say((game("x"),))
    raise ValueError("broken")


def says_nan(task, say):
    say((game("x"),))
    return float("nan")


def takes_long(task, say):
    say((game("x"),))
    time.sleep(5)


def asks_for_ever(task, say):
    while True:
        say((game("x"),))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (fails, "ValueError: broken"),
        (says_nan, None),
        (takes_long, "it took longer than 0.2 s"),
        (asks_for_ever, "MatchOver: the calls of this match are used up"),
    ],
)
def test_without_a_verdict_nothing_is_learned(program, reason):
    (episode,) = played(program, seconds=0.2 if program is takes_long else 600, calls=3)
    assert episode.outcome.facts["right"] is None
    assert episode.outcome.facts.get("reason") == reason
    (rewards,) = payoff(episode).values()
    assert np.isnan(rewards[-1])
    assert (rewards[:-1] == 0).all()


def test_who_still_waits_when_a_match_is_dropped_is_told():
    said = []

    def program(task, say):
        try:
            say((game("x"),))
        except MatchOver as error:
            said.append(str(error))
        return 0.0

    scripted = Scripted(program)
    table = Table(Match(Programmed(scripted), TASKS[0], {"agent": Echo()}), 0)
    while not table.asks:
        table.hear([])
    del table  # nobody plays on
    scripted.threads[0].join(5)
    assert said == ["the match is over"]


def test_a_seat_is_asked_once_at_a_time_in_the_order_of_the_calls():
    desk = Desk(("agent", "other"), 0, 8)
    asked = [desk.ask(role, (game(text),)) for role, text in (("agent", "1"), ("agent", "2"), ("other", "3"))]
    assert [wish.messages[0].text for wish in desk.take(0)] == ["1", "3"]
    assert [wish.messages[0].text for wish in desk.take(0)] == ["2"]
    assert desk.take(0) == []
    assert not any(each.done() for each in asked)


@pytest.mark.parametrize(
    ("role", "messages", "said"),
    [
        ("nobody", (game("x"),), "there is no seat 'nobody': the seats are agent"),
        ("agent", (), "ends with what the seat is to answer"),
        ("agent", (game("x"), own("y")), "ends with what the seat is to answer"),
    ],
)
def test_what_cannot_be_asked(role, messages, said):
    with pytest.raises(RedQueenError, match=said):
        Desk(("agent",), 0, 8).ask(role, messages)


def test_other_games_must_still_ask_something():
    class Mute:
        name, roles = "mute", ("agent",)

        def tasks(self):
            return TASKS

        def play(self, task, rng):
            yield []
            return Outcome({AGENT: 0.0})

    with pytest.raises(RedQueenError, match="must yield a list of Ask objects"):
        lockstep.play([Match(Mute(), TASKS[0], {"agent": Echo()})], Random(0))


def test_with_a_window_a_seat_is_shown_its_last_turns_whatever_the_program_repeats():
    def talks(task, say):
        told = [game(task.prompt)]
        for number in range(4):
            told += [own(say(told)), game(f"and {number}?")]
        say([game("Something else.")])
        return 1.0

    (episode,) = played(talks, window=1)
    shown = [[message.text for message in turn.ask.messages] for turn in episode.turns]
    assert shown[:2] == [["1"], ["1", "1", "and 0?"]]
    assert shown[3] == ["1", "(Your first 2 turns are left out.)", "2", "and 2?"]
    assert shown[4] == ["Something else."]
    assert episode.outcome.facts["turns_left_out"] == 2
    assert episode.outcome.facts["conversations"] == 2
    again = lockstep.replay(as_recorded(episode), episode)
    assert episode_to_json(again) == episode_to_json(episode)
