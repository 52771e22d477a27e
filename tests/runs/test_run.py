import gc
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from redqueen.credit.advantages.keys import by_game_and_role
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.of_games import Exploitability
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.opponents.pools import Snapshots
from redqueen.play.lockstep import play, replay
from redqueen.players.scripted import Constant
from redqueen.players.tabular import TabularPolicy
from redqueen.players.transformer.loading import tiny_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.small.sums import Sums
from redqueen.records import episode_from_json, episode_to_json
from redqueen.runs.checkpoints import check, checkpoints
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import Run, Schedule, alarms_of, guarded, read_final, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import Ask, Match, Message, NonFiniteLoss, RedQueenError, Seat, Turn, Unreachable

GAME = KuhnPoker()
OFTEN = Schedule(evaluate_every=1, checkpoint_every=3, keep_checkpoints=2, record_episodes=4)


def tabular():
    return TabularPolicy()


def tiny():
    return TransformerPolicy(tiny_model(seed=1, hidden=16, heads=2), learning_rate=1e-2)


def train(run, steps, learner, matches_per_step=12, objective=Reinforce(), measured=True):
    """Fictitious self-play in Kuhn poker, in small."""
    pool = Snapshots(learner, capacity=4)
    estimate = MovingBaseline(by_game_and_role)
    measures = [Exploitability(GameTree(GAME), learner)] if measured else []
    for step in run.steps(steps, [learner], [pool, estimate], measures):
        if step % 2 == 0:
            pool.add(learner.freeze())
        opponent = pool.draw(run.rng)
        tasks = [run.rng.choice(GAME.tasks()) for _ in range(matches_per_step)]
        seatings = [(learner, opponent), (opponent, learner)]
        matches = [
            Match(GAME, task, dict(zip(GAME.roles, seatings[n % 2], strict=True))) for n, task in enumerate(tasks)
        ]
        trajectories = spoken_by(learner, score(play(matches, run.rng), payoff))
        advantages = estimate(trajectories)
        run.report(learner, trajectories, advantages, learner.update(pack(trajectories, advantages), objective))
    return learner


def without_time(line):
    return {key: value for key, value in line.items() if key != "time"}


def told(folder):
    """All that two equal runs must agree on, as text and bytes; of checkpoints those that are left."""
    found = {"metrics": [without_time(line) for line in read_metrics(folder)]}
    found["final"] = json.loads((folder / "final.json").read_text())
    for path in sorted((folder / "episodes").glob("*.jsonl")):
        found[path.name] = path.read_text()
    for checkpoint in checkpoints(folder):
        for path in sorted(checkpoint.rglob("*")):
            if path.suffix in (".json", ".safetensors"):
                found[str(path.relative_to(folder))] = path.read_bytes()
            if path.suffix == ".pt":
                found[str(path.relative_to(folder))] = torch.load(path, weights_only=True)
    return found


def same(one, other):
    """Equality to the last bit, tensors included."""
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def assert_same(one, other):
    assert one.keys() == other.keys()
    for key in one:
        assert same(one[key], other[key]), key


# --- the folder --------------------------------------------------------------------------------


def test_every_step_leaves_a_line(tmp_path):
    train(Run(tmp_path, schedule=OFTEN), 4, tabular())
    lines = read_metrics(tmp_path)
    assert [line["step"] for line in lines] == [0, 1, 2, 3]
    for line in lines:
        expected = {
            "exploitability",
            "average_exploitability",
            "reward/first",
            "reward/second",
            "loss",
            "entropy",
            "time",
        }
        assert expected <= line.keys()
        assert line["episodes"] == 12.0
    assert lines[0]["exploitability"] == pytest.approx(11 / 24)
    assert lines[0]["completion_length"] == 1.0
    final = json.loads((tmp_path / "final.json").read_text())
    assert final["step"] == 4
    assert final["exploitability"] != lines[3]["exploitability"]


def test_measures_come_every_so_often_and_at_the_end(tmp_path):
    train(Run(tmp_path, schedule=Schedule(evaluate_every=2)), 5, tabular())
    assert ["exploitability" in line for line in read_metrics(tmp_path)] == [True, False, True, False, True]
    assert "exploitability" in json.loads((tmp_path / "final.json").read_text())


