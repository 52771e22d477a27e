"""Every shipped recipe keeps the contract, and the contract says what others do wrong."""

import ast
import inspect
import re
import tempfile
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest

from redqueen.cli.main import main
from redqueen.cli.training import rests_on_steps
from redqueen.contracts import recipes as contract
from redqueen.contracts.recipes import Killer, check_recipe, in_view, in_view_of, left_behind, metrics
from redqueen.players.language.saying import Speaker
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import Schedule, numbers, read_final, read_metrics
from redqueen.runs.train import train as train_and_keep
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.learner import Learner
from redqueen.settings.roles import seat_of
from redqueen.views.headline import bases_of

# roles that a tiny model is not asked in within two steps: nobody reads what has no form, or it is another player
NOT_ASKED = {
    "epo": {"buyer", "seller", "judge"},  # they are scripted
    "ppdpp": {"speaker", "seller", "critic"},  # they are scripted
    "pragmatic_synthesis": {"speaker"},  # by default it is the same table
    "reasoning_sql": {"judge"},  # it has none by default
    "search_self_play": {"reader", "judge"},
    "ssr_zero": {"judge"},  # the probabilities of its digits are read
    "spell": {"judge"},
    "starling": {"author"},
    "svs": {"proposer"},
    "sws": {"proposer"},
    "webrl": {"setter", "judge"},  # by default the world's own rules
}
# what `train` does at a step depends on how many there will be
ANNEALED = ("magnetic", "mirror_descent", "league", "cold_start", "starling")

# whose game a model that answers in free text would be measured in for a minute
SHORT = {
    "agent_r": {"game": "acting:site(tests=4),4"},
    "webrl": {"game": "acting:site(tests=4),4"},
}
# what is learned is recited, in the format, whatever was sampled, in the first step or in both
RECITED = {"pragmatic_synthesis": (0.0, 0.0), "mental_arena": (0.0, 1.0), "bot_play": (0.0, 1.0)}
LISTED = ("mirror_descent", "hcsp")  # need the probabilities of listed replies: hcsp for its leash
QUICK = ("spiral", "sppo")  # a table and a tiny language model, which `make check` runs


def each(names, mark=pytest.mark.long):
    """The names of recipes that are run; all but the quick ones have this mark."""
    return [pytest.param(name, marks=[] if name in QUICK else [mark]) for name in names]


every_recipe = pytest.mark.parametrize("name", RECIPES)
every_recipe_is_run = pytest.mark.parametrize("name", each(RECIPES))
every_recipe_is_run_again = pytest.mark.parametrize("name", each(RECIPES, pytest.mark.slow))
OF_GAMES = [name for name in RECIPES if contract.plays_games(find_recipe(name).Config())]
OF_QUESTIONS = [name for name in RECIPES if name not in (*OF_GAMES, "first_steps")]  # these need a language model
# all credit is the same where a model imitates, and is in the pairs and win rates where it prefers
WITHOUT_ESTIMATE = (
    "cold_start",
    "agent_r",
    "b_star",
    "ditto_roleplay",
    "self_j",
    "self_evolution",
    "pragmatic_synthesis",
    "mental_arena",
    "bot_play",
    "promptcot2",
    "spin",
    "sppo",
    "nash_md",
    "iterative_dpo",
    "dpo",
    "spc",
    "self_rewarding",
    "spar",
)
SAME_VERB = {
    "data.pack": "pack",
    "objective.pack": "pack",
    "step.pack": "pack",
    "step.estimate": "estimate",
    "estimate.pack": "pack",
    "pack_pairs": "pack",
    "pack_toward": "pack",
    "pack_samples": "pack",
    "flow.play": "play",
    "ahead.play": "play",
    "attempts": "play",
    "attempted": "play",
}


def trained(name, folder, seed=0, watchers=(), record_episodes=2, **changes):
    """The finished run of a recipe's defaults, but few matches and steps."""
    recipe = find_recipe(name)
    return contract.trained(recipe, contract.small(recipe, **changes), folder, seed, watchers, record_episodes)


