"""VerlTool: any tools by one protocol, a state for each attempt, no attempt waits for another (2025, arXiv:2509.01055).

Who says what is right: the final state of the world, and the answer.

A tool is a name, a usage line and a call (`protocols.Tool`); an attempt opens a visit of its own, whose tools act on
its own state. A reply that ends with a call is run, and what the tool says is shown in the next prompt, until the agent
answers without a call:

    A = (R - mean) / deviation               over the G attempts at one task, R the score at the end
    L = - mean over the agent's own tokens of min(r A, clip(r, 1 - eps, 1 + eps) A)

The prompt that follows a call begins with the tokens that were sampled; what the tool said is appended, has no loss and
is in no ratio. Nothing is read anew (but see `window`, docs/worlds.md).

Attempts are in flight over updates: a step learns from the `tasks` x `attempts` oldest, and those of the next
`--staleness` steps are begun, each of whose turns is said by the weights of then (r is over the policy that said it).
With `--at-once 8` tools run in threads, so many at a time: an attempt waits for its own tool alone while the others are
answered. Such a run does not repeat bit for bit; leave it at 0 for tools that take no time. `--staleness 0 --at-once 0`
is GRPO, in rounds.

`--without-call muted` learns nothing from attempts that called no tool, `--truncated-loss mute` nothing from
replies that were cut off; both are off.

`--game` is any world with tools: `working:sql`, `working:traces`, `working:mcp(...)`, a class whose public methods are
tools as `working:trl(...)`.

Differences: there a server holds tools and states, by the number of the attempt; here a visit is the state. There a
turn without an act may be muted; here it is the answer, and an attempt is muted which never acted. There two tools that
claim one text are told apart by priority, here the call that ends the reply counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redqueen.credit.rewards import score
from redqueen.measures.calls import calling
from redqueen.play.flow import Flow
from redqueen.play.groups import grouped
from redqueen.play.seating import mirror
from redqueen.protocols import Policy
from redqueen.recipes.agents.verltool.steps import kept, with_tools
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import AnyCount, Count, Several
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=96)
    game: str = "working:sql"
    staleness: AnyCount = 1  # updates that an attempt may be in flight for
    at_once: AnyCount = 0  # tools that run at a time, each in a thread; 0 runs them one after the other
    without_call: Literal["kept", "muted"] = "kept"  # an attempt that called no tool
    steps: Count = 100
    tasks: Count = 16  # a step
    attempts: Several = 8  # G
    problems: Count = 64  # held out
    update: Update = Update()
    paper = Update(  # eps is clip_low and clip_high
        estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token"
    )
    batch = (("tasks", "attempts"),)
    learns_from_older = True


def train(config: Config, run: Run) -> Policy:
    learner = config.learner.build_model(run.derived("learner"))
    tasks = with_tools(config, learner, run.tests)
    flow = Flow([tasks.game], learner, config.tasks * config.attempts, config.staleness)
    step = LearningStep(config, [learner])

    for _ in run.steps(config.steps, [learner], [*step.parts, flow], tasks.measures):
        drawn = tasks.draw(flow.room // config.attempts, run.rng)
        episodes = flow.play(mirror(tasks.game, drawn, learner, config.attempts), run.rng)
        groups = grouped(episodes, config.attempts)
        trajectories = step.shaped(score(groups, tasks.reward))
        advantages = kept(trajectories, step.estimate(trajectories), config.without_call)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics | flow.metrics())
        run.note(calling(groups))
    return learner