def test_recorded_episodes_can_be_replayed(tmp_path):
    train(Run(tmp_path, schedule=OFTEN), 2, tabular())
    for step in range(2):
        lines = (tmp_path / "episodes" / f"step_{step:06d}.jsonl").read_text().splitlines()
        assert len(lines) == 4
        for line in lines:
            data = json.loads(line)
            credit = data.pop("credit")
            episode = episode_from_json(data)
            assert episode_to_json(replay(GAME, episode)) == data
            for seat, given in credit.items():
                turns = [turn for turn in episode.turns if str(turn.ask.seat) == seat]
                assert {turn.reply.player for turn in turns} == {"learner"}
                assert len(given["rewards"]) == len(given["advantages"]) == len(turns)
                scores = {str(each): value for each, value in episode.outcome.scores.items()}
                assert sum(given["rewards"]) == scores[seat]


def test_credit_stands_at_the_turn_that_earned_it(tmp_path):
    """Some recipes learn from single turns, or from another reply in the place of one that was played."""
    learner = tabular()
    run = Run(tmp_path, schedule=Schedule(record_episodes=8))
    for _ in run.steps(1, [learner]):
        matches = [Match(GAME, GAME.tasks()[0], dict.fromkeys(GAME.roles, learner), number) for number in range(8)]
        played = spoken_by(learner, score(play(matches, Random(0)), payoff))
        found = [each for each in played if len(each.turns) == 2]
        assert found, "somebody bet after passing"
        longer = found[0]
        first, last = longer.turns
        other = Turn(last.ask, replace(last.reply))  # taught, not played
        taught = [
            replace(longer, turns=(turn,), rewards=np.array([worth])) for turn, worth in ((first, 3.0), (other, 5.0))
        ]
        run.report(learner, taught, [np.array([7.0]), np.array([9.0])], {})
    (episode,) = [credit for _, found, credit in stored_episodes(tmp_path)]
    assert episode == {str(longer.seat): {"rewards": [3.0, None], "advantages": [7.0, None], "parts": {}}}


def test_no_episodes_are_recorded_where_none_are_wanted(tmp_path):
    train(Run(tmp_path, schedule=Schedule(record_episodes=0)), 2, tabular())
    assert not (tmp_path / "episodes").exists()


def test_checkpoints_are_whole_and_only_the_newest_are_kept(tmp_path):
    train(Run(tmp_path, schedule=OFTEN), 10, tabular())
    assert [path.name for path in checkpoints(tmp_path)] == ["step_000009", "step_000010"]
    assert [check(path) for path in checkpoints(tmp_path)] == [9, 10]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["step_000009", "step_000010"]


def test_the_chance_of_a_step_does_not_depend_on_the_steps_before(tmp_path):
    drawn = {}
    for folder, eager in (("a", False), ("b", True)):
        run = Run(tmp_path / folder, seed=5)
        for step in run.steps(3, []):
            drawn.setdefault(step, []).append(run.rng.random())
            if eager:
                run.rng.random()
    assert all(one == other for one, other in drawn.values())
    assert Run(tmp_path / "c", seed=1).derived("learner") != Run(tmp_path / "c", seed=2).derived("learner")


def test_watchers_see_what_is_written(tmp_path):
    class Watcher:
        seen = ()

        def begin(self, run, start, count):
            self.seen += (("begin", start, count),)

        def step(self, line):
            self.seen += (line["step"],)

        def end(self, run):
            self.seen += ("end",)

    watcher = Watcher()
    train(Run(tmp_path, schedule=OFTEN, watchers=[watcher]), 2, tabular())
    assert watcher.seen == (("begin", 0, 2), 0, 1, "end")


# --- going on ----------------------------------------------------------------------------------


