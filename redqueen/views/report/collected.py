"""Everything a report shows, as plain data: what happened, curves of several runs, settings, episodes, ladders."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from redqueen.credit.outcomes import result
from redqueen.games.boards import frames
from redqueen.games.hearing import addressed, stated_hearers
from redqueen.markup import speaker_line
from redqueen.measures.figures import GROUPS, RULE, described
from redqueen.measures.intervals import student_quantile
from redqueen.measures.ladder import Ladder
from redqueen.measures.side_by_side import Crossing, Pair, SideBySide
from redqueen.measures.tournament import Standings
from redqueen.protocols import StatesInformation, has, shaped
from redqueen.records import flat
from redqueen.runs.folder import game_to_show, settings, stored_episodes
from redqueen.runs.run import Line, numbers, read_final, read_metrics
from redqueen.runs.samples import FATES, total
from redqueen.trust.no_links import write_whole
from redqueen.trust.reading import read_json
from redqueen.types import Damaged, Episode, Message, RedQueenError
from redqueen.views.headline import (
    Headline,
    bases_of,
    headline_of,
    in_words,
    planned_steps,
    sentence_of_difference,
    sentence_of_seeds,
)
from redqueen.views.report.first_screen import answered, pairs, states
from redqueen.views.report.token_texts import Decoder, tokenizer_of, words_of

MOST_EPISODES = 2000  # of all runs together; beyond, a sample
TOURNAMENT, COMPARISON, LEAGUE, SUITES = "tournament.json", "comparison.json", "league.json", "suites.json"
OPTIMIZATION = "config.learner.optimization."  # settings that are no news on the first screen unless they were given
_NUMBER = (int, float)
SHAPES: dict[str, Any] = {  # what these files must hold; a number may be null where it is unknown
    TOURNAMENT: {
        "game": str,
        "players": [str],
        "scores": [[(*_NUMBER, type(None))]],
        "widths?": [[(*_NUMBER, type(None))]],  # half those of the 95 % intervals of the scores
        "matches": int,
        "ladder": {"headings": [str], "rows": [[str]], "notes": [str]},
    },
    SUITES: {"suites": [{"of": str, "settings": str, "updates": int, "headings": [str], "rows": [[str]]}]},
    LEAGUE: {
        "players": [str],
        "kinds": [str],
        "ratings": [(*_NUMBER, type(None))],
        "win_rates": [[(*_NUMBER, type(None))]],
    },
    COMPARISON: {
        "game": str,
        "names": [str],
        "against": (str, type(None)),
        "matches": int,
        "parted": int,
        "scores": [list],
        "crossings": [
            {
                "turn": int,
                "count": int,
                "seat": str,
                "shown": [[str]],
                "choices": [str],
                "said": [str],
                "chances": [(list, type(None))],
            }
        ],
        "pairs": [
            {
                "task": str,
                "seed": str,
                "role": (str, type(None)),
                "fork": (int, type(None)),
                "said": [[[str]]],
                "scores": [[list]],
            }
        ],
    },
}
MOST_PAIRS = 200  # of a comparison, those that part first
AFTER_ALL_STEPS = 1 << 40  # where games that people played stand in the order


def collected(folders: Sequence[Path], most_episodes: int = MOST_EPISODES) -> dict[str, Any]:
    """The data of a report over these runs, each once. Raises RedQueenError for a folder that holds no run, or none of
    whose steps is finished."""
    folders = list({folder.resolve(): folder for folder in folders}.values())
    headlines = [headline_of(folder, settings(folder)) for folder in folders]
    runs = [_run(folder, name, told) for folder, name, told in zip(folders, _names(folders), headlines, strict=True)]
    episodes = [(number, *found) for number, folder in enumerate(folders) for found in stored_episodes(folder)]
    chosen = list(range(len(episodes)))
    for number, (run, folder) in enumerate(zip(runs, folders, strict=True)):
        places = [
            place for place, found in enumerate(episodes) if found[0] == number and _step(found[1]) < AFTER_ALL_STEPS
        ]
        recorded = [(_step(episodes[place][1]), episodes[place][2]) for place in places]
        run["states"], run["answered"] = states(folder, recorded), answered(folder)
        run["pairs"] = [(places[pair.before], places[pair.after], pair.same) for pair in pairs(recorded)]
    if len(episodes) > most_episodes:
        paired = {place for run in runs for pair in run["pairs"] for place in pair[:2]}
        chosen = sorted({*Random(0).sample(chosen, most_episodes), *paired})
    at = {place: number for number, place in enumerate(chosen)}
    for run in runs:
        run["pairs"] = [[at[before], at[after], same] for before, after, same in run["pairs"]]
    shown = [episodes[place] for place in chosen]
    tokenizers = {number: tokenizer_of(folders[number]) for number in {number for number, *_ in shown}}
    texts = _Texts()
    groups = _groups(runs, headlines)
    most = max(len(group["runs"]) for group in groups)
    return {
        "runs": runs,
        "groups": groups,
        "student": [student_quantile(0.975, degrees) for degrees in range(1, most)],
        "figures": _figures(runs),
        "rule": RULE,
        "episodes": [_episode(each, folders[each[0]], tokenizers[each[0]], texts) for each in shown],
        "recorded": len(episodes),
        "texts": texts.all,
        "tournaments": _all_kept(folders, TOURNAMENT),
        "comparisons": _all_kept(folders, COMPARISON),
        "leagues": _all_kept(folders, LEAGUE),
        "suites": [
            [number, kept]
            for number, folder in enumerate(folders)
            for found in _all_kept([folder], SUITES)
            for kept in found["suites"]
        ],
    }


def collected_alone(episode: Episode, credit: dict[str, Any], tokenizer: Decoder | None) -> dict[str, Any]:
    """The data of a report that shows nothing but one episode."""
    texts = _Texts()
    shown = {**_episode((0, "", episode, credit), Path(), tokenizer, texts), "replay": ""}
    nothing: dict[str, Any] = {
        "runs": [],
        "groups": [],
        "student": [],
        "figures": {},
        "rule": "",
        "tournaments": [],
        "comparisons": [],
        "leagues": [],
        "suites": [],
    }
    return {**nothing, "episodes": [shown], "recorded": 1, "texts": texts.all}


def write_tournament(folder: Path, standings: Standings, ladder: Ladder, matches: int) -> Path:
    """Keeps a tournament in a run's folder, for its report, and returns the folder."""
    data = {
        "game": standings.game,
        "players": standings.names(),
        "scores": standings.scores().tolist(),
        "widths": [[width if math.isfinite(width) else None for width in row] for row in standings.widths().tolist()],
        "matches": matches,
        "ladder": {"headings": ladder.headings, "rows": ladder.rows, "notes": ladder.notes},
    }
    return _kept(folder, TOURNAMENT, data)


