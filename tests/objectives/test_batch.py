from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from redqueen.objectives.batch import (
    ConstantMean,
    _free_positions,
    beside,
    free_positions,
    opening,
    pack,
    pack_pairs,
    pack_samples,
    portion,
    row_mean,
    take,
    token_mean,
    without_opening,
)
from redqueen.types import Ask, Batch, Constraint, Episode, Likelihoods, Outcome, Reply, Seat, Task, Trajectory, Turn

SEAT = Seat("first")
BET, PASS = (5, 9), (6, 9)  # two replies of one word, each closed by 9


def turn(prompt, said, logprobs=None, legal=(), version=0, player="learner", recited=False):
    reply = Reply(
        text="",
        player=player,
        version=version,
        prompt_tokens=np.array(prompt, dtype=np.int64),
        tokens=np.array(said, dtype=np.int64),
        logprobs=np.array(logprobs if logprobs is not None else [-0.5] * len(said)),
        legal_tokens=legal,
        recited=recited,
    )
    return Turn(Ask(SEAT, ()), reply)


def trajectory(*turns):
    episode = Episode("game", Task("t"), 0, turns, Outcome({SEAT: 0.0}), (SEAT,))
    return Trajectory(episode, SEAT, turns, np.zeros(len(turns)))


def weights(rows, weigh):
    return weigh(np.array(rows, dtype=bool)).tolist()


def test_a_prompt_that_extends_the_words_before_it_stays_in_one_row():
    first = turn([1, 2], [3, 4], [-0.1, -0.2], version=7)
    second = turn([1, 2, 3, 4, 5], [6], [-0.3], version=8)
    batch = pack([trajectory(first, second)], [np.array([1.0, -2.0])])
    assert batch.tokens.tolist() == [[1, 2, 3, 4, 5, 6]]
    assert batch.lengths.tolist() == [6]
    assert (batch.loss_weights != 0).tolist() == [[False, False, True, True, False, True]]
    assert batch.sampled_logprobs.tolist() == [[0, 0, -0.1, -0.2, 0, -0.3]]
    assert batch.advantages.tolist() == [[0, 0, 1.0, 1.0, 0, -2.0]]
    assert batch.versions.tolist() == [[0, 0, 7, 7, 0, 8]]


@pytest.mark.parametrize("prompt", [[1, 2, 8, 4, 5], [1, 2, 3], [5]])
def test_a_fresh_prompt_starts_a_row(prompt):
    batch = pack([trajectory(turn([1, 2], [3, 4]), turn(prompt, [6]))], [np.array([1.0, -2.0])])
    width = max(4, len(prompt) + 1)
    padded = [*prompt, 6] + [0] * (width - len(prompt) - 1)
    assert batch.tokens.tolist() == [[1, 2, 3, 4] + [0] * (width - 4), padded]
    assert batch.lengths.tolist() == [4, len(prompt) + 1]
    assert batch.advantages.sum(dim=1).tolist() == [2.0, -2.0]


def test_trajectories_never_share_a_row():
    batch = pack([trajectory(turn([1], [2])), trajectory(turn([1, 2], [3]))], [np.ones(1), np.ones(1)])
    assert batch.lengths.tolist() == [2, 3]


def test_forced_tokens_carry_no_weight():
    batch = pack([trajectory(turn([1], BET, [-0.7, 0.0], legal=(BET, PASS)))], [np.ones(1)])
    assert batch.loss_weights.tolist() == [[0.0, 1.0, 0.0]]
    assert batch.constraints == ((Constraint(1, (BET, PASS)),),)


def test_a_row_in_which_all_was_forced_is_left_out():
    forced = turn([1], BET, [0.0, 0.0], legal=(BET,))
    batch = pack([trajectory(forced), trajectory(turn([2], [3]))], [np.ones(1), np.ones(1)])
    assert batch.tokens.tolist() == [[2, 3]]
    assert batch.constraints == ((),)


def test_a_forced_turn_inside_a_row_keeps_its_place():
    said = [1, *BET]
    batch = pack([trajectory(turn([1], BET, legal=(BET,)), turn([*said, 2], [3]))], [np.array([4.0, 5.0])])
    assert batch.tokens.tolist() == [[*said, 2, 3]]
    assert batch.loss_weights.tolist() == [[0, 0, 0, 0, 1.0]]


def test_a_position_is_free_where_more_than_one_legal_reply_goes_on():
    legal = ((1, 9), (1, 2, 9), (1, 2, 3, 9), (4, 9))
    assert free_positions(legal, (1, 2, 9)) == (True, True, True)
    assert free_positions(legal, (1, 2, 3, 9)) == (True, True, True, False)
    assert free_positions(legal, (4, 9)) == (True, False)
    assert free_positions((), (4, 9)) == (True, True)


