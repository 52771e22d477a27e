"""What a learner is made of by default, what is refused, and how recipes are found."""

from dataclasses import dataclass, make_dataclass
from types import SimpleNamespace
from typing import Annotated

import pytest
import torch

from redqueen.players.endpoint import Server
from redqueen.players.language.answers import Boxed, Plain
from redqueen.players.tabular import TabularPolicy
from redqueen.schedules import anneal
from redqueen.settings.finding import find_recipe
from redqueen.settings.learner import Learner, usual_cache
from redqueen.settings.limits import Amount, Count, NotWith, OnlyWith, PartOf, Positive, Share, Within, check_settings
from redqueen.settings.roles import Plays, bind, learning
from redqueen.settings.speech import Speech
from redqueen.types import Ask, Message, RedQueenError, Seat

ASK = Ask(Seat("first"), (Message("game", "Your move?"),), ("pass", "bet"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a model that transformers can load."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    Learner(model="tiny").build(seed=3).save(folder)
    return str(folder)


def test_a_learner_is_a_table_by_default():
    policy = Learner().build(seed=0)
    assert isinstance(policy, TabularPolicy)
    assert policy.learning_rate == 2.0
    assert Learner().build(0, table_learning_rate=8.0).learning_rate == 8.0
    assert Learner(learning_rate=0.5).build(0, table_learning_rate=8.0).learning_rate == 0.5


def test_the_longest_reply_is_one_choice_or_as_long_as_the_learner_may_write():
    for listed, learner, longest in (
        (True, Learner(), 1),
        (True, Learner(model="tiny", max_completion_length=9), 1),
        (False, Learner(model="tiny"), 64),
        (False, Learner(model="tiny", max_completion_length=9), 9),
        (True, Learner(model="tiny", answer="boxed"), 64),
        (True, Learner(model="tiny", answer="boxed", max_completion_length=9), 9),
        (True, Learner(model="tiny", solver=Speech(answer="boxed")), 64),
        (False, Learner(model="tiny", solver=Speech(max_completion_length=128)), 128),
        (False, Learner(model="tiny", solver=Speech(max_completion_length=16)), 64),
    ):
        assert learner.longest_reply(listed) == longest


def test_a_tiny_model_trains_all_its_weights_and_keeps_to_the_legal_replies():
    policy = Learner(model="tiny").build(seed=0)
    assert policy.learning_rate == 1e-3
    assert policy.temperature == 1.0
    assert policy.open
    assert not any("lora" in name for name in policy.trainable)


def test_the_learning_rate_of_a_recipe_for_tables_is_not_that_of_a_model():
    assert Learner(model="tiny").build(0, table_learning_rate=8.0).learning_rate == 1e-3


def test_a_pretrained_model_gets_an_adapter_of_rank_16(saved):
    policy = Learner(model=saved).build(seed=0)
    assert policy.learning_rate == 1e-4
    assert all("lora" in name for name in policy.trainable)
    ranks = {weight.shape[0] for name, weight in policy.trainable.items() if "lora_A" in name}
    assert ranks == {16}


def test_rank_0_trains_all_weights(saved):
    policy = Learner(model=saved, lora_rank=0).build(seed=0)
    assert policy.learning_rate == 1e-5
    assert not any("lora" in name for name in policy.trainable)


def test_a_tiny_model_can_have_an_adapter_too():
    policy = Learner(model="tiny", lora_rank=4).build(seed=0)
    assert policy.learning_rate == 1e-4
    assert all("lora" in name for name in policy.trainable)


def test_the_seed_decides_the_weights():
    first, again, other = (Learner(model="tiny").build(seed).probabilities([ASK])[0] for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_an_answer_format_makes_the_learner_speak_freely():
    policy = Learner(model="tiny", answer="boxed", max_completion_length=5).build(seed=0)
    assert not policy.open
    (reply,) = policy.reply([ASK])
    assert len(reply.tokens) <= 5
    assert reply.legal_tokens == ()


def test_precision_is_chosen():
    policy = Learner(model="tiny", dtype="bfloat16").build(seed=0)
    assert {str(weight.dtype) for weight in policy.trainable.values()} == {"torch.bfloat16"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lora_rank", 0),
        ("dtype", "float32"),
        ("device", "cpu"),
        ("temperature", 1.0),
        ("answer", "plain"),
        ("max_completion_length", 64),
        ("system_prompt", ""),
        ("raw_prompt", False),
    ],
)
def test_what_has_no_effect_on_a_table_is_refused(field, value):
    flag = "--" + field.replace("_", "-")
    with pytest.raises(RedQueenError, match=f"^{flag} has no effect on a tabular policy"):
        Learner(**{field: value}).build(seed=0)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"model": "tiny", "temperature": 0.0}, "the temperature must be positive, not 0"),
        ({"model": "tiny", "temperature": float("nan")}, "--temperature must be a finite number"),
        ({"model": "tiny", "device": "toaster"}, "there is no device 'toaster': write cpu, cuda or cuda:N"),
        ({"model": "tiny", "device": "cuda:x"}, "there is no device 'cuda:x'"),
        ({"model": "tiny", "device": "cuda:99"}, "device 'cuda:99' is not available here"),
        (
            {"model": "tiny", "raw_prompt": False},
            "--raw-prompt False has no effect on tiny, which has no chat template",
        ),
        ({"model": "./nowhere"}, "there is no model folder ./nowhere"),
        ({"learning_rate": -1.0}, "--learning-rate must be at least 0"),
        ({"model": "tiny", "max_completion_length": 0}, "--max-completion-length must be at least 1, not 0"),
    ],
)
def test_what_a_learner_cannot_be_is_refused(settings, expected):
    with pytest.raises(RedQueenError, match=expected) as caught:
        Learner(**settings).build(seed=0)
    assert "\n" not in str(caught.value)


