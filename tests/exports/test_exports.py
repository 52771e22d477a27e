"""Games for trainers of others: Gymnasium's own checker, TRL's trainer, and packages that hold a game of one's own."""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import subprocess
import sys
import warnings
from ast import literal_eval
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from redqueen.cli.main import main
from redqueen.exports.match import Exact, OneSeat, shown
from redqueen.exports.packages import FORMS, files_in, package, write
from redqueen.games.catalogue import find_game
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.talk import ask, told
from redqueen.games.tic_tac_toe import TicTacToe
from redqueen.guests.installed import environment
from redqueen.measures.exact.exploitability import GameTree
from redqueen.players.scripted import FirstChoice, Uniform
from redqueen.types import Ask, Message, Outcome, RedQueenError, Seat, Task

ROOT = Path(__file__).parents[2]
LAMP = (ROOT / "docs" / "worlds.md").read_text().split("```python\n")[-1].split("```")[0]
UNIFORM = 11 / 24  # exploitability of uniform play in Kuhn poker: NashConv 0.9167 (docs of OpenSpiel)
OWN = """
from redqueen.games.kuhn_poker import KuhnPoker
class Mine(KuhnPoker):
    name = "mine"
"""


def task(game, cards):
    return next(each for each in game.tasks() if "".join(each.facts["cards"]) == cards)


def test_one_seat_is_played_and_the_others_answer():
    game = KuhnPoker()
    match = OneSeat(game, FirstChoice(), "first")  # who always passes
    ask = match.begin(game.tasks()[0], 7)
    assert ask is not None
    assert ask.seat == Seat("first")
    assert "Reply with one of: pass, bet" in shown(ask)
    said = []
    while ask is not None:
        said.append(ask.choices[-1])
        ask = match.say(ask.choices[-1])
    assert match.outcome is not None
    assert match.score == match.outcome.scores[Seat("first")] == -match.outcome.scores[Seat("second")]
    with pytest.raises(RedQueenError, match="nothing is asked in kuhn_poker"):
        match.say("bet")


def test_each_seed_has_a_role_where_none_is_named():
    game = KuhnPoker()
    match = OneSeat(game)
    roles = []
    for seed in range(20):
        match.begin(game.tasks()[0], seed)
        roles.append(match.role)
    assert set(roles) == {"first", "second"}
    with pytest.raises(RedQueenError, match="has no role 'third': its roles are first, second"):
        OneSeat(game, role="third")


class Early(KuhnPoker):
    """The second is asked only where the first does not leave."""

    def play(self, task, rng):
        first, second = Seat("first"), Seat("second")
        if (yield from ask(first, told("Stay?"), ("leave", "stay"))) == "leave":
            return Outcome({first: 0.0, second: 0.0})
        said = yield from ask(second, told("So?"), ("yes", "no"))
        won = float(said == "yes")
        return Outcome({first: -won, second: won})


def test_a_seat_that_the_others_never_let_speak_is_one_line_and_no_endless_search():
    pytest.importorskip("gymnasium")
    from redqueen.exports.gymnasium_env import game_env

    with pytest.raises(RedQueenError, match="1000 matches of kuhn_poker ended before the second was asked anything"):
        game_env(Early(), FirstChoice(), role="second").reset(seed=0)
    seen, _ = game_env(Early(), Uniform(), role="second").reset(seed=0)
    assert seen.startswith("So?")


def test_an_ask_shows_own_words_as_own():
    seat = Seat("a")
    asked = Ask(seat, (Message("game", "Hello."), Message("a", "yes"), Message("b", "no")), ("x", "y"))
    assert shown(asked) == "Hello.\nYou: yes\nno\nReply with one of: x, y"


