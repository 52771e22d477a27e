"""Sites judged as REAL judges them: by what has changed, by an answer, and some tasks cannot be done."""

import json
from random import Random

import pytest

from redqueen.cli.main import main
from redqueen.contracts.worlds import check_world
from redqueen.games.acting import Acting
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.types import Match, RedQueenError
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.real import IMPOSSIBLE, Real, same

REAL = Real(count=60, tests=36)


def of(kind):
    return next(task for task in REAL.held_out() if task.kind == kind)


def ended(task, *acts):
    visit = REAL.open(task, 0)
    for act in acts:
        visit.act(act)
    return visit.assess(acts[-1] if acts else "")


def test_twelve_tasks_of_each_site_are_held_out_by_default_of_each_kind():
    kinds = [task.kind for task in Real().held_out()]
    assert len(kinds) == 108
    for site in ("shop", "mail", "agenda"):
        assert [kinds.count(f"{site}/{kind}") for kind in ("act", "answer", "impossible")] == [18, 9, 9]


def test_a_real_world_keeps_the_contract_and_its_expert_does_all():
    assert "60 tasks, 36 held out" in check_world(REAL)
    for task in (*REAL.tasks(), *REAL.held_out()):
        assert ended(task, *REAL.expert(task)).score == 1.0
        assert ended(task, "done").score == ended(task).score == 0.0


@pytest.mark.parametrize("site", ["shop", "mail", "agenda"])
def test_right_unfinished_and_with_a_change_beside_it(site):
    """The card's check: right, unfinished, an extra change; of every kind of task."""
    extra = {"shop": ("account", "city"), "mail": ("open", "star"), "agenda": ("open", "cancel")}[site]
    for kind in ("act", "answer", "impossible"):
        task = of(f"{site}/{kind}")
        acts = REAL.expert(task)
        assert ended(task, *acts).score == 1.0
        assert ended(task, *acts[:-2], "done").score == 0.0
        if kind == "act":
            assert ended(task, IMPOSSIBLE).score == ended(task, "say it is done").score == 0.0
            continue
        found = ended(task, *_changed(task, extra), acts[-1])
        assert (found.score, dict(found.parts)) == (0.0, {"reached": 1.0, "kept": 0.0})
        assert found.facts["changes"]


def _changed(task, beginnings):
    """Acts that begin so, on the pages that these open, of which the last changes something."""
    visit, said = REAL.open(task, 0), []
    view = visit.look()
    for begins in beginnings:
        now = next(act for act in reversed(view.choices) if act.startswith(begins) and act not in said)
        if begins == "open" and task.kind.startswith("agenda"):
            now = f"open {next(day for day, found in task.facts['begins']['days'].items() if found)}"
        if begins == "city":
            own = task.facts["begins"]["user"]["city"]
            now = next(act for act in view.choices if act.startswith("city") and not act.endswith(own))
        said.append(now)
        view = visit.act(now)
    return said


def test_a_hundred_replays_of_one_log_are_the_same_bytes():
    task = of("shop/act")
    acts = REAL.expert(task)
    states = set()
    for seed in range(100):
        visit = REAL.open(task, seed)
        views = [visit.act(act).shown for act in acts]
        states.add(json.dumps([views, visit.state()], sort_keys=True))
    assert len(states) == 1


def test_answers_in_free_text_are_compared_by_number_or_words():
    assert same("5", "5") and same("5.0", "5") and same(" Oslo.", "oslo")
    assert not same("", "5") and not same("15", "5") and not same("oslo or rome", "oslo")
    task = of("shop/answer")
    said = Scripted((f"say {task.facts['says']}",))
    (episode,) = play([Match(Acting(REAL), task, {"agent": said}, 0)], Random(0))
    assert episode.outcome.scores[episode.seats[0]] == 1.0


def test_what_cannot_be_done_is_said_where_the_state_says_so():
    for task in REAL.tasks():
        if not task.kind.endswith("impossible"):
            continue
        begins, words = task.facts["begins"], task.prompt.split("\n")[0].rstrip(".").split()
        if words[0] == "Order":
            assert int(words[1]) > begins["stock"].get(words[2], 0)
        elif words[0] == "Set":
            assert words[-1] not in ("rome", "oslo", "lima")
        elif task.kind.startswith("mail"):
            assert words[words.index("of") + 1] not in begins["letters"]
        elif words[0] == "Cancel":
            assert words[1] not in begins["days"][words[3]].values()
        else:
            assert begins["days"][words[3]][words[4]] != words[1]


def test_an_agent_behind_a_name_is_measured_by_kinds_of_tasks(capsys):
    assert main(["success", "acting:real:shop,4", "--model", "uniform", "--tasks", "12"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("12 held-out tasks, one attempt each")
    assert [line.split()[0] for line in lines[1:]] == ["shop/act", "shop/answer", "shop/impossible", "all"]
    assert lines[-1].endswith("12 tasks")
    assert main(["success", "kuhn_poker", "--model", "uniform"]) == 2
    assert "such as acting:real, not of kuhn_poker" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "said"), [("real:bank", "no site 'bank'"), ("real(shop,0)", "at least a task")])
def test_a_wrong_name_is_one_line(name, said):
    with pytest.raises(RedQueenError, match=said):
        find_world(name)