def test_token_mean_by_hand():
    assert weights([[1, 0, 1], [0, 1, 1]], token_mean) == [[0.25, 0, 0.25], [0, 0.25, 0.25]]


def test_row_mean_by_hand():
    assert weights([[1, 1, 0], [0, 0, 1]], row_mean) == [[0.25, 0.25, 0], [0, 0, 0.5]]


def test_constant_mean_by_hand():
    assert weights([[1, 1, 0], [0, 0, 1]], ConstantMean(5)) == [[0.1, 0.1, 0], [0, 0, 0.1]]


@given(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), min_size=1, max_size=5))
def test_weights_sum_to_one(lengths):
    trajectories, advantages = [], []
    for row in lengths:
        trajectories.append(trajectory(*(turn([100 + n], range(length)) for n, length in enumerate(row))))
        advantages.append(np.ones(len(row)))
    for weigh in (token_mean, row_mean):
        assert float(pack(trajectories, advantages, weigh).loss_weights.sum()) == pytest.approx(1.0)
    # under a constant the sum is the mean length of a row over the constant
    rows = [length for row in lengths for length in row]
    batch = pack(trajectories, advantages, ConstantMean(3))
    assert float(batch.loss_weights.sum()) == pytest.approx(sum(rows) / len(rows) / 3)


def test_the_words_of_two_players_are_refused():
    words = [trajectory(turn([1], [2], player="learner")), trajectory(turn([1], [2], player="learner@3"))]
    with pytest.raises(AssertionError, match=r"not of \['learner', 'learner@3'\]"):
        pack(words, [np.ones(1), np.ones(1)])


def test_advantages_that_do_not_fit_are_refused():
    words = [trajectory(turn([1], [2]))]
    with pytest.raises(AssertionError, match="one array"):
        pack(words, [])
    with pytest.raises(AssertionError, match="each turn"):
        pack(words, [np.ones(2)])


@pytest.mark.parametrize("weigh", [token_mean, row_mean, ConstantMean(3)])
def test_nothing_to_learn_is_an_empty_batch(weigh):
    for trajectories in ([], [trajectory(turn([], []))]):
        batch = pack(trajectories, [np.ones(1)] * len(trajectories), weigh)
        assert len(batch) == 0
        assert batch.tokens.shape == batch.loss_weights.shape == (0, 0)


def test_part_of_a_batch_keeps_the_weights_of_the_whole():
    words = [
        trajectory(turn([1], BET, legal=(BET, PASS), version=4)),
        trajectory(turn([2], [3, 4])),
        trajectory(turn([5], [6])),
    ]
    whole = pack(words, [np.array([float(n)]) for n in range(3)])
    legal = torch.arange(18.0).reshape(3, 3, 2)
    whole = beside(whole, Likelihoods(torch.arange(9.0).reshape(3, 3), torch.zeros(3, 3), legal))
    part = take(whole, torch.tensor([2, 0]))
    for name in ("tokens", "loss_weights", "sampled_logprobs", "advantages", "versions", "lengths"):
        assert torch.equal(getattr(part, name), getattr(whole, name)[[2, 0]])
    assert part.constraints == ((), (Constraint(1, (BET, PASS)),))
    assert part.reference.logprobs.tolist() == [[6.0, 7.0, 8.0], [0.0, 1.0, 2.0]]
    assert torch.equal(part.reference.legal_logprobs, legal[[2, 0]])
    assert part.pairs is None


def test_the_opening_is_what_no_row_learns_from():
    batch = three_rows()
    assert opening(batch) == 2
    rest = without_opening(batch, 2)
    assert rest.tokens.tolist() == [row[2:] for row in batch.tokens.tolist()]
    assert rest.lengths.tolist() == [length - 2 for length in batch.lengths.tolist()]
    assert [[held.start for held in row] for row in rest.constraints] == [[0], [1], []]
    assert rest.loss_weights.sum() == batch.loss_weights.sum()
    assert rest.versions.tolist() == [[2, 3], [6, 7], [10, 11]]
    assert rest.reference is not None
    assert batch.reference is not None
    assert rest.reference.logprobs.tolist() == batch.reference.logprobs[:, 2:].tolist()
    assert opening(take(batch, torch.tensor([1]))) == 3
    nothing = replace(batch, loss_weights=torch.zeros_like(batch.loss_weights))
    assert opening(nothing) == 0


