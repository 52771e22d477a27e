"""Games in files: known answers, and each fault in one line."""

import json
from copy import deepcopy

import numpy as np
import pytest

from redqueen.cli.main import main
from redqueen.contracts.games import check_game
from redqueen.games.catalogue import find_game
from redqueen.games.tree import Tree, from_json
from redqueen.measures.exact.exploitability import Forgets, GameTree
from redqueen.play.table import Table
from redqueen.players.scripted import Constant, Uniform
from redqueen.types import Match, RedQueenError, Reply, Seat

NESTED = "[" * 900 + "]" * 900


def end(first):
    return {"scores": {"hider": first, "seeker": -first}}


def guess(found, missed):
    """The seeker, who does not know what the hider did, says heads or tails."""
    return {"role": "seeker", "state": "Guess.", "choices": {"heads": end(found), "tails": end(missed)}}


# matching pennies, where tails are worth two
PENNIES = {
    "rules": "One hides, one seeks.",
    "roles": ["hider", "seeker"],
    "root": {
        "role": "hider",
        "state": "Hide a coin.",
        "choices": {"heads": guess(-1, 1), "tails": guess(1, -2)},
    },
}


def written(tmp_path, data):
    file = tmp_path / "game.json"
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return f"tree:{file}"


def test_a_tree_has_its_exact_value(tmp_path):
    game = find_game(written(tmp_path, PENNIES))
    assert game.name == "game"
    assert game.zero_sum
    tree = GameTree(game)
    # uniform play is worth -1/4 to the hider, who could have 0 by heads; the seeker could have 1/2 by tails, not 1/4
    assert tree.exploitability(tree.strategy(Uniform())) == pytest.approx(0.25)
    assert "keeps the contract of games: 1 task, played by hider, seeker" in check_game(game)


def test_a_tree_is_checked_by_its_file(tmp_path, capsys):
    assert main(["check", written(tmp_path, PENNIES)]) == 0
    assert "keeps the contract of games" in capsys.readouterr().out


def coin(first, second):
    return {"chance": "coin", "outcomes": [{"p": 0.25, "then": end(first)}, {"p": 0.75, "then": end(second)}]}


def test_chance_nodes_of_one_name_are_one_draw(tmp_path):
    root = {"role": "hider", "state": "Bet.", "choices": {"red": coin(1, -1), "black": coin(-1, 1)}}
    game = find_game(written(tmp_path, {**PENNIES, "root": root}))
    assert [(task.facts["drawn"], task.weight) for task in game.tasks()] == [({"coin": 0}, 0.25), ({"coin": 1}, 0.75)]
    table = Table(Match(game, game.tasks()[1], dict.fromkeys(game.roles, Constant("black"))), 0)
    table.hear(Constant("black").reply(table.asks))
    assert table.outcome.scores == {Seat("hider"): 1.0, Seat("seeker"): -1.0}
    apart = deepcopy(root)
    for child, name in zip(apart["choices"].values(), ("one", ""), strict=True):
        child["chance"] = name
    tasks = find_game(written(tmp_path, {**PENNIES, "root": apart})).tasks()
    assert [task.weight for task in tasks] == pytest.approx([1 / 4, 3 / 4]), "of which only one is met"
    assert [task.facts["drawn"] for task in tasks] == [{"one": 0, "root.black": 0}, {"one": 1, "root.black": 1}]


def test_draws_behind_different_choices_are_drawn_together_and_keep_their_chances():
    def lottery(name, chance):
        won, lost = {"p": chance, "then": end(1)}, {"p": 1 - chance, "then": end(0)}
        return {"chance": name, "outcomes": [won, lost]}

    arms = {f"arm {n}": lottery("" if n % 2 else f"lottery {n}", n / 20) for n in range(1, 18)}
    game = Tree("bandit", ("hider", "seeker"), decision(choices=arms))
    assert len(game.tasks()) == 18, "and not 2 ** 17"
    assert sum(task.weight for task in game.tasks()) == pytest.approx(1.0)
    for n in range(1, 18):
        name = f"root.arm {n}" if n % 2 else f"lottery {n}"
        won = sum(task.weight for task in game.tasks() if task.facts["drawn"][name] == 0)
        assert won == pytest.approx(n / 20), name
    tree = GameTree(game)
    uniform = tree.strategy(Uniform())
    assert tree.values(uniform)[0] == pytest.approx(0.45)
    assert tree.best_response(uniform, Seat("hider"))[0] == pytest.approx(17 / 20)


