"""How many talks end with the patient's condition, with the gate and without it, and how many a perfect one would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

from redqueen.chance import derive
from redqueen.curricula.dealt import Enumerated
from redqueen.games.hidden_state import OFF, PATIENT, HiddenState
from redqueen.play.lockstep import play
from redqueen.protocols import State
from redqueen.recipes.games.mental_arena.steps import Talks, honest, right
from redqueen.types import Basis, Episode, Metrics, mean_of


class Diagnoses:
    """Of talks with the same seeds at every measurement: `diagnosed`, the share that ends with the patient's condition,
    and `questions`, how many were asked; `no_gate/` the same of talks that have no gate, and so no hint. `truthful`:
    the share of the patient's answers that are true. Beside talks of one try stands what the best therapist names."""

    def __init__(self, talks: Talks, matches: int = 240, seed: int = 0) -> None:
        self._talks, self._seed = talks, seed
        self._tasks = Enumerated(talks.game.tasks()).draw(matches, Random(derive(seed, "tasks")))

    def __call__(self) -> Metrics:
        with_gate, without = self._played(""), self._played(OFF)
        answers = [
            turn.reply.text.strip() == honest(self._talks.game, turn.ask.messages[0].text)
            for each in (*with_gate, *without)
            for turn in each.turns
            if turn.ask.seat == PATIENT
        ]
        return {
            **_ends(with_gate),
            **{f"no_gate/{name}": value for name, value in _ends(without).items()},
            **({"truthful": mean_of(answers)} if answers else {}),
        }

    def _played(self, gate: str) -> list[Episode]:
        matches = self._talks.matches(self._tasks, gate=gate)
        return play(matches, Random(derive(self._seed, "matches")))

    def basis(self) -> dict[str, Basis]:
        talks, game = Basis(count=len(self._tasks), of="games"), self._talks.game
        found = dict.fromkeys(("diagnosed", "questions", "no_gate/diagnosed", "no_gate/questions"), talks)
        if game.tries == 1:
            best = {f"the best {game.first} questions": best_share(game, game.first)}
            found["no_gate/diagnosed"] = replace(talks, references=best)
        return found | {"truthful": Basis(count=2 * len(self._tasks), of="games")}

    def limit(self, replies: int) -> None:
        """A match counts as as many replies as the therapist may say, and is played with the gate and without."""
        if replies:
            game = self._talks.game
            a_task = 2 * (game.first + game.tries) + game.extra
            self._tasks = self._tasks[: max(replies // a_task, 1)]

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def _ends(episodes: Sequence[Episode]) -> Metrics:
    return {
        "diagnosed": mean_of(map(right, episodes)),
        "questions": mean_of(len(each.outcome.facts["history"]) for each in episodes),
    }


def best_share(game: HiddenState, questions: int) -> float:
    """The share of honest patients whose condition the best therapist names after so many questions and one try, by
    backward induction over what is left of the patients."""
    patients = [(task.facts["condition"], task.facts["trait"]) for task in game.tasks()]
    has = [game.marked[condition] | {trait} for condition, trait in patients]

    @cache
    def best(left: tuple[int, ...], asked: frozenset[int], more: int) -> int:
        if not more:
            each = [patients[number][0] for number in left]
            return max((each.count(condition) for condition in set(each)), default=0)
        splits = []
        for symptom in set(range(game.symptoms)) - asked:
            yes = tuple(number for number in left if symptom in has[number])
            no = tuple(number for number in left if symptom not in has[number])
            rest = asked | {symptom}
            splits.append(best(yes, rest, more - 1) + best(no, rest, more - 1))
        return max(splits)

    return best(tuple(range(len(patients))), frozenset(), questions) / len(patients)
