"""Writes the golden transcripts: `python tests/golden/write.py`. Read the diff before you commit it."""

from __future__ import annotations

from pathlib import Path

from redqueen.chance import uniform
from redqueen.games.catalogue import GAMES, find_game
from redqueen.rollout.table import Table
from redqueen.types import Ask, Match, Reply

HERE = Path(__file__).parent
SEED = 2026
ADAPTED = {
    "openspiel_leduc_poker": "openspiel:leduc_poker",
    "openspiel_goofspiel": "openspiel:goofspiel(imp_info=True,num_cards=3,points_order=descending)",
    "textarena_tic_tac_toe": "textarena:TicTacToe-v0",
}
TRANSCRIPTS = {**{name: name for name in GAMES}, **ADAPTED}  # file name -> specification of the game
PHRASES = {
    "negotiation": ("[deny]", "[accept]", "Here you are: [offer 2 wood for 1 gold]", "[offer 1 gold for 3 wood]"),
    "textarena_tic_tac_toe": ("[0]", "[1]", "[2]", "[3]", "[4]", "[5]", "[6]", "[7]", "[8]"),
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
    """All that is asked and said in one match: the game's first task, one second chance, a fixed seed."""
    separator = "," if "(" in TRANSCRIPTS[name] or "-v0" in TRANSCRIPTS[name] else ":"
    game = find_game(f"{TRANSCRIPTS[name]}{separator}retries=1")
    player = Uniform(PHRASES.get(name, ()))
    task = game.tasks()[0]
    table = Table(Match(game, task, dict.fromkeys(game.roles, player)), SEED)
    lines = [f"# {game.name}, task {task.id}, seed {SEED}"]
    while table.outcome is None:
        replies = player.reply(table.asks)
        for ask, reply in zip(table.asks, replies, strict=True):
            lines += ["", f"## {ask.seat}", *(f"{message.speaker}> {message.text}" for message in ask.messages)]
            lines += [f"choices: {' | '.join(ask.choices) or '(free text)'}", f"=> {reply.text}"]
        table.hear(replies)
    scores = ", ".join(f"{seat} {score:g}" for seat, score in table.outcome.scores.items())
    lines += ["", f"# scores: {scores}"]
    lines += [f"# {key}: {value!r}" for key, value in sorted(table.outcome.facts.items())]
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")) + "\n"


if __name__ == "__main__":
    for title in TRANSCRIPTS:
        (HERE / f"{title}.txt").write_text(transcript(title), encoding="utf-8")
        print(f"wrote {HERE / title}.txt")