def test_a_choice_with_a_dot_is_another_place_than_two_choices():
    def lottery(won, chance):
        return {"chance": "", "outcomes": [{"p": chance, "then": end(won)}, {"p": 1 - chance, "then": end(0)}]}

    answered = {"role": "seeker", "state": "They bid 0.", "choices": {"5": lottery(10, 0.1)}}
    bids = decision(state="Bid.", choices={"0.5": lottery(10, 0.9), "0": answered, "0\\": lottery(0, 0.5)})
    tree = GameTree(Tree("bids", ("hider", "seeker"), bids))
    uniform = tree.strategy(Uniform())
    assert tree.values(uniform)[0] == pytest.approx((9 + 1 + 0) / 3)
    assert tree.best_response(uniform, Seat("hider"))[0] == pytest.approx(9)


def test_a_draw_of_one_name_behind_several_choices_stays_one_and_others_join_it():
    def behind(choice):
        aside = {"chance": f"aside {choice}", "outcomes": [{"p": 0.5, "then": end(0)}, {"p": 0.5, "then": end(1)}]}
        return {"chance": "coin", "outcomes": [{"p": 0.25, "then": end(0)}, {"p": 0.75, "then": aside}]}

    tasks = Tree("shared", ("hider", "seeker"), decision(choices={each: behind(each) for each in "abc"})).tasks()
    assert [task.facts["drawn"] for task in tasks] == [
        {"coin": 0},
        {"coin": 1, "aside a": 0, "aside b": 0, "aside c": 0},
        {"coin": 1, "aside a": 1, "aside b": 1, "aside c": 1},
    ]
    assert [task.weight for task in tasks] == pytest.approx([0.25, 0.375, 0.375])


def test_a_word_that_is_no_choice_loses_the_most(tmp_path):
    game = find_game(written(tmp_path, PENNIES))
    table = Table(Match(game, game.tasks()[0], dict.fromkeys(game.roles, Constant("edge"))), 0)
    table.hear(Constant("edge").reply(table.asks))
    assert table.outcome.scores == {Seat("hider"): -2.0, Seat("seeker"): 2.0}
    assert table.outcome.facts == {"forfeit": "hider", "reason": "illegal"}


def test_a_forfeit_costs_all_seats_of_a_cooperative_tree_the_same(tmp_path):
    """Paid for it, a seat would learn to lead its partner to illegal replies, and no score would be shared."""
    ends = {word: {"scores": {"a": score, "b": score}} for word, score in (("up", 3), ("down", -1))}
    root = {"role": "a", "state": "Choose.", "choices": ends}
    game = find_game(written(tmp_path, {"name": "team", "roles": ["a", "b"], "root": root}))
    table = Table(Match(game, game.tasks()[0], dict.fromkeys(game.roles, Uniform())), 0)
    table.hear([Reply("sideways")])
    assert table.outcome.scores == {Seat("a"): -1.0, Seat("b"): -1.0}
    assert table.outcome.facts == {"forfeit": "a", "reason": "illegal"}


def test_a_seat_that_is_not_told_what_it_did_is_refused_where_it_counts(tmp_path):
    again = {"role": "hider", "state": "Again.", "choices": {"a": end(1), "b": end(0)}}
    root = {"role": "hider", "state": "Hide.", "choices": {"heads": again, "tails": deepcopy(again)}}
    with pytest.raises(Forgets):
        GameTree(find_game(written(tmp_path, {**PENNIES, "root": root})))