# --- numbers of a config ---------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    learner: Learner = Learner()
    count: Count = 3
    amount: Amount = 0.0
    positive: Positive = 1.0
    share: Share = 0.5
    odds: tuple[float, ...] = (1.0, 2.0)
    optional: Annotated[int | None, Within(2, 5)] = None
    name: str = "any"
    on: bool = False


@pytest.mark.parametrize(
    "change",
    [{}, {"count": 1}, {"share": 1.0}, {"share": 0.0}, {"optional": 2}, {"optional": 5}, {"positive": 1e-300}],
)
def test_settings_within_their_ranges_pass(change):
    check_settings(Settings(**change))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"count": 0}, "--count must be at least 1, not 0"),
        ({"amount": -0.1}, "--amount must be at least 0, not -0.1"),
        ({"amount": float("inf")}, "--amount must be a finite number, not inf"),
        ({"positive": 0.0}, "--positive must be above 0, not 0.0"),
        ({"share": 1.1}, "--share must be at least 0 and at most 1, not 1.1"),
        ({"odds": (1.0, float("nan"))}, "--odds must be a finite number, not nan"),
        ({"optional": 6}, "--optional must be at least 2 and at most 5, not 6"),
        ({"learner": Learner(learning_rate=-1.0)}, "--learning-rate must be at least 0"),
    ],
)
def test_settings_outside_their_ranges_are_refused(change, expected):
    with pytest.raises(RedQueenError, match=f"^{expected}"):
        check_settings(Settings(**change))


@dataclass(frozen=True)
class Ruled:
    mode: str = "full"
    rate: float = 0.5
    ends: Annotated[float, Within(-1.0, 1.0), OnlyWith("mode", "full")] = 0.0
    noise: Annotated[int, NotWith("mode", "none")] = 4
    depth: Annotated[int | None, NotWith("rate", 0.0)] = None
    weigh: Annotated[bool, OnlyWith("mode", "full")] = True


