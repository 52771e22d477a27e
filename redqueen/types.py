"""Every noun of the library: plain data, no behaviour beyond a property.

One letter an axis: G attempts of a group, N turns of one seat, P prompt tokens, R reply tokens, B rows, T tokens of a
row, K legal replies (or legal next tokens) at one position.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from redqueen.markup import episode_as_html

if TYPE_CHECKING:
    from torch import Tensor

    from redqueen.protocols import Game, Player

Metrics = dict[str, float]
SOLVER = "solver"  # the role of the seat that solves a task
Truncated = Literal["graded", "wrong", "unknown"]
"""The verdict on a reply that was cut off: that of its text, wrong, or none. In the papers an answer stands in a mark
at the end of a reply, so that one that was cut off is wrong."""
NO_TOKENS: np.ndarray = np.zeros(0, dtype=np.int64)
NO_LOGPROBS: np.ndarray = np.zeros(0, dtype=np.float64)


@dataclass(frozen=True)
class Seat:
    """A seat of a game: its role, and a number where several seats share the role."""

    role: str
    number: int = 0

    def __str__(self) -> str:
        return self.role if self.number == 0 else f"{self.role}{self.number}"


@dataclass(frozen=True)
class Task:
    """What one match is about: a deal, a question, a starting position.

    `facts` hold what the game needs and no seat may see unless the game shows it (`TASK_FACTS` names those that
    are read everywhere). `weight` is the unnormalised probability of this task among `Game.tasks()`. `choices` are the
    legal replies, where they are listed. `messages` are a conversation that is shown instead of the prompt: their
    speakers are "system", "user" and "assistant", the last is the user.
    """

    id: str
    kind: str = "game"
    prompt: str = ""
    answer: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0
    choices: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()

    def __post_init__(self) -> None:
        for name in ("choices", "messages"):
            if name in self.facts:
                raise RedQueenError(
                    f"task {self.id!r} has {name!r} among its facts: they are a field of a task, Task(..., {name}=...)"
                )
        if isinstance(self.choices, str) or not all(isinstance(message, Message) for message in self.messages):
            raise RedQueenError(
                f"task {self.id!r} must have a tuple of strings as choices and a tuple of Message objects as messages, "
                f"not {self.choices!r:.80} and {self.messages!r:.80}"
            )


@dataclass(frozen=True)
class Text:
    """A part of a message: text."""

    text: str


@dataclass(frozen=True)
class ToolCall:
    """A part of a message: a call of a tool. The speaker's text holds the call too; this adds nothing to
    `Message.text`."""

    id: str  # the result of this call names it
    name: str  # of the tool
    arguments: Mapping[str, Any] = field(hash=False)  # strings, numbers, lists and mappings, as JSON has them


@dataclass(frozen=True)
class ToolResult:
    """A part of a message: the output of a tool."""

    id: str  # of the call
    text: str


Part = Text | ToolCall | ToolResult


@dataclass(frozen=True, init=False)
class Message:
    """One message shown to a seat, in parts. The speaker is "game", "system", "tool" or the `str` of a seat.

    `Message("game", "hello")` is a message of one `Text`.
    """

    speaker: str
    parts: tuple[Part, ...]

    def __init__(self, speaker: str, parts: str | Sequence[Part]) -> None:
        object.__setattr__(self, "speaker", speaker)
        object.__setattr__(self, "parts", (Text(parts),) if isinstance(parts, str) else _parts(parts))

    @property
    def text(self) -> str:
        """The texts and the results of tools, joined in order."""
        return "".join(part.text for part in self.parts if not isinstance(part, ToolCall))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


def _parts(found: Sequence[Part]) -> tuple[Part, ...]:
    if not isinstance(found, list | tuple) or not all(isinstance(part, Part) for part in found):
        raise RedQueenError(f"a message is a text, or a list of Text, ToolCall and ToolResult, not {found!r:.80}")
    return tuple(found)


@dataclass(frozen=True)
class Ask:
    """What a seat is shown when it must speak, and nothing it may not see.

    The game fills `seat`, `messages`, `choices` and `stops`; the table adds `past` and `seed`, which are ignored
    when two asks are compared. A game whose seats hold several conversations at once says by `continues` which turns
    belong to this one.
    """

    seat: Seat
    messages: tuple[Message, ...]
    choices: tuple[str, ...] = ()  # the legal replies, where they can be listed
    past: tuple[Turn, ...] = field(default=(), compare=False, repr=False)  # this seat's earlier turns, or `continues`
    seed: int = field(default=0, compare=False, repr=False)  # all chance of the reply comes from it
    stops: tuple[str, ...] = ()  # free text ends with the token that completes one of these; it is not truncated
    continues: tuple[Turn, ...] | None = field(default=None, compare=False, repr=False)  # None: all of the seat's turns


@dataclass(frozen=True)
class Reply:
    """What a player said, with the tokens it actually sampled (never re-tokenized later).

    `text` is what the game receives: the action alone if the player thinks first, the whole reply if it
    ended at a stop. `thought` is private: no game and no other seat is ever shown it.
    """

    text: str
    player: str = ""  # the name of the player that spoke
    version: int = 0  # how many updates that player had made
    prompt_tokens: np.ndarray = field(default_factory=lambda: NO_TOKENS, repr=False)  # [P] int
    tokens: np.ndarray = field(default_factory=lambda: NO_TOKENS, repr=False)  # [R] int
    logprobs: np.ndarray = field(default_factory=lambda: NO_LOGPROBS, repr=False)  # [R] float
    legal_tokens: tuple[tuple[int, ...], ...] = field(default=(), repr=False)  # [K] token ids of the legal replies
    thought: str = ""
    working: str = ""  # of the thought, what is said before the action and not between marks of thoughts
    truncated: bool = False
    malformed: bool = False  # no action in the stated format was found
    recited: bool = False  # the text was given to the player: no token was sampled, and `logprobs` are zeros


@dataclass(frozen=True)
class Turn:
    """One ask and the reply to it."""

    ask: Ask
    reply: Reply


@dataclass(frozen=True)
class Outcome:
    """How a match ended: a score for each seat, and facts for rewards, viewers and tests.

    `OUTCOME_FACTS` names the facts that are read everywhere; only the game and its tests read any others.
    """

    scores: Mapping[Seat, float]
    facts: Mapping[str, Any] = field(default_factory=dict)


# The keys of facts that one module writes and another reads; a test holds that there are no others. A key that only
# its own module reads is not listed.

TASK_FACTS: Mapping[str, str] = {
    "answered_as": "the kind of its answer (checks.extraction.Kind), by which one is found in a reply: data sets",
    "asked": "the one role that is asked, and once: by_example",
    "board": "the board that the match begins on, as nine characters: tic_tac_toe",
    "card": "the card that all but the spy hold: odd_one_out",
    "cards": "the card of each seat, in the order of the seats: kuhn_poker, leduc_poker",
    "clues": "the clues that were given, where only the vote is played: odd_one_out",
    "cluster": "which cluster of documents the question is about: questions of documents",
    "dice": "the die of each seat, in the order of the seats: liars_dice",
    "condition": "the number of the condition that a patient has: hidden_state",
    "digits": "how many digits the larger number has: questions that are sums",
    "given": "the examples that were shown already: by_example",
    "gold": "the full reply of the data set, where `answer` is only its result: data sets, demonstrations.gold",
    "drill": "the skill with whose use the rally ends: volley",
    "hero": "the word that a story is about: questions.small.rhymes",
    "hidden": "texts that no seat may be shown, for the contract: worlds",
    "hint": "what the proposer said about its program: questions of programs and expressions",
    "hinted": "the level of the hint that is shown with it, in training alone: curricula.hints",
    "hops": "how many documents lead to the answer: questions of knowledge",
    "horizon": "the most turns of its episode, where these grow with training: agentgym_rl",
    "level": "the level that the task was dealt from: curricula.levels",
    "liked": "the numbers of the aspects that the expert is told: critique",
    "margin": "by how much the chosen reply of a pair is better: data sets, credit.pairs",
    "number": "its place among the questions of the set: questions.small.listed",
    "opening": "the word that a story begins with: questions.small.rhymes",
    "options": "the texts behind the letters A, B, ...: data sets, credit.outcomes",
    "pairs": "(input, output) of the program, each as Python literals: questions of programs and expressions",
    "pattern": "what the speaker shows examples of and the listener guesses: by_example",
    "prompt": "the part of what the defender is shown that it is judged on: worlds of red_team",
    "public": "the card that is turned up: leduc_poker",
    "query": "the query that is known to answer it: worlds.sql",
    "quest": "a specification of a text game, as JSON: games.quests",
    "rationale": "why the proposer made the problem: questions of templates",
    "role": "the role with which a reply to it begins: questions.roled",
    "scores": "how good the chosen and the rejected reply of a pair are: data sets, questions.small.rhymes",
    "seed": "the seed with which its environment begins: adapters.gymnasium, adapters.babyai",
    "setup": "lines that stand before a program that is tested: data sets",
    "share": "the share of the votes that the answer has (0 to 1): r_zero, agent0",
    "source": "the program, as text: questions of programs and expressions",
    "spy": "the number of the player whose card differs: odd_one_out",
    "steps": "what each event of the story adds or takes away, in order: questions.small.variants",
    "tables": "the tables of a database by name, {columns, rows} each: worlds.sql",
    "tempting": "the wrong answer that is given most: questions.small.listed",
    "tests": "lines with assert that a program must pass: data sets",
    "trait": "the number of the symptom that a patient has besides those of its condition: hidden_state",
    "truth": "what is known about a prompt, read by judges that are rules: worlds of red_team",
    "vanilla": "whether the defender is shown the seed unchanged, without an attacker: self_redteam",
    "voter": "the number of the one player that votes: odd_one_out",
    "wanted": "the number of the item that the seeker wants: critique",
}

OUTCOME_FACTS: Mapping[str, str] = {
    "acts": "what the agent did, in order: games.acting",
    "advice": "what the adviser named, turn by turn: price_talk",
    "calls": "(tool, text) of each call that was run: games.tools",
    "cut": "whether the match ended because its turns were used up: games with a horizon (`within`)",
    "diagnosis": 'the condition that counts of those that were named, "" without one: hidden_state',
    "durations": "{str(seat): [seconds of each turn]}: games whose actions take longer or less, credit.durations",
    "failures": "for each of the calls whether it was faulty: games.tools",
    "found": "whether the wanted item was recommended: critique",
    "forfeit": "the `str` of the seat that broke the rules: every game",
    "gains": "(turn, {str(seat): gain}) of each turn that paid; they sum to the scores: games in rounds",
    "history": "the moves, in the game's own form: every game of moves",
    "kept": "for the `str` of each seat that spoke, whether its reply was in the stated format: red_team",
    "labels": "the judge's labels by name, None where it gave none: self_redteam",
    "opinion": "the mean score (0 to 1) that a judge gave the attempt, None where none can be read: questions.asking",
    "paid": "{str(seat): [what a coach pays for each of its turns]}: volley",
    "parts": "partial credit by name, 0 to 1 each: games in a world",
    "price": "the price of the deal, 0 without one: price_talk",
    "prompt": "what the defender was shown of the attack: red_team",
    "quality": "how good the attempt is, 0 to 1: games that `exit` continues, rlccf; of a proposal: multi_agent_evolve",
    "ratings": "what the patient rated each condition that was named, where it is asked: hidden_state",
    "reason": '"illegal" or "malformed" with a forfeit, or why a foreign game ended: every game',
    "recommended": "the numbers of the items that the expert recommended, in order: critique",
    "replies": "the first and the second reply: second_try",
    "reply": 'the reply, "" where none in the stated format was found: single_reply, tools',
    "response": "what the defender said, once both turns are over: red_team",
    "right": "the verdict on the reply (second_try: on each of the two), None if unknown: the part that checked it",
    "seed": "the kind of the task: red_team",
    "seller_advice": "what the adviser of the seller named, where it has one: price_talk",
    "shown": "what the agent was shown, the first view first: games.acting",
    "ticks": "how many steps the players made: volley",
    "truth": "what is known about the prompt, read by judges that are rules: red_team",
    "turned_away": "how many calls of its program had a prompt that the player could not read: games.programmed",
    "turns_left_out": "how many turns its last prompt left out, by the window of the game: games.talk",
    "vanilla": "whether there was no attacker: red_team",
    "verdict": '"right", "wrong" or None, the verdict of a verification: rise',
    "votes": "{str(seat): vote} of each voter, N/A for one that cannot be read: odd_one_out",
    "wins": "the chance to be preferred to each attempt of the group, None if unknown: questions.comparisons, rankings",
}


@dataclass(frozen=True)
class Observation:
    """What a seat is shown of a world: at first, and after each of its acts."""

    shown: str  # all that the seat may see of what came of its act
    choices: tuple[str, ...] = ()  # the legal acts, where they can be listed
    over: bool = False
    gain: float = 0.0  # what the world itself pays for the act; 0 where only the end counts


@dataclass(frozen=True)
class Assessment:
    """How well a task was done, told from the final state of its world and never from what the seat says of itself."""

    score: float  # 1 is done
    parts: Mapping[str, float] = field(default_factory=dict)  # partial credit by name, 0 to 1 each
    facts: Mapping[str, Any] = field(default_factory=dict)  # plain data: what changed, which tests passed


@dataclass(frozen=True)
class Match:
    """One game about to be played: the task, and which player takes each role.

    Without a seed one is drawn when it is played; with a seed the match does not depend on what else is played.
    """

    game: Game
    task: Task
    cast: Mapping[str, Player]  # role -> player
    seed: int | None = None


@dataclass(frozen=True)
class Episode:
    """The record of a finished match: plain data that can be stored, sent and replayed."""

    game: str
    task: Task
    seed: int
    turns: tuple[Turn, ...]  # in the order spoken
    outcome: Outcome
    seats: tuple[Seat, ...]  # all seats, including those that never spoke
    silent: tuple[tuple[Seat, str], ...] = field(default=(), compare=False)  # these, and the players that held them

    def newly_shown(self) -> list[tuple[Message, ...]]:
        """For each turn the messages that its seat had not been shown before; all of them where its conversation
        starts over."""
        found, known = [], dict[Seat, int]()
        for turn in self.turns:
            messages, before = turn.ask.messages, known.get(turn.ask.seat, 0)
            found.append(messages[before if len(messages) > before else 0 :])
            known[turn.ask.seat] = len(messages)
        return found

    def _repr_html_(self) -> str:
        """How a notebook shows it; `redqueen.views.notebook.show_episode` shows all that was recorded."""
        return episode_as_html(self)


@dataclass(frozen=True)
class Group:
    """The attempts at one task that was drawn once. A task that is drawn twice makes two groups."""

    number: int  # unique among all groups of a run
    task: Task
    attempts: tuple[Episode, ...]  # G
    parent: Episode | None = None  # the episode that proposed the task, if one did


@dataclass(frozen=True)
class Demonstration:
    """An example reply of a role to a task."""

    role: str
    task: Task
    text: str  # the answer itself, or a whole reply
    answer: str = ""  # what a whole reply comes to


@dataclass(frozen=True)
class Refusal:
    """Why a proposal became no task: one or two words that can be counted ("malformed", "duplicate", "timeout")."""

    reason: str
    cut_off: bool = False  # whether the proposal ended at the reply's length


@dataclass(frozen=True)
class Trajectory:
    """One seat's view of an episode: the unit to which credit is assigned."""

    episode: Episode
    seat: Seat
    turns: tuple[Turn, ...]  # N turns
    rewards: np.ndarray  # [N] float, the reward that followed each turn; NaN where there is no verdict
    parts: Mapping[str, np.ndarray] = field(default_factory=dict)  # [N] each, by name, where several were added up
    group: int | None = None  # the number of the group that the episode is an attempt of