def test_many_draws_say_what_helps(monkeypatch):
    root = decision(choices={"go": end(0)})
    for number in range(4):
        root = {"chance": f"card {number}", "outcomes": [{"p": 0.25, "then": root} for _ in range(4)]}
    assert len(Tree("cards", ("hider", "seeker"), root).tasks()) == 256
    monkeypatch.setattr("redqueen.games.tree.MOST_TASKS", 255)
    with pytest.raises(RedQueenError, match="in more than 255 ways: give chance nodes that are one draw"):
        Tree("cards", ("hider", "seeker"), root).tasks()
    monkeypatch.setattr("redqueen.games.tree.MOST_NODES", 300)
    with pytest.raises(RedQueenError, match="more than 300 nodes"):
        Tree("cards", ("hider", "seeker"), root)


def test_what_chance_draws_is_listed_without_looking_where_it_draws_nothing(monkeypatch):
    def drawn(aside):
        coins = {f"coin {n}": {"chance": "", "outcomes": [{"p": 0.5, "then": end(0)}] * 2} for n in range(8)}
        return Tree(
            "coins", ("hider", "seeker"), decision(choices={**coins, "aside": decision(state="Aside.", choices=aside)})
        )

    wide = drawn({f"c{n}": end(1) for n in range(3000)})
    monkeypatch.setattr("redqueen.games.tree.MOST_LOOKS", 100)
    assert [task.id for task in wide.tasks()] == ["0-0-0-0-0-0-0-0", "1-1-1-1-1-1-1-1"]
    sure = {"chance": "", "outcomes": [{"p": 1, "then": end(0)}]}
    with pytest.raises(RedQueenError, match="too large to list what chance draws"):
        drawn({f"c{n}": sure for n in range(300)}).tasks()


@pytest.mark.parametrize("root", [end(1), {"chance": "coin", "outcomes": [{"p": 1, "then": end(1)}]}])
def test_a_tree_in_which_nobody_decides_is_none(root):
    with pytest.raises(RedQueenError, match="in the tree quiet nobody decides anything"):
        Tree("quiet", ("hider", "seeker"), root)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"x": {"scores": {"a": 1}}, "x": {"scores": {"a": 5}}', "'x' twice"),
        ('"x": {"scores": {"a": 1, "a": 2}}', "'a' twice"),
        ('"x": {"scores": {"a": 1}, "foo": 1}', "this one has .'foo', 'scores'."),
    ],
)
def test_what_a_file_says_twice_or_beside_is_not_lost(tmp_path, text, said):
    path = tmp_path / "g.json"
    path.write_text('{"roles": ["a"], "root": {"role": "a", "state": "Go.", "choices": {%s}}}' % text)  # noqa: UP031
    with pytest.raises(RedQueenError, match=said):
        find_game(f"tree:{path}")


def outcomes(*chances):
    return {"chance": "coin", "outcomes": [{"p": p, "then": end(0)} for p in chances]}


def decision(**changes):
    return {**PENNIES["root"], **changes}


