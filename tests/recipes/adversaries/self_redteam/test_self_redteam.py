"""Self-RedTeam: who learns, what is refused, what is printed before training, and a table that finds the hard way."""

from dataclasses import replace

import numpy as np
import pytest

from redqueen.cli.main import main
from redqueen.credit.payoff_table import general_sum, zero_sum
from redqueen.games.catalogue import find_game
from redqueen.games.red_team import hidden
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.small.red_styles import RedStyles
from redqueen.questions.small.red_words import RedTeamWords
from redqueen.recipes.adversaries.self_redteam import recipe as self_redteam
from redqueen.recipes.adversaries.self_redteam.measures import HeldOutAttacks
from redqueen.recipes.adversaries.self_redteam.recipe import Config, train
from redqueen.runs.folder import stored_games
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.runs.train import train as train_and_keep
from redqueen.settings.learner import Learner
from redqueen.settings.oracles import SafetyJudge
from redqueen.settings.roles import Role
from redqueen.settings.update import Update
from redqueen.types import RedQueenError, Reply

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=8)
SMALL = Config(TINY, steps=2, matches_per_step=8, problems=1)
NO_KL = Update(kl=0.0)
TABLE = Config(Learner(learning_rate=2.0), prompts="red_styles", steps=2, matches_per_step=8, imitation=0.0)


def run_of(folder, config, watchers=(), seed=1):
    run = Run(folder, seed, Schedule(evaluate_every=10**6, checkpoint_every=2, record_episodes=2), watchers)
    policy = train(config, run)
    return run, policy


def lines_of(folder):
    return [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(folder)]


class Killer:
    def begin(self, run, start, count):
        pass

    def step(self, line):
        if line["step"] == 2:
            raise KeyboardInterrupt

    def end(self, run):
        pass


@pytest.fixture
def fluent(monkeypatch):
    """A model that was never warmed up says nothing in form: here its free text is put into words of the world."""
    world, write = RedTeamWords(), TransformerPolicy._write

    def written(self, asks):
        replies = []
        for ask, reply in zip(asks, write(self, asks), strict=True):
            even = int(reply.tokens.sum()) % 2 == 0
            attack = "a b" if even else f"{world.bad_letters[0]} b"
            text = attack if ask.seat.role == "attacker" else ("ok" if even else "no")
            said = Reply(hidden("so", text), **{k: v for k, v in vars(reply).items() if k not in ("text", "malformed")})
            replies.append(said)
        return replies

    monkeypatch.setattr(TransformerPolicy, "_write", written)


def test_the_payoffs_are_in_the_folder_before_training_and_follow_the_configuration(tmp_path):
    run_of(tmp_path / "general", TABLE)
    run_of(tmp_path / "zero", replace(TABLE, zero_sum=True))
    assert (tmp_path / "general" / "payoffs.txt").read_text().rstrip() == general_sum.table()
    assert (tmp_path / "zero" / "payoffs.txt").read_text().rstrip() == zero_sum.table()


def test_a_step_without_anything_in_form_goes_on_and_costs_the_format(tmp_path):
    run_of(tmp_path, SMALL)
    for line in lines_of(tmp_path):
        assert line["game/broken"] == 1.0
        assert line["reward/attacker"] == pytest.approx(-1.0, abs=0.01)
        assert line["reward/defender"] == pytest.approx(-1.0, abs=0.01)
        assert line["imitation_loss"] > 0.0


def test_both_roles_are_one_model_that_learns_from_both(tmp_path, fluent):
    _, policy = run_of(tmp_path, SMALL)
    line = lines_of(tmp_path)[0]
    assert {"reward/attacker", "reward/defender", "game/attack_success", "policy_loss"} <= line.keys()
    assert line["gradient_norm"] > 0
    assert policy.name == "learner"


@pytest.mark.parametrize(
    ("settings", "roles"),
    [({"attacker": Role("frozen")}, {"defender"}), ({"defender": Role("frozen"), "imitation": 0.0}, {"attacker"})],
)
def test_who_is_frozen_is_not_learned_from(tmp_path, fluent, settings, roles):
    run_of(tmp_path, replace(SMALL, **settings))
    found = {key.split("/")[1] for line in lines_of(tmp_path) for key in line if key.startswith("reward/")}
    assert found == roles


def test_an_attacker_with_an_adapter_of_its_own_learns_beside_the_defender(tmp_path, fluent):
    config = replace(SMALL, learner=replace(TINY, lora_rank=2), attacker=Role("adapter"))
    run_of(tmp_path, config)
    line = lines_of(tmp_path)[0]
    assert line["reward/defender"] is not None and line["attacker/reward/attacker"] is not None
    assert "reward/attacker" not in line and "attacker/reward/defender" not in line


