"""Who plays a role: the cast of a recipe, made from its config."""

from dataclasses import dataclass, replace
from random import Random
from typing import Annotated

import pytest

from redqueen.players.endpoint import Server
from redqueen.players.language.answers import Boxed, Code, Json, Plain, Tagged
from redqueen.questions.fenced import about_ranking
from redqueen.settings.learner import Learner
from redqueen.settings.limits import Amount
from redqueen.settings.roles import FROZEN, Cast, ForProposer, PaidTo, Peer, Plays, Role, Still, bind, judge_of
from redqueen.settings.speech import Speech
from redqueen.types import Ask, Message, RedQueenError, Seat, Task

ASK = Ask(Seat("proposer"), (Message("game", "Ask something."),))
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


class Seeded:
    """A run, as far as a cast needs one."""

    def derived(self, *path):
        return len(str(path))


@dataclass(frozen=True)
class Config:
    learner: Learner = TINY
    proposer: Role = Role()
    judge: Annotated[Role, Still(("rule",))] = Role(FROZEN)
    novelty: ForProposer[Amount] = 0.0
    steps: int = 3


def cast(**changes):
    return Cast(replace(Config(), **changes), Seeded())


def test_a_shared_role_is_the_learner_and_a_frozen_one_stays_as_it_was():
    found = cast()
    assert found["proposer"] is found.learner
    assert found["judge"] is not found.learner
    assert found["judge"].name == "learner@0"
    assert found.learning == [found.learner]


def test_a_model_of_its_own_learns_under_the_name_of_its_role():
    found = cast(proposer=Role("separate"))
    assert [player.name for player in found.learning] == ["learner", "proposer"]


def test_what_a_role_is_paid_is_refused_where_it_does_not_learn():
    assert cast(proposer=Role("separate"), novelty=0.5).learning
    with pytest.raises(RedQueenError, match="--novelty has no effect with --proposer frozen"):
        cast(proposer=Role(FROZEN), novelty=0.5)


def test_a_role_that_learns_nothing_has_no_weights_of_its_own():
    with pytest.raises(RedQueenError, match="the judge does not learn: separate would stay what it was made as"):
        cast(judge=Role("separate"))


def test_a_word_that_the_recipe_knows_makes_no_player():
    with pytest.raises(KeyError):
        cast(judge=Role("rule"))["judge"]
    with pytest.raises(RedQueenError, match="the judge cannot be 'rul': did you mean rule"):
        cast(judge=Role("rul"))


def test_a_rule_that_names_no_role_says_so():
    @dataclass(frozen=True)
    class Wrong:
        learner: Learner = TINY
        novelty: Annotated[float, PaidTo("nobody")] = 0.0

    Wrong.__annotations__ = {"learner": Learner, "novelty": Annotated[float, PaidTo("nobody")]}
    with pytest.raises(RedQueenError, match=r"the rule PaidTo\('nobody'\) of novelty names no role of Wrong"):
        Cast(Wrong(), Seeded())


def test_a_role_whose_player_does_not_learn_has_no_phase():
    steps = {"proposer": 1, "solver": 2}
    in_turns, still = cast().phases(steps), cast(proposer=Role(FROZEN)).phases(steps)
    assert [in_turns.at(step).name for step in range(4)] == ["proposer", "solver", "solver", "proposer"]
    assert [still.at(step).name for step in range(3)] == ["solver"] * 3


def test_a_table_sits_where_it_learns_or_stands_still():
    @dataclass(frozen=True)
    class Rivals:
        learner: Learner = Learner()
        attacker: Role = Role()
        defender: Role = Role(FROZEN)

    found = Cast(Rivals(), Seeded(), table_learning_rate=2.0)
    assert found["attacker"] is found.policy is not found["defender"]
    assert found.seated("attacker", "defender") == [found.policy]
    assert found.seated("defender") == []
    with pytest.raises(RedQueenError, match="a tabular defender is shared or frozen, not 'adapter'"):
        Cast(Rivals(defender=Role("adapter")), Seeded(), table_learning_rate=2.0)


def test_only_those_who_sit_and_learn_are_seated():
    own = cast(proposer=Role("separate"))
    assert own.seated("proposer", "judge") == [own["proposer"]]
    assert own.learning == [own.learner, own["proposer"]]


SPOKEN = Speech(answer="code", max_completion_length=9, system_prompt="Be brief.")
TAGS = replace(TINY, answer="boxed")


def test_a_proposer_has_no_answer_format_of_the_solver_s():
    found = cast(learner=TAGS)
    assert isinstance(found.learner.usual.answer, Boxed)
    assert format_of(found["proposer"], "proposer").answer is None
    assert format_of(found["proposer"], "solver").answer == Boxed()
    assert format_of(found["judge"], "judge").answer is None


