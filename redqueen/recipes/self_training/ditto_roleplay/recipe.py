"""Ditto: a model plays characters from their profiles, and learns to without them (Lu et al. 2024, arXiv:2401.12474).

Who says what is right: nobody; what the model says with a profile in view is learned as it is.

To play a character is to know what it knows, and to decline what it cannot know. A chat model can do both while it
reads a profile. So for a character r and another r', drawn anew in each iteration,

    questions   that r can answer and r' cannot, and the reverse: these r has to decline
    replies     in the words of r, its profile in view, each question alone
    training    "You are NAME, DESCRIPTION." and the question, without the profile; L = - mean log policy(reply | these)

A user's persona is a file of JSON lines, `--characters FILE`, with name, description, profile and, where they are to be
asked as they stand, questions; the model writes the others. Without a file twelve made-up characters are played. Not
the penalty of repetition that has the same name.

`--contrastive 0` teaches no declining. What is measured: `unasked_logprob`, how likely the learner finds without the
profile what it said with it, at its start, to questions that are never asked in training; and in training
`plain_logprob` of the replies, which comes near `aided_logprob` as profiles are known by heart. Whether replies are
true, nobody says here: read some (`redqueen replay RUN`), or let a judge compare them.

Differences: each question is a conversation of its own (the paper joins about five into one); replies that are cut off
or speak of a profile are left out (there: no filter); the wording of the requests is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from redqueen.credit.rewards import payoff, score
from redqueen.objectives.batch import pack_samples
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.rounds import Round
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.self_training.ditto_roleplay.measures import Unasked
from redqueen.recipes.self_training.ditto_roleplay.questions import found_characters
from redqueen.recipes.self_training.ditto_roleplay.steps import PLAY, WRITE, Interviews, with_profile
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, NoSolver
from redqueen.settings.limits import Count, Whole
from redqueen.settings.roles import without_format


@dataclass(frozen=True)
class Config:
    learner: NoSolver = Learner(model="smollm2-135m", max_completion_length=128)
    characters: str = ""  # a file of JSON lines: name, description, profile, questions; made-up ones if empty
    steps: Count = 200
    updates: Count = 40  # of an iteration
    tasks: Count = 24  # characters of an iteration, with a partner each
    known: Count = 3  # questions that a character can answer, in an iteration
    contrastive: Whole = 2  # that only its partner can
    replies_per_update: Count = 16
    passes: Count = 5  # over the replies of an iteration, at most
    truncated_score: Truncated = "wrong"  # a reply that was cut off is left out (wrong, unknown) or learned (graded)
    problems: Count = 8  # questions that are never asked in training, at most


def train(config: Config, run: Run) -> Policy:
    characters = found_characters(config.characters)
    interviews = Interviews(characters, config.known, config.contrastive, config.truncated_score)
    learner = without_format(config.learner.build_model(run.derived("learner")), [PLAY.role, WRITE.role])
    held = interviews.hold_out(config.problems, learner, Random(run.tests))
    measure, round_ = Unasked(held, learner, run.tests, config.truncated_score), Round(config.passes)

    for step in run.steps(config.steps, [learner], [interviews, round_], [measure]):
        if step % config.updates == 0:
            asked = interviews.asked(config.tasks, learner, run.rng)
            groups = attempts(PLAY, [with_profile(one) for one in asked], learner, 1, run.rng)
            replies, credit = interviews.learned(score(groups, payoff), asked, learner)
            kept = [each for each, (one,) in zip(replies, credit, strict=True) if one]
            round_.renew(pack_samples(kept, [1.0] * len(kept)))
            run.report(learner, replies, credit, {})
        metrics = round_.update(learner, config.replies_per_update, Imitation(), run.rng)
        run.note(metrics | round_.metrics() | interviews.metrics())
    return learner
