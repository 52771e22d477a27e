from collections import Counter

from redqueen.curricula.refused import refused_shares


def test_shares_are_of_all_that_was_posed_and_the_three_commonest_reasons_are_said():
    shares, said = refused_shares(Counter({"known": 1, "malformed": 4, "easy": 2, "long": 3}), 20)
    assert shares == {"refused/known": 0.05, "refused/malformed": 0.2, "refused/easy": 0.1, "refused/long": 0.15}
    assert {value.count for value in shares.values()} == {20}
    assert said == "4 malformed, 3 long, 2 easy"


def test_where_nothing_was_refused_it_is_said():
    assert refused_shares(Counter(), 5) == ({}, "none refused")
