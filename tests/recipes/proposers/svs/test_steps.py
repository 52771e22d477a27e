"""Which responses are varied, which variants are posed, and which groups are learned from."""

from dataclasses import dataclass, replace
from random import Random

import pytest

from redqueen.credit.group_rewards import Stated
from redqueen.credit.rewards import score
from redqueen.curricula.held_out import labelled
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import grouped, with_facts
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.scripted import Constant
from redqueen.questions.asking import PROPOSE, SOLVE
from redqueen.questions.small.variants import Variants
from redqueen.recipes.proposers.svs.steps import Rewards, Variation, audited
from redqueen.types import RedQueenError, Refusal, Reply, Task

DOMAIN = Variants()


@dataclass(frozen=True)
class Saying:
    """Always says this, after a thought between marks and this working."""

    working: str
    text: str
    name: str = "saying"

    def reply(self, asks):
        return [Reply(self.text, self.name, thought=f"A zebra.\n{self.working}", working=self.working) for _ in asks]


def variation(tests=None, middling=(0.125, 0.5), most=100, refuse_leaks=True):
    measure = HeldOut(DOMAIN, Constant(""), tests or {"": [Task("none")]})
    return Variation(DOMAIN, measure, middling, most, refuse_leaks)


def attempts_at(*outcomes, game=SOLVE):
    """One task for each string: "1" an attempt that was right, "0" one that was wrong, each with a text of its own."""
    groups = []
    for number, marks in enumerate(outcomes):
        task = Task(f"t{number}", answer=str(number))
        matches = [alone(game, [task], Constant(f"{number} {place}"))[0] for place in range(len(marks))]
        group = grouped(play(matches, Random(number)), len(marks))
        groups += with_facts(group, [{"right": mark == "1"} for mark in marks])
    return groups


def varied(outcomes, most=100, seed=0):
    found = variation(most=most).invited(attempts_at(*outcomes), Random(seed))
    return [(task.prompt.removeprefix("Tell a story for: "), task.answer) for task in found]


def test_every_correct_response_to_an_original_of_middling_accuracy_is_varied():
    outcomes = ["00000000", "00100000", "10010010", "11110000", "11111000", "11111111"]  # 0, 1, 3, 4, 5, 8 of 8
    expected = [("1 2", "1"), ("2 0", "2"), ("2 3", "2"), ("2 6", "2"), *((f"3 {n}", "3") for n in range(4))]
    assert varied(outcomes) == expected


def test_at_most_so_many_candidates_are_drawn_each_once():
    outcomes = ["11110000"] * 5
    drawn = varied(outcomes, most=6)
    assert len(drawn) == len(set(drawn)) == 6
    assert set(drawn) <= set(varied(outcomes))
    assert varied(outcomes, most=6, seed=1) != drawn


def test_without_candidates_there_is_nothing_to_vary():
    assert varied(["00000000", "11111111"]) == []
    assert varied([]) == []


def test_invitations_have_ids_of_their_own():
    found = variation(most=9).invited(attempts_at("11110000"), Random(0))
    assert len({task.id for task in found}) == 4


def test_the_synthesiser_is_given_the_working_and_the_reply_of_a_boxed_answer_and_no_thoughts():
    (group,) = grouped(
        play(alone(SOLVE, [Task("t", answer="42")], Saying("Twice 21 is", "42"), 2), Random(0)), 2
    )  # what --answer boxed makes of "<think>A zebra.</think>Twice 21 is \\boxed{42}"
    (group,) = with_facts([group], [{"right": True}, {"right": False}])
    (invitation,) = variation().invited([group], Random(0))
    assert invitation.prompt == "Tell a story for: Twice 21 is\n42"
    assert invitation.answer == "42"


def test_a_variant_that_states_its_answer_is_a_leak_and_a_small_number_in_it_is_none():
    told = [
        Task("a", prompt="Ann has 6 pens and loses 3. The answer is 6.", answer="6"),
        Task("b", prompt="Ann has 6 pens, gains 3 and loses 3. How many has she?", answer="6"),
        Task("c", prompt="A cat is an animal. Which letter?", answer="A"),
        Task("d", prompt="Who wrote Faust, Goethe or Kant?", answer="Goethe"),
        Task("e", prompt="What is 1024 + 0?", answer="1024"),
        Refusal("malformed"),
    ]
    found = [each.reason if isinstance(each, Refusal) else "" for each in variation().posed(told)]
    assert found == ["leak", "", "", "leak", "leak", "malformed"]
    assert not any(each == Refusal("leak") for each in variation(refuse_leaks=False).posed(told))