def test_the_exact_metric_is_that_of_the_tree():
    exact = Exact(KuhnPoker())
    found = exact(Uniform().probabilities)
    assert found["exploitability"] == pytest.approx(UNIFORM)
    assert found["nash_conv"] == pytest.approx(2 * UNIFORM)
    assert found["value"] == pytest.approx(0.125)  # bet, pass: 1 in 1/4; pass, bet, pass: -1 in 1/8
    with pytest.raises(RedQueenError, match="free text"):
        Exact(find_game("negotiation"))(Uniform().probabilities)


def test_gymnasiums_own_checker_takes_the_environment():
    check_env = pytest.importorskip("gymnasium.utils.env_checker").check_env
    from redqueen.exports.gymnasium_env import game_env

    env = game_env(KuhnPoker())
    check_env(env, skip_render_check=True)
    assert env.acts == ("pass", "bet")
    seen, info = env.reset(seed=3)
    assert seen == env.reset(seed=3)[0]
    assert info["action_mask"].tolist() == [1, 1]
    assert env.exploitability(lambda seen, legal: [1 / len(legal)] * len(legal)) == pytest.approx(UNIFORM)


def test_an_act_that_is_not_legal_is_a_forfeit_by_the_games_own_rule():
    pytest.importorskip("gymnasium")
    from redqueen.exports.gymnasium_env import game_env

    env = game_env(TicTacToe(), FirstChoice(), role=TicTacToe().roles[0])
    _, info = env.reset(seed=1)
    env.step(int(info["action_mask"].argmax()))
    _, reward, over, cut, info = env.step(int(info["action_mask"].argmax()))  # the square is taken
    assert (reward, over, cut, info["action_mask"].sum()) == (-1.0, True, False, 0)
    with pytest.raises(RedQueenError, match="call reset"):
        env.step(0)


def test_a_board_too_large_for_a_tree_has_its_replies_from_matches():
    pytest.importorskip("gymnasium")
    from redqueen.exports.gymnasium_env import game_env

    env = game_env(TicTacToe(), FirstChoice())
    assert len(env.acts) == 9
    with pytest.raises(RedQueenError):
        game_env(find_game("negotiation"))


class Words:
    """Each of many tasks asks for a word of its own."""

    name, roles = "words", ("agent",)

    def tasks(self):
        return [Task(str(number), prompt="Say it.") for number in range(1500)]

    def play(self, task, rng):
        seat, word = Seat("agent"), f"w{task.id}"
        said = yield from ask(seat, told(task.prompt), (word, "no"))
        return Outcome({seat: float(said == word)})


def test_a_reply_that_no_random_match_had_has_a_number_of_its_own():
    check_env = pytest.importorskip("gymnasium.utils.env_checker").check_env
    from redqueen.exports.gymnasium_env import game_env

    env = game_env(Words())
    check_env(env, skip_render_check=True)
    assert env.action_space.n == len(env.acts) + 4  # twice as many as a view lists
    new = 0
    for seed in range(20):
        _, info = env.reset(seed=seed)
        legal = np.flatnonzero(info["action_mask"])
        assert len(legal) == 2
        if info["new_acts"]:
            new += 1
            assert env.step(len(env.acts))[1] == 1.0
            env.reset(seed=seed)
            assert env.step(len(env.acts) + 1)[1] == 0.0  # nothing has this number
    assert new > 15


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("spec", "exact"), [("kuhn_poker", True), ("acting:site", False), ("negotiation", False)])
def test_what_cannot_be_measured_exactly_is_not_promised(form, spec, exact):
    if spec == "negotiation" and form in ("gymnasium", "openenv"):
        with pytest.raises(RedQueenError, match="negotiation asks for free text"):
            package(spec, form)
        spec = "tic_tac_toe"  # which lists its replies
    found = package(spec, form)
    script = found.files.get("train.py", found.files.get("use.py", ""))
    assert ("exact" in found.files["README.md"] + script or "exploitability" in script) is exact