def write_suite(
    folder: Path,
    of: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    updates: int,
    chosen: Mapping[str, Any],
) -> Path:
    """Keeps what others' tests say of a run in its folder, for its report, in place of what the same suite said before
    with the same settings; returns the folder."""
    said = ", ".join(f"{name}={value}" for name, value in chosen.items())
    table = {"of": of, "settings": said, "updates": updates, "headings": headings, "rows": rows}
    kept = [each for found in _all_kept([folder], SUITES) for each in found["suites"]]
    others = [each for each in kept if (each["of"], each["settings"]) != (of, said)]
    return _kept(folder, SUITES, {"suites": [*others, table]})


def write_comparison(folder: Path, found: SideBySide) -> Path:
    """Keeps a comparison of two players in a run's folder, for its report, and returns the folder."""
    parted_first = sorted(found.pairs, key=lambda pair: pair.fork is None)
    data = {
        "game": found.game,
        "names": found.names,
        "against": found.against,
        "matches": len(found.pairs),
        "parted": found.parted,
        "scores": [[each.role, each.first, each.second, str(each.difference)] for each in found.scores],
        "crossings": [_crossing(each) for each in found.crossings],
        "pairs": [_pair(each) for each in parted_first[:MOST_PAIRS]],
    }
    return _kept(folder, COMPARISON, data)


