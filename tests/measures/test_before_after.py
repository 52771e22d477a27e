import pytest

from redqueen.measures.before_after import changes
from redqueen.types import Mark, RedQueenError


def marked(values, higher=True, task="sums", figure="acc"):
    return Mark(task, figure, sum(values) / len(values), tuple(map(float, values)), higher)


def test_twelve_of_thirteen_changes_to_the_better_are_a_gain():
    # of 20 documents 12 rise and 1 falls: Clopper and Pearson of 12 of 13 are .6397 and .9981, so the difference lies
    # between 13/20 (2 * .6397 - 1) = .1816 and 13/20 (2 * .9981 - 1) = .6475
    before = [0] * 12 + [1] + [1] * 7
    after = [1] * 12 + [0] + [1] * 7
    (change,) = changes([marked(before)], [marked(after)])
    assert change.shows == "gained"
    assert change.difference == pytest.approx((11 / 20, 0.1816, 0.6475), abs=2e-4)
    assert change.before == pytest.approx((0.4, 0.1912, 0.6395), abs=1e-4)  # 8 of 20
    assert changes([marked(after)], [marked(before)])[0].shows == "forgotten"


def test_five_changes_one_way_are_too_few():
    # both-sided, 5 of 5 have probability 2 / 32 = .0625: the lower bound of p is .4782
    (change,) = changes([marked([0] * 5 + [1] * 5)], [marked([1] * 10)])
    assert change.shows == "not shown"
    assert change.difference == pytest.approx((0.5, 0.5 * (2 * 0.4782 - 1), 0.5), abs=1e-4)


def test_a_mean_of_other_values_has_students_t_of_the_pairs():
    # differences .1, .2, .3: mean .2, standard error .1 / sqrt(3), t of 2 degrees 4.3027
    (change,) = changes([marked([0.1, 0.5, 0.9])], [marked([0.2, 0.7, 1.2])])
    reach = 4.3027 * 0.1 / 3**0.5
    assert change.difference == pytest.approx((0.2, 0.2 - reach, 0.2 + reach), abs=1e-4)
    assert change.shows == "not shown"


def test_where_lower_is_better_a_fall_is_a_gain():
    before, after = marked([3.0, 4.0, 5.0, 6.0], False), marked([2.0, 3.01, 3.99, 5.0], False)
    assert changes([before], [after])[0].shows == "gained"
    assert changes([after], [before])[0].shows == "forgotten"


def test_the_same_answers_are_unchanged():
    (change,) = changes([marked([1, 0, 1])], [marked([1, 0, 1])])
    assert (change.shows, change.difference) == ("unchanged", (0.0, 0.0, 0.0))


def test_a_figure_that_is_no_mean_has_no_interval():
    (change,) = changes([Mark("text", "perplexity", 30.0, (), False)], [Mark("text", "perplexity", 20.0, (), False)])
    assert change.shows == "not shown"
    assert change.cells() == ["text", "perplexity", "", "30", "20", "-10", "not shown"]


def test_figures_of_different_tasks_are_refused():
    with pytest.raises(RedQueenError, match="other figures before"):
        changes([marked([1.0])], [marked([1.0], task="other")])
