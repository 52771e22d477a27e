"""A page says what was asked, shown and not shown, where controls were given less, and what was not run since."""

from dataclasses import dataclass, replace

from redqueen.trials.experiment import Difference, Experiment, Measuring, Trial, versus
from redqueen.trials.pages import NOT_RUN, Grid, Section, described, difference, section, unequal, write


@dataclass(frozen=True)
class Config:
    rate: float = 1.0


PLAIN = Experiment(
    title="Rates",
    asked="Is a rate of two better?",
    trial=Measuring(lambda config, seed: {"score": config.rate + seed}),
    config=Config(),
    variants={"one": {}, "two": {"rate": 2.0}},
    figures=("score",),
    compared=versus("two", ("one",), ("score",)),
    controls=("one",),
)


def trials(ours, theirs, updates=(10, 10)):
    return {
        "one": [Trial((), {"score": value}, updates[0]) for value in theirs],
        "two": [Trial((), {"score": value}, updates[1]) for value in ours],
    }


def verdict(found):
    text = section(PLAIN, found, "redqueen trial x.py", 1.0).markdown()
    return next(line for line in text.splitlines() if line.startswith("| score: two minus one"))


def test_a_difference_whose_interval_holds_zero_stands_under_not_shown():
    # the differences are 1 and 3: mean 2, deviation of the mean 1, t(.975, 1) = 12.7062
    assert verdict(trials((1.0, 3.0), (0.0, 0.0))) == "| score: two minus one |  | +2.000 [-10.706, +14.706] |"
    assert verdict(trials((2.0, 3.0), (0.0, 1.0))) == "| score: two minus one | +2.000 [+2.000, +2.000] |  |"
    assert verdict(trials((1.0, 1.0), (1.0, 1.0))) == "| score: two minus one |  | +0.000 [+0.000, +0.000] |"


def test_a_figure_that_was_never_measured_is_not_shown():
    found = section(replace(PLAIN, compared=(Difference("two", "one", "x"),)), trials((1.0,), (1.0,)), "x", 1.0)
    assert "| x: two minus one |  | never measured |" in found.markdown()


def test_one_figure_may_be_compared_with_another_of_the_same_variant():
    own = [Trial(({"accuracy": start},), {"accuracy": end}) for start, end in ((0.1, 0.4), (0.5, 0.8))]
    found = difference(PLAIN, {"one": own, "two": own}, Difference("one", "one", "accuracy", "first accuracy"))
    assert [round(value, 9) for value in found] == [0.3, 0.3, 0.3]


def test_controls_with_fewer_updates_or_episodes_are_named():
    assert unequal(PLAIN, trials((1.0,), (1.0,))) == []
    assert unequal(PLAIN, trials((1.0,), (1.0,), (80, 100))) == ["**Not as many updates**: two 100, one 80."]
    fewer = {"one": [Trial(({"episodes": 8.0},), {}, 5)], "two": [Trial(({"episodes": 16.0},), {}, 5)]}
    assert unequal(PLAIN, fewer) == ["**Not as many episodes learned from**: two 16, one 8."]


@dataclass(frozen=True)
class Outer:
    inner: Config
    path: str = ""
    steps: int = 5


def test_settings_are_told_without_defaults_and_paths_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = Outer(Config(2.0), f"{tmp_path}/rows.jsonl")
    shown = described(replace(PLAIN, config=config, variants={"one": {}, "long": {"steps": 9}}))
    assert shown == ["Settings: `inner=(rate=2.0), path='rows.jsonl'`.  \nlong: `steps=9`."]


def test_a_bar_in_a_cell_is_no_border_of_the_table():
    page = Grid(("KL(p || q)", "b"), [("1|2", "3")]).markdown()
    assert page == "| KL(p \\|\\| q) | b |\n|---|---|\n| 1\\|2 | 3 |"


def test_a_page_keeps_what_was_not_measured_again_and_takes_out_what_waited_for_it(tmp_path):
    path = tmp_path / "x.md"
    path.write_text(
        f"# x\n\nBy hand.\n\n## Rates\n\nold\n\n## Other\n\nstays\n\n## {NOT_RUN}\n\n### Rates\n\nwas unequal\n\n"
        "### Third\n\nwaits\n"
    )
    write(path, "x", [Section("Rates", "Asked?", (Grid(("a",), [("1",)]),), ("new",))])
    text = path.read_text()
    assert "By hand." in text and "old" not in text and "was unequal" not in text
    assert (
        text.index("## Rates") < text.index("new") < text.index("## Other\n\nstays") < text.index("### Third\n\nwaits")
    )
    write(path, "x", [Section("Third", "", (), ("done",))])
    assert NOT_RUN not in path.read_text()
