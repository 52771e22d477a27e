"""What was said with help, learned as said without: a reply to one prompt becomes a demonstration for another.

aided = attempts(SOLVE, [with_answer(task) for task in tasks], learner, 1, rng)
shown = unaided(score(aided, correct), tasks, learner)      # the same tokens after the plain prompts

A reply to an aided prompt is not sampled from the policy after the plain one: its log-probabilities are dropped, and it
is marked as recited. Its tokens are those that were sampled, thoughts and marks included, with one end of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np

from redqueen.games.talk import posed
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import Reciter
from redqueen.players.language.writing import Writer
from redqueen.questions.asking import SOLVE
from redqueen.types import SOLVER, Ask, Match, Message, RedQueenError, Task, Trajectory, Turn


def unaided(trajectories: Sequence[Trajectory], tasks: Sequence[Task], learner: Writer) -> list[Trajectory]:
    """Trajectories of one turn as demonstrations: each reply as if the learner had said it to the plain task at its
    place. Raises RedQueenError for a reply without tokens, as those of an endpoint are."""
    found = []
    for each, task in zip(trajectories, tasks, strict=True):
        (turn,) = each.turns
        if not len(turn.reply.tokens):
            raise RedQueenError(f"a reply of {turn.reply.player or 'nobody'} has no tokens that could be learned")
        ask = Ask(each.seat, posed(task, each.seat), task.choices)
        reply = replace(
            turn.reply,
            player=learner.name,
            version=learner.version,
            prompt_tokens=learner.prompt(ask),
            logprobs=np.zeros(len(turn.reply.tokens)),
            recited=True,
        )
        episode = replace(each.episode, task=task, turns=(Turn(ask, reply),))
        found.append(replace(each, episode=episode, turns=(Turn(ask, reply),)))
    return found


def said_plainly(trajectory: Trajectory, task: Task, learner: Writer) -> Trajectory:
    """A reply as the learner's to the plain task: its own tokens, also where nothing was said after its thoughts, or
    the text where another model wrote it in tokens of its own, or none."""
    reply = trajectory.turns[0].reply
    told = reply.text or reply.thought
    own = reply.player == learner.name or (told and told in learner.format.decode(reply.tokens.tolist()))
    if own and len(reply.tokens):
        return unaided([trajectory], [task], learner)[0]
    (episode,) = play([Match(SOLVE, task, {SOLVER: Reciter(learner, reply.text)})], Random(0))
    return replace(trajectory, episode=episode, turns=episode.turns)


def tokens_of(text: str, tokens: Sequence[int], learner: Writer) -> int:
    """How many of the tokens say the text with which they begin, or a little more where one runs past its end."""
    return next(at for at in range(len(tokens) + 1) if len(learner.format.decode(list(tokens[:at]))) >= len(text))


def aided(task: Task, help: str) -> Task:
    """The task with `help` behind its prompt, or behind the last message of its conversation."""
    if not task.messages:
        return replace(task, prompt=f"{task.prompt}\n\n{help}")
    *before, last = task.messages
    return replace(task, messages=(*before, Message(last.speaker, f"{last.text}\n\n{help}")))
