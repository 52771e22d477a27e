"""SkyRL's server of the Tinker API on loopback, with a two-layer model, on the CPU.

    .venv-scale/bin/python tests_scale/serve.py FOLDER PORT

FOLDER gets the model (a two-layer Qwen3 of hidden size 64 with the tokenizer of `--model tiny`, since most of the work
of a small model is its vocabulary), the checkpoints and the database; a server that is started again on it knows what
the last one saved. Runs until it is killed.
"""

import os
import sys
from pathlib import Path

# SkyRL 0.3.0's types hand typing.TypedDict to pydantic, which wants that of typing_extensions before Python 3.12
SITE = "import typing, typing_extensions\ntyping.TypedDict = typing_extensions.TypedDict\n"
# places for adapters, and how many prompts are sampled at a time (each number of them is compiled)
BACKEND = '{"max_lora_adapters": 16, "max_lora_rank": 16, "sample_max_num_sequences": 8}'


def write_model(folder):
    """A model that knows nothing, with the same weights each time."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from redqueen.players.transformer.loading import tiny_tokenizer

    tokenizer = tiny_tokenizer()
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=4096,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    Qwen3ForCausalLM(config).float().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main(folder, port):
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "model" / "config.json").exists():
        write_model(folder / "model")
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site" / "sitecustomize.py").write_text(SITE)
    binaries = Path(sys.executable).parent
    settings = {
        "--base-model": folder / "model",
        "--backend": "jax",
        "--backend-config": BACKEND,
        "--host": "127.0.0.1",
        "--port": port,
        "--checkpoints-base": folder / "checkpoints",
        "--session-cleanup-interval-sec": 10,  # a killed client's adapters leave soon after it
        "--session-timeout-sec": 60,
        "--database-url": f"sqlite:///{folder / 'server.db'}",
    }
    words = [str(word) for pair in settings.items() for word in pair]
    # the server reads how to start its engine from the `uv run` above it
    uv = [str(binaries / "uv"), "run", "--no-project", "--offline", "--python", sys.executable]
    os.chdir(folder)
    os.environ.update(
        JAX_PLATFORMS="cpu",
        JAX_COMPILATION_CACHE_DIR=str(binaries.parent / "compiled"),  # most of the time is compiling
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
        JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="0",
        PYTHONPATH=str(folder / "site"),
        PATH=f"{binaries}{os.pathsep}{os.environ['PATH']}",
    )
    os.execv(uv[0], [*uv, "-m", "skyrl.tinker.api", *words])


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2])