@dataclass(frozen=True)
class Constraint:
    """Where the tokens of a row had to be one of listed replies: the legal replies that could begin at `start`."""

    start: int
    replies: tuple[tuple[int, ...], ...]  # [K] token ids of each legal reply


@dataclass(frozen=True)
class Likelihoods:
    """Log-probabilities and entropies of a batch under one policy, each position under the distribution it is sampled
    from: over the whole vocabulary, or renormalised over the legal next tokens where replies are listed.

    Positions whose token the policy did not write hold zeros.
    """

    logprobs: Tensor  # [B, T] of the token that stands there
    entropies: Tensor  # [B, T] in nats, exact
    legal_logprobs: Tensor | None = None  # [B, T, K] of every legal next token, -inf where there are fewer


@dataclass(frozen=True)
class Batch:
    """Rows for one update. A row is one turn, or several turns of a seat where each prompt extends
    the tokens before it. The loss weights of a whole batch sum to one (under `token_mean` and
    `row_mean`), so the losses of its parts add up to the loss of the whole.
    """

    tokens: Tensor  # [B, T] int
    loss_weights: Tensor  # [B, T] float, 0 on prompts, on other players' tokens, on forced tokens, on padding
    sampled_logprobs: Tensor  # [B, T] float, under the policy that wrote the token
    advantages: Tensor  # [B, T] float
    versions: Tensor  # [B, T] int, updates that the writer of the token had made; 0 where no player wrote it
    recited: Tensor  # [B, T] bool, whether the token belongs to a reply that was not sampled (`Reply.recited`)
    trajectory: Tensor  # [B] int, which of the packed trajectories the row comes from
    lengths: Tensor  # [B] int, tokens of the row without padding
    constraints: tuple[tuple[Constraint, ...], ...]  # [B] where the row had to be one of listed replies
    pairs: Tensor | None = None  # [B] int, rows with the same number are compared
    reference: Likelihoods | None = None  # the same rows under a frozen policy

    def __len__(self) -> int:
        return int(self.tokens.shape[0])


