"""When and where a step is played."""

import json
import os
from dataclasses import replace

import pytest

from redqueen.contracts.recipes import CLOCKED
from redqueen.recipes.credit.grpo import recipe as grpo
from redqueen.recipes.games import spiral
from redqueen.runs.run import Run, Schedule
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.settings.placement import PlayedAhead
from redqueen.settings.update import Update
from redqueen.types import RedQueenError

TINY = Learner(model="tiny", max_completion_length=8)
TIS = Update(correct="tis")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            spiral.Config(ahead=PlayedAhead(1)),
            "--staleness 1 learns from what older weights said, and --loss reinforce takes that for its own: add "
            "--correct tis, or --loss ppo or cispo",
        ),
        (spiral.Config(update=TIS), "--correct has no effect where the learner itself samples"),
        (
            grpo.Config(ahead=PlayedAhead(2), update=Update(even_groups="refill")),
            "--even-groups refill plays more of them then: drop, or --staleness 0",
        ),
        (
            grpo.Config(ahead=PlayedAhead(1), update=Update(even_groups="replay")),
            "--even-groups has no effect as replay where batches hold older tokens already",
        ),
        (
            spiral.Config(ahead=PlayedAhead(placement="process")),
            "--placement process has no effect on --model tabular, which is no language model of this machine",
        ),
        (spiral.Config(TINY, ahead=PlayedAhead(sampler_device="cpu")), "--sampler-device has no effect without"),
        (
            spiral.Config(TINY, ahead=PlayedAhead(0, "process", "cuda:7")),
            "device 'cuda:7' is not available here, where there are 0 CUDA devices",
        ),
        (
            spiral.Config(Learner(model="tiny", sampler="vllm"), ahead=PlayedAhead(0, "process")),
            "--placement process samples with transformers: leave it or --sampler vllm out",
        ),
        (spiral.Config(ahead=PlayedAhead(-1)), "--staleness must be at least 0, not -1"),
    ],
)
def test_what_has_no_effect_or_goes_wrong_is_refused_before_the_start(config, said):
    with pytest.raises(RedQueenError, match=said):
        check_settings(config)


def test_older_tokens_can_be_clipped_and_corrected():
    check_settings(spiral.Config(ahead=PlayedAhead(1), update=TIS))
    check_settings(spiral.Config(ahead=PlayedAhead(1), update=Update(loss="cispo")))
    check_settings(grpo.Config(ahead=PlayedAhead(1), update=Update(clip_high=0.28)))


def trained(recipe, config, folder, until=None):
    """The lines of a run, without what a clock said; killed after `until` steps, and resumed."""
    schedule = Schedule(evaluate_every=2, checkpoint_every=1)
    if until:
        run = Run(folder, 4, schedule)
        run.watchers.append(_Killer(until))
        with pytest.raises(_Killed):
            recipe.train(config, run)
    recipe.train(config, Run(folder, 4, schedule))
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    unlike = CLOCKED | {"rests_on"}
    return [{key: value for key, value in line.items() if key not in unlike} for line in lines]


class _Killed(Exception):
    pass


class _Killer:
    def __init__(self, step):
        self._step = step

    def begin(self, run, start, count): ...

    def step(self, line):
        if line["step"] == self._step:
            raise _Killed

    def end(self, run): ...


def test_a_run_ahead_of_its_updates_resumes_to_the_same(tmp_path):
    config = spiral.Config(steps=5, matches_per_step=8, ahead=PlayedAhead(2), update=TIS)
    straight = trained(spiral, config, tmp_path / "straight")
    assert [line["queue/oldest"] for line in straight] == [0.0, 1.0, 2.0, 2.0, 2.0]
    assert straight == trained(spiral, config, tmp_path / "killed", until=3)


@pytest.mark.slow
@pytest.mark.parametrize("staleness", [0, 1])
def test_a_process_trains_as_this_one_does(staleness, tmp_path):
    for recipe, config in (
        (spiral, spiral.Config(TINY, steps=3, matches_per_step=8, update=TIS if staleness else Update())),
        (grpo, grpo.Config(TINY, steps=3, tasks=2, attempts=4, problems=4)),
    ):
        named = recipe.__name__.rpartition(".")[2]
        found = [
            trained(recipe, _placed(config, staleness, placement), tmp_path / f"{named} {number}", until)
            for number, (placement, until) in enumerate((("here", None), ("process", None), ("process", 1)))
        ]
        if not staleness:  # nothing is said of a queue where there is none
            found = [[{k: v for k, v in line.items() if "queue" not in k} for line in each] for each in found]
        assert found[1] == found[2]
        # log-probabilities may differ in their last bits: some processors round by where numbers lie in memory
        for here, there in zip(found[0], found[1], strict=True):
            assert there == {
                k: pytest.approx(v, rel=1e-6, abs=1e-7) if type(v) is float else v for k, v in here.items()
            }


def _placed(config, staleness, placement):
    return replace(config, ahead=PlayedAhead(staleness, placement))


@pytest.mark.slow
@pytest.mark.parametrize("cores", [1, 8], ids=["whole", "in halves"])
def test_a_run_does_not_depend_on_how_many_processes_step_its_games(tmp_path, monkeypatch, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores))
    for recipe, config in (
        (spiral, spiral.Config(steps=3, matches_per_step=8, update=TIS)),
        (grpo, grpo.Config(TINY, steps=3, tasks=2, attempts=4, problems=4)),
    ):
        named = recipe.__name__.rpartition(".")[2]
        found = [
            trained(recipe, replace(config, ahead=PlayedAhead(1, actors=count)), tmp_path / f"{named} {number}", until)
            for number, (count, until) in enumerate(((1, None), (2, None), (2, 1)))
        ]
        assert found[0] == found[1] == found[2]
