"""The vote of several voters: the vectors of the card of RLCCF, and what changes nothing."""

import pytest

from redqueen.checks.votes import Majority, by_value, collective

THREE = ("AAAAC", "BBBCD", "BBCDE")


def test_the_vote_of_the_card():
    vote, consistency = collective(THREE)
    assert consistency == [0.8, 0.6, 0.4]
    assert vote.answer == "A" and vote.share == pytest.approx(3.2 / 9.0)
    plain, _ = collective(THREE, weigh=False)
    assert plain.answer == "B" and plain.share == pytest.approx(5 / 15)


def test_the_order_of_voters_and_of_answers_changes_nothing():
    again, consistency = collective(["ECBDB", "CAAAA", "DBBCB"])
    assert again.answer == "A" and sorted(consistency) == [0.4, 0.6, 0.8]
    assert again.share == collective(THREE)[0].share


def test_one_voter_is_its_own_majority_and_equally_consistent_ones_vote_plainly():
    own = Majority(count_missing=True, normalise=by_value)
    assert collective(["ABBAB"])[0] == own.label("ABBAB")
    assert collective(["AAB", "CAB"])[0].answer == own.label("AABCAB").answer


def test_answers_count_by_value_and_blank_ones_never_win():
    vote, consistency = collective([["1/2", "0.5", "3"], ["", "", ""]])
    assert vote.answer == "1/2" and consistency == [pytest.approx(2 / 3), 0.0]
    assert collective([["", ""], [""]])[0].answer == ""


def test_a_tie_is_no_label_and_leaves_the_consistency_as_it_is():
    vote, consistency = collective(["AAAC", "BBBD"])
    assert (vote.answer, vote.share, consistency) == ("", 0.0, [0.75, 0.75])
    assert collective(["ABC", "DEF", "AGG"])[0].answer == "G"  # 2/3 for A in sum, 4/3 for G
    assert collective(["AAXYZ", "BBXYZ", "C" * 5])[0].answer == "C"
    assert collective(["1", "2"], weigh=False)[0].answer == ""