Strategy = Mapping[Ask, np.ndarray]
"""A policy written out: at each information state the probability of each legal reply, [K]."""


@dataclass(frozen=True)
class Basis:
    """What a measured figure rests on, by which a reader knows how far to believe it."""

    exact: bool = False  # computed from probabilities, without sampling
    count: int = 0  # independent items that the figure is a mean over; 0 where that is not known
    of: str = ""  # what they are: "held-out problems", "games"
    attempts: int = 1  # at each item
    references: Mapping[str, float] = field(default_factory=dict)  # its value for others, by who or what they are


@dataclass(frozen=True)
class Continuation:
    """How a text is to be gone on with, where a model is asked for one without a role."""

    limit: int  # most tokens
    stops: tuple[str, ...] = ()  # texts of which the first to appear ends it
    temperature: float = 0.0  # 0 takes the likeliest token
    top_p: float = 1.0
    top_k: int = 0  # 0: all
    seed: int = 0


@dataclass(frozen=True)
class Mark:
    """A figure that a model gets in one task of somebody else's tests."""

    task: str
    figure: str
    value: float
    each: tuple[float, ...] = ()  # the figure of each document, of which it is the mean; none if it is no mean
    higher_is_better: bool = True


class Mean(float):
    """A figure that is a mean (a share, too) over `count` samples; a float in all else. Sums of it are plain floats."""

    count: int

    def __new__(cls, value: float, count: int) -> Mean:
        found = super().__new__(cls, value)
        found.count = count
        return found

    def __reduce__(self) -> tuple[type[Mean], tuple[float, int]]:
        return Mean, (float(self), self.count)


