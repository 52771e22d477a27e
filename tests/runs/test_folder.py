"""Runs on disk: settings that read back equal, policies and games that come back."""

import dataclasses
import json
import shutil
import typing
from threading import Thread

import pytest

from redqueen.games.catalogue import find_game
from redqueen.games.connect import Connect
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.games import first_steps, mars, spiral
from redqueen.records import episode_to_json
from redqueen.runs.checkpoints import checkpoints
from redqueen.runs.folder import (
    keep_played,
    rebuild,
    recorded_game,
    settings,
    stored_episodes,
    stored_game,
    stored_policy,
)
from redqueen.runs.run import Run, Schedule, SettingsFile
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.learner import Learner
from redqueen.settings.oracles import JudgeSettings, SafetyJudge
from redqueen.settings.placement import PlayedAhead
from redqueen.settings.roles import Role
from redqueen.settings.update import Update
from redqueen.types import RedQueenError

ELSEWHERE = {
    int: lambda value: value + 1,
    float: lambda value: value / 2,
    str: lambda value: value + "_too",
    bool: lambda value: not value,
    tuple: lambda value: value[:1],
    type(None): lambda value: 0.25,
    JudgeSettings: lambda value: JudgeSettings(scale="1-10", budget=7),
    SafetyJudge: lambda value: SafetyJudge("judge:frozen", budget=7),
    PlayedAhead: lambda value: PlayedAhead(3, "process", "cuda:1"),
    Update: lambda value: Update(loss="cispo", updates_per_batch=3),
    Role: lambda value: Role("http://localhost:1/v1#model"),
    Learner: lambda value: Learner(model="tiny", learning_rate=0.25, lora_rank=3, answer="boxed", raw_prompt=True),
}


def elsewhere(value, hint):
    """Another value that the annotation of a setting allows."""
    if typing.get_origin(hint) is typing.Literal:
        return next(each for each in typing.get_args(hint) if each != value)
    if typing.get_origin(hint) is tuple and typing.get_args(hint)[-1] is not Ellipsis:
        return value[::-1]
    return ELSEWHERE[type(value)](value)


def finished(folder, recipe=spiral, name="spiral", **changes):
    """A run of four steps with its settings, as the command line writes them."""
    config = dataclasses.replace(recipe.Config(), steps=4, **changes)
    schedule = Schedule(checkpoint_every=2, record_episodes=2)
    written = {
        "recipe": name,
        "config": dataclasses.asdict(config),
        "seed": 7,
        "schedule": dataclasses.asdict(schedule),
        "versions": {},
    }
    run = Run(folder, 7, schedule, [SettingsFile(written)])
    return recipe.train(config, run)


@pytest.mark.parametrize("name", RECIPES)
def test_the_config_of_every_recipe_reads_back_equal(name):
    usual = find_recipe(name).Config()
    fields = {field.name: getattr(usual, field.name) for field in dataclasses.fields(usual)}
    hints = typing.get_type_hints(type(usual))
    changed = type(usual)(**{key: elsewhere(value, hints[key]) for key, value in fields.items()})
    for config in (usual, changed):
        assert rebuild(type(config), json.loads(json.dumps(dataclasses.asdict(config)))) == config
    assert changed != usual


def test_a_schedule_reads_back_equal():
    schedule = Schedule(3, 4, 5, 6)
    assert rebuild(Schedule, json.loads(json.dumps(dataclasses.asdict(schedule)))) == schedule


def test_a_setting_that_is_gone_is_named():
    with pytest.raises(
        RedQueenError, match=r"^the settings name colour, which redqueen\.recipes\.games\.spiral does not have"
    ):
        rebuild(spiral.Config, {"colour": "red"})


def test_a_policy_comes_back_as_it_was_saved(tmp_path):
    learner = finished(tmp_path, matches_per_step=8)
    policy = stored_policy(tmp_path)
    assert policy.version == 4
    states = json.loads((checkpoints(tmp_path)[-1] / "learner" / "table.json").read_text())
    assert policy.state() == learner.state() == states