def three_rows():
    """Own words from column 2 and 3 on."""
    weights = torch.tensor([[0, 0, 0.25, 0.25], [0, 0, 0, 0.25], [0, 0, 0.25, 0]], dtype=torch.float64)
    held = ((1, 4), (2, 4))
    return Batch(
        tokens=torch.arange(12).reshape(3, 4),
        loss_weights=weights,
        sampled_logprobs=torch.zeros(3, 4),
        advantages=torch.ones(3, 4),
        versions=torch.arange(12).reshape(3, 4),
        recited=torch.zeros_like(torch.arange(12).reshape(3, 4), dtype=torch.bool),
        lengths=torch.tensor([4, 4, 3]),
        trajectory=torch.arange(len(((Constraint(2, held),), (Constraint(3, held),), ()))),
        constraints=((Constraint(2, held),), (Constraint(3, held),), ()),
        reference=Likelihoods(torch.arange(12.0).reshape(3, 4), torch.zeros(3, 4)),
    )


def test_a_pair_is_two_rows_of_one_number_and_equal_weight():
    chosen = [trajectory(turn([1], [2, 3, 4])), trajectory(turn([5], [6]))]
    rejected = [trajectory(turn([1], [7])), trajectory(turn([5], [8, 9]))]
    batch = pack_pairs(chosen, rejected)
    assert batch.tokens.tolist() == [[1, 2, 3, 4], [1, 7, 0, 0], [5, 6, 0, 0], [5, 8, 9, 0]]
    assert batch.pairs is not None
    assert batch.pairs.tolist() == [0, 0, 1, 1]
    assert batch.advantages.tolist() == [[0, 1, 1, 1], [0, -1, 0, 0], [0, 1, 0, 0], [0, -1, -1, 0]]
    twelfth = 1 / 12  # a quarter of the loss is each side's, a third of it each word's
    expected = [[0, twelfth, twelfth, twelfth], [0, 0.25, 0, 0], [0, 0.25, 0, 0], [0, 0.125, 0.125, 0]]
    assert torch.allclose(batch.loss_weights, torch.tensor(expected, dtype=torch.float64))
    part = take(batch, torch.tensor([2, 3]))
    assert part.pairs is not None
    assert part.pairs.tolist() == [1, 1]


def test_a_side_of_several_rows_is_one_side():
    long = trajectory(turn([1], [2]), turn([8], [3, 4]))
    batch = pack_pairs([long], [trajectory(turn([1], [5]))])
    assert batch.pairs is not None
    assert batch.pairs.tolist() == [0, 0, 0]
    assert batch.advantages.sum(dim=1).tolist() == [1.0, 2.0, -1.0]
    assert batch.loss_weights.sum(dim=1).tolist() == pytest.approx([1 / 6, 1 / 3, 1 / 2])


def test_what_is_no_pair_is_refused():
    one, other = trajectory(turn([1], [2])), trajectory(turn([1], [3]))
    with pytest.raises(AssertionError, match="not 2 chosen, 1 rejected"):
        pack_pairs([one, other], [other])
    with pytest.raises(AssertionError, match="one prompt"):
        pack_pairs([one], [trajectory(turn([9], [3]))])
    with pytest.raises(AssertionError, match="a free token"):
        pack_pairs([one], [trajectory(turn([1], BET, [0.0, 0.0], legal=(BET,)))])
    with pytest.raises(AssertionError, match="one player"):
        pack_pairs([one], [trajectory(turn([1], [3], player="learner@3"))])


def test_no_pairs_are_an_empty_batch():
    batch = pack_pairs([], [])
    assert len(batch) == 0
    assert batch.pairs is not None
    assert batch.pairs.shape == (0,)


def two_pairs(**settings):
    chosen = [trajectory(turn([1], [2, 3])), trajectory(turn([5], [6]))]
    rejected = [trajectory(turn([1], [7])), trajectory(turn([5], [8, 9]))]
    return pack_pairs(chosen, rejected, **settings)


def test_a_margin_is_the_difference_of_the_advantages_of_both_sides():
    batch = two_pairs(margins=[1.0, 3.0])
    assert batch.advantages.tolist() == [[0, 0.5, 0.5], [0, -0.5, 0], [0, 1.5, 0], [0, -1.5, -1.5]]
    assert torch.equal(batch.loss_weights, two_pairs().loss_weights)


def test_a_pair_has_its_share_of_the_weights_half_on_each_side():
    batch = two_pairs(weights=[1.0, 3.0])
    eighth = 1 / 8  # half of a quarter
    expected = [[0, eighth / 2, eighth / 2], [0, eighth, 0], [0, 3 * eighth, 0], [0, 1.5 * eighth, 1.5 * eighth]]
    assert torch.allclose(batch.loss_weights, torch.tensor(expected, dtype=torch.float64))
    assert float(batch.loss_weights.sum()) == pytest.approx(1.0)
    assert torch.equal(batch.advantages, two_pairs().advantages)


