"""Demonstrations with tool calls, recited turn by turn, and players with tools.

A demonstration with calls is one text, "<calculate>12+7</calculate>19". Its text up to and with each closing tag is
one turn; the tool's result comes from the tool itself, so that it is right whatever the demonstration expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from redqueen.curricula.dealt import Sampled
from redqueen.curricula.held_out import Apart
from redqueen.demonstrations.apart import drawn_apart, shows
from redqueen.games.catalogue import find_game
from redqueen.games.single_reply import SingleReply
from redqueen.games.tools import Limits, ToolReply, closings, tools_for
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import Reader
from redqueen.protocols import Demonstrator, Game, Player, Questions, ShowsHow, ShowsProposals, Tool, has
from redqueen.questions.catalogue import find_questions, having
from redqueen.questions.toolbox import find_tools
from redqueen.types import SOLVER, Ask, Demonstration, Match, RedQueenError, Reply, Task


def turns_of(text: str, tools: Sequence[Tool]) -> tuple[str, ...]:
    """The turns of a demonstration, cut after each tool call; after a call at the end, the answer is empty."""
    turns, rest = list[str](), text
    while True:
        ends = [rest.find(closing) + len(closing) for closing in closings(tools) if closing in rest]
        if not ends:
            return (*turns, rest)
        turns.append(rest[: min(ends)])
        rest = rest[min(ends) :]


@dataclass(frozen=True)
class Rehearsed:
    """A player that recites `turns` in order as the learner, which can then learn from them, the last in the answer
    format of its role (it comes to `answer` where it is a whole reply). Asked more often than it has turns, it repeats
    the last one."""

    learner: Reader
    turns: tuple[str, ...]
    answer: str = ""

    @property
    def name(self) -> str:
        return self.learner.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self.learner.recite(ask, self._said(ask)) for ask in asks]

    def _said(self, ask: Ask) -> str:
        turn, last = len(ask.past), self.turns[-1]
        return self.turns[turn] if turn < len(self.turns) - 1 else self.learner.in_format(ask, last, self.answer)


def rehearsal(questions: Questions, shown: Demonstration, learner: Reader) -> Match:
    """A match in which the learner recites the demonstration, with the tools of its role."""
    tools = tools_for(questions, shown.role)
    game: Game = ToolReply(shown.role, tools) if tools else SingleReply(shown.role)
    return Match(game, shown.task, {shown.role: Rehearsed(learner, turns_of(shown.text, tools), shown.answer)})


@dataclass(frozen=True)
class Playing:
    """A player that makes the moves of an expert as the learner, which can then learn from them, each in the answer
    format of its role."""

    learner: Reader
    moves: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.learner.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self.learner.recite(ask, self.learner.in_format(ask, self.moves[len(ask.past)])) for ask in asks]


@dataclass(frozen=True)
class Lessons:
    """Demonstrations of a question set, none of which shows a problem that stands `apart`; a share `proposals` of them
    show how its tasks would have been proposed."""

    questions: Questions
    learner: Reader
    apart: Apart = field(default_factory=dict)
    proposals: float = 0.0

    def draw(self, count: int, rng: Random) -> list[Match]:
        """`count` matches in which the learner recites a demonstration."""
        held, proposed = shows(self.questions, self.apart), round(self.proposals * count)
        shown = list[Demonstration]()
        if proposed < count:
            teacher = having(self.questions, Demonstrator)
            shown += drawn_apart(lambda many: teacher.demonstrations(many, rng), count - proposed, held)
        if proposed:
            proposer = having(self.questions, ShowsProposals)
            shown += drawn_apart(lambda many: proposer.proposals(many, rng), proposed, held)
        return [rehearsal(self.questions, one, self.learner) for one in shown]


@dataclass(frozen=True)
class Plays:
    """The tasks of a game, each played as its expert plays it, who is asked once about each: some search for long."""

    game: ShowsHow
    learner: Reader
    _known: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    def draw(self, count: int, rng: Random) -> list[Match]:
        """`count` matches in which the learner makes the expert's moves."""
        game, role = self.game, self.game.roles[0]
        drawn = Sampled(game.tasks()).draw(count, rng)
        return [Match(game, task, {role: Playing(self.learner, self._moves(task))}) for task in drawn]

    def _moves(self, task: Task) -> tuple[str, ...]:
        if task.id not in self._known:
            self._known[task.id] = self.game.expert(task)
        return self._known[task.id]


def lessons(questions: str, game: str, learner: Reader, apart: Apart, proposals: float = 0.0) -> Lessons | Plays:
    """What is imitated: the demonstrations of a question set, a share of them `proposals` of its tasks, or a game's
    expert where a `game` is named. Raises RedQueenError for a game without one."""
    if not game:
        return Lessons(find_questions(questions), learner, apart, proposals)
    found = find_game(game)
    if not has(found, ShowsHow):
        raise RedQueenError(
            f"{found.name} shows nobody how it is played: a game to imitate has a method expert(task), as acting:WORLD "
            "has in most worlds of `redqueen list worlds`"
        )
    return Plays(found, learner)


def with_tool(solver: Player, tool: str, calls: int) -> Equipped:
    """The solver with the tool of a name ("none": none), which it may call `calls` times before it answers."""
    return Equipped(solver, ToolReply(SOLVER, find_tools(tool), Limits(calls, calls + 2)))


def with_tools(questions: Questions, solver: Player) -> Player:
    """The solver, with tools if the question set has any for it."""
    tools = tools_for(questions, SOLVER)
    return Equipped(solver, ToolReply(SOLVER, tools)) if tools else solver


@dataclass(frozen=True)
class Equipped:
    """A player that uses tools before it answers, for games with a single ask and without tools.

    Its reply is the answer only, without tokens: for measurements, not for training. The last message is the task.
    """

    player: Player
    game: ToolReply

    @property
    def name(self) -> str:
        return self.player.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        matches = [
            Match(self.game, Task("asked", prompt=ask.messages[-1].text), {self.game.role: self.player}, ask.seed)
            for ask in asks
        ]
        replies = []
        for episode in play(matches, Random(0)):  # each match has a seed of its own
            text, last = str(episode.outcome.facts["reply"]), episode.turns[-1].reply
            replies.append(Reply(text, self.name, last.version, truncated=last.truncated, malformed=not text))
        return replies
