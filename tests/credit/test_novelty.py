import json
import math

import numpy as np
import pytest

from redqueen.credit.novelty import (
    CountNovelty,
    Repetition,
    WindowNovelty,
    average_linkage,
    bleu,
    distinct_share,
    entropy,
    jaccard,
)
from redqueen.types import RedQueenError, Refusal, Task

SAME = "what is the sum of three and four"
NEAR = "what is the sum of three and five"
OTHER = "name every prime below one hundred please"


# --- BLEU ------------------------------------------------------------------------------------


def alike(one, other):
    return bleu([one.split(), other.split()])[0, 1]


def test_a_text_is_like_itself_however_short():
    for text in ("a", "a b", "a b c d e"):
        assert alike(text, text) == 1.0


def test_texts_without_a_common_word_are_not_alike():
    assert alike("a b c d", "e f g h") == 0.0


def test_one_other_word_at_the_end_by_hand():
    # matches 4 of 5, 3 of 4, 2 of 3, 1 of 2: the fourth root of 1/5
    assert alike("a b c d e", "a b c d x") == pytest.approx(0.2**0.25)


def test_an_order_without_a_match_counts_as_a_tenth_of_one():
    # matches 4 of 4, then none of 3, 2 and 1
    assert alike("a b c d", "d c b a") == pytest.approx((1.0 * 0.1 / 3 * 0.1 / 2 * 0.1) ** 0.25)


def test_a_repeated_word_matches_as_often_as_both_have_it():
    # one word: order 1 alone. 1 of 1; the other way 1 of 3, without a price for brevity
    assert alike("a", "a a a") == pytest.approx((math.exp(1 - 3) + 1 / 3) / 2)


def test_the_shorter_text_pays_for_its_brevity():
    # order 4 at most, all of the short one's matches: exp(1 - 8/4), and 4/8 * 3/7 * 2/6 * 1/5 the other way
    back = (4 / 8 * 3 / 7 * 2 / 6 * 1 / 5) ** 0.25
    assert alike("a b c d", "a b c d e f g h") == pytest.approx((math.exp(-1.0) + back) / 2)


def test_likeness_is_symmetric_and_does_not_depend_on_the_company():
    texts = [text.split() for text in (SAME, NEAR, OTHER)]
    table = bleu(texts)
    assert np.array_equal(table, table.T)
    assert table[0, 1] == alike(SAME, NEAR)


# --- clusters --------------------------------------------------------------------------------


def test_average_linkage_joins_by_the_mean_distance_of_all_pairs():
    # 0 and 1 join first; 2 is at 1/4 from 0 and 3/4 from 1, on average 1/2
    distances = np.array([[0.0, 0.125, 0.25], [0.125, 0.0, 0.75], [0.25, 0.75, 0.0]])
    assert len(set(average_linkage(distances, 0.51))) == 1
    assert len(set(average_linkage(distances, 0.5))) == 2  # not below
    assert len(set(average_linkage(distances, 0.125))) == 3


def test_a_large_cluster_counts_each_of_its_items_in_the_mean():
    # 0, 1 and 2 join first; 3 is at .4, .4 and 1 from them, on average .6 and not (.4 + 1) / 2
    distances = np.array(
        [[0.0, 0.1, 0.2, 0.4], [0.1, 0.0, 0.2, 0.4], [0.2, 0.2, 0.0, 1.0], [0.4, 0.4, 1.0, 0.0]], dtype=float
    )
    assert len(set(average_linkage(distances, 0.61))) == 1
    assert len(set(average_linkage(distances, 0.59))) == 2


def test_clusters_of_three_and_one_of_four_pay_three_quarters_and_one():
    assert Repetition()([SAME, OTHER, NEAR, SAME]).tolist() == [0.75, 0.25, 0.75, 0.75]
    assert Repetition(weight=2.0)([SAME, OTHER, NEAR, SAME]).tolist() == [1.5, 0.5, 1.5, 1.5]


def test_an_unreadable_proposal_is_a_cluster_of_its_own_and_counts_in_the_batch():
    assert Repetition()([SAME, None, "", SAME]).tolist() == [0.5, 0.25, 0.25, 0.5]
    assert Repetition()([None] * 24 + [SAME] * 8)[:24].tolist() == [1 / 32] * 24


def test_tasks_are_compared_among_all_proposals():
    written = [Refusal("malformed"), Task("a", prompt=SAME), Task("b", prompt=SAME), Refusal("cut off")]
    assert Repetition().of_tasks(written).tolist() == [0.5, 0.5]
    assert Repetition().of_tasks([]).shape == Repetition().of_tasks(written[:1]).shape == (0,)


