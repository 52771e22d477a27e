from collections import Counter
from random import Random

import numpy as np
import pytest

from redqueen.curricula.bandit import SelfEvolving, dealt_by
from redqueen.curricula.store import TaskStore
from redqueen.types import Episode, Outcome, RedQueenError, Seat, Task, Trajectory

SOLVER = Seat("solver")
SOLVE_RATES = {"a": 0.95, "b": 0.7, "c": 0.5, "d": 0.3, "e": 0.05}
MEAN_SIZES = [0.220, 0.771, 0.868, 0.771, 0.220]  # E|A| of GRPO with 8 scores of 0 or 1, by the binomial
SHARES = [0.067, 0.265, 0.337, 0.265, 0.067]  # softmax of these at 0.4


def arms(*names: str, each: int = 3) -> dict[str, TaskStore]:
    made = {}
    for name in names:
        made[name] = TaskStore(screens=())
        made[name].add([Task(f"{name}{number}", name) for number in range(each)])
    return made


def rollout(of: Task) -> Trajectory:
    return Trajectory(Episode("sums", of, 0, (), Outcome({SOLVER: 0.0}), (SOLVER,)), SOLVER, (), np.zeros(1))


def group_advantages(solve_rate: float, rng: Random) -> np.ndarray:
    """GRPO's advantages of eight attempts, by hand: the deviation is the unbiased one."""
    scores = np.array([float(rng.random() < solve_rate) for _ in range(8)])
    return (scores - scores.mean()) / (scores.std(ddof=1) + 1e-6)


def test_one_step_by_hand():
    bandit = SelfEvolving(arms("x", "y"), step_size=0.5, temperature=0.4)
    bandit.values["x"] = 0.2
    bandit.credit("x", 0.868)
    assert bandit.values == {"x": pytest.approx(0.534), "y": 0.0}
    assert list(bandit.chances().values()) == pytest.approx([0.7917, 0.2083], abs=5e-5)


def test_the_reward_is_the_mean_size_over_an_arms_rollouts():
    bandit = SelfEvolving(arms("x", "y", "z"), step_size=1.0)
    trajectories = [
        rollout(Task("x0", "x")),
        rollout(Task("x1", "x")),
        rollout(Task("y0", "y")),
        rollout(Task("z0", "z")),
    ]
    # a rollout of two turns counts once; one without turns not at all; the arm not seen stays
    advantages = [np.array([-1.0, 3.0]), np.array([-1.0]), np.array([0.0]), np.array([])]
    bandit.values["z"] = 0.7
    bandit.observe_advantages(trajectories, advantages)
    assert bandit.values == {"x": 1.5, "y": 0.0, "z": 0.7}


def test_rollouts_without_a_verdict_do_not_count():
    bandit = SelfEvolving(arms("x", "y"), step_size=1.0)
    trajectories = [rollout(Task("x0", "x")), rollout(Task("x1", "x")), rollout(Task("y0", "y"))]
    bandit.values["y"] = 0.7
    bandit.observe_advantages(trajectories, [np.array([-1.0]), np.array([np.nan]), np.array([np.nan])])
    assert bandit.values == {"x": 1.0, "y": 0.7}


@pytest.mark.slow
def test_values_and_shares_settle_where_the_advantages_say():
    """Five arms of fixed solve rates, 2000 slots as 125 steps of 16, mean of 10 seeds, values meaned over the steps."""
    values, shares = np.zeros(5), np.zeros(5)
    for seed in range(10):
        rng = Random(seed)
        bandit = SelfEvolving(arms(*SOLVE_RATES, each=1), step_size=0.5, temperature=0.4)
        for _ in range(125):
            drawn = bandit.draw(16, rng)
            advantages = [group_advantages(SOLVE_RATES[task.kind], rng) for task in drawn]
            trajectories = [rollout(task) for task, group in zip(drawn, advantages, strict=True) for _ in group]
            bandit.observe_advantages(trajectories, list(np.concatenate(advantages)[:, None]))
            values += [value / 125 / 10 for value in bandit.values.values()]
            counts = Counter(task.kind for task in drawn)
            shares += [counts[arm] / 2000 / 10 for arm in SOLVE_RATES]
    assert values == pytest.approx(MEAN_SIZES, abs=0.05)
    assert shares == pytest.approx(SHARES, abs=0.04)