def test_what_a_run_shows_is_before_its_watchers_when_it_begins_and_in_its_folder_at_the_first_step(tmp_path):
    class Reader:
        seen = None

        def begin(self, run, start, count):
            self.seen = dict(run.shown)

        def step(self, line):
            self.seen = (self.seen, (tmp_path / "run" / "payoffs.txt").read_text())

        def end(self, run):
            pass

    reader = Reader()
    run = Run(tmp_path / "run", 0, OFTEN, [reader])
    run.show("payoffs", "a  b\n1  2")
    train(run, 1, tabular())
    assert reader.seen == ({"payoffs": "a  b\n1  2"}, "a  b\n1  2\n")
    with pytest.raises(AssertionError, match="before its first step"):
        run.show("late", "too late")


@pytest.mark.slow
@pytest.mark.parametrize("made", [tabular, tiny])
def test_training_in_two_parts_is_training_in_one(tmp_path, made):
    train(Run(tmp_path / "whole", seed=3, schedule=OFTEN), 7, made())
    train(Run(tmp_path / "parts", seed=3, schedule=OFTEN), 4, made())
    train(Run(tmp_path / "parts", seed=3, schedule=OFTEN), 7, made())
    # the shorter run saved after its last step, so of the checkpoints only the last is common
    whole, parts = told(tmp_path / "whole"), told(tmp_path / "parts")
    common = [key for key in whole if "step_000006/" not in key and "step_000004/" not in key]
    assert_same({key: whole[key] for key in common}, {key: parts[key] for key in common})


def test_a_run_that_goes_on_has_no_end_yet(tmp_path):
    train(Run(tmp_path, schedule=OFTEN), 2, tabular())
    ends = []

    class Looking:
        def begin(self, run, start, count):
            ends.append(read_final(run.folder))

        def step(self, line):
            ends.append(read_final(tmp_path))

        def end(self, run):
            ends.append(read_final(tmp_path)["step"])

    train(Run(tmp_path, schedule=OFTEN, watchers=[Looking()]), 4, tabular())
    assert ends == [{}, {}, {}, 4]


def test_a_finished_run_stays_as_it_is(tmp_path):
    train(Run(tmp_path, schedule=OFTEN), 4, tabular())
    before = told(tmp_path)
    train(Run(tmp_path, schedule=OFTEN), 4, tabular())
    assert_same(told(tmp_path), before)


