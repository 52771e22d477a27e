"""What a run does when it loses what it had: it says so, ends, or goes back to its best measurement."""

import json

import pytest

from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.opponents.pools import Snapshots
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.tabular import TabularPolicy
from redqueen.runs.checkpoints import best_checkpoints, check, checkpoints
from redqueen.runs.collapse import Watch
from redqueen.runs.run import Run, Schedule, read_final, read_metrics

GAME = KuhnPoker()
OFTEN = Schedule(evaluate_every=1, checkpoint_every=3, keep_checkpoints=2, record_episodes=0)
FALLS = [0.2, 0.5, 0.9, 0.3, 0.3, 0.3, 0.8, 0.8, 0.8, 0.8]  # three bad ones in a row end with step 5


class Planned:
    """A measure that reads its values from a list, by the step."""

    def __init__(self, run, scores):
        self.run, self.scores = run, scores

    def __call__(self):
        return {"accuracy": self.scores[min(self.run.step, len(self.scores) - 1)]}

    def state(self):
        return {}

    def restore(self, state):
        pass


class Killed(Exception):
    pass


def train(folder, scores, watch, kill_at=None, ratings=()):
    """Self-play in Kuhn poker; returns the run and the learner's version at the start of each step. Ratings are figures
    of a step, not of a measurement."""
    run = Run(folder, 0, OFTEN, (), watch)
    learner = TabularPolicy()
    pool, versions = Snapshots(learner), {}
    for step in run.steps(10, [learner], [pool], [Planned(run, scores)]):
        versions[step] = learner.version
        if step == kill_at:
            raise Killed
        pool.add(learner.freeze())
        matches = mirror(GAME, [run.rng.choice(GAME.tasks()) for _ in range(8)], learner)
        trajectories = spoken_by(learner, score(play(matches, run.rng), payoff))
        credit = [each.rewards for each in trajectories]
        run.report(learner, trajectories, credit, learner.update(pack(trajectories, credit), Reinforce()))
        if ratings:
            run.note({"rating/learner": ratings[step]})
    return run, versions


def test_a_warning_changes_nothing(tmp_path):
    run, versions = train(tmp_path, FALLS, Watch())
    assert list(versions.values()) == list(range(10))
    lines = read_metrics(tmp_path)
    assert [line.get("alarm/score_falls") for line in lines] == [0.0] * 5 + [1.0] + [0.0] * 4
    assert run.stopped == "" and "stopped" not in read_final(tmp_path)
    assert best_checkpoints(tmp_path) == []


def test_a_run_is_stopped_with_its_best_checkpoint_kept(tmp_path):
    run, versions = train(tmp_path, FALLS, Watch(on_collapse="stop", keep_best=True))
    assert list(versions) == [0, 1, 2, 3, 4, 5]
    final = read_final(tmp_path)
    assert final["step"] == 6
    assert final["stopped"] == run.stopped
    assert run.stopped == (
        "score falls: accuracy is 0.3, after 0.9 at step 2 and 0.2 at the start; "
        f"the best measurement is {tmp_path}@best, after 2 updates"
    )
    assert [check(path) for path in checkpoints(tmp_path)] == [3, 6]
    (best,) = best_checkpoints(tmp_path)
    assert check(best) == 2
    assert json.loads((best / "learner" / "table.json").read_text())["version"] == 2


def test_a_stopped_run_can_be_made_to_go_on(tmp_path):
    train(tmp_path, FALLS, Watch(on_collapse="stop"))
    run, versions = train(tmp_path, FALLS, Watch(on_collapse="stop"))
    assert list(versions) == [6, 7, 8, 9]
    assert run.stopped == ""


def test_a_run_is_taken_back_to_its_best_measurement(tmp_path):
    run, versions = train(tmp_path, FALLS, Watch(on_collapse="roll_back"))
    assert versions == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 2, 7: 3, 8: 4, 9: 5}
    assert [line.get("rolled_back_to") for line in read_metrics(tmp_path)] == [None] * 5 + [2.0] + [None] * 4
    assert run.collapse.roll_backs == 1 and run.stopped == ""


def test_the_last_roll_back_is_followed_by_a_stop(tmp_path):
    low = [0.2, 0.9, *[0.1] * 8]
    run, versions = train(tmp_path, low, Watch(on_collapse="roll_back", most_roll_backs=1))
    assert versions == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 1, 6: 2, 7: 3}
    assert run.stopped.startswith("score falls")


@pytest.mark.slow
@pytest.mark.parametrize("kill_at", [1, 3, 4, 5, 6, 7, 9])
def test_a_run_that_is_taken_back_resumes_as_if_it_had_not_been_killed(tmp_path, kill_at):
    watch = Watch(on_collapse="roll_back")
    whole, _ = train(tmp_path / "whole", FALLS, watch)
    with pytest.raises(Killed):
        train(tmp_path / "killed", FALLS, watch, kill_at)
    resumed, _ = train(tmp_path / "killed", FALLS, watch)
    assert resumed.collapse.state() == whole.collapse.state()
    left, right = (
        [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(folder)]
        for folder in (whole.folder, resumed.folder)
    )
    assert left == right and len(left) == 10
    ends = [
        (checkpoints(folder)[-1] / "learner" / "table.json").read_bytes() for folder in (whole.folder, resumed.folder)
    ]
    assert ends[0] == ends[1]
    assert [path.name for path in best_checkpoints(whole.folder)] == [
        path.name for path in best_checkpoints(resumed.folder)
    ]


def test_a_checkpoint_from_before_there_were_alarms_can_be_resumed(tmp_path):
    with pytest.raises(Killed):
        train(tmp_path, FALLS, Watch(), kill_at=4)
    manifest = checkpoints(tmp_path)[-1] / "manifest.json"
    facts = json.loads(manifest.read_text())
    del facts["collapse"]
    manifest.write_text(json.dumps(facts))
    run, versions = train(tmp_path, FALLS, Watch())
    assert list(versions) == list(range(3, 10)) and run.stopped == ""


def test_a_rating_that_falls_is_seen_too_and_after_a_kill(tmp_path):
    watch = Watch(on_collapse="stop", score="rating/learner")
    for place, kill_at in (("whole", None), ("killed", 3)):
        if kill_at is not None:
            with pytest.raises(Killed):
                train(tmp_path / place, [0.5], watch, kill_at, FALLS)
        run, versions = train(tmp_path / place, [0.5], watch, ratings=FALLS)
        # the rating of a step is there when the next one is measured: the third bad one at step 6
        assert list(versions)[-1] == 6
        assert run.stopped.startswith("score falls: rating/learner is 0.3, after 0.9 at step 3 and 0.2 at the start")