@pytest.mark.parametrize("name", ["margins", "weights"])
def test_margins_and_weights_are_above_zero_and_one_for_each_pair(name):
    for wrong in ([0.0, 1.0], [-1.0, 1.0], [float("nan"), 1.0]):
        with pytest.raises(AssertionError, match="are above 0"):
            two_pairs(**{name: wrong})
    for wrong in ([1.0], [1.0, 1.0, 1.0], [[1.0, 1.0]]):
        with pytest.raises(AssertionError, match="one margin and one weight for each pair"):
            two_pairs(**{name: wrong})


def test_single_replies_have_numbers_values_and_equal_weight():
    replies = [trajectory(turn([1], [2, 3, 4])), trajectory(turn([5], [6])), trajectory(turn([1], [7, 8]))]
    batch = pack_samples(replies, [0.5, -0.25, 0.0])
    assert batch.pairs is not None
    assert batch.pairs.tolist() == [0, 1, 2]
    assert batch.advantages.tolist() == [[0, 0.5, 0.5, 0.5], [0, -0.25, 0, 0], [0, 0, 0, 0]]
    ninth = 1 / 9
    expected = [[0, ninth, ninth, ninth], [0, 3 * ninth, 0, 0], [0, 1.5 * ninth, 1.5 * ninth, 0]]
    assert torch.allclose(batch.loss_weights, torch.tensor(expected, dtype=torch.float64))


def test_a_reply_of_several_rows_is_one_sample():
    batch = pack_samples([trajectory(turn([1], [2]), turn([8], [3, 4])), trajectory(turn([1], [5]))], [1.0, -1.0])
    assert batch.pairs is not None
    assert batch.pairs.tolist() == [0, 0, 1]
    assert batch.advantages.sum(dim=1).tolist() == [1.0, 2.0, -1.0]
    assert batch.loss_weights.sum(dim=1).tolist() == pytest.approx([1 / 6, 1 / 3, 1 / 2])


def test_what_is_no_sample_is_refused():
    one = trajectory(turn([1], [2]))
    with pytest.raises(AssertionError, match="one value for each trajectory"):
        pack_samples([one], [])
    with pytest.raises(AssertionError, match="a reply needs a free token"):
        pack_samples([one, trajectory(turn([1], BET, [0.0, 0.0], legal=(BET,)))], [1.0, 1.0])
    with pytest.raises(AssertionError, match="one player"):
        pack_samples([one, trajectory(turn([1], [3], player="learner@3"))], [1.0, 1.0])
    assert len(pack_samples([], [])) == 0


def test_a_portion_of_a_batch_weighs_one_again():
    rated = Likelihoods(torch.arange(12.0).reshape(4, 3), torch.zeros(4, 3))
    whole = beside(two_pairs(weights=[1.0, 3.0]), rated)
    part = portion(whole, [1])
    assert part.tokens.tolist() == [[5, 6, 0], [5, 8, 9]]
    assert part.pairs is not None and part.reference is not None
    assert part.pairs.tolist() == [1, 1]
    assert part.reference.logprobs.tolist() == [[6.0, 7.0, 8.0], [9.0, 10.0, 11.0]]
    assert part.loss_weights.sum(dim=1).tolist() == pytest.approx([0.5, 0.5])
    assert torch.allclose(portion(whole, [1, 0]).loss_weights, whole.loss_weights)


def test_a_portion_of_nothing_is_empty_and_of_no_pairs_is_refused():
    assert len(portion(two_pairs(), [])) == len(portion(two_pairs(), [7])) == 0
    with pytest.raises(AssertionError, match="pack_pairs or pack_samples"):
        portion(pack([trajectory(turn([1], [2]))], [np.ones(1)]), [0])


def test_a_row_knows_its_trajectory_and_its_recited_words():
    """Of three trajectories the first has two turns with fresh prompts, the second nothing that was free."""
    written = [
        trajectory(turn([1, 2], [3]), turn([7], [4, 5])),
        trajectory(turn([1], [2], legal=((2,),))),
        trajectory(turn([1], [6], recited=True)),
    ]
    batch = pack(written, [np.ones(len(each.turns)) for each in written])
    assert batch.trajectory.tolist() == [0, 0, 2]
    assert batch.recited.tolist() == [[False] * 3, [False] * 3, [False, True, False]]
    part = take(batch, torch.tensor([2, 0]))
    assert part.trajectory.tolist() == [2, 0]
    assert part.recited.any(dim=1).tolist() == [True, False]
    assert without_opening(part, 1).recited.tolist() == [[True, False], [False, False]]


def test_what_is_free_text_is_not_remembered():
    """A cache of long replies would hold more than the replies themselves."""
    before = _free_positions.cache_info().currsize
    assert free_positions((), tuple(range(2000, 2999))) == (True,) * 999
    assert _free_positions.cache_info().currsize == before
    free_positions(((1, 2), (1, 3)), (1, 2))
    assert _free_positions.cache_info().currsize <= before + 1
