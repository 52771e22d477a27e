"""`redqueen merge`: plain transformers loads what it writes, and says the same."""

import copy
import json
import re
import shutil

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from redqueen.cli.main import main
from redqueen.runs.folder import stored_policy
from redqueen.settings.learner import Learner

TRAIN = [
    "train",
    "spiral",
    "--game",
    "kuhn_poker",
    "--steps",
    "2",
    "--matches-per-step",
    "4",
    "--learning-rate",
    "0.01",
]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A saved model with a chat template."""
    place = tmp_path_factory.mktemp("model") / "base"
    policy = Learner(model="tiny", device="cpu").build(seed=5)
    policy._loaded.tokenizer.chat_template = TEMPLATE
    policy.save_weights(place)
    return place


@pytest.mark.parametrize("rank", ["0", "4"])
def test_transformers_loads_what_was_merged_and_rates_alike(folder, tmp_path, rank, capsys):
    run, merged = tmp_path / "run", tmp_path / "merged"
    assert main([*TRAIN, "--model", str(folder), "--lora-rank", rank, "--output", str(run)]) == 0
    assert main(["merge", str(run), str(merged)]) == 0
    *_, written, checked = capsys.readouterr().out.splitlines()
    assert written == f"{run}, after 2 updates: written to {merged}"
    gap = re.fullmatch(r"read again by transformers it rates a token (\S+) nats otherwise than .* at most", checked)[1]
    assert float(gap) < 1e-4
    policy = stored_policy(run)
    rows = torch.tensor([[5, 6, 7, 8, 9, 10]])
    with torch.no_grad():
        trained = policy._loaded.model(input_ids=rows).logits
        loaded = AutoModelForCausalLM.from_pretrained(merged)(input_ids=rows).logits
        start = AutoModelForCausalLM.from_pretrained(folder)(input_ids=rows).logits
    assert torch.allclose(loaded, trained, atol=1e-5)
    assert not torch.allclose(loaded, start, atol=1e-3)
    tokenizer = AutoTokenizer.from_pretrained(merged)
    chat = [{"role": "user", "content": "Your move?"}]
    assert (
        tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        == "user: Your move?\nassistant: "
    )
    assert list(merged.glob("*.safetensors"))
    assert not list(merged.glob("adapter*"))


def test_a_merge_in_bfloat16_is_measured_by_what_it_rounds(tmp_path):
    """And not by what products in bfloat16 are apart, which is more where logits are large."""
    policy = Learner(model="tiny", dtype="bfloat16", lora_rank=4, device="cpu").build(seed=5)
    model, rows = policy._loaded.model, torch.arange(8, 40)[None]
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "lora_B" in name:
                value += 0.01 * torch.randn(value.shape, generator=torch.Generator().manual_seed(1))
            elif "norm" in name:
                value *= 40.0
        coarse = model(input_ids=rows).logits.float()
        weights = copy.deepcopy(model).float()
        fine = weights(input_ids=rows).logits
        merged = weights.merge_and_unload().to(torch.bfloat16).state_dict()
    gap = policy.save_merged(tmp_path / "merged")
    written = AutoModelForCausalLM.from_pretrained(tmp_path / "merged")
    assert written.dtype == torch.bfloat16
    assert all(torch.equal(value, merged[name]) for name, value in written.state_dict().items())
    with torch.no_grad():
        rounded = written.float()(input_ids=rows).logits
    assert 0.0 < gap < 0.5 * float((coarse - fine).abs().max())
    assert float((rounded - fine).abs().max()) < 0.5 * float((coarse - fine).abs().max())


def test_the_model_card_says_what_was_trained_how_and_what_came_of_it(folder, tmp_path):
    run, merged = tmp_path / "run", tmp_path / "merged"
    assert main([*TRAIN, "--model", str(folder), "--output", str(run)]) == 0
    assert main(["merge", str(run), str(merged)]) == 0
    card = (merged / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers\n")
    assert "trained with the recipe `spiral` of Red Queen for 2 updates (seed 0)" in card
    assert (
        f"redqueen train spiral --game kuhn_poker --steps 2 --matches-per-step 4 --learning-rate 0.01 --model {folder}"
        in card
    )
    final = json.loads((run / "final.json").read_text())
    first = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])
    assert f"| exploitability | {first['exploitability']:.4g} | {final['exploitability']:.4g} |" in card


def test_the_card_of_an_older_checkpoint_has_no_figures_of_the_newest(folder, tmp_path):
    run = tmp_path / "run"
    assert main([*TRAIN, "--model", str(folder), "--checkpoint-every", "1", "--output", str(run)]) == 0
    final = json.loads((run / "final.json").read_text())
    cards = {}
    for step in ("1", "2"):
        assert main(["merge", str(run), str(tmp_path / step), "--step", step]) == 0
        cards[step] = (tmp_path / step / "README.md").read_text()
    assert f"| {final['exploitability']:.4g} |" in cards["2"]
    assert "for 1 updates" in cards["1"] and "| figure |" not in cards["1"]
    assert "Nothing was measured after 1 steps." in cards["1"]


def test_the_best_checkpoint_is_merged_and_evaluated_by_name_with_what_was_measured_of_it(folder, tmp_path, capsys):
    run, merged = tmp_path / "run", tmp_path / "merged"
    often = ["--evaluate-every", "1", "--checkpoint-every", "5", "--keep-best"]
    assert main([*TRAIN, *often, "--steps", "3", "--model", str(folder), "--output", str(run)]) == 0
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    (best,) = (run / "checkpoints").glob("best_*")
    (found,) = (each for each in lines if f"best_{each['step']:06d}" == best.name)
    assert all(found["exploitability"] <= each["exploitability"] for each in lines)
    capsys.readouterr()
    assert main(["merge", str(run), str(merged), "--step", "best"]) == 0
    card = (merged / "README.md").read_text()
    row = f"| exploitability | {lines[0]['exploitability']:.4g} | {found['exploitability']:.4g} |"
    assert f"| figure | start | after {found['step']} steps |" in card and row in card and "policy_loss" not in card
    assert main(["evaluate", str(run), "--step", "best", "--matches", "2"]) == 0
    assert f"{found['exploitability']:.4f}"[:6] in capsys.readouterr().out
    assert main(["merge", f"{run}@best", str(tmp_path / "other")]) == 2
    assert f"here give {run}, and --step best where it is taken" in capsys.readouterr().err
    assert main(["merge", str(run), str(tmp_path / "other"), "--step", "last"]) == 2
    assert capsys.readouterr().err == "redqueen: --step: takes INT or {best}, not 'last' (redqueen merge --help)\n"


def test_what_cannot_be_merged_is_one_line(folder, tmp_path, capsys):
    table, run = tmp_path / "table", tmp_path / "run"
    assert main([*TRAIN[:-2], "--output", str(table)]) == 0
    assert main([*TRAIN, "--model", str(folder), "--output", str(run)]) == 0
    capsys.readouterr()
    for words, said in (
        ([str(table), str(tmp_path / "out")], f"the learner of {table} is no language model on this machine"),
        ([str(run), str(run)], f"{run} is there already: name a new or an empty folder"),
        ([str(tmp_path / "none"), str(tmp_path / "out")], f"{tmp_path / 'none'} is not a run"),
        ([str(run), str(tmp_path / "out"), "--step", "7"], f"{run} has no checkpoint at step 7: it has 2"),
    ):
        assert main(["merge", *words]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"redqueen: {said}")
        assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_merge_that_loses_something_says_so_in_one_line(folder, tmp_path, capsys, monkeypatch):
    run = tmp_path / "run"
    assert main([*TRAIN, "--model", str(folder), "--lora-rank", "4", "--output", str(run)]) == 0
    monkeypatch.setattr(
        "peft.tuners.lora.LoraModel.merge_and_unload", lambda model: model.unload()
    )  # leaves the adapter out
    monkeypatch.setattr("redqueen.cli.merging.ROUNDING", 1e-4)
    capsys.readouterr()
    assert main(["merge", str(run), str(tmp_path / "merged")]) == 2
    assert "merging rounded the weights" in capsys.readouterr().err


def test_an_adapter_of_another_base_is_refused_in_one_line(folder, tmp_path, capsys):
    """Of the same shape, so that nothing but its numbers tells."""
    run, base = tmp_path / "run", tmp_path / "base"
    shutil.copytree(folder, base)
    assert main([*TRAIN, "--model", str(base), "--lora-rank", "4", "--output", str(run)]) == 0
    Learner(model="tiny", device="cpu").build(seed=6).save_model(base)
    capsys.readouterr()
    for command in (["resume", str(run), "--steps", "3"], ["merge", str(run), str(tmp_path / "merged")]):
        assert main(command) == 2
        line = capsys.readouterr().err.splitlines()[-1]
        assert "the adapter was trained on another model than the one that" in line, command
    assert (
        main(["train", "spiral", "--game", "kuhn_poker", "--model", str(run / "checkpoints/step_000002/learner")]) == 2
    )
    assert "holds an adapter, which names another model" in capsys.readouterr().err