def test_slots_draw_arms_by_softmax_and_tasks_uniformly():
    bandit = SelfEvolving(arms("x", "y"), temperature=0.4)
    bandit.values["x"] = 0.534
    counts = Counter(task.id for task in bandit.draw(9000, Random(0)))
    expected = {"x": 0.7917 * 3000, "y": 0.2083 * 3000}
    assert counts == {f"{arm}{n}": pytest.approx(expected[arm], abs=150) for arm in "xy" for n in range(3)}


def test_an_optimistic_start_tries_every_arm():
    """With values at 0 and a low temperature the first arm that is rewarded keeps the other out."""
    tried = {}
    for start in (0.0, 1.0):
        bandit = SelfEvolving(arms("x", "y"), temperature=0.02, start=start)
        seen = Counter()
        rng = Random(1)
        for _ in range(40):
            [task] = bandit.draw(1, rng)
            seen[task.kind] += 1
            bandit.credit(task.kind, 0.5 if task.kind == "x" else 0.8)
        tried[start] = seen
    assert len(tried[0.0]) == 1
    assert len(tried[1.0]) == 2 and tried[1.0]["y"] > tried[1.0]["x"]


def test_large_values_do_not_overflow():
    bandit = SelfEvolving(arms("x", "y"), temperature=1e-3, start=5000.0)
    assert list(bandit.chances().values()) == [0.5, 0.5]


def test_arms_may_be_told_by_anything():
    tasks = [Task("1", "sums", facts={"level": "easy"}), Task("2", "sums", facts={"level": "hard"})]
    level = lambda task: task.facts["level"]  # noqa: E731
    bandit = SelfEvolving(dealt_by(tasks, level), level)
    bandit.observe_advantages([rollout(tasks[1])], [np.array([0.5])])
    assert bandit.values == {"easy": 0.0, "hard": 0.25}
    assert {task.id for task in bandit.draw(50, Random(0))} == {"1", "2"}


def test_a_bandit_that_was_saved_goes_on_like_one_that_was_not():
    whole, first, second = (SelfEvolving(arms("x", "y", "z")) for _ in range(3))

    def drive(bandit: SelfEvolving, steps: range) -> list[object]:
        seen: list[object] = []
        for step in steps:
            rng = Random(step)
            drawn = bandit.draw(8, rng)
            bandit.observe_advantages([rollout(task) for task in drawn], [np.array([rng.random()]) for _ in drawn])
            seen += [[task.id for task in drawn], bandit.metrics()]
        return seen

    expected = drive(whole, range(20))
    begun = drive(first, range(10))
    second.restore(first.state())
    assert begun + drive(second, range(10, 20)) == expected
    with pytest.raises(RedQueenError, match="with the arms x, y, z, not x, y"):
        SelfEvolving(arms("x", "y")).restore(whole.state())


def test_tasks_of_no_arm_are_errors():
    bandit = SelfEvolving(arms("x", "y"))
    with pytest.raises(RedQueenError, match="task 't' belongs to 'z', which is no arm: they are x, y"):
        bandit.observe_advantages([rollout(Task("t", "z"))], [np.array([1.0])])
    with pytest.raises(RedQueenError, match="no arm 'z'"):
        bandit.credit("z", 1.0)
    with pytest.raises(RedQueenError, match="finite"):
        bandit.credit("x", float("nan"))
    swapped = arms("x", "y")
    with pytest.raises(RedQueenError, match="arm 'y' gave task"):
        SelfEvolving({"y": swapped["x"], "x": swapped["y"]}).draw(1, Random(1))


@pytest.mark.parametrize(
    ("settings", "line"),
    [({"step_size": 0.0}, "step_size"), ({"temperature": 0.0}, "temperature"), ({"start": float("inf")}, "start")],
)
def test_settings_that_cannot_be_meant_are_refused(settings, line):
    with pytest.raises(RedQueenError, match=line):
        SelfEvolving(arms("x", "y"), **settings)
    for names in ((), ("x",)):
        with pytest.raises(RedQueenError, match=r"at least two arms, .* take a question set with several levels"):
            SelfEvolving(arms(*names))
