"""Label-free methods on tables: what their signal teaches, at equal updates and attempts, and what controls do."""

from dataclasses import replace

import pytest

from experiments import rlccf, ssr_zero

STEPS = 12


def ended(experiment, folder, **changes):
    """The trial of a seed with these changes of its config."""
    config = experiment.config
    config = replace(config, method=replace(config.method, steps=STEPS), **changes)
    return experiment.trial(config, 0, folder)


@pytest.mark.slow
def test_a_table_goes_where_its_judge_points_and_nowhere_without_a_signal(tmp_path):
    start = ssr_zero.START["right"]
    good = ended(ssr_zero.TABLES, tmp_path / "good", skill=0.9)
    bad = ended(ssr_zero.TABLES, tmp_path / "bad", skill=0.0)
    dealt = ended(ssr_zero.TABLES, tmp_path / "dealt", paid="dealt anew")
    known = ended(ssr_zero.TABLES, tmp_path / "known", paid="known answers")
    assert good.final["exact accuracy"] > start + 0.15
    assert bad.final["exact accuracy"] < start - 0.1
    assert abs(dealt.final["exact accuracy"] - start) < 0.08
    assert known.final["exact accuracy"] > start + 0.15
    assert good.late("reward_auc") > 0.8 and "alarm/parted" not in good.lines[-1]
    assert bad.late("reward_auc") < 0.55 and bad.lines[-1]["alarm/parted"]


@pytest.mark.slow
def test_members_whose_mistakes_differ_correct_one_another_and_those_who_share_them_do_less(tmp_path):
    apart = ended(rlccf.TABLES, tmp_path / "apart")
    alone = ended(rlccf.TABLES, tmp_path / "alone", paid="the majority")
    shared = ended(rlccf.TABLES, tmp_path / "shared", shared=True)
    assert apart.first("label_accuracy") > 0.85 > shared.first("label_accuracy")
    assert apart.final["exact accuracy"] > alone.final["exact accuracy"] + 0.1
    assert apart.final["exact accuracy"] > shared.final["exact accuracy"]