@pytest.mark.parametrize(
    "change", [{}, {"ends": 0.5}, {"mode": "none"}, {"mode": "half", "noise": 2}, {"rate": 0.0}, {"depth": 3}]
)
def test_settings_that_count_for_something_pass(change):
    check_settings(Ruled(**change))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"mode": "half", "ends": 0.5}, "--ends has no effect with --mode half: leave it out"),
        ({"mode": "none", "noise": 2}, "--noise has no effect with --mode none: leave it out"),
        ({"rate": 0.0, "depth": 3}, "--depth has no effect with --rate 0: leave it out"),
        ({"mode": "half", "weigh": False}, "--no-weigh has no effect with --mode half: leave it out"),
        ({"mode": "half", "ends": 2.0}, "--ends must be at least -1 and at most 1, not 2.0"),
    ],
)
def test_settings_that_another_makes_idle_are_refused(change, expected):
    with pytest.raises(RedQueenError, match=f"^{expected}$"):
        check_settings(Ruled(**change))


@pytest.mark.parametrize("rule", [OnlyWith("mod", "full"), NotWith("mod", "full"), PartOf("mod")])
def test_a_rule_that_names_a_setting_that_is_not_there_is_refused(rule):
    made = make_dataclass("Wrong", [("mode", str, "full"), ("share", Annotated[float, rule], 0.0), ("last", int, 1)])
    line = "the rule of share in Wrong names 'mod', which is not there: name one of mode, last"
    with pytest.raises(RedQueenError, match=f"^{line}$"):
        check_settings(made())


# --- annealing -------------------------------------------------------------------------------


def test_annealing_goes_by_equal_factors():
    assert [anneal(8.0, 0.5, fraction) for fraction in (0.0, 0.25, 0.5, 0.75, 1.0)] == [8.0, 4.0, 2.0, 1.0, 0.5]


def test_annealing_rises_too_and_stops_at_its_ends():
    assert anneal(1.0, 4.0, 0.5) == 2.0
    assert anneal(1.0, 4.0, -1.0) == 1.0
    assert anneal(1.0, 4.0, 7.0) == 4.0
    assert anneal(0.0, 0.0, 0.5) == 0.0


@pytest.mark.parametrize(("start", "end"), [(1.0, 0.0), (0.0, 1.0), (-1.0, 1.0), (1.0, -1.0)])
def test_no_factor_leads_to_or_from_zero(start, end):
    with pytest.raises(RedQueenError, match="equal factors"):
        anneal(start, end, 0.5)


@pytest.fixture
def anybody_listens(monkeypatch):
    monkeypatch.setattr(Server, "check", lambda self: self)


def test_a_role_is_bound_by_one_word(saved, anybody_listens):
    settings = Learner(model=saved, lora_rank=2)
    learner = settings.build_model(0)
    shared, adapter, separate, frozen, other, far = (
        bind("proposer", word, settings, learner, 1)
        for word in ("shared", "adapter", "separate", "frozen", saved, "http://localhost:1/v1#big")
    )
    assert shared is learner
    assert [player.name for player in (adapter, separate, frozen, other, far)] == [
        "proposer",
        "proposer",
        "learner@0",
        "proposer@0",
        "proposer",
    ]
    assert adapter.forward is learner.forward and separate.forward is not learner.forward
    assert learning([learner, shared, adapter, separate, frozen, other, far]) == [learner, adapter, separate]


