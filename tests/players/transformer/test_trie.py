from hypothesis import given
from hypothesis import strategies as st

from redqueen.players.transformer.trie import Trie, cut, merge

# the rows drawn in the module's docstring
THE, CARD, IS, J, Q, BET, PASS = range(7)
ROWS = [(THE, CARD, IS, J, BET), (THE, CARD, IS, J, PASS), (THE, CARD, IS, Q, BET)]

ANY_ROWS = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=6).map(tuple), min_size=1, max_size=6)


def prefixes(rows):
    return {row[:end] for row in rows for end in range(1, len(row) + 1)}


def test_the_trie_of_the_docstring():
    trie, runs = merge(ROWS)
    assert trie.tokens == [THE, CARD, IS, J, BET, PASS, Q, BET]
    assert trie.depths == [0, 1, 2, 3, 4, 4, 3, 4]
    assert [run.path.tolist() for run in runs] == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 5], [0, 1, 2, 6, 7]]
    assert [(run.start, run.end) for run in runs] == [(0, 5), (4, 5), (3, 5)]


def test_equal_rows_and_beginnings_of_rows_add_no_nodes():
    trie, runs = merge([(1, 2, 3), (1, 2), (), (1, 2, 3)])
    assert trie.tokens == [1, 2, 3]
    assert [run.path.tolist() for run in runs] == [[0, 1, 2], [0, 1], [], [0, 1, 2]]
    assert [(run.start, run.end) for run in runs] == [(0, 3), (2, 2), (0, 0), (3, 3)]


def test_a_trie_knows_the_beginnings_of_what_was_added_and_nothing_else():
    trie = Trie()
    assert trie.known((1, 2)) == 0
    trie.add((1, 2, 3))
    assert [trie.known(row) for row in ((1, 2, 3), (1, 2), (1, 2, 4), (1, 2, 3, 4), (2, 3), ())] == [3, 2, 2, 3, 0, 0]
    assert len(trie) == 3  # asking adds nothing
    run = trie.add((1, 2, 4, 5))
    assert (run.path.tolist(), run.start, run.end) == ([0, 1, 3, 4], 2, 4)


@given(ANY_ROWS)
def test_every_row_is_a_path_and_every_node_another_prefix(rows):
    trie, runs = merge(rows)
    for row, run in zip(rows, runs, strict=True):
        assert [trie.tokens[node] for node in run.path] == list(row)
        assert [trie.depths[node] for node in run.path] == list(range(len(row)))
        assert (run.path[1:] > run.path[:-1]).all()  # a node comes after its parent
    assert len(trie) == len(trie.tokens) == len(prefixes(rows))


@given(ANY_ROWS)
def test_a_row_adds_what_stands_in_no_earlier_one(rows):
    _, runs = merge(rows)
    for number, (row, run) in enumerate(zip(rows, runs, strict=True)):
        assert len(row) - run.start == len(prefixes(rows[: number + 1]) - prefixes(rows[:number]))
        assert run.end == len(row)
    new = [int(node) for run in runs for node in run.path[run.start : run.end]]
    assert new == list(range(len(prefixes(rows))))  # each once, in the order of the rows


@given(ANY_ROWS, st.integers(1, 20))
def test_parts_hold_every_row_once_within_the_budget(rows, budget):
    parts = list(cut(rows, budget))
    assert sorted(number for part in parts for number in part) == list(range(len(rows)))
    for part in parts:
        assert len(prefixes([rows[number] for number in part])) <= budget or len(part) == 1


def test_rows_that_begin_alike_share_a_part():
    rows = [(1, 1, 1, 1), (2, 2, 2, 2), (1, 1, 1, 3), (2, 2, 2, 3)]
    assert list(cut(rows, 5)) == [[0, 2], [1, 3]]
    assert list(cut(rows, 10)) == [[0, 2, 1, 3]]
    assert list(cut([], 10)) == []
