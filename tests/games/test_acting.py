"""A seat that acts in a world, and a world that is a seat."""

import json
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.games import check_game
from redqueen.credit.outcomes import unknown
from redqueen.credit.rewards import gains, payoff, score
from redqueen.games.acting import Acting, Working
from redqueen.games.catalogue import find_game
from redqueen.games.tools import Limits, as_recorded
from redqueen.objectives.batch import pack
from redqueen.play.lockstep import play, replay
from redqueen.players.scripted import Constant, Scripted, Uniform
from redqueen.records import episode_from_json, episode_to_json, plain
from redqueen.settings.learner import Learner
from redqueen.types import Assessment, Match, Message, Observation, RedQueenError, Seat, Task
from redqueen.worlds.embodied import Embodied, played_back
from redqueen.worlds.hosted import Hosted, read_assessment, read_observation
from redqueen.worlds.site import Site
from redqueen.worlds.sql import Sql

AGENT, WORLD = Seat("agent"), Seat("world")


def played(game, task, seed=0, **cast):
    (episode,) = play([Match(game, task, cast, seed)], Random(0))
    return episode


def test_the_expert_does_its_task_and_the_record_says_what_changed():
    site = Site("shop")
    task = next(task for task in site.tasks() if task.prompt.startswith("Set the city"))
    episode = played(Acting(site), task, agent=Scripted(site.expert(task)))
    city = task.prompt.removeprefix("Set the city to ").removesuffix(".")
    assert episode.outcome.scores == {AGENT: 1.0}
    assert episode.outcome.facts["acts"] == ("account", f"city {city}", "done")
    assert episode.outcome.facts["parts"] == {"reached": 1.0, "kept": 1.0}
    assert episode.outcome.facts["changes"] == {"updated user.city": (task.facts["before"]["user"]["city"], city)}
    assert episode.outcome.facts["over"]
    stored = episode_from_json(json.loads(json.dumps(episode_to_json(episode))))
    assert replay(Acting(site), stored).outcome.scores == episode.outcome.scores


def test_acts_that_are_used_up_end_the_match_where_it_stands():
    site = Site("mail")
    episode = played(Acting(site, acts=3), site.tasks()[0], agent=Constant("archive"))
    assert episode.outcome.facts["acts"] == ("archive",) * 3
    assert "There is no such thing here." in episode.outcome.facts["shown"][-1]
    assert episode.outcome.scores[AGENT] == 0.0
    assert not episode.outcome.facts["over"]
    with pytest.raises(RedQueenError, match="at least one act"):
        Acting(site, acts=0)


def test_a_wanted_change_with_another_one_is_not_done():
    site = Site("shop")
    task = next(task for task in site.tasks() if task.prompt.startswith("Put"))
    before = site.expert(task)[:-1]
    episode = played(Acting(site), task, agent=Scripted((*before, "home", "account", *_another(task), "done")))
    assert episode.outcome.scores[AGENT] == 0.0
    assert episode.outcome.facts["parts"] == {"reached": 1.0, "kept": 0.0}


def _another(task):
    return [f"city {next(city for city in ('rome', 'oslo') if city != task.facts['before']['user']['city'])}"]


@pytest.mark.parametrize("seed", range(5))
def test_a_world_in_a_seat_shows_the_agent_what_acting_shows_it(seed):
    site = Site()
    task = site.tasks()[seed]
    host = Embodied(site)
    alone = played(Acting(site), task, seed, agent=Scripted(site.expert(task)))
    hosted = played(Hosted(site), task, seed, agent=Scripted(site.expert(task)), world=host)
    assert [turn.ask for turn in hosted.turns if turn.ask.seat == AGENT] == [turn.ask for turn in alone.turns]
    assert hosted.outcome.scores == {AGENT: 1.0, WORLD: 0.0}
    assert hosted.outcome.facts["right"] is True
    assert plain(hosted.outcome.facts) == plain({**alone.outcome.facts, "right": True})


def test_company_and_closed_visits_change_nothing_that_a_world_says():
    site = Site()
    matches = [Match(Hosted(site), task, {"agent": Uniform(), "world": Embodied(site)}, 7) for task in site.tasks()[:6]]
    small = Embodied(site, most=1)  # every other visit is opened again and its acts are repeated
    crowded = play([replace(match, cast={**match.cast, "world": small}) for match in matches], Random(0))
    single = [play([match], Random(1))[0] for match in matches]
    assert [each.outcome for each in crowded] == [each.outcome for each in single]
    assert not small._visits


def test_a_recorded_world_answers_where_the_world_is_gone():
    site = Site()
    task = site.tasks()[3]
    agent = Scripted(site.expert(task))
    first = played(Hosted(site), task, agent=agent, world=Embodied(site))
    again = played(Hosted(site), task, agent=agent, world=played_back(first))
    assert again.outcome == first.outcome
    with pytest.raises(RedQueenError, match="nobody sat in the seat world"):
        played_back(played(Acting(site), task, agent=agent))