def test_an_endpoint_speaks_as_the_learner_does(saved, anybody_listens):
    config = Learner(
        saved, temperature=0.5, max_completion_length=96, system_prompt="Be brief.", answer="boxed", lora_rank=0
    )
    learner = config.build_model(0)
    endpoint = bind("judge", "http://localhost:1/v1#some-model", config, learner, 0)
    assert isinstance(endpoint, Server)
    assert (endpoint.temperature, endpoint.max_tokens, endpoint.system) == (0.5, 96, "Be brief.")
    assert isinstance(endpoint.answer, Plain)  # a judge has no answer format of the solver's
    peer = bind("judge", "http://localhost:1/v1#some-model", config, learner, 0, plays=Plays(as_learner=True))
    assert isinstance(peer.answer, Boxed)
    usual = bind("judge", "http://localhost:1/v1#some-model", Learner(saved), learner, 0)
    assert isinstance(usual, Server)
    assert (usual.temperature, usual.max_tokens, usual.system) == (1.0, 64, "")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("http://localhost:1/v1", "name the model of the endpoint"),
        ("http://127.0.0.1:1/v1#big", "proposer: nothing answers at http://127.0.0.1:1/v1 .*: is the server running?"),
        ("htp://localhost:1/v1#m", "the proposer cannot be 'htp://localhost:1/v1#m'. It is shared, adapter,"),
        ("adapter", "set --lora-rank"),
        ("./nowhere", "there is no model folder ./nowhere"),
    ],
)
def test_a_role_that_cannot_be_bound_gets_one_clear_line(word, expected):
    settings = Learner(model="tiny")
    with pytest.raises(RedQueenError, match=expected):
        bind("proposer", word, settings, settings.build_model(0), 0)


@pytest.mark.parametrize("word", ["adapter", "separate"])
def test_who_does_not_learn_has_no_weights_of_its_own(word):
    settings = Learner(model="tiny", lora_rank=2)
    with pytest.raises(RedQueenError, match=f"the labeller does not learn: {word} would stay what it was made as"):
        bind("labeller", word, settings, settings.build_model(0), 0, learns=False)


def test_a_table_cannot_write():
    with pytest.raises(RedQueenError, match="a tabular policy cannot write: choose a --model"):
        Learner().build_model(0)


def test_a_tiny_model_has_the_size_that_its_name_says():
    policy = Learner(model="tiny:hidden=32,layers=1").build_model(0)
    assert policy.width == 32
    for wrong in ("tiny:depth=3", "tiny:hidden=ten", "tiny:hidden=30"):
        with pytest.raises(RedQueenError, match="tiny"):
            Learner(model=wrong).build_model(0)


def test_a_model_folder_without_a_chat_template_is_told_in_one_line_unless_that_is_meant(tmp_path):
    Learner(model="tiny", device="cpu").build_model(3).save_weights(tmp_path)
    with pytest.warns(UserWarning, match=r"has no chat template: it is shown plain text.* has one in chat_template"):
        Learner(model=str(tmp_path), device="cpu").build_model(3)
    assert Learner(model=str(tmp_path), device="cpu", raw_prompt=True).build_model(3).usual.chat.raw


def test_a_checkpoint_of_a_policy_that_never_had_a_template_is_taken_as_it_was(tmp_path):
    Learner(model="tiny", device="cpu").build_model(3).save(tmp_path)
    Learner(model=str(tmp_path), device="cpu").build_model(3)  # a warning would be an error here


def test_keys_and_values_have_a_tenth_of_a_gpu(monkeypatch):
    asked = []

    def properties(device):
        asked.append(device)
        return SimpleNamespace(total_memory=80 * 2**30)

    monkeypatch.setattr(torch.cuda, "get_device_properties", properties)
    assert usual_cache("cpu") == 1.0
    assert usual_cache("cuda:1") == pytest.approx(8.0) and asked == ["cuda:1"]
    assert usual_cache("cuda", 141.0) == pytest.approx(14.1)
    assert usual_cache("cuda", 6.0) == 1.0


@pytest.mark.parametrize("name", ["dpo", "iterative_dpo", "nash_md", "spin", "spo", "sppo"])
@pytest.mark.parametrize(
    ("settings", "flag"),
    [({"history": "strip"}, "--history"), ({"solver": Speech(history="keep")}, "--solver.history")],
)
def test_earlier_thoughts_are_not_set_where_no_reply_comes_after_another(name, settings, flag):
    with pytest.raises(RedQueenError, match=f"^{flag} has no effect: no reply here comes after another"):
        check_settings(find_recipe(name).Config(learner=Learner(model="tiny", **settings)))