def exported(spec, form, folder, monkeypatch):
    """The module of a package that the command wrote."""
    assert main(["export", spec, "--as", form, "--output", str(folder)]) == 0
    (place,) = folder.iterdir()
    monkeypatch.syspath_prepend(str(place))
    sys.modules.pop(place.name, None)
    return place, importlib.import_module(place.name)


def test_a_package_holds_the_users_own_game(tmp_path, monkeypatch, capsys):
    pytest.importorskip("gymnasium")
    (tmp_path / "own.py").write_text(OWN)
    place, module = exported(f"{tmp_path}/own.py:Mine", "gymnasium", tmp_path / "out", monkeypatch)
    (tmp_path / "own.py").unlink()
    assert place.name == "mine_for_gymnasium"
    assert module.make("second").reset(seed=0)[1]["role"] == "second"
    assert type(module.GAME).__name__ == "Mine"
    gymnasium = importlib.import_module("gymnasium")
    named = (place / "README.md").read_text().partition('gymnasium.make("')[2].partition('"')[0]
    assert named == "mine_for_gymnasium:Mine-v0"
    assert gymnasium.make(named, role="second").reset(seed=0)[1]["role"] == "second"
    gymnasium.registry.pop("Mine-v0")
    assert "its README.md says how to install" in capsys.readouterr().out


def stand_in_for_openenv(monkeypatch):
    """Modules with the base classes of openenv 0.10.0, as far as an environment uses them."""
    pydantic = pytest.importorskip("pydantic")

    class Environment:
        def __init__(self):
            pass

    def base(name, **fields):
        return pydantic.create_model(name, __config__=pydantic.ConfigDict(extra="allow"), **fields)

    observation = base("Observation", done=(bool, False), reward=(float | None, None))
    state = base("State", episode_id=(str | None, None), step_count=(int, 0))
    modules = {
        "openenv": {},
        "openenv.core": {},
        "openenv.core.env_server": {},
        "openenv.core.env_server.interfaces": {"Environment": Environment},
        "openenv.core.env_server.types": {"Action": base("Action"), "Observation": observation, "State": state},
    }
    for name, members in modules.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)


def test_openenv_steps_one_seat(tmp_path, monkeypatch):
    stand_in_for_openenv(monkeypatch)
    _, module = exported("kuhn_poker", "openenv", tmp_path / "out", monkeypatch)
    env = module.GameEnvironment()
    for seed in range(8):
        seen, steps = env.reset(seed=seed, episode_id="one"), 0
        assert seen == module.GameEnvironment().reset(seed=seed)
        assert "Reply with one of: pass, bet" in seen.shown
        while not seen.done:
            assert seen.choices == ("pass", "bet")
            seen, steps = env.step(module.GameAction(message="bet")), steps + 1
        assert seen.reward in (-2.0, -1.0, 1.0, 2.0)
        assert (env.state.step_count, env.state.episode_id) == (steps, "one")
    assert env.exact(Uniform().probabilities)["exploitability"] == pytest.approx(UNIFORM)
    views = {module.GameEnvironment().reset().shown for _ in range(30)}  # each session of a server has its own
    assert len(views) > 6  # of 3 cards, for who is first and after either move


def stand_in_for_verifiers(monkeypatch):
    """The module with the base classes of verifiers 0.4.0, as far as an environment uses them."""
    pydantic = pytest.importorskip("pydantic")

    def base(name, **fields):
        return pydantic.create_model(name, __config__=pydantic.ConfigDict(extra="allow"), **fields)

    class Generic:
        def __class_getitem__(cls, kind):
            return cls

    class Task(Generic):
        def __init__(self, data):
            self.data = data

    module = ModuleType("verifiers.v1")
    module.TaskData, module.Task = base("TaskData", idx=(int | None, None), prompt=(str | None, None)), Task
    module.Taskset, module.Env, module.TasksetConfig = Generic, Generic, base("TasksetConfig")
    module.AgentConfig, module.EnvConfig = base("AgentConfig"), base("EnvConfig", timeout=(int, 0))
    package = ModuleType("verifiers")
    package.v1 = module
    monkeypatch.setitem(sys.modules, "verifiers", package)
    monkeypatch.setitem(sys.modules, "verifiers.v1", module)


