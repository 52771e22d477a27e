import json
from collections import Counter
from random import Random

import numpy as np
import pytest

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.opponents.payoffs import mean_scores
from redqueen.opponents.pools import Fixed, Mirror, Prioritized, Snapshots
from redqueen.opponents.rules import even, hard, most_beaten, oldest
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.records import ask_from_json
from redqueen.types import Ask, Episode, Match, Message, Outcome, RedQueenError, Reply, Seat, Task, Turn

FIRST, SECOND = Seat("first"), Seat("second")
ASK = Ask(FIRST, (Message("game", "Your move?"),), ("pass", "bet"))


def aged(learner: TabularPolicy, version: int) -> TabularPolicy:
    """The learner as if it had made so many updates."""
    learner.version = version
    return learner


def past_selves(pool: Snapshots | Prioritized, learner: TabularPolicy, *versions: int) -> None:
    for version in versions:
        pool.add(aged(learner, version).freeze())


def drawn(pool: Snapshots | Prioritized, count: int = 4000) -> Counter[str]:
    rng = Random(5)
    return Counter(pool.draw(rng).name for _ in range(count))


def met(opponent: str, margin: float, learner: str = "learner") -> Episode:
    turns = (Turn(ASK, Reply("bet", learner)), Turn(Ask(SECOND, ASK.messages), Reply("bet", opponent)))
    scores = {FIRST: margin, SECOND: -margin}
    return Episode("toy", Task("t"), 0, turns, Outcome(scores), (FIRST, SECOND))


def test_mirror_is_the_learner_and_fixed_is_the_other():
    learner = TabularPolicy()
    assert Mirror(learner).draw(Random(0)) is learner
    bot = Uniform()
    assert Fixed(bot).draw(Random(0)) is bot
    for pool in (Mirror(learner), Fixed(bot)):
        pool.observe([])
        pool.restore(pool.state())
        with pytest.raises(RedQueenError, match="use Snapshots"):
            pool.add(learner)


def test_snapshots_are_drawn_uniformly_and_begin_with_the_untrained_self():
    learner = TabularPolicy()
    pool = Snapshots(learner)
    past_selves(pool, learner, 10, 20, 30)
    counts = drawn(pool)
    assert set(counts) == {"learner@0", "learner@10", "learner@20", "learner@30"}
    assert all(count == pytest.approx(1000, abs=110) for count in counts.values())


def test_snapshots_keep_to_the_latest():
    learner = TabularPolicy()
    pool = Snapshots(learner, latest=2)
    assert set(drawn(pool)) == {"learner@0"}
    past_selves(pool, learner, 10, 20, 30)
    assert set(drawn(pool)) == {"learner@20", "learner@30"}


def test_a_full_pool_forgets_the_oldest():
    learner = TabularPolicy()
    pool = Snapshots(learner, capacity=2)
    past_selves(pool, learner, 10, 20)
    assert [player.name for player in pool.players] == ["learner@10", "learner@20"]


def test_the_learner_itself_is_drawn_as_often_as_asked():
    learner = TabularPolicy()
    for pool in (Snapshots(learner, current=0.8), Prioritized(learner, current=0.8)):
        assert drawn(pool)["learner"] == pytest.approx(3200, abs=110)


def test_draws_come_from_the_generator_given():
    learner = TabularPolicy()
    pool = Prioritized(learner, current=0.3)
    past_selves(pool, learner, 1, 2, 3)
    first, second = Random(8), Random(8)
    assert [pool.draw(first).name for _ in range(30)] == [pool.draw(second).name for _ in range(30)]


def test_a_pool_refuses_a_self_that_goes_on_learning():
    learner = TabularPolicy()
    for pool in (Snapshots(learner), Prioritized(learner)):
        with pytest.raises(RedQueenError, match=r"add learner\.freeze\(\)"):
            pool.add(learner)


@pytest.mark.parametrize(
    "settings", [{"capacity": 0}, {"current": 1.0}, {"current": -0.1}, {"latest": 0}, {"latest": 3, "capacity": 2}]
)
def test_snapshots_refuse_settings_that_cannot_work(settings):
    with pytest.raises(RedQueenError):
        Snapshots(TabularPolicy(), **settings)


@pytest.mark.parametrize("settings", [{"capacity": 0}, {"current": 1.0}, {"decay": 1.5}, {"forgetting": oldest}])
def test_prioritized_refuses_settings_that_cannot_work(settings):
    with pytest.raises(RedQueenError):
        Prioritized(TabularPolicy(), **settings)


def test_weightings_are_those_of_alphastar():
    assert hard()(0.25) == 0.5625  # (1 - 1/4)^2
    assert hard(1.0)(1.0) == 0.0
    assert even()(0.25) == 0.1875  # 1/4 * 3/4
    assert even(2.0)(0.5) == 0.0625


