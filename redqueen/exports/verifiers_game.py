"""A game as an environment of verifiers (v1): each seat is an agent of theirs, held open as an interaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import count
from typing import Any

from redqueen.exports.match import shown
from redqueen.play.seating import dealt
from redqueen.play.table import Table
from redqueen.players.scripted import Uniform
from redqueen.protocols import Game
from redqueen.types import Ask, Match, RedQueenError, Reply, Seat


def classes_of(game: Game) -> tuple[Any, Any]:
    """The classes of the taskset, whose tasks are the seeds 0, 1, ..., and of the environment, with an agent for each
    role. An agent's reply is said as it is; the score of its seat is the reward `score` of its trace. Where an agent
    fails, so does the episode, which then has no scores."""
    import verifiers.v1 as vf

    if taken := {role for role in game.roles if role in vf.EnvConfig.model_fields or not role.isidentifier()}:
        raise RedQueenError(f"a role of {game.name} cannot be the name of an agent of verifiers: {min(taken)}")

    class GameData(vf.TaskData):  # type: ignore[misc]
        info: dict  # type: ignore[type-arg]

    class GameTask(vf.Task[GameData]):  # type: ignore[misc]
        pass

    class GameTaskset(vf.Taskset[GameTask, vf.TasksetConfig]):  # type: ignore[misc]
        INFINITE = True

        def load(self) -> Iterator[Any]:
            for seed in count():
                yield GameTask(GameData(idx=seed, name=f"seed {seed}", prompt=None, info={"seed": seed}))

    agents = {role: vf.AgentConfig(harness={"id": "null"}) for role in game.roles}
    noted = {"__annotations__": dict.fromkeys(game.roles, vf.AgentConfig), "__module__": __name__}
    config: Any = type("GameEnvConfig", (vf.EnvConfig,), {**agents, **noted})

    class GameEnv(vf.Env[config]):  # type: ignore[misc]
        async def run(self, task: Any, agents: Any) -> None:
            seed = int(task.data.info["seed"])
            match = Match(game, dealt(game, seed), dict.fromkeys(game.roles, Uniform()), seed)
            table, open_seats = Table(match, seed), dict[Seat, Any]()
            past = dict[Seat, Ask]()
            async with AsyncExitStack() as stack:
                while table.outcome is None:
                    replies = []
                    for ask in table.asks:
                        if ask.seat not in open_seats:
                            mine = vf.Task(vf.TaskData(idx=task.data.idx, prompt=None))
                            opened = getattr(agents, ask.seat.role).interaction(mine)
                            open_seats[ask.seat] = await stack.enter_async_context(opened)
                        agent = open_seats[ask.seat]
                        segment = await agent.turn(said_next(past.get(ask.seat), ask))
                        if segment.terminated and not agent.trace.ok:  # nobody spoke
                            errors = "; ".join(f"{each.type}: {each.message}" for each in agent.trace.errors)
                            raise RedQueenError(f"the agent of {ask.seat} failed: {errors}")
                        past[ask.seat] = ask
                        replies.append(Reply("" if segment.terminated else segment.last_reply.strip()))
                    table.hear(replies)
            for seat, opened in open_seats.items():
                opened.trace.record_reward("score", float(table.outcome.scores[seat]))
                opened.trace.info["redqueen"] = {"game": game.name, "seat": str(seat), "seed": seed}

    return GameTaskset, GameEnv


def said_next(before: Ask | None, ask: Ask) -> str:
    """What an agent is told that was asked `before`: what is new to it, or all where its view was written anew."""
    known = () if before is None else before.messages
    own = str(ask.seat)
    if before is None or ask.messages[: len(known)] != known:
        return shown(ask)
    new = tuple(message for message in ask.messages[len(known) :] if message.speaker != own)
    return shown(Ask(ask.seat, new, ask.choices)) or "It is your turn."