class Agents:
    """Agents of verifiers that reply by a rule; `traces` are those of their interactions, in order."""

    def __init__(self, reply):
        self.reply, self.traces, self.told = reply, [], []

    def __getattr__(self, role):
        agents = self

        class Interaction:
            def __init__(self):
                self.trace = SimpleNamespace(rewards={}, info={}, ok=True, errors=[])
                self.trace.record_reward = lambda name, score: self.trace.rewards.__setitem__(name, score)
                agents.traces.append(self.trace)

            async def turn(self, text):
                agents.told.append((role, text))
                said = agents.reply(role, text)
                if said is None:
                    self.trace.ok, self.trace.errors = False, [SimpleNamespace(type="ProviderError", message="gone")]
                return SimpleNamespace(terminated=said is None, last_reply=said or "")

        @asynccontextmanager
        async def interaction(task):
            assert task.data.prompt is None
            yield Interaction()

        return SimpleNamespace(interaction=interaction)


def test_verifiers_runs_every_seat_as_an_agent(tmp_path, monkeypatch):
    stand_in_for_verifiers(monkeypatch)
    _, module = exported("kuhn_poker", "verifiers", tmp_path / "out", monkeypatch)
    assert module.exact(Uniform().probabilities)["exploitability"] == pytest.approx(UNIFORM)
    env, tasks = module.GameEnv(), list(islice(module.GameTaskset().load(), 8))
    for task in tasks:
        agents = Agents(lambda role, text: "bet")
        asyncio.run(env.run(task, agents))
        scores = [trace.rewards["score"] for trace in agents.traces]
        assert sum(scores) == 0.0 and set(map(abs, scores)) == {2.0}  # both bet: the pot is two chips each
        assert [trace.info["redqueen"]["seat"] for trace in agents.traces] == ["first", "second"]
        assert "Reply with one of: pass, bet" in agents.told[0][1]
    silent = Agents(lambda role, text: None)
    with pytest.raises(RedQueenError, match="the agent of first failed: ProviderError: gone"):
        asyncio.run(env.run(tasks[0], silent))
    assert silent.traces[0].rewards == {}


def test_an_agent_of_verifiers_is_told_what_is_new_to_it():
    from redqueen.exports.verifiers_game import said_next

    seat = Seat("a")
    first = Ask(seat, (Message("game", "Hello."),), ("x", "y"))
    second = Ask(seat, (*first.messages, Message("a", "x"), Message("b", "no")), ("x",))
    assert said_next(None, first) == "Hello.\nReply with one of: x, y"
    assert said_next(first, second) == "no\nReply with one of: x"
    assert said_next(second, first) == "Hello.\nReply with one of: x, y"  # a view that is written anew
    assert said_next(first, Ask(seat, first.messages)) == "It is your turn."


def test_a_role_that_verifiers_has_a_use_for_is_refused(monkeypatch):
    stand_in_for_verifiers(monkeypatch)
    from redqueen.exports.verifiers_game import classes_of

    with pytest.raises(RedQueenError, match="cannot be the name of an agent of verifiers: timeout"):
        classes_of(SimpleNamespace(name="clashing", roles=("first", "timeout")))