@pytest.mark.parametrize(
    ("root", "said"),
    [
        (outcomes(0.5, 0.4), "at root: the probabilities of chance sum to 0.9, not to 1"),
        (outcomes(1.5, -0.5), "an outcome is"),
        ({"chance": "coin", "outcomes": []}, "a name and a list of outcomes"),
        (decision(role="judge"), "'judge' is none of the roles hider, seeker"),
        (decision(state=" "), "has a state"),
        (decision(choices={}), "a decision has choices"),
        (decision(choices={" heads": end(1)}), "a text without spaces around it, not ' heads'"),
        (decision(choices={"a": {"scores": {"hider": 1}}}), "at root.a: an end scores each of hider, seeker"),
        (decision(choices={"a": {"scores": {"hider": "1", "seeker": 0}}}), "scores are finite numbers"),
        (decision(choices={"a": {"scores": {"hider": 10**400, "seeker": 0}}}), "scores are finite numbers"),
        (outcomes(10**400), "an outcome is"),
        (decision(choices={"a": {"scores": {}, "role": "hider"}}), "a node is one of"),
        (decision(choices={"a": 3}), "at root.a: a node is"),
        (decision(state="Guess."), "hider and seeker are both told 'Guess.'"),
        (
            decision(choices={"a": guess(1, 0), "b": {**guess(0, 1), "choices": {"heads": end(1)}}}),
            r"offers seeker \['heads'\] where it is told 'Guess.'|offers seeker \['heads', 'tails'\]",
        ),
        (
            decision(choices={"a": outcomes(0.5, 0.5), "b": outcomes(0.25, 0.75)}),
            "chance 'coin' has other probabilities elsewhere",
        ),
        (
            {
                "chance": "",
                "outcomes": [{"p": 1.0, "then": decision(choices={"a": {**outcomes(1.0), "chance": "root"}})}],
            },
            "at root: chance without a name is drawn by its place, which is here the name of another draw",
        ),
    ],
)
def test_a_fault_in_a_tree_is_one_line_with_its_place(root, said, tmp_path, capsys):
    spec = written(tmp_path, {**PENNIES, "root": root})
    with pytest.raises(RedQueenError, match=said) as raised:
        find_game(spec)
    assert "\n" not in str(raised.value)
    assert main(["train", "spiral", "--game", spec, "--output", str(tmp_path / "run")]) == 2
    assert not (tmp_path / "run" / "checkpoints").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        (json.dumps({**PENNIES, "rules": "\ud83d"}), r"no JSON: the text '\\ud83d' holds half of a character"),
        (json.dumps(PENNIES).replace("heads", r"\udfff"), r"no JSON: the text '\\udfff' holds half of a character"),
        ("[]", "is no tree"),
        ('{"roles": ["a"], "root": {}, "payoffs": 1}', "has 'payoffs'; a tree has name, rules, roles and root"),
        ('{"roles": [1], "root": {}}', "roles of"),
        (f'{{"roles": {NESTED}, "root": {{}}}}', "roles of"),
        (f'{{"roles": ["a"], "root": {{"scores": {NESTED}}}}}', "an end scores each of a"),
        (f'{{"roles": ["a"], "root": {{"role": {NESTED}, "choices": {{}}}}}}', "none of the roles|a node is"),
        (f'{{"roles": ["a"], "root": {{"role": "a", "state": "s", "choices": {{"x": {NESTED}}}}}}}', "a node is"),
        ('{"roles": ["a", "a"], "root": {}}', "roles that differ"),
        (json.dumps({"roles": [f"r{n}" for n in range(65)], "root": {}}), "1 to 64 roles"),
    ],
)
def test_a_file_that_holds_no_tree_is_one_line(text, said, tmp_path):
    with pytest.raises(RedQueenError, match=said):
        find_game(written(tmp_path, text))
    with pytest.raises(RedQueenError, match="cannot be read"):
        from_json(tmp_path / "nothing.json")


def test_gambits_kuhn_poker_is_kuhn_poker(tmp_path):
    pyspiel = pytest.importorskip("pyspiel")
    file = tmp_path / "kuhn.efg"
    file.write_text(pyspiel.get_kuhn_poker_efg_data())
    game = find_game(f"tree:{file}")
    tree = GameTree(game)
    assert (len(game.tasks()), len(tree.states), game.zero_sum) == (6, 12, True)
    assert tree.exploitability(tree.strategy(Uniform())) == pytest.approx(11 / 24)
    assert "keeps the contract of games" in check_game(game)


def played_out(state):
    """What uniform play is worth to each player, by OpenSpiel's states alone."""
    if state.is_terminal():
        return np.array(state.returns())
    if state.is_chance_node():
        return sum(p * played_out(state.child(move)) for move, p in state.chance_outcomes())
    moves = state.legal_actions()
    return sum(played_out(state.child(move)) for move in moves) / len(moves)