def test_a_world_that_speaks_plain_text_is_shown_whole_and_gives_no_verdict():
    site = Site()
    episode = played(
        Hosted(site, acts=2), site.tasks()[0], agent=Constant("open ada"), world=Constant("You see a door.")
    )
    assert episode.outcome.facts["shown"] == ("You see a door.",) * 3
    assert episode.outcome.facts["right"] is None
    assert unknown(episode)


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ('{"shown": "a door", "choices": [" open ", "open", ""], "over": true, "gain": 2}',
         Observation("a door", ("open",), True, 2)),
        ('{"shown": 3}', Observation('{"shown": 3}')),
        ('{"shown": "x", "gain": 1e999}', Observation('{"shown": "x", "gain": 1e999}')),
        ("[" * 100_000, Observation("[" * 100_000)),
        ("", Observation("Nothing is seen.")),
    ],
)  # fmt: skip
def test_what_a_world_says_is_read_or_shown(text, view):
    assert read_observation(text) == view


@pytest.mark.parametrize("text", ["", "done", "{}", '{"score": "1"}', '{"score": NaN}', '{"score": 1, "parts": 2}'])
def test_what_is_no_assessment_is_no_verdict(text):
    assert str(read_assessment(text).score) == "nan"


def test_an_assessment_is_read():
    assert read_assessment('{"score": 0.5, "parts": {"a": 1}}') == Assessment(0.5, {"a": 1})


@dataclass(frozen=True)
class Coins:
    """A world that pays a coin for each act, and is over after three."""

    name = "coins"
    repeatable = True
    tools = ()

    def tasks(self):
        return [Task("coins", prompt="Take coins.")]

    def held_out(self):
        return [Task("more", prompt="Take more coins.")]

    def open(self, task, seed):
        return Purse([])


@dataclass(frozen=True)
class Purse:
    acts: list
    tools = ()

    def look(self):
        return Observation("A purse.")

    def act(self, said):
        self.acts.append(said)
        return Observation("clink", gain=float(said == "take"), over=len(self.acts) == 3)

    def state(self):
        return {"acts": list(self.acts)}

    def assess(self, answer=""):
        return Assessment(float(self.acts.count("take")))

    def close(self):
        return None


def test_what_a_world_pays_for_acts_falls_on_the_turns():
    episode = played(Acting(Coins()), Coins().tasks()[0], agent=Scripted(("take", "wait", "take")))
    assert gains(episode)[AGENT].tolist() == [1.0, 0.0, 1.0]
    assert payoff(episode)[AGENT].tolist() == [0.0, 0.0, 2.0]


def test_a_query_is_tried_with_the_tool_and_then_answered():
    sql = Sql()
    task = sql.tasks()[0]
    query = sql.expert(task)[0]
    tried = Scripted((f"<sql>{query}</sql>", f"{query};"))
    episode = played(Working(sql), task, agent=tried)
    assert episode.outcome.scores[AGENT] == 1.0
    assert episode.outcome.facts["calls"] == (("sql", query),)
    assert task.facts["query"] not in episode.turns[0].ask.messages[-1].text
    assert episode.turns[0].ask.messages[-1].text.endswith(task.prompt)
    assert played(Working(sql), task, agent=Scripted(("<sql>drop table x</sql>", "no"))).outcome.facts["failures"] == (
        True,
    )


WANDERING = ("open ada", "inbox", "archive", "inbox", "open ada")


def test_an_agent_with_a_window_is_shown_its_last_turns_and_told_how_many_are_missing():
    site = Site("mail")
    task, acts = site.tasks()[0], Scripted(WANDERING)
    whole = played(Acting(site, 5), task, agent=acts)
    cut = played(Acting(site, 5, window=2), task, agent=acts)
    for number, (one, other) in enumerate(zip(whole.turns, cut.turns, strict=True)):
        if number <= 2:
            assert one.ask == other.ask
            continue
        said = f"(Your first {number - 2} turns are left out.)" if number > 3 else "(Your first turn is left out.)"
        assert other.ask.messages == (one.ask.messages[0], Message("game", said), *one.ask.messages[-4:])
    assert cut.outcome.facts == {**whole.outcome.facts, "turns_left_out": 2}
    stored = episode_from_json(json.loads(json.dumps(episode_to_json(cut))))
    assert replay(Acting(site, 5, window=2), stored).turns == stored.turns
    hosted = played(Hosted(site, 5, window=2), task, agent=acts, world=Embodied(site))
    assert [turn.ask for turn in hosted.turns if turn.ask.seat == AGENT] == [turn.ask for turn in cut.turns]
    assert hosted.outcome.facts["turns_left_out"] == 2
    assert find_game("working:sql(count=2,tests=1,trained=1,held=1),window=3").window == 3
    check_game(find_game("acting:site(mail,6,2),5,window=1"))