SAYS_PASS = """
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        delta = {"index": 0, "delta": {"role": "assistant", "content": "pass"}, "finish_reason": "stop"}
        parts = [{**chunk, "choices": [delta]}]
        data = b"".join(b"data: " + json.dumps(part).encode() + b"\\n\\n" for part in parts) + b"data: [DONE]\\n\\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *given):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


@pytest.mark.slow
def test_verifiers_itself_plays_the_package_in_a_guest(tmp_path):
    guest = environment("verifiers")
    if guest is None:
        pytest.skip("NO VERIFIERS: redqueen guest add verifiers verifiers==0.4.0")
    place = write(package("kuhn_poker", "verifiers"), tmp_path)
    script = (place / "use.py").read_text().replace("take(8)", "take(1)")
    root = Path(__file__).resolve().parents[2]
    told = {**os.environ, "PYTHONPATH": f"{root}:{place}", "OPENAI_API_KEY": "none"}
    with subprocess.Popen([sys.executable, "-c", SAYS_PASS], stdout=subprocess.PIPE, text=True) as server:
        try:
            address = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
            done, away = (
                subprocess.run(
                    [str(guest.python), "-c", script, each, "m"],
                    env=told,
                    capture_output=True,
                    text=True,
                    timeout=300,
                    check=False,
                )
                for each in (address, "http://127.0.0.1:9/v1")  # where nobody answers
            )
        finally:
            server.kill()
    assert done.returncode == 0, done.stderr[-2000:]
    assert away.returncode == 0, away.stderr[-2000:]
    assert "the agent of first failed" in away.stdout
    (first, second) = sorted(literal_eval(done.stdout))  # both pass: the higher card wins a chip
    assert (first[0], second[0], first[1] + second[1], abs(first[1])) == ("first", "second", 0.0, 1.0)


@pytest.mark.parametrize("form", FORMS)
def test_scripts_are_of_ten_lines_at_most(form):
    found = package("kuhn_poker", form)
    script = found.files.get("train.py", found.files.get("use.py", ""))
    assert len([line for line in script.splitlines() if line.strip()]) <= 10
    for name, text in found.files.items():
        if name.endswith(".py"):
            compile(text, name, "exec")
    assert f'"redqueen", "{FORMS[form].needs.split()[0]}"' in found.files["pyproject.toml"]


def test_trl_trains_on_matches_and_is_measured_exactly(tmp_path, monkeypatch):
    trl = pytest.importorskip("trl")
    pytest.importorskip("datasets")
    from redqueen.exports.trl_rollouts import policy_of
    from redqueen.players.transformer.loading import tiny_model

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    _, module = exported("kuhn_poker", "trl", tmp_path / "out", monkeypatch)
    loaded = tiny_model(0, hidden=16, heads=2)
    play, measured = module.rollouts(), module.exact(loaded.tokenizer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TRL and transformers, about their own settings
        args = trl.GRPOConfig(
            str(tmp_path / "run"),
            per_device_train_batch_size=8,
            num_generations=4,
            max_steps=1,
            learning_rate=1e-2,
            use_cpu=True,
            bf16=True,  # TRL's default
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            gradient_checkpointing=False,
        )
        trainer = trl.GRPOTrainer(
            loaded.model,
            play.reward,
            args,
            module.dataset(2),
            processing_class=loaded.tokenizer,
            rollout_func=play,
            callbacks=[measured],
        )
        trainer.train()
    (_, before), (step, after) = measured.found
    assert step == 1
    assert before != after
    tree = GameTree(KuhnPoker())
    mixed = loaded.model.forward
    with policy_of(loaded.model, loaded.tokenizer) as now:
        assert after["exploitability"] == pytest.approx(tree.exploitability(tree.strategy(now)), abs=1e-6)
    assert loaded.model.forward == mixed, "the trainer goes on as it did"


@pytest.mark.slow
def test_trl_itself_trains_in_a_world_of_ones_own(tmp_path):
    pytest.importorskip("trl")
    pytest.importorskip("datasets")
    from redqueen.players.transformer.loading import tiny_model

    (tmp_path / "lamp.py").write_text(LAMP)
    place = write(package(f"acting:{tmp_path}/lamp.py:Lamp", "trl"), tmp_path / "out")
    loaded = tiny_model(0, hidden=16, heads=2)
    for part in (loaded.model, loaded.tokenizer):
        part.save_pretrained(tmp_path / "tiny")
    script = (place / "train.py").read_text()
    (place / "train.py").write_text(script.replace("max_steps=20", "max_steps=2"))
    told = {**os.environ, "PYTHONPATH": str(ROOT), "TRL_EXPERIMENTAL_SILENCE": "1"}
    command = [sys.executable, "train.py", str(tmp_path / "tiny")]
    done = subprocess.run(command, env=told, cwd=place, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "train_loss" in done.stdout


def test_a_rollout_is_a_turn_of_the_named_role_with_its_matchs_score(monkeypatch):
    pytest.importorskip("transformers")
    from redqueen.exports import trl_rollouts
    from redqueen.exports.trl_rollouts import Rollouts, rows

    game = KuhnPoker()
    assert [row["prompt"][0]["content"] for row in rows(game)][:3] == ["0 first", "0 second", "1 first"]

    class Kept:
        def __enter__(self):
            return FirstChoice()

        def __exit__(self, *ignored):
            pass

    class Trainer:
        model = processing_class = None

        class accelerator:
            process_index = 0

            @staticmethod
            def unwrap_model(model):
                return model

    monkeypatch.setattr(trl_rollouts, "policy_of", lambda model, tokenizer: Kept())
    found = Rollouts(game)([row["prompt"] for row in rows(game)], Trainer())
    scores = np.array(found["score"]).reshape(-1, 2)
    assert (scores.sum(1) == 0).all()  # who always takes the first reply has the same match in both roles
    assert Rollouts.reward(score=[1.0, -1.0], completions=["a", "b"]) == [1.0, -1.0]
    with pytest.raises(RedQueenError, match="a row names a task and a role"):
        Rollouts(game)(["hello"], Trainer())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["export", "kuhn_pokre", "--as", "trl"], "did you mean kuhn_poker"),
        (["export", "kuhn_poker", "--as", "verl"], "as"),
        (["export", "kuhn_poker", "--as", "trl", "--name", "a b"], "letters, digits and _"),
        (["export", "kuhn_poker"], "--as"),
        (["export", "acting:proofs", "--as", "gymnasium"], "asks for free text"),
    ],
)
def test_bad_input_is_one_line(words, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path, capsys):
    words = ["export", "kuhn_poker", "--as", "trl", "--output", str(tmp_path)]
    assert main(words) == 0
    assert main(words) == 2
    assert "is there already" in capsys.readouterr().err
    assert Path(tmp_path / "kuhn_poker_for_trl" / "train.py").exists()


def test_a_world_of_ones_own_goes_with_its_game(tmp_path, monkeypatch):
    pytest.importorskip("gymnasium")
    shutil.copy(ROOT / "examples" / "pictures.py", tmp_path / "mine.py")
    (tmp_path / "lamp.py").write_text(LAMP)
    lamps, pictures = f"acting:{tmp_path}/lamp.py:Lamp,3", f"working:{tmp_path}/mine.py:Pictures"
    for spec, form in (lamps, "gymnasium"), (pictures, "openenv"):
        found = package(spec, form)
        (file,) = files_in(spec)
        assert found.files[f"{found.name}/{Path(file).name}"] == Path(file).read_text()
        assert str(tmp_path) not in found.files[f"{found.name}/__init__.py"]
        assert "exploitability" not in found.files["use.py"]
    _, module = exported(f"acting:{tmp_path}/lamp.py:Lamp,3", "gymnasium", tmp_path / "out", monkeypatch)
    (tmp_path / "lamp.py").unlink()
    env = module.make()
    assert "The lamp is white." in env.reset(seed=0)[0]
    with pytest.raises(RedQueenError, match="two files of one name cannot stand in a package"):
        (tmp_path / "b").mkdir()
        for file in (tmp_path / "a.py", tmp_path / "b" / "a.py"):
            file.write_text("")
        files_in(f"working:trl({tmp_path}/a.py:X,tasks={tmp_path}/b/a.py)")