@pytest.mark.parametrize("name", ["kuhn_poker", "sample"])
def test_trees_of_gambit_are_worth_what_openspiel_says(name, tmp_path):
    pyspiel = pytest.importorskip("pyspiel")
    text = getattr(pyspiel, f"get_{name}_efg_data")()
    file = tmp_path / "game.efg"
    file.write_text(text)
    tree = GameTree(find_game(f"tree:{file}"))
    expected = played_out(pyspiel.load_efg_game(text).new_initial_state())
    assert tree.values(tree.strategy(Uniform())) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("players", "roles"),
    [
        (("Entrant", "Incumbent"), ("Entrant", "Incumbent")),
        (("Player 1", "Player 2"), ("first", "second")),
        (("1", "2"), ("first", "second")),
        (("A", "A"), ("first", "second")),
    ],
)
def test_a_model_is_told_the_title_the_comment_and_the_names_of_a_file_of_gambit(players, roles, tmp_path):
    file = tmp_path / "entry.efg"
    names = " ".join(f'"{each}"' for each in players)
    head = f'EFG 2 R "Market entry" {{ {names} }}\n"Stay out,\nor fight!"\n'
    file.write_text(head + 'p "" 1 1 "" { "in" "out" } 0\n' + ENDS)
    game = find_game(f"tree:{file}")
    assert game.roles == roles
    (asked,) = GameTree(game).states
    told = f"Market entry. Stay out, or fight! You are the {roles[0]}. Your information set is 1 of the {roles[0]}."
    assert asked.messages[-1].text == f"{told} Reply with one of: in, out."


def test_a_file_of_an_older_gambit_is_the_same_game(tmp_path):
    """Decimals under `EFG 2 D`: chance .25 and .75, then the first is paid 1.5 or -0.5, or else 2 whatever it does."""
    nodes = 'c "" 1 "" { "x" .25 "y" 0.75 } 0\np "" 1 1 "" { "l" "r" } 0\n'
    ends = 't "" 1 "" { 1.5, -1.5 }\nt "" 2 "" { -0.5, 0.5 }\np "" 1 2 "" { "l" "r" } 0\nt "" 3 "" { 2, -2 }\nt "" 3\n'
    file = tmp_path / "old.efg"
    file.write_text('EFG 2 D "old" { "A" "B" }\n' + nodes + ends)
    tree = GameTree(find_game(f"tree:{file}"))
    assert tree.values(tree.strategy(Uniform())) == pytest.approx([0.25 * 0.5 + 0.75 * 2, -(0.25 * 0.5 + 0.75 * 2)])


HEAD = 'EFG 2 R "t" { "A" "B" }\n"a comment\nof two lines"\n'
LEFT = 'p "" 1 1 "s" { "l" "r" } 0\n'
ENDS = 't "" 1 "" { 1, -1 }\nt "" 2 "" { -1, 1 }\n'
AGAIN = 'p "" 1 2 "u" { "L" "R" } 0\n'
FAULTS = [
    ('c "" 1 "d" { "x" 1/2 "y" 2/5 } 0\n' + ENDS, "line 4: the probabilities of chance sum to 0.9, not to 1"),
    ('c "" 1 "d" { "x" 3/2 "y" -1/2 } 0\n' + ENDS, "line 4: a probability is above 0, not -0.5"),
    ('c "" 1 "d" { "x" 1 "y" 0 } 0\n' + ENDS, "what never happens is left out"),
    ('c "" 1 "d" { "x" 1/0 "y" 1 } 0\n' + ENDS, "a probability is a number such as 2, 0.5 or 1/3, not '1/0'"),
    ('c "" 1 "d" { "x" 1/2 "y" 1/2 } 0\nc "" 1 "d" { "x" 1/4 "y" 3/4 } 0\n' + ENDS, "had other probabilities before"),
    (LEFT + 'p "" 1 1 "s" { "l" "q" } 0\n' + ENDS, "information set 1 had the moves"),
    (
        LEFT + AGAIN + ENDS + 'p "" 1 2 0\n' + ENDS,
        "line 8: information set 2 of the A player is reached after 1.l and",
    ),
    (LEFT + 'p "" 1 1 0\n' + ENDS, "is reached after nothing and after 1.l: a seat knows what it did"),
    ('p "" 3 1 "s" { "l" "r" } 0\n' + ENDS, "there is no player 3: the file names 2"),
    ('p "" 1 1 0\n' + ENDS, "information set 1 has no moves yet"),
    ('p "" 1 1 "s" { "l" "l" } 0\n' + ENDS, "are texts that differ"),
    ('p "" 1 1 "s" { } 0\n' + ENDS, "are texts that differ"),
    ('p "" 1 1 "s" "l" 0\n' + ENDS, "the number of an outcome is a whole number|has no moves yet"),
    (LEFT + 'x "" 1 "" { 1, -1 }\n', "line 5: a node begins with c"),
    (LEFT + 't "" 1 "" { 1 }\n', "line 5: outcome 1 pays 1 of the 2 players"),
    (LEFT + 't "" 1 "" { one, -1 }\n', "what an outcome pays is a number"),
    (LEFT + 't "" 1 "" { 1, -1 }\nt "" 1 "" { -1, 1 }\n', "line 6: outcome 1 paid something else before"),
    (LEFT + 't "" 1\n', "outcome 1 pays nobody yet"),
    (LEFT + 't "" 1 "" { 1, -1 }\n', "it ends where a node should stand"),
    (LEFT + ENDS + 't "" 1\n', "line 7: the tree is complete before 't'"),
    (LEFT + 't 1 "" { 1, -1 }\n', "the name of the node stands in quotes, not '1'"),
    (LEFT + 't "', "the name of the node stands in quotes"),
    (LEFT * 400 + ENDS, "reached after nothing and after"),
]