def test_results_are_counted_by_past_self_with_draws_as_halves():
    learner = TabularPolicy()
    pool = Prioritized(learner)
    past_selves(pool, learner, 10)
    pool.observe([met("learner@10", 2.0), met("learner@10", 0.0), met("learner@10", 1.0), met("learner@0", -1.0)])
    assert pool.win_rate("learner@10") == pytest.approx((2.5 + 0.5) / (3 + 1))
    assert pool.win_rate("learner@0") == pytest.approx(0.5 / 2)


def test_matches_without_a_past_self_or_without_the_learner_are_passed_over():
    pool = Prioritized(TabularPolicy())
    pool.observe([met("learner", 1.0), met("stranger", 1.0), met("learner@0", 1.0, learner="stranger")])
    assert pool.win_rate("learner@0") == 0.5


def test_a_past_self_is_drawn_in_proportion_to_its_weight():
    learner = TabularPolicy()
    pool = Prioritized(learner, hard(2.0))
    past_selves(pool, learner, 10)
    pool.observe([met("learner@0", 1.0)])  # win rate 3/4, weight 1/16
    pool.observe([met("learner@10", -1.0)])  # win rate 1/4, weight 9/16
    assert pool.chances() == pytest.approx([0.1, 0.9])
    assert drawn(pool)["learner@10"] == pytest.approx(3600, abs=80)


def test_where_nobody_is_wanted_all_are_equally_likely():
    pool = Prioritized(TabularPolicy(), weighting=lambda _: 0.0)
    past_selves(pool, TabularPolicy(), 10)
    assert pool.chances() == [0.5, 0.5]


def test_old_results_fade():
    pool = Prioritized(TabularPolicy(), decay=0.5)
    pool.observe([met("learner@0", 1.0)] * 4)
    pool.observe([met("learner@0", -1.0)])
    assert pool.win_rate("learner@0") == pytest.approx((2.0 + 0.5) / (2.0 + 1.0 + 1.0))


def test_a_full_prioritized_pool_forgets_by_its_rule():
    for forgetting, left in ((oldest, ["learner@10", "learner@20"]), (most_beaten, ["learner@0", "learner@20"])):
        learner = TabularPolicy()
        pool = Prioritized(learner, capacity=2, forgetting=forgetting)
        past_selves(pool, learner, 10)
        pool.observe([met("learner@10", 1.0), met("learner@0", -1.0)])
        past_selves(pool, learner, 20)
        assert [player.name for player in pool.players] == left
        assert pool.win_rate("learner@20") == 0.5


def test_scores_of_a_player_with_several_seats_are_averaged():
    third = Seat("second", 1)
    turns = tuple(
        Turn(Ask(seat, ASK.messages), Reply("x", name)) for seat, name in ((FIRST, "a"), (SECOND, "b"), (third, "b"))
    )
    episode = Episode(
        "toy", Task("t"), 0, turns, Outcome({FIRST: 1.0, SECOND: 2.0, third: 4.0}), (FIRST, SECOND, third)
    )
    assert mean_scores(episode) == {"a": 1.0, "b": 3.0}


def test_pools_come_back_exactly_from_their_state():
    def trained() -> tuple[TabularPolicy, Snapshots, Prioritized]:
        learner = TabularPolicy()
        return learner, Snapshots(learner, latest=3), Prioritized(learner, even(), current=0.1, decay=0.9)

    learner, snapshots, prioritized = trained()
    game = KuhnPoker()
    for step in range(3):
        rival = prioritized.draw(Random(step))
        matches = [Match(game, task, {"first": learner, "second": rival}) for task in game.tasks() * 8]
        prioritized.observe(play(matches, Random(step)))
        state = learner.state()
        learner.restore({**state, "version": step + 1, "logits": [[a + step, b - 0.3] for a, b in state["logits"]]})
        snapshots.add(learner.freeze())
        prioritized.add(learner.freeze())
    learner_again, snapshots_again, prioritized_again = trained()
    learner_again.restore(json.loads(json.dumps(learner.state())))
    asks = [ask_from_json(data) for data in learner.state()["asks"]]
    assert len(asks) == 12  # all information states were met
    for pool, again in ((snapshots, snapshots_again), (prioritized, prioritized_again)):
        again.restore(json.loads(json.dumps(pool.state())))
        assert again.state() == pool.state()
        assert [p.name for p in again.players] == ["learner@0", "learner@1", "learner@2", "learner@3"]
        for player, copy in zip(pool.players, again.players, strict=True):
            np.testing.assert_array_equal(player.probabilities(asks), copy.probabilities(asks))
        assert drawn(again, 200) == drawn(pool, 200)
    assert prioritized_again.chances() == prioritized.chances()


def test_a_restored_self_under_another_name_is_refused():
    pool = Snapshots(TabularPolicy())
    saved = pool.state()["players"][0]
    with pytest.raises(RedQueenError, match="'rival@0' was restored as 'learner@0'"):
        pool.restore({"players": [{**saved, "name": "rival@0"}]})
