"""What an experiment is made of: figures of trials, variants of a config, and what cannot be run."""

from dataclasses import dataclass, field, replace

import pytest

from redqueen.trials.experiment import Difference, Experiment, Measuring, Trial, changed, figure, versus
from redqueen.types import RedQueenError

LINES = tuple({"step": n, "solved": n / 10, "episodes": 4.0, "proposer/episodes": 2.0} for n in range(10))
TRIAL = Trial(LINES, {"accuracy": 0.9})


@dataclass(frozen=True)
class Inner:
    model: str = "tabular"


@dataclass(frozen=True)
class Config:
    rate: float = 1.0
    learner: Inner = field(default_factory=Inner)


@dataclass(frozen=True)
class Timed:
    steps: int = 9


@dataclass(frozen=True)
class Controlled:
    method: Timed = field(default_factory=Timed)
    dealt: bool = False


PLAIN = Experiment(
    title="Rates",
    asked="Is a rate of two better?",
    trial=Measuring(lambda config, seed: {"score": config.rate + seed}),
    config=Config(),
    variants={"one": {}, "two": {"rate": 2.0, "learner.model": "tiny"}},
    figures=("score",),
    compared=versus("two", ("one",), ("score",)),
    controls=("one",),
)


def test_a_figure_is_of_the_last_measurement_the_first_step_or_the_last_fifth_or_worked_out():
    assert figure(TRIAL, "accuracy") == 0.9
    assert figure(TRIAL, "first solved") == 0.0
    assert figure(TRIAL, "late solved") == pytest.approx(0.85)
    assert figure(TRIAL, "twice", {"twice": lambda trial: 2 * trial.final["accuracy"]}) == 1.8
    assert str(figure(TRIAL, "missing")) == str(figure(TRIAL, "late missing")) == "nan"


def test_the_episodes_of_all_policies_are_counted():
    assert TRIAL.episodes() == 60.0


def test_a_variant_changes_settings_also_within_settings():
    assert PLAIN.config_of("one") == Config()
    assert PLAIN.config_of("two") == Config(2.0, Inner("tiny"))


def test_steps_are_those_of_the_config_or_of_the_method_that_it_holds():
    timed = replace(PLAIN, config=Timed())
    assert timed.with_steps(3).config == Timed(3)
    assert replace(timed, config=Controlled()).with_steps(3).config == Controlled(Timed(3))
    with pytest.raises(RedQueenError, match="Rates sets 'steps', which is no setting: there are rate, learner"):
        PLAIN.with_steps(3)


def test_seeds_on_which_settings_were_chosen_are_left_out():
    assert list(PLAIN.seeds_of(3)) == [0, 1, 2]
    assert list(replace(PLAIN, first_seed=2).seeds_of(3)) == [2, 3, 4]


def test_what_is_compared_says_so_in_words():
    assert str(Difference("a", "b", "score")) == "score: a minus b"
    assert str(Difference("a", "a", "late x", "first x")) == "late x of a minus first x of a"
    assert versus("a", ("b", "c"), ("x",)) == (Difference("a", "b", "x"), Difference("a", "c", "x"))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"seeds": 1}, "1 seed tells no difference from chance: take five, or ten"),
        ({"variants": {"one": {}, "two": {"rat": 2.0}}}, "sets 'rat', which is no setting: did you mean rate"),
        ({"variants": {"one": {}, "two": {"learner.mode": "x"}}}, "sets 'mode', which is no setting: did you mean"),
        ({"variants": {"one": {}}, "compared": ()}, "has 1 variant: it needs the method and a control"),
        ({"controls": ()}, "has no control that decides"),
        ({"controls": ("thre",)}, "names the variant 'thre'"),
        ({"compared": versus("two", ("on",), ("score",))}, "names the variant 'on': did you mean one"),
        ({"config": {"rate": 1.0}}, "is not a dataclass"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(changes, complaint):
    PLAIN.check()
    with pytest.raises(RedQueenError, match=complaint) as found:
        replace(PLAIN, **changes).check()
    assert "\n" not in str(found.value)


def test_a_setting_that_is_not_there_is_named_with_the_nearest():
    with pytest.raises(RedQueenError, match="a variant sets 'rates', which is no setting: did you mean rate"):
        changed(Config(), {"rates": 1})