@pytest.mark.parametrize(("text", "said"), FAULTS)
def test_a_fault_in_a_file_of_gambit_is_one_line_with_its_place(text, said, tmp_path, capfd):
    file = tmp_path / "game.efg"
    file.write_text(HEAD + text)
    with pytest.raises(RedQueenError, match=said) as raised:
        find_game(f"tree:{file}")
    assert "\n" not in str(raised.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("EFG 2 R nonsense", "line 1: the title stands in quotes, not 'nonsense'"),
        ("EFG 2 R", "it ends where the title should stand"),
        ('EFG 2 R "' + '\\"' * 200_000, "line 1: the title stands in quotes, not '\"'"),  # in quadratic time, once
        ("NFG 1 R", "begins with EFG 2 R"),
        ('EFG 2 R "t" "A"', "the players stand in braces"),
        ('EFG 2 R "t" { }', "it is played by 0"),
        ('EFG 2 R "t" { "A" ', "it ends where the players should stand"),
    ],
)
def test_what_is_no_file_of_gambit_is_one_line(text, said, tmp_path):
    file = tmp_path / "game.efg"
    file.write_text(text)
    with pytest.raises(RedQueenError, match=said):
        find_game(f"tree:{file}")
    with pytest.raises(RedQueenError, match="cannot be read"):
        find_game(f"tree:{tmp_path / 'nothing.efg'}")


@pytest.mark.slow
def test_what_the_outcomes_on_a_path_pay_is_added_up(tmp_path):
    file = tmp_path / "game.efg"
    deep = "".join(f'p "" 1 {n} "" {{ "on" }} 0\n' for n in range(2, 200))
    file.write_text(HEAD + 'p "" 1 1 "s" { "l" "r" } 3 "fee" { -1/2, .5 }\n' + ENDS.replace("1, -1", "1 -1", 1))
    game = find_game(f"tree:{file}")
    tree = GameTree(game)
    assert tree.values(tree.strategy(Uniform())) == pytest.approx([-0.5, 0.5])
    assert tree.best_response(tree.strategy(Uniform()), Seat("A"))[0] == pytest.approx(0.5)
    file.write_text(HEAD + deep + 't "" 1 "" { 1, -1 }\n')
    assert "keeps the contract of games" in check_game(find_game(f"tree:{file}"))
    file.write_text(HEAD + deep.replace(" 1 ", " 1 1") + deep.replace(" 1 ", " 1 2") + ENDS)
    with pytest.raises(RedQueenError, match="300 below one another"):
        find_game(f"tree:{file}")