def _crossing(crossing: Crossing) -> dict[str, Any]:
    ask, replies = crossing.fork.ask, crossing.fork.replies
    return {
        "turn": crossing.fork.turn,
        "count": crossing.count,
        "seat": str(ask.seat),
        "shown": [[speaker_line(message), message.text] for message in ask.messages],
        "choices": ask.choices,
        "said": [reply.text for reply in replies],
        "chances": [None if each is None else [round(float(p), 4) for p in each] for each in crossing.probabilities],
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "task": pair.episodes[0].task.id,
        "seed": str(pair.episodes[0].seed),
        "role": pair.role,
        "fork": None if pair.fork is None else pair.fork.turn,
        "said": [[[str(turn.ask.seat), turn.reply.text] for turn in each.turns] for each in pair.episodes],
        "scores": [_results(each) for each in pair.episodes],
    }


def _results(episode: Episode) -> list[tuple[str, float]]:
    """The result of each seat; without those that are unknown."""
    found = [(str(seat), result(episode, seat)) for seat in episode.seats]
    return [(seat, each) for seat, each in found if not math.isnan(each)]


def _kept(folder: Path, name: str, data: dict[str, Any]) -> Path:
    try:
        write_whole(folder, name, json.dumps(data) + "\n")
    except OSError as error:
        raise RedQueenError(f"cannot write {folder / name}: {error.strerror}") from error
    return folder


class _Texts:
    """Each text once: rules are the same in every turn of every game."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        if text not in self._places:
            self._places[text] = len(self.all)
            self.all.append(text)
        return self._places[text]


def _names(folders: Sequence[Path]) -> list[str]:
    """The name of each folder, with as much of its path as tells it from the others."""
    paths = [folder.absolute().parts for folder in folders]

    def shortest(path: tuple[str, ...]) -> str:
        others = [other for other in paths if other != path]
        length = next(n for n in range(1, len(path) + 1) if all(other[-n:] != path[-n:] for other in others))
        return str(Path(*path[-length:]))

    return [shortest(path) for path in paths]


def _run(folder: Path, name: str, told: Headline) -> dict[str, Any]:
    config, lines = settings(folder), read_metrics(folder)
    if not lines:
        raise RedQueenError(f"{folder} has no metrics yet")
    words = {word.partition("=")[0] for word in config.get("command", [])}
    final, found = read_final(folder), flat({key: config[key] for key in ("config", "schedule", "versions")})
    return {
        "name": name,
        "folder": str(folder),
        "recipe": config["recipe"],
        "seed": config["seed"],
        "command": shlex.join(config.get("command", [])),
        "settings": found,
        "usual": [key for key in found if key.startswith(OPTIMIZATION) and _flag(key) not in words],
        "curves": curves([*lines, final] if final else lines),
        "finished": bool(final),
        "steps": int(lines[-1]["step"]) + 1,
        "planned": planned_steps(config),
        "ending": asdict(told.ending),
        "alarms": [asdict(each) for each in told.alarms],
        "references": told.basis.references,
        "samples": [[fate, FATES[fate], *counts] for fate, counts in total([*lines, final]).items()],
        "rests_on": _rests_on(folder, [*lines, final]),
        "seconds": sum(line.get("time", {}).get("step", 0.0) for line in lines),  # in which "measure" is contained
    }


def _flag(name: str) -> str:
    """The flag of a setting of the optimiser."""
    return "--" + name.rpartition(".")[2].replace("_", "-")


def _rests_on(folder: Path, lines: Sequence[Line]) -> dict[str, str]:
    """On how many samples each figure of a run rests, in words: of a measurement, or of a step in the mean. What is not
    named is a count, a setting or a state, and no mean."""
    counts: dict[str, list[int]] = {}
    for line in lines:
        for name, count in line.get("rests_on", {}).items():
            counts.setdefault(name, []).append(count)
    found = {name: f"{sum(each) / len(each):.4g} a step" for name, each in counts.items()}
    for name, basis in bases_of(folder).items():
        found |= {name: said} if (said := in_words(basis)) else {}
    bounds = {f"{name}{end}": words for name, words in found.items() for end in ("_low", "_high")}
    return bounds | found


def _groups(runs: Sequence[dict[str, Any]], headlines: Sequence[Headline]) -> list[dict[str, Any]]:
    """The runs that differ in the seed alone, together: the numbers of the runs, the figure that says most about them,
    its course, what happened, and how far they are from the first group (`against`). A run whose seed its group has
    already tells nothing more of the spread and stands alone."""
    found: dict[str, list[int]] = {}
    for number, run in enumerate(runs):
        config = {name: value for name, value in run["settings"].items() if name.startswith("config.")}
        key = json.dumps([run["recipe"], config], sort_keys=True)
        if any(runs[other]["seed"] == run["seed"] for other in found.get(key, [])):
            key += str(number)
        found.setdefault(key, []).append(number)
    figure = headlines[0].figure
    by_seed = [
        {runs[number]["seed"]: headlines[number].points for number in numbers if headlines[number].figure == figure}
        for numbers in found.values()
    ]
    return [
        _group([headlines[number] for number in numbers], numbers)
        | {"against": sentence_of_difference(figure, courses, by_seed[0]) if place else ""}
        for place, (numbers, courses) in enumerate(zip(found.values(), by_seed, strict=True))
    ]


def _group(told: Sequence[Headline], numbers: Sequence[int]) -> dict[str, Any]:
    courses = [each.points for each in told if each.figure == told[0].figure]
    return {
        "runs": numbers,
        "figure": told[0].figure,
        "sentence": sentence_of_seeds(told[0].figure, courses) or told[0].sentence,
        "points": [[[point.step, *map(_rounded, point[1:])] for point in points] for points in courses],
    }


def _figures(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What each figure is called, its unit, which way is better, and where it belongs; in the order to show them."""
    names = dict.fromkeys(name for run in runs for name in run["curves"])
    order = {name: GROUPS.index(described(name).group) for name in names}
    return {name: asdict(described(name)) for name in sorted(names, key=lambda name: order[name])}