@pytest.mark.parametrize("attacker", ["shared", "separate"])
def test_a_defender_of_its_own_is_the_one_that_is_measured_and_returned(tmp_path, fluent, monkeypatch, attacker):
    measured = []

    class Noted(HeldOutAttacks):
        def __init__(self, world, defender, *rest, **more):
            measured.append(defender)
            super().__init__(world, defender, *rest, **more)

    monkeypatch.setattr(self_redteam, "HeldOutAttacks", Noted)
    config = replace(SMALL, attacker=Role(attacker), defender=Role("separate"))
    trained = self_redteam.train(config, Run(tmp_path, 0, Schedule(100, record_episodes=0)))
    assert measured == [trained] and trained.name == "defender" and trained.version == config.steps


def test_the_kl_is_in_the_reward_once_the_policy_has_moved(tmp_path):
    tables = [replace(TABLE, update=Update(kl=kl), steps=4, matches_per_step=32) for kl in (0.0, 5.0)]
    free, held = (run_of(tmp_path / str(n), config)[1] for n, config in enumerate(tables))
    world = RedStyles()
    apart = [np.abs(np.array(world.errors(policy)) - 0.5).sum() for policy in (free, held)]
    assert apart[1] < apart[0]


def test_a_run_goes_on_after_a_kill_as_if_nothing_had_happened(tmp_path, fluent):
    config = replace(SMALL, steps=4)
    run_of(tmp_path / "whole", config)
    with pytest.raises(KeyboardInterrupt):
        run_of(tmp_path / "killed", config, [Killer()])
    run_of(tmp_path / "killed", config)
    assert lines_of(tmp_path / "whole") == lines_of(tmp_path / "killed")
    weights = "checkpoints/step_000004/learner/model.safetensors"
    assert (tmp_path / "whole" / weights).read_bytes() == (tmp_path / "killed" / weights).read_bytes()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (replace(TABLE, attacker=Role("frozen"), defender=Role("frozen")), "nobody learns"),
        (replace(TABLE, imitation=1.0), "set --imitation 0"),
        (replace(SMALL, defender=Role("frozen")), "set --imitation 0"),
        (replace(TABLE, attacker=Role("adapter")), "a tabular attacker is shared or frozen"),
        (
            replace(TABLE, judge=SafetyJudge("rule:misses=2")),
            "a share of the harm from 0 to 1, as in rule:misses=0.6",
        ),
        (replace(TABLE, judge=SafetyJudge("rule:misses=many")), "not 'many'"),
        (replace(TABLE, judge=SafetyJudge(budget=3)), "--judge.budget has no effect with --judge rule"),
        (replace(SMALL, learner=replace(TINY, answer="boxed")), "leave --answer out"),
        (replace(SMALL, learner=Learner()), "only a language model|needs games that list|set --imitation 0"),
    ],
)
def test_settings_without_effect_are_refused(tmp_path, config, message):
    with pytest.raises(RedQueenError, match=message):
        run_of(tmp_path, config)


@pytest.mark.slow
def test_a_table_learns_the_hardest_faithful_way_and_a_defence_near_the_least_error(tmp_path):
    """Section 9.7 of the cards in short: half of the seeds benign, both sides learning."""
    config = replace(
        TABLE, learner=Learner(learning_rate=5.0), steps=90, matches_per_step=128, vanilla=0.0, update=NO_KL
    )
    world, (_, policy) = RedStyles(), run_of(tmp_path, config)
    assert world.attacks(policy, "harmful")[2] > 0.8
    success, refusal = world.errors(policy)[2]
    assert success == pytest.approx(0.2, abs=0.05)
    assert refusal == pytest.approx(0.2, abs=0.08)


def test_static_prompts_teach_nothing_about_other_ways(tmp_path):
    config = replace(
        TABLE, learner=Learner(learning_rate=5.0), steps=30, matches_per_step=64, vanilla=1.0, update=NO_KL
    )
    errors = RedStyles().errors(run_of(tmp_path, config)[1])
    assert errors[0] == pytest.approx((0.02, 0.02), abs=0.08)
    assert errors[1:] == [(0.5, 0.5)] * 3


@pytest.mark.parametrize("prompts", ["red_team:thoughts=false", "red_styles", "prompts:path={},thoughts=false"])
def test_what_was_recorded_is_played_again_in_the_same_world(tmp_path, capsys, prompts):
    """The settings of a run name the world, and no game."""
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(f'{{"prompt": "Do {n}.", "label": "harmful"}}\n' for n in range(20)))
    (tmp_path / "own.py").write_text(
        "from redqueen.checks.safety import Labels\n"
        "class Never:\n    def __call__(self, given):\n        return [Labels(False, False, False) for _ in given]\n"
    )
    judge = {"judge": SafetyJudge(f"{tmp_path / 'own.py'}:Never"), "benign": 0.0} if "path" in prompts else {}
    config = replace(SMALL, prompts=prompts.format(file), imitation=0.0, steps=1, **judge)
    train_and_keep("self_redteam", config, tmp_path / "run")
    assert main(["replay", str(tmp_path / "run"), "0.0"]) == 0
    assert "replayed: every ask and the outcome are the same" in capsys.readouterr().out
    (game,) = stored_games(tmp_path / "run")
    assert find_game("red_team:red_styles").name == "red_team:red_styles"
    assert game.name.startswith("red_team:")