def test_a_window_must_be_a_number_of_turns():
    for game in (lambda: Acting(Site(), window=-1), lambda: Hosted(Site(), window=-1), lambda: Limits(window=-1)):
        with pytest.raises(RedQueenError, match="shown its last 1 or more turns, or all with window=0, not -1"):
            game()


def test_what_is_learned_with_a_window_is_what_was_sampled_where_it_was():
    game = find_game("acting:site(mail,3,2),4,window=1")
    learner = Learner(model="tiny:hidden=16,heads=2", lora_rank=0, max_completion_length=4).build(0)
    episodes = play([Match(game, task, {"agent": learner}) for task in game.tasks()[:3]], Random(0))
    trajectories = score(episodes, payoff)
    for each in trajectories:
        batch = pack([each], [np.arange(1.0, len(each.turns) + 1)])
        rows = [
            [0, 1][: len(each.turns)],
            *([number] for number in range(2, len(each.turns))),
        ]  # what fits the window is one
        assert batch.lengths.tolist() == [_length(each.turns[row[-1]]) for row in rows]
        for row, numbers in enumerate(rows):
            for turn in (each.turns[number].reply for number in numbers):
                begin, end = len(turn.prompt_tokens), len(turn.prompt_tokens) + len(turn.tokens)
                assert batch.tokens[row, :end].tolist() == [*turn.prompt_tokens, *turn.tokens]
                assert np.array_equal(batch.sampled_logprobs[row, begin:end], turn.logprobs)
            own = sum(len(each.turns[number].reply.tokens) for number in numbers)
            assert 0 < int((batch.loss_weights[row] != 0).sum()) <= own  # less where one token is legal


def _length(turn):
    return len(turn.reply.prompt_tokens) + len(turn.reply.tokens)


def test_calls_of_tools_leave_the_prompt_too_and_are_played_back():
    sql = Sql("filter", count=2, tests=1, trained=1, held=1)
    task = sql.tasks()[0]
    query = sql.expert(task)[0]
    said = Scripted((f"<sql>{query}</sql>", "<sql>no</sql>", f"<sql>{query}</sql>", query))
    episode = played(Working(sql, Limits(4, 6, window=1)), task, agent=said)
    texts = [message.text for message in episode.turns[-1].ask.messages]
    assert texts[1:3] == ["(Your first 2 turns are left out.)", f"<sql>{query}</sql>"]
    assert len(texts) == 4
    assert episode.outcome.facts["turns_left_out"] == 2
    assert episode.outcome.scores[AGENT] == 1.0
    again = replay(as_recorded(episode), episode)
    assert [turn.ask for turn in again.turns] == [turn.ask for turn in episode.turns]


class Returning:
    """A world whose visits give what a user who has not read the types would give."""

    name, repeatable = "returning", True

    def __init__(self, look=Observation("Home."), act=Observation("Home."), found=Assessment(1.0)):
        self._look, self._act, self._found = look, act, found

    def tasks(self):
        return [Task("t", prompt="Go.")]

    held_out = tasks

    def open(self, task, seed):
        return self

    tools = ()

    def look(self):
        return self._look

    def act(self, said):
        return self._act

    def assess(self, answer=""):
        return self._found

    def close(self):
        pass


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"look": "Home."}, "look in the world returning gave 'Home.', where redqueen.types.Observation"),
        ({"look": None}, "look in the world returning gave None"),
        ({"act": ("Home.", 0.0, True, {})}, r"act in the world returning gave \('Home\.', 0\.0, True"),
        ({"act": Observation(None)}, "act in the world returning gave Observation"),
        ({"found": 1.0}, "assess in the world returning gave 1.0, where redqueen.types.Assessment"),
        ({"found": Assessment("done")}, "assess in the world returning gave Assessment"),
    ],
)
@pytest.mark.parametrize("made", [Acting, Working])
def test_a_world_that_answers_with_something_else_is_named(made, given, reason):
    if made is Working and "act" in given:
        pytest.skip("its tools answer")
    with pytest.raises(RedQueenError, match=reason):
        played(made(Returning(**given)), Task("t", prompt="Go."), agent=Constant("x"))


@pytest.mark.parametrize("value", [1, np.float32(0.5), True, float("nan")])
def test_any_number_is_a_score(value):
    episode = played(Acting(Returning(found=Assessment(value))), Task("t", prompt="Go."), agent=Constant("x"))
    assert episode.outcome.scores[AGENT] == pytest.approx(float(value), nan_ok=True)