def test_what_came_after_the_last_checkpoint_is_made_again(tmp_path):
    train(Run(tmp_path / "whole", schedule=OFTEN), 8, tabular())
    stopped = Run(tmp_path / "stopped", schedule=OFTEN)

    class PulledPlug(Exception):
        pass

    class Plug:
        """Pulls itself after step 4."""

        def begin(self, run, start, count):
            pass

        def step(self, line):
            if line["step"] == 4:
                raise PulledPlug

    stopped.watchers = [Plug()]
    with pytest.raises(PulledPlug):
        train(stopped, 8, tabular())
    assert [line["step"] for line in read_metrics(tmp_path / "stopped")] == [0, 1, 2, 3, 4]
    with (tmp_path / "stopped" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 5, "lo')  # killed in the middle of a line
    (tmp_path / "stopped" / "checkpoints" / ".writing_000006").mkdir()  # or in the middle of a checkpoint
    train(Run(tmp_path / "stopped", schedule=OFTEN), 8, tabular())
    assert_same(told(tmp_path / "stopped"), told(tmp_path / "whole"))
    assert not list((tmp_path / "stopped" / "checkpoints").glob(".*"))


SCRIPT = """
import os
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
sys.path.insert(0, {tests!r})
from test_run import OFTEN, Run, tabular, tiny, train
for line in sys.stdin:
    made, steps, matches, folder = line.split()
    child = os.fork()
    if not child:
        policy = tiny() if made == "tiny" else tabular()
        train(Run(Path(folder), seed=11, schedule=OFTEN), int(steps), policy, int(matches))
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.fixture(scope="module")
def forked():
    """Starts a training in a process of its own, from one that has loaded everything."""
    script = SCRIPT.format(tests=str(Path(__file__).parent))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:

        def begin(*words):
            server.stdin.write(" ".join(map(str, words)) + "\n")
            server.stdin.flush()
            return int(server.stdout.readline()), lambda: int(server.stdout.readline())

        yield begin
        server.stdin.close()


@pytest.mark.slow
@pytest.mark.parametrize(("made", "steps", "matches", "kills"), [(tabular, 90, 40, 4), (tiny, 14, 8, 2)])
def test_a_killed_run_goes_on_bit_for_bit(tmp_path, forked, made, steps, matches, kills):
    train(Run(tmp_path / "whole", seed=11, schedule=OFTEN), steps, made(), matches)
    words, folder = (made.__name__, steps, matches, tmp_path / "killed"), tmp_path / "killed"
    moments, killed = random.Random(2), 0
    for goal in sorted(moments.sample(range(1, steps - 1), kills)):
        process, status = forked(*words)
        # once it has come so far, at any moment of the steps that follow
        latest = time.monotonic() + 300
        while len(read_metrics(folder)) < goal:
            assert time.monotonic() < latest
            time.sleep(0.002)
        time.sleep(moments.random() * 0.05)
        os.kill(process, signal.SIGKILL)
        killed += status() == signal.SIGKILL
    assert killed > 0
    _, status = forked(*words)
    assert status() == 0
    assert_same(told(tmp_path / "killed"), told(tmp_path / "whole"))


# --- what can go wrong -------------------------------------------------------------------------


def refused(action):
    """The one line that the user is shown."""
    with pytest.raises(RedQueenError) as error:
        action()
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.fixture
def trained(tmp_path):
    train(Run(tmp_path, schedule=OFTEN), 6, tabular())
    return tmp_path


def broken(folder):
    return refused(lambda: train(Run(folder, schedule=OFTEN), 8, tabular()))


def test_a_cut_checkpoint_names_the_one_before(trained):
    newest = checkpoints(trained)[-1]
    parts = newest / "parts.pt"
    parts.write_bytes(parts.read_bytes()[:-10])
    line = broken(trained)
    assert line.startswith(f"the checkpoint {newest} is broken: parts.pt was cut or changed; delete it to go on from")
    assert line.endswith("step_000003")


@pytest.mark.parametrize("name", ["parts.pt", "learner/table.json"])
def test_a_checkpoint_with_one_changed_byte_is_refused(trained, name):
    path = checkpoints(trained)[-1] / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert f"is broken: {name} was cut or changed" in broken(trained)


def test_a_whole_checkpoint_of_another_learner_is_refused_in_one_line(tmp_path):
    config = Learner("tiny:hidden=16,heads=2,layers=1")
    train(Run(tmp_path, schedule=OFTEN), 3, config.build(0))
    other = replace(config, model="tiny:hidden=32,heads=2,layers=1").build(0)
    line = refused(lambda: train(Run(tmp_path, schedule=OFTEN), 6, other))
    assert "fits only the recipe and the settings that wrote it" in line
    assert "must be an array of finite real numbers [768, 32], not an array of float32 [768, 16]" in line


def test_a_line_of_metrics_that_cannot_be_read_stops_a_resumption_and_nothing_is_lost(trained):
    path = trained / "metrics.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    for bad in ('{"step": 2, "accu\n', "[1]\n", '{"accuracy": 1.0}\n'):
        path.write_text("".join([*lines[:2], bad, *lines[3:]]))
        before = path.read_bytes()
        assert f"line 3 of {path} is no line of metrics" in broken(trained)
        assert path.read_bytes() == before
    path.write_text("".join(lines)[:-5])
    assert [line["step"] for line in read_metrics(trained)] == list(range(len(lines) - 1))


def test_the_lines_before_a_checkpoint_are_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """Else a machine that loses its power would go on with a hole in its metrics, which nobody sees."""
    sync, replace_, synced, lasting = os.fsync, os.replace, {}, []

    def syncing(file):
        synced[os.fstat(file).st_ino] = os.fstat(file).st_size
        sync(file)

    def replacing(old, new, **where):
        if str(new).startswith("step_") and not str(new).endswith("l"):
            found = (tmp_path / "metrics.jsonl").stat()
            lasting.append((new, synced.get(found.st_ino) == found.st_size))
        replace_(old, new, **where)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing)
    train(Run(tmp_path, schedule=OFTEN), 6, tabular())
    assert lasting == [("step_000003", True), ("step_000006", True)]


@pytest.mark.parametrize("name", ["manifest.json", "learner/table.json"])
def test_a_checkpoint_that_lacks_a_file_names_the_one_before(trained, name):
    newest = checkpoints(trained)[-1]
    (newest / name).unlink()
    line = broken(trained)
    assert line.startswith(f"the checkpoint {newest} is broken: ")
    assert line.endswith("; delete it to go on from step_000003")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"step": 6'])
def test_a_manifest_that_cannot_be_read_is_a_broken_checkpoint(trained, text):
    (checkpoints(trained)[-1] / "manifest.json").write_text(text)
    assert "is broken" in broken(trained)


def test_the_only_checkpoint_has_none_before_it(tmp_path):
    train(Run(tmp_path, schedule=OFTEN), 3, tabular())
    (checkpoints(tmp_path)[-1] / "manifest.json").unlink()
    assert broken(tmp_path).endswith("; there is no older one")


def test_deleting_the_broken_checkpoint_goes_on_from_the_older(trained, tmp_path_factory):
    for path in checkpoints(trained)[-1].rglob("*"):
        if path.is_file():
            path.unlink()
    for path in sorted(checkpoints(trained)[-1].rglob("*"), reverse=True):
        path.rmdir()
    checkpoints(trained)[-1].rmdir()
    train(Run(trained, schedule=OFTEN), 8, tabular())
    whole = tmp_path_factory.mktemp("whole")
    train(Run(whole, schedule=OFTEN), 8, tabular())
    assert_same(told(trained), told(whole))


def test_a_checkpoint_of_another_recipe_is_refused(trained):
    learner = tabular()
    run = Run(trained, schedule=OFTEN)
    assert "holds 3 parts, but this recipe has 1" in refused(
        lambda: list(run.steps(8, [learner], [MovingBaseline(by_game_and_role)]))
    )


def test_arrays_survive_in_a_state(tmp_path):
    class Counts:
        """Remembers in arrays, as `State` allows."""

        def __init__(self):
            self.rows = np.zeros(3)
            self.best = np.float64(0.0)

        def state(self):
            return {"rows": self.rows, "nothing": np.zeros((0, 2), dtype=np.int64), "best": self.best}

        def restore(self, state):
            self.rows, self.best = state["rows"], state["best"]

    first, second = Counts(), Counts()
    for step in Run(tmp_path, schedule=OFTEN).steps(3, [], [first]):
        first.rows = first.rows + step
        first.best = np.float64(step / 3)
    list(Run(tmp_path, schedule=OFTEN).steps(3, [], [second]))
    assert second.rows.tolist() == [3.0, 3.0, 3.0]
    assert second.best == 2 / 3


def test_a_part_without_a_state_is_refused_before_the_first_step(tmp_path):
    class RankBased:
        def __call__(self, trajectories):
            return [np.zeros(len(trajectory.turns)) for trajectory in trajectories]

    for named in ({"parts": [RankBased()]}, {"measures": [lambda: {"figure": 1.0}]}):
        with pytest.raises(RedQueenError, match=r"(RankBased|function) has no state\(\) and restore\(state\)"):
            next(Run(tmp_path / "new").steps(3, [], **named))
    assert not (tmp_path / "new").exists()


def test_a_figure_of_a_policy_has_one_name_whoever_else_learns(tmp_path):
    """The learner's under its own, another's under the policy's, that of a role under the role's."""
    learner, other = TabularPolicy(), TabularPolicy(name="proposer")
    for together in ([learner], [other], [learner, other]):
        run = Run(tmp_path / "-".join(each.name for each in together), schedule=OFTEN)
        for _ in run.steps(1, together):
            for policy in together:
                run.report(policy, [], [], {"loss": 0.5})
            run.report(learner, [], [], {"loss": 0.25}, role="solver")
        (line,) = read_metrics(run.folder)
        figures = {name: value for name, value in line.items() if name.endswith("loss")}
        names = {learner: "loss", other: "proposer/loss"}
        assert figures == {**{names[policy]: 0.5 for policy in together}, "solver/loss": 0.25}


def test_two_figures_of_one_name_in_a_step_are_refused(tmp_path):
    run = Run(tmp_path, schedule=OFTEN)
    for step in run.steps(2, []):
        run.note({"kept": float(step)})  # once a step is as it should be
    for _ in (more := run.steps(3, [])):
        run.note({"kept": 1.0})
        with pytest.raises(RedQueenError, match="step 2 has two figures 'kept': give one of them another name"):
            run.note({"posed": 1.0, "kept": 1.0})
        with pytest.raises(RedQueenError, match="step 2 has two figures 'loss'"):
            for _ in range(2):
                run.report(TabularPolicy(), [], [], {"loss": 1.0})
    more.close()


def test_a_measure_does_not_write_over_a_figure(tmp_path):
    class Same:
        def __call__(self):
            return {"accuracy": 1.0}

        def state(self):
            return {}

        def restore(self, state):
            return None

    with pytest.raises(RedQueenError, match="step 0 has two figures 'accuracy'"):
        next(Run(tmp_path, schedule=OFTEN).steps(1, [], measures=[Same(), Same()]))


def test_a_full_disk_leaves_the_last_checkpoint_intact(trained, monkeypatch, tmp_path_factory):
    def full(*args, **kwargs):
        Path(args[1]).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(torch, "save", full)
        line = broken(trained)
    done = trained / "checkpoints" / "step_000008"
    assert line == f"cannot write {done}: No space left on device; earlier checkpoints are intact"
    assert [check(path) for path in checkpoints(trained)] == [3, 6]
    assert not list((trained / "checkpoints").glob(".*"))
    train(Run(trained, schedule=OFTEN), 8, tabular())  # once there is room again
    whole = tmp_path_factory.mktemp("whole")
    train(Run(whole, schedule=OFTEN), 8, tabular())
    assert_same(told(trained), told(whole))


FULL = """
import resource, signal, sys
sys.path.insert(0, {tests!r})
from test_run import Path, RedQueenError, Run, Schedule, tiny, train
folder, silent = Path(sys.argv[1]), Schedule(checkpoint_every=3, record_episodes=0)
train(Run(folder, schedule=silent), 3, tiny(), measured=False)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    train(Run(folder, schedule=silent), 6, tiny(), measured=False)
except RedQueenError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("limit", [20_000, 100_000])
def test_files_that_cannot_grow_leave_the_last_checkpoint_intact(tmp_path, limit):
    """The weights take about 50 kB, the optimiser 100 kB: torch and safetensors each report it in their own way."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    script = FULL.format(tests=str(Path(__file__).parent), limit=limit)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"cannot write {tmp_path / 'checkpoints' / 'step_000006'}: "), done.stderr
    assert done.stdout.count("\n") == 1
    assert [check(path) for path in checkpoints(tmp_path)] == [3]
    assert not list((tmp_path / "checkpoints").glob(".*"))
    train(Run(tmp_path, schedule=OFTEN), 6, tiny(), measured=False)


class Spoiled:
    """Plain REINFORCE until its n-th call."""

    def __init__(self, calls):
        self.left = calls

    def __call__(self, likelihoods, batch):
        loss, metrics = Reinforce()(likelihoods, batch)
        self.left -= 1
        return (loss * torch.nan if self.left == 0 else loss), metrics


@pytest.mark.parametrize("made", [tabular, tiny])
def test_a_loss_that_is_not_finite_names_the_step_and_saves_the_batch(tmp_path, made):
    run, learner = Run(tmp_path, schedule=OFTEN), made()
    line = refused(lambda: guarded(lambda: train(run, 8, learner, objective=Spoiled(5)), run))
    path = tmp_path / "failed_batch_000004.pt"
    assert line == f"step 4: the loss of learner is nan; the weights are as they were, the batch is in {path}"
    assert learner.version == 4
    batch = torch.load(path, weights_only=True)
    assert batch["tokens"].shape == batch["loss_weights"].shape == batch["advantages"].shape
    assert [check(path) for path in checkpoints(tmp_path)] == [3]
    train(Run(tmp_path, schedule=OFTEN), 6, made())


def test_an_endpoint_that_is_gone_ends_a_run_with_the_step_and_the_way_to_go_on(tmp_path):
    run = Run(tmp_path / "run", 0, OFTEN)

    def gone_at(last):
        for step in run.steps(10, [tabular()]):
            if step == last:
                raise Unreachable("judge: nothing answers")

    with pytest.raises(
        RedQueenError, match=f"^step 1: judge: nothing answers; go on from the start, .*resume {run.folder}"
    ):
        guarded(lambda: gone_at(1), run)
    with pytest.raises(
        RedQueenError, match=f"^step 4: judge: .*; go on from step 3 with: redqueen resume {run.folder}$"
    ):
        guarded(lambda: gone_at(4), run)


def test_an_endpoint_that_is_gone_before_a_run_begins_is_told_as_it_is(tmp_path):
    def gone():
        raise Unreachable("judge: nothing answers")

    with pytest.raises(Unreachable, match=r"^judge: nothing answers$"):
        guarded(gone, Run(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_what_ends_a_run_is_written_down_until_it_goes_on(tmp_path):
    def trained(run, last=None, error=None):
        for step in run.steps(6, [tabular()]):
            if step == last:
                raise error

    def told(last, error):
        run = Run(tmp_path, schedule=OFTEN)
        with pytest.raises(type(error)):
            guarded(lambda: trained(run, last, error), run)
        return (tmp_path / "error.txt").read_text()

    assert told(1, ValueError("no such\nthing")) == "step 1: ValueError: no such\nthing\n"
    assert told(2, KeyboardInterrupt()) == "step 2: interrupted from the keyboard\n"
    assert told(4, RedQueenError("step 4: the loss is nan")) == "step 4: the loss is nan\n"
    trained(Run(tmp_path, schedule=OFTEN))
    assert not (tmp_path / "error.txt").exists()


def test_what_measures_rest_on_is_written_before_the_first_step(tmp_path):
    tree = GameTree(KuhnPoker())
    for _ in Run(tmp_path).steps(1, [learner := tabular()], measures=[Exploitability(tree, learner)]):
        kept = json.loads((tmp_path / "measures.json").read_text())
    assert kept["exploitability"] == {
        "exact": True,
        "count": 0,
        "of": "",
        "attempts": 1,
        "references": {"uniform play": pytest.approx(11 / 24), "an equilibrium": 0.0},
    }


def test_what_a_part_alarms_of_stands_in_words_in_the_line(tmp_path):
    class Worried(Snapshots):
        def alarms(self):
            return [f"worry: {run.step}"] if run.step % 2 else []

    run, learner = Run(tmp_path), tabular()
    for _ in run.steps(3, [learner], [Worried(learner)]):
        pass
    lines = read_metrics(tmp_path)
    said = [[text for text in line["alarms"] if not text.startswith("no update")] for line in lines]
    assert said == [[], ["worry: 1"], []]
    assert alarms_of({"alarms": ["worry: 1"], "alarm/score_falls": 1.0, "alarm/labels": 0.0}) == {
        "score falls": "",
        "worry": "worry: 1",
    }


def test_a_guarded_run_that_goes_well_gives_its_learner(tmp_path):
    run, learner = Run(tmp_path, schedule=OFTEN), tabular()
    assert guarded(lambda: train(run, 2, learner), run) is learner
    with pytest.raises(ZeroDivisionError):  # what is not the user's to put right goes through
        guarded(lambda: 1 / 0, run)
    assert issubclass(NonFiniteLoss, RedQueenError)


def test_policies_of_a_run_need_names_of_their_own(tmp_path):
    with pytest.raises(AssertionError, match="names of their own"):
        next(Run(tmp_path).steps(1, [tabular(), tabular()]))


def test_a_folder_that_cannot_be_written_gets_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    line = refused(lambda: train(Run(tmp_path / "file" / "run"), 1, tabular()))
    assert line.startswith(f"cannot write {tmp_path / 'file' / 'run'}: ")


def test_the_random_generator_of_a_run_is_its_own(tmp_path):
    run = Run(tmp_path)
    assert isinstance(run.rng, Random)
    random.seed(1)
    before = random.getstate()
    train(run, 2, tabular())
    assert random.getstate() == before


@pytest.fixture
def nothing_frozen():
    gc.unfreeze()
    yield
    gc.freeze()


def test_what_a_run_set_aside_is_collected_after_it(tmp_path, nothing_frozen):
    steps = Run(tmp_path / "run", seed=0).steps(2, [TabularPolicy(1.0)])
    next(steps)
    assert gc.get_freeze_count() > 0
    steps.close()  # as when a training is broken off
    assert gc.get_freeze_count() == 0


def test_what_was_set_aside_before_a_run_stays_so(tmp_path, nothing_frozen):
    gc.freeze()
    train(Run(tmp_path / "run", seed=0), 2, tabular())
    assert gc.get_freeze_count() > 0


def test_a_step_is_the_same_whether_or_not_it_was_measured_before(tmp_path):
    """What a measurement computed, rounded in other company, is not used to learn from."""
    learner = TransformerPolicy(tiny_model(0))
    ask = Ask(Seat("player"), (Message("game", "Your move?"),), ("bet", "pass"))
    measured = []

    class Asks:
        def __call__(self):
            learner.reply([ask])
            measured.append(len(learner.store))
            return {}

        def state(self):
            return {}

        def restore(self, state):
            return None

    for _ in Run(tmp_path, 0, Schedule(evaluate_every=1, checkpoint_every=9)).steps(2, [learner], measures=[Asks()]):
        assert measured[-1] > 0
        assert len(learner.store) == 0


def test_a_checkpoint_of_before_parts_had_a_file_of_their_own_name_is_refused_in_one_line(trained):
    newest = checkpoints(trained)[-1]
    manifest = newest / "manifest.json"
    (newest / "parts.pt").rename(newest / "memories.pt")
    manifest.write_text(manifest.read_text().replace("parts.pt", "memories.pt"))
    assert broken(trained) == f"the checkpoint {newest} is of an earlier version of redqueen: begin the run anew"


def test_held_out_problems_are_attempted_as_often_as_the_schedule_says(tmp_path):
    measure = HeldOut(Sums(), Constant("2"), {"ones": [Sums().task(1, 1)]})
    run = Run(tmp_path, 0, Schedule(test_attempts=3))
    assert list(run.steps(1, [], [], [measure])) == [0]
    assert read_metrics(tmp_path)[0]["pass@3"] == 1.0
    with pytest.raises(RedQueenError, match="--test-attempts has no effect: nothing here is attempted to measure it"):
        list(Run(tmp_path / "none", 0, Schedule(test_attempts=3)).steps(1, []))
    with pytest.raises(RedQueenError, match="--test-attempts must be at least 1, not 0"):
        Schedule(test_attempts=0)


@pytest.mark.slow
def test_a_measurement_has_no_more_replies_than_the_schedule_says_and_is_said_to_rest_on_as_many(tmp_path):
    sums = Sums()
    tests = {"ones": [sums.task(1, other) for other in range(5)], "twos": [sums.task(10, other) for other in range(3)]}
    measure = HeldOut(sums, Constant("2"), tests)
    assert list(Run(tmp_path, 0, Schedule(test_replies=4)).steps(1, [], [], [measure])) == [0]
    line = read_metrics(tmp_path)[0]
    assert line["samples"]["measured"] == [4, 0, 0]
    assert line["accuracy/ones"] == 0.5  # 1 + 0 and 1 + 1
    stated = json.loads((tmp_path / "measures.json").read_text())
    assert (stated["accuracy"]["count"], stated["accuracy/twos"]["count"], stated["accuracy"]["attempts"]) == (4, 2, 1)