def mean_of(values: Iterable[float]) -> Mean:
    """The mean of the values, which knows how many they are."""
    found = list(values)
    return Mean(float(np.mean(found)), len(found))


class RedQueenError(Exception):
    """An error that the user can fix: printed as one line, exit status 2."""


class NotRead(RedQueenError):
    """What a game that waits for a program is told of asks that a player cannot read: the `reasons`, by the place of
    each in what it asked."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__("; ".join(reasons.values()))
        self.reasons = reasons


class Unreachable(RedQueenError):
    """An endpoint does not answer; the run can be resumed once it does."""


class Damaged(RedQueenError):
    """A file of a folder does not hold what it should."""


class NonFiniteLoss(RedQueenError):
    """The loss or a gradient was NaN or infinite; the weights were not touched."""

    def __init__(self, message: str, batch: Batch) -> None:
        super().__init__(message)
        self.batch = batch


def place_of(name: str) -> str:
    """The name without its parameters: "quests" of "quests:count=4", of "quests(count=4)" and of itself."""
    return re.split(r"[(:]", name)[0]


def kind_named(kind: type | tuple[type, ...]) -> str:
    """A type, or several, in words: "a whole number or a text"."""
    names = {
        dict: "an object",
        Mapping: "an object",
        Sequence: "a list",
        tuple: "a list",
        list: "a list",
        str: "a text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        type(None): "null",
    }
    kinds = kind if isinstance(kind, tuple) else (kind,)
    said = list(
        dict.fromkeys(names.get(each, each.__name__) for each in kinds if each is not int or float not in kinds)
    )
    return " or ".join(said)


def shown(value: object) -> str:
    """A value as a message shows it, at most 60 characters; of an array its type and shape."""
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if kind:
        return f"an array of {kind} {list(getattr(value, 'shape', ()))}"
    try:
        return repr(value)[:60]
    except (ValueError, RecursionError):  # an integer of thousands of digits, or lists in a thousand lists
        return type(value).__name__


def is_moderate(value: float) -> bool:
    """Whether a float can hold a number."""
    try:
        float(value)
    except OverflowError:
        return False
    return True


def tuples(value: Any) -> Any:
    """`value` with lists (as JSON has them) as tuples (as facts and keys have them)."""
    if isinstance(value, dict):
        return {key: tuples(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(tuples(item) for item in value)
    return value
