import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redqueen.players.transformer import key_values
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore

ROW = st.lists(st.integers(1, 3), min_size=1, max_size=6).map(tuple)
FEW = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PLENTY = 10_000


@pytest.fixture(scope="module")
def llama(made):
    return made().model


@st.composite
def calls(draw):
    """[calls] of [rows] of a row and the places wanted of it; some rows go on where earlier ones ended."""
    made, earlier = [], [()]
    for _ in range(draw(st.integers(1, 5))):
        rows = []
        for _ in range(draw(st.integers(1, 4))):
            begun = draw(st.sampled_from(earlier))
            rows.append(begun[: draw(st.integers(0, len(begun)))] + draw(ROW))
        earlier += rows
        made.append([(row, sorted(draw(st.sets(st.integers(0, len(row) - 1))))) for row in rows])
    return made


def prefixes(rows):
    return {row[:end] for row in rows for end in range(1, len(row) + 1)}


def plain(model, row, places):
    """[places, H] from a pass over the whole row."""
    tokens = torch.tensor([list(row)])
    return model(input_ids=tokens, output_hidden_states=True, use_cache=False).hidden_states[-1][0, list(places)]


def check(store, model, call):
    """Reads, and compares every answer with a plain pass."""
    rows, wanted = [row for row, _ in call], [places for _, places in call]
    states = store.read(rows, wanted)
    if any(wanted):
        expected = torch.cat([plain(model, row, places) for row, places in call])
        torch.testing.assert_close(states.hidden[states.numbers], expected, atol=2e-5, rtol=1e-4)
    else:
        assert states.numbers == []


@pytest.mark.slow
@FEW
@given(made_calls=calls(), size=st.sampled_from([1, 3, 2048]))
@torch.no_grad()
def test_a_store_gives_the_states_of_plain_passes(any_model, monkeypatch, made_calls, size):
    monkeypatch.setattr(key_values, "PASS", size)
    store = KeyValueStore(Forward(any_model.model), PLENTY)
    for call in made_calls:
        check(store, any_model.model, call)


@settings(FEW, max_examples=60)
@given(made_calls=calls(), size=st.sampled_from([1, 3, 2048]))
@torch.no_grad()
def test_each_node_is_computed_once_and_what_is_wanted_again_once_more(llama, made_calls, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_values, "PASS", size)
        forward = Forward(llama)
        sizes, hidden = [], forward.hidden

        def counting(tokens, depths, attend):
            sizes.append(len(tokens))
            return hidden(tokens, depths, attend)

        patch.setattr(forward, "hidden", counting)
        store = KeyValueStore(forward, PLENTY)
        known = set()
        for call in made_calls:
            sizes.clear()
            states = store.read([row for row, _ in call], [places for _, places in call])
            new = prefixes([row for row, _ in call]) - known
            wanted = {row[: place + 1] for row, places in call for place in places}
            assert sum(sizes) == len(new | wanted)
            assert len(states.hidden) == len(wanted) or not wanted
            assert all(each <= size for each in sizes)
            known |= new
            assert len(store) == len(known)


@settings(FEW, max_examples=40)
@given(made_calls=calls(), budget=st.integers(1, 25))
@torch.no_grad()
def test_a_full_store_forgets_and_stays_right(llama, made_calls, budget):
    store = KeyValueStore(Forward(llama), budget)
    for call in made_calls:
        check(store, llama, call)
        assert len(store) <= max(budget, len(prefixes([row for row, _ in call])))


@torch.no_grad()
def test_a_window_looks_back_into_the_store(made):
    model = made("mistral").model
    store = KeyValueStore(Forward(model), PLENTY)
    first, second = tuple(range(1, 21)), (*range(1, 21), *range(30, 45))
    for call in ([(first, [19])], [(second, [3, 12, 20, 34]), ((*first[:10], 7), [10])]):
        check(store, model, call)


@torch.no_grad()
def test_the_turns_of_the_docstring(made, counted):
    model = made().model
    forward = Forward(model)
    sizes = counted(forward)
    store = KeyValueStore(forward, PLENTY)
    rules, dot, hand, another, bar, words, call = range(1, 8)
    turn = (rules, dot, hand, dot)
    for row, read in (
        (turn, 4),
        ((*turn, bar, dot, words, call, dot), 5),
        ((rules, dot, another, dot), 2),
        (turn, 1),  # only what is asked for, again
    ):
        sizes.clear()
        check(store, model, [(row, [len(row) - 1])])
        assert sizes == [read]


def reading(store, sizes, row):
    """How many nodes are computed for the end of a row."""
    sizes.clear()
    store.read([row], [[len(row) - 1]])
    return sum(sizes)


@torch.no_grad()
def test_the_rows_used_last_are_kept(made, counted):
    forward = Forward(made().model)
    sizes = counted(forward)
    one, two, three = (1,) * 4, (2,) * 4, (3,) * 4
    store = KeyValueStore(forward, 10)
    assert [reading(store, sizes, row) for row in (one, two, three)] == [4, 4, 4]
    assert len(store) == 8
    assert [reading(store, sizes, row) for row in (three, two, one)] == [1, 1, 4]

    store = KeyValueStore(forward, 10)
    for row in (one, two, one, three):  # now the first is used again
        reading(store, sizes, row)
    assert [reading(store, sizes, row) for row in (three, one, two)] == [1, 1, 4]