def test_a_player_that_is_a_checkpoint_is_no_run(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text("{}")
    told = r"run@best names a player, a checkpoint of .*run: here give .*run, and --step best where it is taken$"
    with pytest.raises(RedQueenError, match=told):
        settings(tmp_path / "run@best")
    with pytest.raises(RedQueenError, match="other@best is not a run"):
        settings(tmp_path / "other@best")


def test_an_older_checkpoint_comes_back(tmp_path):
    finished(tmp_path, matches_per_step=8)
    assert stored_policy(tmp_path, step=2).version == 2
    with pytest.raises(RedQueenError, match="has no checkpoint at step 3: it has 2, 4"):
        stored_policy(tmp_path, step=3)


def test_a_checkpoint_that_goes_while_it_is_read_gives_way_to_the_newest_that_stays(tmp_path, monkeypatch):
    finished(tmp_path, matches_per_step=8)
    read = TabularPolicy.load

    def load(self, folder):
        if (gone := tmp_path / "checkpoints" / "step_000004") in folder.parents:
            shutil.rmtree(gone)
        read(self, folder)

    monkeypatch.setattr(TabularPolicy, "load", load)
    assert stored_policy(tmp_path).version == 2
    with pytest.raises(RedQueenError, match="has no checkpoint at step 4: it has 2"):
        stored_policy(tmp_path, step=4)


@pytest.mark.slow
def test_a_language_model_comes_back_with_the_way_it_speaks(tmp_path):
    speaker = Learner(model="tiny", lora_rank=2, answer="boxed", max_completion_length=3)
    learner = finished(tmp_path, matches_per_step=2, learner=speaker)
    policy = stored_policy(tmp_path)
    assert not policy.open
    ours, theirs = policy.state()["weights"], learner.state()["weights"]
    assert all((ours[name] == theirs[name]).all() for name in theirs)


@pytest.mark.slow
def test_the_game_of_a_run_comes_back(tmp_path):
    finished(tmp_path / "one", matches_per_step=2)
    assert stored_game(tmp_path / "one") == KuhnPoker()
    several = {"games": ("iterated_dilemma:rounds=2", "kuhn_poker"), "largest_scores": (10.0, 2.0)}
    finished(tmp_path / "several", mars, "mars", matches_per_game=1, **several)
    assert stored_game(tmp_path / "several").rounds == 2
    finished(tmp_path / "own", first_steps, "first_steps", matches_per_step=1)
    assert stored_game(tmp_path / "own").name == "tic_tac_toe"


def test_a_game_that_nothing_names_must_be_named(tmp_path):
    text = {"recipe": "mine.py", "config": {}, "seed": 0, "schedule": {}, "versions": {}}
    (tmp_path / "config.json").write_text(json.dumps(text))
    with pytest.raises(RedQueenError, match="name it with --game"):
        stored_game(tmp_path)


def test_the_game_of_a_record_is_found_by_its_name(tmp_path):
    several = {"games": ("iterated_dilemma:rounds=2", "kuhn_poker"), "largest_scores": (10.0, 2.0)}
    finished(tmp_path, mars, "mars", matches_per_game=1, **several)
    assert recorded_game("iterated_dilemma(rounds=2)", tmp_path).rounds == 2
    assert recorded_game("liars_dice(sides=4)", tmp_path).sides == 4  # another game, shipped
    with pytest.raises(RedQueenError, match="there is no game 'mine'"):
        recorded_game("mine", tmp_path)


@pytest.mark.parametrize("spec", ["connect", "connect:3,3,3", "connect:4,3,3,drop=true", "liars_dice:sides=4"])
def test_every_name_of_a_game_leads_back_to_it(spec, tmp_path):
    finished(tmp_path, matches_per_step=2)
    game = find_game(spec)
    assert recorded_game(game.name, tmp_path) == game


def test_a_game_is_found_by_the_name_that_older_records_have(tmp_path):
    finished(tmp_path, matches_per_step=2)
    assert recorded_game("connect(4,3,3,drop)", tmp_path) == Connect(4, 3, 3, drop=True)


def test_a_game_that_a_person_played_stays_when_the_run_is_resumed(tmp_path):
    finished(tmp_path, matches_per_step=3)
    before = stored_episodes(tmp_path)
    _, episode, _ = before[0]
    assert [keep_played(tmp_path, episode) for _ in range(2)] == ["played.0", "played.1"]
    assert [name for name, _, _ in stored_episodes(tmp_path)][-2:] == ["played.0", "played.1"]
    for checkpoint in checkpoints(tmp_path):
        shutil.rmtree(checkpoint)
    finished(tmp_path, matches_per_step=3)  # from the beginning: whatever the run wrote is made again
    after = stored_episodes(tmp_path)
    assert [name for name, _, _ in after] == [*(name for name, _, _ in before), "played.0", "played.1"]
    assert episode_to_json(after[-1][1]) == episode_to_json(episode) and after[-1][2] == {}
    assert not list((tmp_path / "episodes").glob(".*"))


def test_who_saves_at_the_same_moment_gets_another_name(tmp_path):
    finished(tmp_path, matches_per_step=3)
    _, episode, _ = stored_episodes(tmp_path)[0]
    names = []
    people = [Thread(target=lambda: names.append(keep_played(tmp_path, episode))) for _ in range(16)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert sorted(names) == sorted(f"played.{number}" for number in range(16))
    (tmp_path / "episodes" / "played_000099.json").touch()  # somebody is writing it
    assert len(stored_episodes(tmp_path)) == 8 + 16


def test_a_folder_that_takes_no_game_is_said(tmp_path):
    finished(tmp_path, matches_per_step=3)
    _, episode, _ = stored_episodes(tmp_path)[0]
    with pytest.raises(RedQueenError, match="cannot write into"):
        keep_played(tmp_path / "config.json", episode)


def test_episodes_come_back_in_order_with_their_credit(tmp_path):
    finished(tmp_path, matches_per_step=3)
    found = stored_episodes(tmp_path)
    assert [name for name, _, _ in found] == [f"{step}.{number}" for step in range(4) for number in range(2)]
    _, episode, credit = found[0]
    assert episode.game == "kuhn_poker"
    for seat in episode.seats:
        spoken = [turn for turn in episode.turns if turn.ask.seat == seat]
        assert len(credit[str(seat)]["rewards"]) == len(credit[str(seat)]["advantages"]) == len(spoken)
        assert sum(credit[str(seat)]["rewards"]) == episode.outcome.scores[seat]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "is not a run: it has no config.json"),
        ("{", "is not JSON"),
        ("{}", "does not say recipe, config, seed, schedule, versions"),
        ("[]", "must hold an object"),
    ],
)
def test_a_folder_that_is_no_run_is_refused(text, expected, tmp_path):
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(RedQueenError, match=expected):
        settings(tmp_path)


def test_a_checkpoint_whose_learner_has_another_name_is_refused(tmp_path):
    finished(tmp_path, matches_per_step=2)
    newest = checkpoints(tmp_path)[-1]
    (newest / "learner").rename(newest / "somebody")
    manifest = json.loads((newest / "manifest.json").read_text())
    manifest["digests"] = {name.replace("learner", "somebody"): each for name, each in manifest["digests"].items()}
    (newest / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RedQueenError, match="holds no policy called learner"):
        stored_policy(tmp_path)
