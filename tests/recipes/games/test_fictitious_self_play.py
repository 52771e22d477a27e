"""Fictitious self-play with matches in flight over several updates: it goes on after a kill, and learns as well."""

import pytest

from redqueen.objectives.batch import ConstantMean
from redqueen.opponents.pools import Snapshots
from redqueen.recipes.games import fictitious_self_play, spiral
from redqueen.recipes.games.fictitious_self_play import Config, train
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings import learning_step
from redqueen.settings.learner import Learner

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


class Killer:
    """Raises once a step has been written, before it is saved."""

    def __init__(self, step):
        self.when = step

    def begin(self, run, start, count):
        pass

    def step(self, line):
        if line["step"] == self.when:
            raise KeyboardInterrupt

    def end(self, run):
        pass


def trained(config, folder, seed=0, watchers=()):
    """What a run leaves behind, but for its clock."""
    run = Run(folder, seed, Schedule(evaluate_every=5, checkpoint_every=2, record_episodes=2), watchers)
    train(config, run)
    lines = [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(folder)]
    return lines, read_final(folder), [path.read_text() for path in sorted((folder / "episodes").iterdir())]


@pytest.mark.parametrize("learner", [Learner(), TINY])
def test_a_run_with_matches_in_flight_goes_on_after_a_kill_as_if_nothing_had_happened(learner, tmp_path):
    """Past selves leave the pool of one while they still sit in matches."""
    config = Config(learner, steps=6, matches_per_step=3, snapshot_every=1, pool_size=1, staleness=2)
    whole = trained(config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        trained(config, tmp_path / "killed", watchers=[Killer(4)])
    assert trained(config, tmp_path / "killed") == whole
    lags = [line["queue/lag"] for line in whole[0]]
    assert lags[0] == 0.0
    assert max(lags) > 0.5
    assert all(line["queue/oldest"] <= 2.0 for line in whole[0])


def test_without_staleness_there_is_no_queue(tmp_path):
    lines, _, _ = trained(Config(steps=2, matches_per_step=6), tmp_path)
    assert not [name for line in lines for name in line if "queue" in name or "stale" in name]


def test_the_first_self_is_in_the_pool_once(tmp_path, monkeypatch):
    pools = []

    class Watched(Snapshots):
        def __init__(self, *settings, **named):
            super().__init__(*settings, **named)
            pools.append(self)

    monkeypatch.setattr(fictitious_self_play, "Snapshots", Watched)
    trained(Config(steps=5, matches_per_step=2, snapshot_every=2), tmp_path)
    assert [player.name for player in pools[0].players] == ["learner@0", "learner@2", "learner@4"]


def test_with_one_match_a_step_the_learner_sits_in_both_seats_in_turn(tmp_path):
    lines, _, _ = trained(Config(steps=4, matches_per_step=1), tmp_path)
    assert [[role for role in ("first", "second") if f"reward/{role}" in line] for line in lines] == [
        ["first"],
        ["second"],
    ] * 2


@pytest.mark.parametrize(
    ("recipe", "weighing"), [(fictitious_self_play, fictitious_self_play), (spiral, learning_step)]
)
@pytest.mark.parametrize(("game", "length"), [("kuhn_poker", 1), ("negotiation", 4)])
def test_words_count_over_the_longest_reply_that_the_game_allows(recipe, weighing, game, length, tmp_path, monkeypatch):
    lengths = []

    def weigh(longest):
        lengths.append(longest)
        return ConstantMean(longest)

    monkeypatch.setattr(weighing, "ConstantMean", weigh)
    recipe.train(recipe.Config(TINY, game, steps=1, matches_per_step=2), Run(tmp_path))
    assert lengths[0] == length