def test_a_variant_that_is_held_out_is_refused():
    told = DOMAIN.read([Task("v", answer="9")] * 2, ["4 gains 5", "5 gains 4"])
    kept, refused = variation({"plain": [told[1]]}).posed(told)
    assert (kept.prompt, refused) == (told[0].prompt, Refusal("held_out"))


def test_a_variant_that_is_held_out_is_known_in_other_case_and_spacing():
    told = [Task("a", prompt="tom has  3 Pens."), Task("b", prompt="Tom has 4 pens.")]
    held = {"plain": [Task("1", prompt="Tom has 3 pens."), Task("2", prompt="Tom has 5 pens.")]}
    assert [isinstance(each, Refusal) for each in variation(held).posed(told)] == [True, False]


def test_equal_variants_are_groups_of_their_own():
    told = DOMAIN.read([Task("v", answer="9")] * 2, ["4 gains 5"] * 2)
    assert len({each.id for each in variation().posed(told)}) == 2


@pytest.mark.parametrize(("solved", "paid"), [(0, 0), (1, 1), (3, 1), (5, 1), (6, 0), (7, 0), (8, 0)])
def test_what_a_variant_pays_by_how_many_of_eight_solve_it(solved, paid):
    assert Rewards((0.125, 0.625)).of_variants(attempts_at("1" * solved + "0" * (8 - solved))) == [paid]


def test_groups_that_are_learned_from():
    solved = score(attempts_at("0000", "0110", "1111"), Rewards.solver)
    synthesis = score(attempts_at("0000", "0010", "1111", game=PROPOSE), Stated("right"))
    kept = Rewards((0.125, 0.625)).kept
    assert [each.episode.task.id for each in kept(solved)] == ["t1"] * 4
    assert [each.episode.task.id for each in kept(synthesis)] == ["t1"] * 4 + ["t2"] * 4
    assert kept([]) == []


def test_the_audit_counts_what_was_accepted_with_a_false_answer():
    told = DOMAIN.read([Task("v", answer="9")] * 3, ["4 gains 5", "4 gains 4", "3 gains 3"])
    found = audited(DOMAIN, told, [1.0, 1.0, 0.0])
    assert found == {"variants": 3.0, "leaking": 0.0, "accepted": 2.0, "accepted_true": 0.5}
    assert audited(DOMAIN, told, [0.0, 0.0, -0.5]) == {"variants": 3.0, "leaking": 0.0, "accepted": 0.0}
    (chance,) = DOMAIN.read([Task("v", answer="4")], ["3 gains 1 loses 4 gains 4"])
    assert audited(DOMAIN, [chance], [0.0])["leaking"] == 0.0
    stated = replace(chance, prompt=f"{chance.prompt} Answer: 4")
    assert audited(DOMAIN, [stated], [0.0])["leaking"] == 1.0


def test_labelled_problems_are_none_of_the_held_out_ones():
    held = {"turned": DOMAIN.problems("turned", 200, Random(1))}
    problems = labelled(DOMAIN, ["turned"], 200, held, seed=2)
    ids = {task.id for task in problems}
    assert len(ids) == len(problems) > 50
    assert not ids & {task.id for task in held["turned"]}
    assert labelled(DOMAIN, ["turned"], 200, held, seed=2) == problems
    often = labelled(DOMAIN, ["plain"] * 3 + ["turned"], 100, held, seed=2)
    assert sum(task.facts["level"] == "plain" for task in often) > 250
    with pytest.raises(RedQueenError, match="no level 'hard'"):
        labelled(DOMAIN, ["hard"], 5, {}, seed=0)
    with pytest.raises(RedQueenError, match="are held out"):
        labelled(DOMAIN, ["turned"], 200, {"turned": DOMAIN.problems("turned", 200, Random(2))}, seed=2)