@every_recipe
def test_a_recipe_names_its_paper_or_says_that_there_is_none(name):
    contract.check_paper(find_recipe(name))


@every_recipe
def test_a_recipe_can_be_read_at_once(name):
    assert not in_view(find_recipe(name)).faults, contract.figures()


@every_recipe
def test_the_loop_of_a_recipe_is_visible(name):
    (train,) = [
        node
        for node in ast.parse(inspect.getsource(find_recipe(name))).body
        if isinstance(node, ast.FunctionDef) and node.name == "train"
    ]
    (loop,) = [node for node in train.body if isinstance(node, ast.For)]
    calls = {ast.unparse(node.func) for node in ast.walk(loop) if isinstance(node, ast.Call)}
    verbs = {"play", "score", "estimate", "pack", "run.report"} - ({"estimate"} if name in WITHOUT_ESTIMATE else set())
    calls = {SAME_VERB.get(call, call) for call in calls}
    assert "run.steps" in calls
    assert verbs <= calls
    assert any(call.endswith(".update") for call in calls)


@every_recipe
def test_what_measures_is_dealt_by_the_seed_of_the_tests(name):
    """Each measure that takes a seed is given one: else the same problems would measure runs of every seed."""
    recipe = find_recipe(name)
    for node in ast.walk(ast.parse(inspect.getsource(recipe))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            made = getattr(recipe, node.func.id, None)
            if "measures" not in getattr(made, "__module__", "") or "seed" not in inspect.signature(made).parameters:
                continue
            named = [word.arg for word in node.keywords]
            given = inspect.signature(made).bind_partial(*node.args, **dict.fromkeys(named)).arguments
            assert "seed" in given, f"{name}: {ast.unparse(node)} takes the seed 0 in every run"


@every_recipe
def test_a_config_is_settings_with_defaults(name):
    contract.check_config(find_recipe(name))


@every_recipe_is_run
def test_a_recipe_runs_two_steps(name, tmp_path):
    run = trained(name, tmp_path)
    assert [line["step"] for line in metrics(run)] == [0, 1]
    for figure in ("loss",) if name in OF_QUESTIONS else ("loss", "turns_per_episode"):
        assert all(any(key.split("/")[-1] == figure for key in line) for line in metrics(run))
    assert unstated(run) == set()


# figures that are no means: counts, settings, and the states of curricula, buffers and leagues
NO_MEANS = re.compile(
    r"(.*/)?alarm/|.*_(low|high)$|(tasks|buffer|pool|clusters|bandit|league|rating|win_rate|weak|round|knobs)/"
    r"|(polls|labels|judge_seen|variants|accepted|leaking|varied|rollouts|posed|labelled|kept|pairs|pull|waiting)$"
)


def unstated(run):
    """The figures of which nobody says on how many samples they rest."""
    lines = [*read_metrics(run.folder), read_final(run.folder)]
    stated = {name for line in lines for name in line.get("rests_on", {})} | bases_of(run.folder).keys()
    found = {name for line in lines for name in numbers(line)} - stated
    return {name for name in found if not NO_MEANS.match(name)}


@pytest.mark.parametrize("name", each(OF_GAMES, pytest.mark.slow))
def test_a_recipe_runs_two_steps_with_a_language_model(name, tmp_path):
    run = trained(
        name, tmp_path, learner=Learner(model="tiny"), matches_per_step=2, games=("kuhn_poker",), largest_scores=(2.0,)
    )
    assert [line["step"] for line in metrics(run)] == [0, 1]
    assert (run.folder / "checkpoints" / "step_000002" / "learner" / "model.safetensors").exists()


@pytest.mark.parametrize("name", each([name for name in OF_GAMES if name not in LISTED], pytest.mark.slow))
def test_a_recipe_runs_two_steps_with_a_model_that_answers_in_free_text(name, tmp_path):
    learner = Learner(model="tiny", answer="boxed", max_completion_length=4)
    games = {"games": ("kuhn_poker",), "largest_scores": (2.0,), **SHORT.get(name, {})}
    run = trained(name, tmp_path, learner=learner, matches_per_step=2, matches_per_game=2, **games)
    assert [line["malformed"] for line in metrics(run)] == list(RECITED.get(name, (1.0, 1.0)))


@pytest.mark.parametrize("name", each(RECIPES, pytest.mark.slow))
@pytest.mark.filterwarnings("ignore:products in bfloat16")  # a slow processor says so
def test_a_recipe_runs_two_steps_in_bfloat16_under_an_adapter(name, tmp_path):
    """With replies that last until the sampler packs the weights."""
    learner = Learner(model="tiny", dtype="bfloat16", lora_rank=4, max_completion_length=12)
    run = trained(name, tmp_path, learner=learner, matches_per_step=2, games=("kuhn_poker",), largest_scores=(2.0,))
    assert [line["step"] for line in metrics(run)] == [0, 1]


@every_recipe_is_run_again
def test_the_same_seed_trains_the_same_and_another_does_not(name):
    """And every role is asked in the seat that its settings speak for: else `--ROLE.answer` would have no effect."""
    recipe, asked = find_recipe(name), set()
    answer = Speaker.reply

    def listening(speaker, asks):
        asked.update(ask.seat.role for ask in asks)
        return answer(speaker, asks)

    with patch.object(Speaker, "reply", listening):
        contract.check_seed(recipe, contract.small(recipe))
    missing = {role for role in contract.roles_of(recipe.Config) if seat_of(recipe.Config, role) not in asked}
    assert missing == NOT_ASKED.get(name, set())


@cache
def six_steps(name):
    """What six steps of a recipe leave behind."""
    with tempfile.TemporaryDirectory() as folder:
        return left_behind(trained(name, Path(folder), steps=6))


@pytest.mark.filterwarnings("ignore:.*exact measures need perfect recall")
@every_recipe_is_run_again
def test_a_run_can_be_measured_played_again_and_shown(name, tmp_path, capsys):
    config = contract.small(find_recipe(name), votes=3)  # fewer are refused
    train_and_keep(name, config, tmp_path, schedule=Schedule(record_episodes=2))
    for command in ("evaluate", "report"):
        assert main([command, str(tmp_path)]) == 0
    for number, _, _ in stored_episodes(tmp_path)[:2]:
        assert main(["replay", str(tmp_path), number]) == 0
        assert "replayed" in capsys.readouterr().out


@pytest.mark.parametrize("name", ANNEALED)
def test_a_recipe_with_a_schedule_over_its_steps_is_not_made_longer(name):
    assert rests_on_steps(find_recipe(name))


@every_recipe_is_run_again
def test_a_recipe_goes_on_after_a_kill_as_if_nothing_had_happened(name, tmp_path):
    """And a run that had ended can be made longer: it is made so here before it is killed."""
    if name in ANNEALED:
        contract.check_killed(find_recipe(name), contract.small(find_recipe(name), steps=6), six_steps(name))
    else:
        trained(name, tmp_path, steps=3)
        with pytest.raises(KeyboardInterrupt):
            trained(name, tmp_path, watchers=[Killer(4)], steps=6)
        assert left_behind(trained(name, tmp_path, steps=6)) == six_steps(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fictitious_self_play", "magnetic", "mars"])
def test_a_language_model_goes_on_after_a_kill_as_if_nothing_had_happened(name, tmp_path):
    settings = {"learner": Learner(model="tiny"), "steps": 4, "games": ("kuhn_poker",), "largest_scores": (2.0,)}
    whole = trained(name, tmp_path / "whole", **settings)
    with pytest.raises(KeyboardInterrupt):
        trained(name, tmp_path / "killed", watchers=[Killer(3)], **settings)
    assert left_behind(trained(name, tmp_path / "killed", **settings)) == left_behind(whole)


# --- known answers ---------------------------------------------------------------------------

GOOD = '''"""Coin flips: a table learns which side is up (Nobody et al. 2025, arXiv:2501.00001)."""

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_game_and_role
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.games.catalogue import find_game
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play import lockstep
from redqueen.play.seating import mirror
from redqueen.players.tabular import TabularPolicy


@dataclass(frozen=True)
class Config:
    game: str = "kuhn_poker"
    steps: int = 400
    matches_per_step: int = 128
    decay: float = 0.95


def train(config, run):
    game = find_game(config.game)
    learner, estimate = TabularPolicy(), MovingBaseline(by_game_and_role, decay=config.decay)
    for _ in run.steps(config.steps, [learner], [estimate]):
        tasks = [game.tasks()[run.rng.randrange(len(game.tasks()))] for _ in range(config.matches_per_step)]
        trajectories = spoken_by(learner, score(lockstep.play(mirror(game, tasks, learner), run.rng), payoff))
        advantages = estimate(trajectories)
        metrics = learner.update(pack(trajectories, advantages), Reinforce())
        run.report(learner, trajectories, advantages, metrics)
    return learner
'''
LONG = "\n".join(f"        x{n} = config.steps" for n in range(21))


def own(folder, change=("", "")):
    path = folder / "coin.py"
    path.write_text(GOOD.replace(*change))
    return find_recipe(str(path))


def test_a_recipe_that_keeps_the_contract_is_told_so_in_one_line(tmp_path):
    assert check_recipe(own(tmp_path)) == (
        "coin keeps the contract of recipes: 5 statements in its loop, 12 imported names, the same seed trains the "
        "same, resumed bit for bit"
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("(Nobody et al. 2025, arXiv:2501.00001)", "at once"), "names no paper"),
        (("arXiv:2501.00001).", "arXiv:2501.00001)"), "must be one sentence"),
        (("a table learns", "a table learns" + " and learns" * 8), "the first line of the recipe coin has"),
        (("frozen=True", "frozen=False"), r"can be changed: write @dataclass\(frozen=True\)"),
        (("@dataclass(frozen=True)\n", ""), "must be a frozen dataclass"),
        (('game: str = "kuhn_poker"', "game: str"), "game in Config of the recipe coin needs a default"),
        (("decay=config.decay", "decay=0.95"), "has 0.95 outside Config: make each a field"),
        (
            ("    return learner", "        " + LONG.lstrip() + "\n    return learner"),
            "has 26 statements, more than 25",
        ),
        (("import payoff", f"import {', '.join(f'x as x{n}' for n in range(20))}, payoff"), "imports 32"),
        (("[learner], [estimate]", "[learner]"), "goes on otherwise after a kill, .* name all that it keeps"),
        (("run.rng.randrange(", '(__import__("time").time_ns() % '), "differ in .*: take all chance from run.rng"),
        (("        run.report(learner, trajectories, advantages, metrics)\n", ""), "reports nothing"),
        (("estimate(trajectories)", "estimate(trajectory)"), "stops with NameError"),
    ],
)
def test_the_contract_says_what_a_recipe_does_wrong(change, complaint, tmp_path):
    assert change[0] in GOOD
    if "x as" in change[1]:  # only read, never run
        module = own(tmp_path)
        Path(module.__file__).write_text(GOOD.replace(*change))
    else:
        module = own(tmp_path, change)
    with pytest.raises(AssertionError, match=complaint) as caught:
        check_recipe(module)
    assert "\n" not in str(caught.value)


def test_what_is_in_view_is_counted_by_hand():
    source = '''"""Doc with 7."""
from __future__ import annotations
import numpy as np
from redqueen.play import lockstep
from redqueen.types import Task, Seat
ODD = 3
@dataclass
class Config:
    rate: float = 0.3
def train(config, run):
    """A docstring."""
    before = -1
    for step in run.steps(2):
        """No statement."""
        import json
        if np.mean([1]) > 0.25:
            x = lockstep.play([], np.mean([]))
        else:
            lockstep.play(x)
    return True
'''
    found = in_view_of(source)
    assert found.statements == 3  # the if, and one in each branch
    assert found.names == 4  # Task, Seat, np.mean and lockstep.play; nothing of json is used
    assert found.numbers == ("3", "0.25")
    assert found.faults == {"numbers"}