def curves(lines: Sequence[Line]) -> dict[str, list[list[float]]]:
    """[[step, value], ...] of every figure, exact measures first; what is not finite is left out."""
    found: dict[str, list[list[float]]] = {}
    for line in lines:
        for name, value in numbers(line).items():
            if math.isfinite(value):
                found.setdefault(name, []).append([line["step"], float(f"{value:.6g}")])
    return dict(sorted(found.items(), key=lambda item: _rank(item[0])))


def _rounded(value: float) -> float | None:
    """The value as a curve holds it; None where it is not finite."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _rank(name: str) -> int:
    """The sort key of a metric: exact measures, then requested ones, then the rest."""
    first = (
        "exploitability",
        "nash_conv",
        "regret",
        "accuracy",
        "held_out_score",
        "success",
        "pass@",
        "mean_score",
        "reward/",
        "payoff/",
    )
    found = [place for place, word in enumerate(first) if word in name]
    return found[0] if found else len(first)


def _episode(
    found: tuple[int, str, Episode, dict[str, Any]], folder: Path, tokenizer: Decoder | None, texts: _Texts
) -> dict[str, Any]:
    number, name, episode, credit = found
    game = game_to_show(episode.game, folder)
    private = game is None or not (has(game, StatesInformation) and game.perfect_information)
    lines = addressed(episode, {} if game is None else stated_hearers(game))
    spoken: dict[str, int] = {}
    turns = []
    for line, turn, messages in zip(lines, episode.turns, episode.newly_shown(), strict=True):
        seat, reply = str(turn.ask.seat), turn.reply
        place = spoken[seat] = spoken.get(seat, -1) + 1
        own = credit.get(seat, {})
        turns.append(
            {
                "seat": seat,
                "to": line.removeprefix(seat),
                "shown": [_shown(each, texts, _others(episode, seat if private else "")) for each in messages],
                "thought": texts.place(reply.thought) if reply.thought else None,
                "said": texts.place(reply.text),
                "player": f"demonstrated to {reply.player}" if reply.recited else f"{reply.player} v{reply.version}",
                "words": words_of(reply, tokenizer),
                "logprob": round(float(reply.logprobs.sum()), 4) if len(reply.logprobs) and not reply.recited else None,
                "reward": _at(own.get("rewards"), place),
                "advantage": _at(own.get("advantages"), place),
                "parts": {key: _at(values, place) for key, values in own.get("parts", {}).items()},
                "flags": [word for word in ("malformed", "truncated") if getattr(reply, word)],
            }
        )
    facts = {key: value for key, value in episode.outcome.facts.items() if key not in ("reply", "words")}
    return {
        "run": number,
        "name": name,
        "step": _step(name),
        "game": episode.game,
        "task": episode.task.id,
        "answer": episode.task.answer,
        "verdict": _verdict(episode),
        "seed": str(episode.seed),
        "scores": _results(episode),
        "facts": flat(facts),
        "turns": turns,
        "frames": frames(episode),
        "replay": shlex.join(["redqueen", "replay", str(folder), name]),
    }


def _verdict(episode: Episode) -> bool | None:
    """Whether the answer is right, the last of several; None where nobody knows, or nothing was to be answered."""
    right = episode.outcome.facts.get("right")
    last = right[-1] if isinstance(right, list | tuple) and right else right
    return last if isinstance(last, bool) else None


def _step(name: str) -> int:
    """The step in which an episode was recorded."""
    step = name.partition(".")[0]
    return int(step) if step.isdecimal() else AFTER_ALL_STEPS


def _others(episode: Episode, seat: str) -> set[str]:
    """Every line that some other seat was shown; of a game with one seat, all that there is."""
    if len(episode.seats) == 1:
        return {line for turn in episode.turns for message in turn.ask.messages for line in message.text.split("\n")}
    asks = [turn.ask for turn in episode.turns if str(turn.ask.seat) != seat]
    return {line for ask in asks for message in ask.messages for line in message.text.split("\n")}


def _shown(message: Message, texts: _Texts, public: set[str]) -> list[Any]:
    """[heading, [[text, whether this seat alone was shown it], ...]], neighbouring lines of one sort together."""
    blocks: list[tuple[list[str], bool]] = []
    for line in message.text.split("\n"):
        private = line not in public and bool(line.strip())
        if blocks and (blocks[-1][1] == private or not line.strip()):
            blocks[-1][0].append(line)
        else:
            blocks.append(([line], private))
    return [speaker_line(message), [[texts.place("\n".join(lines)), private] for lines, private in blocks]]


def _at(values: Sequence[float | None] | None, place: int) -> float | None:
    found = values[place] if values is not None and place < len(values) else None  # None where nobody knows
    return None if found is None else round(float(found), 6)


def _all_kept(folders: Sequence[Path], name: str) -> list[Any]:
    return [_read(folder / name, SHAPES[name]) for folder in folders if (folder / name).is_file()]


def _read(path: Path, shape: Any) -> Any:
    try:
        found = shaped(read_json(path), shape, str(path))
        if path.name == TOURNAMENT:
            _check_square(found["scores"], len(found["players"]), path)
        if path.name == LEAGUE:
            _check_square(found["win_rates"], len(found["players"]), path)
        return found
    except Damaged as error:
        raise Damaged(f"{path} is cut short or was changed: remove it, or have it written again ({error})") from None


def _check_square(table: Sequence[Sequence[Any]], size: int, path: Path) -> None:
    if len(table) != size or any(len(row) != size for row in table):
        raise Damaged(f"{path} must hold a table of {size} rows and columns, one for each player")
