"""SPaR: a reply that its judge rejects, and an edit of it that the judge accepts, are a pair (2024, arXiv:2412.11605).

Who says what is right: the model itself, which judges its replies and their edits by a vote (`--keep own`).

Replies that are drawn apart differ in much that does not matter. A reply that fails and its own repair differ in what
does. An actor answers; a refiner, the same model or another (`--refiner`), criticises and edits. In iteration t:

    answer   `attempts` replies to each prompt
    judge    `votes` criticisms of each, which end with right or wrong; what most say counts, a tie says nothing
    search   from one rejected reply of a prompt, `branch` edits after a criticism of it, each judged alike: V is the
             share of its readable criticisms that accept it. A level with V > 1/2 ends the search, and its best edit is
             found; else the `beam` best are edited next, up to `depth` levels
    train    from pi_t with pi_t as reference, on the edits found and the replies that they mend:
             L = -log sigmoid(beta (h(edit) - h(reply))) - w l(edit),  h(y) = log pi(y | x) - log pi_t(y | x),
             l(y) the mean log pi of the tokens of y;
             the refiner imitates the criticism and the edit that a search ended with, and of the replies that its
             criticisms were divided about one criticism that says what most said

A judge whose criticisms are right .7 of the time and an editor that mends one reply in five make pairs of which nearly
half are false, and by the judge's own count replies are mended all the same. Where the question set knows what is
right, `pairs_right`, `repaired` beside `repaired_right` and `judge_*` say so, and alarms ring; no figure of these is
learned from. `redqueen train cold_start` teaches criticising and mending. `--keep right` (the check in place of the
vote) is the upper line; `experiments/spar.py` has pairs of replies that were drawn apart, at equal judgements.

Differences: both sides begin as the model that is given (there: as two that were tuned on a stronger model's replies).
Criticisms end with right or wrong (there: the first Yes or No after a heading, which an echo of the question has too).
An edit whose criticisms cannot be read is left out and counted. Refiner data are not brought to set proportions.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.rewards import score
from redqueen.curricula.held_out import held_out
from redqueen.measures.wins import watched
from redqueen.objectives.batch import pack_pairs
from redqueen.objectives.preference import dpo_with_chosen
from redqueen.objectives.references import Reference
from redqueen.objectives.rounds import Round
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.preferences.spar.steps import Beam, Keep, Refining, Search
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Amount, Count, Positive
from redqueen.settings.roles import Cast, Refiner


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    refiner: Refiner = Refiner()
    questions: str = "sums"
    keep: Keep = "own"
    """edits that end a search: those that most of the model's own criticisms accept, or those that are right"""
    steps: Count = 240
    updates: Count = 80  # of an iteration
    tasks: Count = 64  # of an iteration
    attempts: Count = 5  # replies to each
    votes: Count = 5  # criticisms of each reply and edit
    branch: Count = 3  # edits of a reply
    beam: Beam = 2  # edits of a level that are edited next
    depth: Count = 3  # levels
    pairs_per_update: Count = 16
    passes: Count = 4  # over the pairs of an iteration, at most
    beta: Positive = 0.1
    chosen_weight: Amount = 0.1  # w
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    cast = Cast(config, run)
    learner, refiner = cast.learner, cast["refiner"]
    tests = held_out(questions, config.problems, seed=run.tests)
    watch = watched(questions, learner, tests, run.tests)
    tree = (config.branch, config.beam, config.depth)
    search = Search(questions, tests, config.keep, config.votes, tree, config.truncated_score)
    reference, objective = Reference(learner), dpo_with_chosen(config.beta, config.chosen_weight)
    round_, refining = Round(config.passes), Refining(refiner, config.passes)

    for step in run.steps(config.steps, cast.learning, [reference, round_, refining, search], [watch]):
        if step % config.updates == 0:
            reference.refresh()
            tasks = evenly(questions, config.tasks, run.rng, tests)
            groups = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
            found = search(groups, refiner, run.rng)
            replies = score(found.groups, search.reward)
            pairs = found.pairs(replies, learner)
            batch = pack_pairs(pairs.chosen, pairs.rejected)
            round_.renew(reference.rated(batch), pairs.equal)
            refining.renew(found)
            run.report(learner, replies, pairs.advantages(replies), {})
        metrics = round_.update(learner, config.pairs_per_update, objective, run.rng)
        run.note(metrics | refining.update(config.pairs_per_update, run.rng))
        run.note(round_.metrics() | search.metrics() | watch.observe(metrics))
    return learner