@torch.no_grad()
def test_what_a_row_begins_with_is_never_forgotten_for_it(made, counted):
    forward = Forward(made().model)
    sizes = counted(forward)
    store = KeyValueStore(forward, 12)
    old = (1,) * 8
    reading(store, sizes, old)
    reading(store, sizes, (2, 2, 2))
    assert reading(store, sizes, (*old, 5, 5, 5)) == 3
    assert len(store) <= 12


@torch.no_grad()
def test_rows_that_share_what_is_new_need_its_room_once(made, counted):
    forward = Forward(made().model)
    sizes = counted(forward)
    store = KeyValueStore(forward, 24)
    old, prompt = (1,) * 13, (2,) * 8
    reading(store, sizes, old)
    store.read([(*prompt, word) for word in (3, 4, 5)], [[8]] * 3)  # 11 nodes, though 27 tokens
    assert len(store) == 24
    assert reading(store, sizes, old) == 1


@torch.no_grad()
def test_the_room_that_is_left_bounds_what_is_kept(made):
    store = KeyValueStore(Forward(made().model), 10)
    store.read([(1,) * 5], [[4]])
    store.read([(2,) * 9], [[8]])  # nine of ten
    assert len(store) == 9


def computed_elsewhere(model, row, start):
    """Keys and values, [layers] of [1, m, Hkv, d], of the end of a row."""
    other = KeyValueStore(Forward(model), PLENTY)
    other.read([row], [[]])
    nodes = torch.from_numpy(other.path(row)[start:])[None]
    return [layer[nodes] for layer in other.keys], [layer[nodes] for layer in other.values]


@torch.no_grad()
def test_what_is_remembered_is_not_read_again(any_model, counted):
    model = any_model.model
    forward = Forward(model)
    store = KeyValueStore(forward, PLENTY)
    prompt, said, after = (1, 2, 3), (4, 5), (6, 7)
    store.read([prompt], [[2]])
    row = prompt + said
    store.remember([row], *computed_elsewhere(model, row, 3))
    sizes = counted(forward)
    check(store, model, [(row + after, [6])])
    assert sizes == [2]
    store.remember([row], *computed_elsewhere(model, row, 3))  # known already
    assert len(store) == 7
    # a row of which a part is known already
    store.remember([(*row, 9)], *computed_elsewhere(model, (*row, 9), 3))
    sizes.clear()
    check(store, model, [((*row, 9, 8), [6])])
    assert sizes == [1]


@torch.no_grad()
def test_nothing_is_remembered_where_there_is_no_room(made):
    model = made().model
    store = KeyValueStore(Forward(model), 4)
    store.read([(1, 2, 3)], [[2]])
    store.remember([(1, 2, 3, 4, 5)], *computed_elsewhere(model, (1, 2, 3, 4, 5), 3))
    assert len(store) == 3
    store.remember([(1, 2, 3, 4)], *computed_elsewhere(model, (1, 2, 3, 4), 3))
    assert len(store) == 4
    check(store, model, [((1, 2, 3, 4, 5), [4])])


@torch.no_grad()
def test_rows_that_end_together_are_remembered_together(made):
    model = made().model
    store = KeyValueStore(Forward(model), PLENTY)
    rows = [(1, 2, 3, 4), (1, 2, 3, 5), (1, 2, 3, 4), (9, 2, 3, 4)]
    store.read([(1, 2)], [[1]])
    apart = [computed_elsewhere(model, row, 2) for row in rows]
    keys, values = ([torch.cat(layers) for layers in zip(*each, strict=True)] for each in zip(*apart, strict=True))
    store.remember(rows, keys, values)
    assert len(store) == 5  # 3, its two followers; the last row's beginning is not there to go on from
    check(store, model, [((*row, 6), [4]) for row in rows])


@torch.no_grad()
def test_a_store_that_forgot_reads_everything_again(made, counted):
    model = made().model
    forward = Forward(model)
    store = KeyValueStore(forward, PLENTY)
    check(store, model, [((1, 2, 3), [2])])
    for value in model.parameters():
        value *= 1.1
    store.forget()
    assert len(store) == 0
    assert store.keys == store.values == []
    sizes = counted(forward)
    check(store, model, [((1, 2, 3), [0, 2])])
    assert sizes == [3]


def test_a_pass_that_fails_leaves_nothing_half_known(made):
    forward = Forward(made().model)
    store = KeyValueStore(forward, 100)
    store.read([(1, 2, 3)], [(2,)])
    whole = forward.hidden

    def broken(*inputs):
        raise MemoryError("out of memory")

    forward.hidden = broken
    with pytest.raises(MemoryError):
        store.read([(1, 2, 3, 4, 5)], [(4,)])
    assert len(store) == 0
    forward.hidden = whole
    again = store.read([(1, 2, 3, 4, 5)], [(4,)]).hidden
    torch.testing.assert_close(again, forward.over([(1, 2, 3, 4, 5)], [(4,)]).hidden, atol=1e-5, rtol=1e-5)
