"""Writes the golden transcripts: `python tests/golden/write.py`. Read the diff before you commit it."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

from redqueen.chance import uniform
from redqueen.games.catalogue import GAMES, find_game
from redqueen.play.table import Table
from redqueen.types import Ask, Match, Reply, Seat

HERE = Path(__file__).parent
SEED = 2026
TRANSCRIPTS = tuple(GAMES)
RULES = {"mini_kitchen": "horizon=12,"}  # of games that take long by their defaults
PHRASES = {
    "negotiation": ("[deny]", "[accept]", "Here you are: [offer 2 wood for 1 gold]", "[offer 1 gold for 3 wood]"),
    "interpreting": (
        '{"hider": 1, "seeker": 1}',
        '{"chance": "c", "outcomes": [{"p": 0.9, "then": {"scores": {"hider": 0, "seeker": 0}}}]}',
        '{"scores": {"hider": 0, "seeker": 0}}',
    ),
    "trust_and_split": ("I have rock.", "I have paper.", "I have scissors.", "What do you have?"),
}


class Uniform:
    """Draws from the listed replies, or from the phrases."""

    def __init__(self, phrases: tuple[str, ...]) -> None:
        self.name = "uniform"
        self.phrases = phrases

    def reply(self, asks: list[Ask]) -> list[Reply]:
        texts = [ask.choices or self.phrases for ask in asks]
        return [Reply(choices[int(uniform(ask.seed) * len(choices))]) for ask, choices in zip(asks, texts, strict=True)]


def transcript(name: str) -> str:
    """What is asked and said in one match: the game's first task, three second chances, a fixed seed.
    Lines that a seat was shown before, from the top, are left out."""
    game = find_game(f"{name}:{RULES.get(name, '')}retries=3")
    player = Uniform(PHRASES.get(name, ()))
    task = game.tasks()[0]
    table = Table(Match(game, task, dict.fromkeys(game.roles, player)), SEED)
    shown: dict[Seat, list[str]] = {}
    lines = [f"# {game.name}, task {task.id}, seed {SEED}"]
    while table.outcome is None:
        replies = player.reply(table.asks)
        for ask, reply in zip(table.asks, replies, strict=True):
            now = [line for said in ask.messages for line in f"{said.speaker}> {said.text}".split("\n")]
            pairs = zip(now, shown.get(ask.seat, []), strict=False)
            known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            shown[ask.seat] = now
            lines += ["", f"## {ask.seat}", *(["..."] if known else []), *now[known:]]
            lines += [f"choices: {' | '.join(ask.choices) or '(free text)'}", f"=> {reply.text}"]
        table.hear(replies)
    scores = ", ".join(f"{seat} {score + 0.0:g}" for seat, score in table.outcome.scores.items())
    lines += ["", f"# scores: {scores}"]
    lines += [f"# {key}: {value!r}" for key, value in sorted(table.outcome.facts.items())]
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")) + "\n"


if __name__ == "__main__":
    for title in TRANSCRIPTS:
        (HERE / f"{title}.txt").write_text(transcript(title), encoding="utf-8")
        print(f"wrote {HERE / title}.txt")