def test_a_role_speaks_as_its_settings_say_and_the_others_do_not():
    found = cast(learner=TAGS, proposer=Role(speech=SPOKEN))
    spoken = format_of(found.learner, "proposer")
    assert (spoken.answer, spoken.limit) == (Code(), 9)
    assert "Be brief." in found.learner.format.decode(spoken.chat.prompt(ASK))
    assert "Be brief." not in found.learner.format.decode(found.learner.prompt(replace(ASK, seat=Seat("solver"))))
    assert format_of(found.learner.freeze(), "proposer") == spoken  # past selves speak so too


def test_a_peer_answers_in_the_learner_s_format():
    @dataclass(frozen=True)
    class Match:
        learner: Learner = TAGS
        rival: Peer = Peer("frozen")

    Match.__annotations__ = {"learner": Learner, "rival": Peer}
    assert format_of(Cast(Match(), Seeded())["rival"], "rival").answer == Boxed()


def test_a_role_that_learns_keeps_the_distribution_it_is_trained_on():
    message = "the proposer learns what it samples, at one temperature and from the whole distribution"
    for speech in (Speech(temperature=0.5), Speech(top_p=0.9), Speech(top_k=5), Speech(min_p=0.1)):
        with pytest.raises(RedQueenError, match=message):
            cast(proposer=Role(speech=speech))
        judge = cast(judge=Role(FROZEN, speech=speech))["judge"]
        assert format_of(judge, "judge") != judge.usual
    own = cast(proposer=Role("separate", speech=Speech(temperature=0.5)))["proposer"]
    assert own.temperature == 0.5  # a model of its own has a temperature of its own


def test_a_learning_rate_goes_by_policy():
    found = cast(proposer=Role("separate", learning_rate=0.5))
    assert (found["proposer"].learning_rate, found.learner.learning_rate) == (0.5, 1e-3)
    for player in ("shared", "frozen"):
        with pytest.raises(RedQueenError, match=rf"--proposer\.learning-rate has no effect with --proposer {player}"):
            cast(proposer=Role(player, learning_rate=0.5))


def test_settings_of_a_role_that_nobody_plays_are_refused():
    with pytest.raises(RedQueenError, match=r"--judge\.answer has no effect with --judge rule: leave it out"):
        cast(judge=Role("rule", speech=Speech(answer="boxed")))


def test_a_labeller_that_is_the_learner_solves_as_it_does():
    @dataclass(frozen=True)
    class Labelled:
        learner: Learner = TAGS
        labeller: Annotated[Role, Still(), Plays("solver", as_learner=True)] = Role()

    Labelled.__annotations__ = {
        "learner": Learner,
        "labeller": Annotated[Role, Still(), Plays("solver", as_learner=True)],
    }
    found = Cast(Labelled(), Seeded())
    assert found["labeller"] is found.learner
    with pytest.raises(
        RedQueenError, match=r"the labeller is the learner, which solves as the solver does: --solver\.ans"
    ):
        Cast(Labelled(labeller=Role(speech=Speech(answer="json"))), Seeded())
    other = Cast(Labelled(labeller=Role("frozen", speech=Speech(answer="json"))), Seeded())["labeller"]
    assert format_of(other, "solver").answer == Json()


def test_an_endpoint_is_spoken_to_as_the_settings_say(monkeypatch):
    monkeypatch.setattr(Server, "check", lambda self: self)
    speech = Speech(answer="tagged", template=("enable_thinking=false",), top_p=0.9, stop=("###",), temperature=0.2)
    judge = cast(learner=TAGS, judge=Role("http://host/v1#big", speech=speech))["judge"]
    assert (judge.answer, judge.temperature, judge.stops) == (Tagged(), 0.2, ("###",))
    assert judge.extra == {"top_p": 0.9, "chat_template_kwargs": {"enable_thinking": False}}
    assert cast(learner=TAGS, judge=Role("http://host/v1#big"))["judge"].answer == Plain("")


def test_an_endpoint_that_judges_is_told_its_form_once_and_one_that_solves_gets_the_plain_one(monkeypatch):
    """A judge that is to end with its ranking on the last line must not be told to say nothing else."""
    monkeypatch.setattr(Server, "check", lambda self: self)
    ranking = about_ranking(Task("t", prompt="1 + 1?"), ["2", "3"], Random(0))
    asked = Ask(Seat("judge"), (Message("task", ranking.prompt),))
    judge = judge_of(Learner(model="tiny"), None, Seeded(), "http://host/v1#big")
    assert [each["content"] for each in judge.messages(asked)] == [ranking.prompt]
    plays = Plays("solver", as_learner=True)
    solver = bind("solver", "http://host/v1#big", Learner(model="tiny"), None, 0, plays=plays)
    assert solver.messages(asked)[-1]["content"].endswith("Answer with your reply alone, without any other words.")


def format_of(player, role):
    return player._spoken(replace(ASK, seat=Seat(role)))
