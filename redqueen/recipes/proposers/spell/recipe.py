"""SPELL: a model asks, answers and verifies questions about texts that grow (2025, arXiv:2509.23863).

Who says what is right: the questioner's answer by a rule of text, or the majority of the verifier's verdicts.

One model plays three roles over clusters of documents. The questioner sees some of a cluster's documents and the last 3
solvable questions about it, and writes a question and its answer. The responder sees them all, distractors too, G
times; the verifier says G_v times whether an answer means the same as the questioner's. Each solvable question that a
cluster remembers makes its next text longer. A question that one attempt without the text answers is not grounded.

    responder   R = max(rule, majority of the verdicts);   rule: the questioner's answer stands in the response
    verifier    R = 1 with the majority, 0 against it, -1 unreadable; where 0.51 <= its share <= 0.99 and it is the
                rule's verdict, and on at most an eighth as many samples as the responder has
    questioner  R = exp(-(p - 1/2)^2 / (2 (1/6)^2)), p the mean of its responder's R; 0 at p of 0 and 1;
                -0.5 where not grounded, -1 where malformed
    A = (R - mean) / deviation, over all questions of a kind, or over the attempts at one question or one verdict

Groups of answers and verdicts that are all alike are left out; questions are made until so many remain, in at most
`rounds` rounds. One update takes all three roles.

Differences: a text is one of the question set's numbered clusters at a stage, which stands for 5 documents and
distractors. Equal answers to one question are judged once. All that was made counts, where the paper takes a fixed
number. No part of the badly formed questions is left out (an option of the code, off in its script). The rule allows 20
words beside the answer. Temperature is 1 (0.7 there). `grounding` off skips the attempt without text; `--stages 0 0`
holds texts at one length. The domain's oracle is asked for one figure alone, how the majority of the verdicts agrees
with it (`judge_accuracy`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Annotated

from redqueen.checks.numeric import Covers
from redqueen.credit.advantages.keys import by_group, by_kind_and_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.filters import drop_even_groups, reward, some_groups
from redqueen.credit.group_rewards import Stated, correct
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.health import ProposerHealth
from redqueen.measures.judges import Agreement
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import JUDGE, PROPOSE, SOLVE, read
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.small.documents import Documented
from redqueen.recipes.proposers.spell.steps import (
    ClusterMemory,
    Questioning,
    agreed,
    asked_about,
    comparisons,
    grounded,
    seen,
    unread,
    verified,
    with_refusals,
)
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, Several, Within
from redqueen.settings.roles import Cast, Role
from redqueen.types import RedQueenError, Trajectory


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    questioner: Role = Role()
    verifier: Role = Role()
    questions: str = "documents"
    steps: Count = 200
    clusters: Count = 64
    stages: tuple[int, int] = (0, 3)  # the first and the last, from 0; one more for each remembered question
    proposals: Count = 8  # a round, of each kind (480 in the paper)
    tasks: Count = 8  # with answers right and wrong, that are enough for a step (128 in the paper)
    rounds: Count = 2  # a step at most (10 in the paper)
    attempts: Several = 8  # G
    votes: Annotated[int, Within(3)] = 8  # G_v
    grounding: bool = True
    problems: Count = 32  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions, rule = find_questions_with(config.questions, Documented), Covers()
    cast = Cast(config, run)
    responder, questioner, verifier = cast.learner, cast["questioner"], cast["verifier"]
    first, last = config.stages
    if last >= len(questions.levels):
        most = len(questions.levels) - 1
        raise RedQueenError(f"--stages {first} {last}: the last stage of {questions.name} is {most}")
    memory, health = ClusterMemory(config.clusters, 3, first, last), ProposerHealth()
    agreement = Agreement(threshold=0.51)  # a tie is no majority
    estimate, objective = GroupRelative(by_kind_or_group), ClippedRatio()
    measure = HeldOut(questions, responder, config.problems, seed=run.tests)

    for _ in run.steps(config.steps, cast.learning, [memory, agreement, health], [measure]):
        asked, answered, judged, heard, looked = [], [], [], [], []
        for _ in range(config.rounds):
            invitations = asked_about(questions, memory, config.proposals, run.rng)
            proposals = attempts(PROPOSE, invitations, questioner, 1, run.rng)
            written = read(questions, proposals)
            written = grounded(questions, written, responder, rule, run.rng) if config.grounding else written
            responses = attempts(SOLVE, written, responder, config.attempts, run.rng, proposals)
            judgements = attempts(JUDGE, comparisons(questions, responses), verifier, config.votes, run.rng)
            agreement.observe(*agreed(questions, responses, judgements))
            heard += judgements
            responses, judgements = verified(questions, responses, judgements, rule)

            memory.observe(responses)
            asked += score(with_refusals(proposals, written), Questioning(responses))
            answered += drop_even_groups(score(responses, correct))
            judged += drop_even_groups(score(judgements, Stated("vote")), by_group, reward)
            looked += seen(questions, written, responses)
            if len(answered) >= config.tasks * config.attempts:
                break
        judged = some_groups(judged, by_group, len(answered) // 8, run.rng)
        trajectories = asked + answered + judged
        for policy, own in cast.spoken(trajectories):
            advantages = estimate(own)
            metrics = policy.update(pack(own, advantages), objective)
            run.report(policy, own, advantages, metrics)
        run.note(memory.metrics() | agreement.metrics() | health.check(looked) | unread(heard))
    return responder


def by_kind_or_group(trajectory: Trajectory, turn: int) -> Hashable:
    """A question is compared with all of its kind, an answer or a verdict with those of its group."""
    return (by_kind_and_role if trajectory.seat.role == "proposer" else by_group)(trajectory, turn)