def test_the_cut_decides_what_is_one_cluster():
    distance = 1.0 - alike(SAME, NEAR)
    assert Repetition(cut=distance + 1e-6).clusters([SAME, NEAR]).tolist() == [0, 0]
    assert Repetition(cut=distance - 1e-6).clusters([SAME, NEAR]).tolist() == [0, 1]


def test_an_empty_batch_repeats_nothing():
    assert Repetition()([]).shape == (0,)


def test_a_batch_too_large_to_compare_is_refused():
    with pytest.raises(RedQueenError, match="parts of at most 3"):
        Repetition(largest=3)(["a", "b", "c", "d"])
    with pytest.raises(RedQueenError, match="cut"):
        Repetition(cut=0.0)


# --- shares and entropy ----------------------------------------------------------------------


def test_distinct_proposals_differ_in_more_than_case_and_spaces():
    assert distinct_share(["Add 1", "add  1 ", "add 2", None, ""]) == pytest.approx(2 / 3)
    assert distinct_share([None]) == 1.0


def test_entropy_is_that_of_the_feature():
    assert entropy(["a", "b", "c", "d"]) == pytest.approx(math.log(4))
    assert entropy(["a", "a", "a", "b"]) == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))
    assert entropy(["1 + 2", "3 + 4", "1 + 22"], feature=len) == pytest.approx(
        -2 / 3 * math.log(2 / 3) - 1 / 3 * math.log(1 / 3)
    )
    assert entropy(["a", "a", None]) == 0.0
    assert entropy([]) == 0.0


# --- the window ------------------------------------------------------------------------------


def test_novelty_is_the_share_of_the_window_that_is_unlike():
    novelty = WindowNovelty()
    assert novelty([SAME]).tolist() == [1.0]
    novelty.observe([SAME, OTHER, OTHER, None])
    assert novelty([SAME, OTHER, "quite new", None, " "]).tolist() == pytest.approx([2 / 3, 1 / 3, 1.0, 0.0, 0.0])


def test_texts_that_share_four_words_of_five_are_just_unlike():
    novelty = WindowNovelty()
    novelty.observe(["a b c d e"])
    assert jaccard(frozenset("abcde"), frozenset("abcd")) == 0.8
    assert novelty(["a b c d"]).tolist() == [1.0]  # .8 is not above .8
    assert novelty(["e d c b a a"]).tolist() == [0.0]
    assert WindowNovelty(alike=0.79)(["a"]).tolist() == [1.0]


def test_the_window_forgets_and_a_call_only_reads():
    novelty = WindowNovelty(window=2)
    novelty.observe(["a", "b", "c"])
    assert novelty(["a", "b", "c"]).tolist() == [1.0, 0.5, 0.5]
    assert novelty(["a", "a", "a"]).tolist() == [1.0, 1.0, 1.0]


def test_the_window_is_restored_through_json():
    ours, theirs = WindowNovelty(window=3), WindowNovelty(window=3)
    ours.observe([SAME, OTHER, NEAR, "a b"])
    theirs.restore(json.loads(json.dumps(ours.state())))
    for step in (["a b", SAME], [OTHER, "c"], ["a b c d"]):
        assert ours(step).tolist() == theirs(step).tolist()
        ours.observe(step)
        theirs.observe(step)


# --- counts ----------------------------------------------------------------------------------


def test_the_bonus_is_one_over_the_root_of_how_often_a_feature_was_proposed():
    novelty = CountNovelty(weight=2.0, decay=1.0)
    assert novelty(["a", "b", "b", "b", "b", None]).tolist() == [2.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    novelty.observe(["a", "a", "a"])
    assert novelty(["a", "A ", "c"]).tolist() == pytest.approx([2.0 / 5**0.5, 2.0 / 5**0.5, 2.0])


def test_counts_fade_so_that_what_was_long_not_proposed_is_novel_again():
    novelty = CountNovelty(decay=0.5)
    novelty.observe(["a"] * 6)
    novelty.observe(["b"])
    assert novelty(["a"]).tolist() == [0.5]  # 6 / 2 and this one
    for _ in range(20):
        novelty.observe(["b"])
    assert novelty(["a"]).tolist() == [1.0]
    assert len(novelty.state()["counts"]) == 1


def test_counts_are_restored_through_json_with_features_of_any_kind():
    ours, theirs = (CountNovelty(feature=lambda text: (len(text), text[0])) for _ in range(2))
    ours.observe(["ab", "cd", "abc", "ae"])
    theirs.restore(json.loads(json.dumps(ours.state())))
    assert ours(["ax", "abc", "z"]).tolist() == theirs(["ax", "abc", "z"]).tolist()
    assert ours(["ax"])[0] < 0.6


@pytest.mark.parametrize("make", [lambda: CountNovelty(decay=1.1), lambda: WindowNovelty(window=0)])
def test_settings_that_make_no_sense_are_refused(make):
    with pytest.raises(RedQueenError):
        make()
