"""Tasks of EleutherAI's lm-evaluation-harness (package lm-eval, extra `lm-eval`) asked of a policy's model.

    redqueen evaluate outputs/grpo-0 --suite lm-eval:arc_easy,path/to/task.yaml

`as_lm` is the model as lm-eval's own `LM`: texts become tokens as in its `hf` model, so both give the same answers up
to rounding. Prefixes that requests share (worked examples, the question before each of its answers) are read once.

Differences from `hf`: what it would pass on to transformers' `generate` is refused, but for temperature, top-p and
top-k; a sampled continuation depends on its seed and its request alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from redqueen.chance import derive
from redqueen.protocols import PlainModel
from redqueen.types import Continuation, Mark, RedQueenError

_LONGEST = 256  # tokens of a continuation where the task does not say, as in lm-eval's `hf`
_KNOWN = ("num_beams", "do_sample", "temperature", "top_p", "top_k", "until", "max_gen_toks")
# of the libraries below, where the hub does not answer
_UNREACHED = ("offline mode", "Offline", "couldn't connect", "Couldn't reach", "on the Hub")


def marks(
    model: PlainModel,
    names: Sequence[str],
    most: int | None = None,  # documents of a task, the first of them; all by default
    shots: int | None = None,  # worked examples before each; as the task says by default
    chat: bool = False,  # whether the model's chat template is put around each document
    seed: int = 0,
    online: Callable[[], bool] = lambda: True,  # whether the hub answers
) -> list[Mark]:
    """What the model gets in each of the tasks, which are names of lm-eval's or YAML files. Raises RedQueenError for a
    task that is not there or cannot be had, and for what the model cannot do."""
    try:
        from lm_eval.evaluator import simple_evaluate
    except ImportError as error:
        raise RedQueenError(f"--suite lm-eval needs pip install 'redqueen[lm-eval]' ({error})") from None
    with _quiet(), _hub(online):
        manager = _manager(names)
        try:
            found = simple_evaluate(
                as_lm(model, seed),
                tasks=list(manager.load(list(names))["tasks"].values()),
                num_fewshot=shots,
                limit=most,
                bootstrap_iters=0,
                apply_chat_template=chat,
                task_manager=manager,
                random_seed=None,  # the generators of this process are left alone
                numpy_random_seed=None,
                torch_random_seed=None,
            )
        except RedQueenError:
            raise
        except Exception as error:  # a task file may be wrong in as many ways as there are libraries behind it
            raise RedQueenError(_why(names, error, online)) from error
    return [mark for task in found["results"] if task in found["samples"] for mark in _marks_of(found, task)]


def _marks_of(found: Mapping[str, Any], task: str) -> Iterator[Mark]:
    """The figures of one task, those of its documents beside them where it is their mean."""
    higher = found["higher_is_better"].get(task, {})
    for key, value in found["results"][task].items():
        figure, _, part = key.partition(",")
        if not part or figure.endswith("_stderr") or not isinstance(value, int | float):
            continue
        own = [each for each in found["samples"][task] if each.get("filter", "none") == part]
        each = [sample.get(figure) for sample in own]
        plain = all(isinstance(one, int | float) for one in each) and len(each) > 0
        is_mean = plain and abs(sum(each) / len(each) - value) < 1e-9
        name = figure if part == "none" else f"{figure} ({part})"
        better = higher.get(figure)
        yield Mark(task, name, float(value), tuple(map(float, each)) if is_mean else (), better is not False)


def _manager(names: Sequence[str]) -> Any:
    """lm-eval's index of tasks. Raises RedQueenError for a name that is neither in it nor a file."""
    from lm_eval.tasks import TaskManager

    files = [name for name in names if name.endswith((".yaml", ".yml"))]
    if missing := [name for name in files if not Path(name).is_file()]:
        raise RedQueenError(f"there is no task file {missing[0]}")
    manager = TaskManager(include_defaults=len(files) < len(names))
    if unknown := [name for name in names if name not in files and name not in manager.all_tasks]:
        close = get_close_matches(unknown[0], manager.all_tasks, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "name one of lm-eval's, or a file that ends in .yaml"
        raise RedQueenError(f"lm-eval has no task {unknown[0]!r}: {hint}")
    return manager


def _why(names: Sequence[str], error: Exception, online: Callable[[], bool]) -> str:
    """One line for what a task could not do."""
    said = " ".join(str(error).split())[:160]
    asked = ", ".join(names)
    if any(word in said for word in _UNREACHED) and not online():
        return (
            f"the data of {asked} is on the Hugging Face hub, which does not answer from here, and not in the cache: "
            "name task files with data of their own, as lm-eval:path/to/task.yaml"
        )
    return f"lm-eval cannot ask {asked}: {type(error).__name__}: {said}"


@contextmanager
def _quiet() -> Iterator[None]:
    """lm-eval says on the log what it does, and draws bars: only its errors are shown."""
    from lm_eval.api import model as of_models
    from lm_eval.api import task as of_tasks

    logger = logging.getLogger("lm_eval")
    level, bars = logger.level, [of_models.tqdm, of_tasks.tqdm]
    logger.setLevel(logging.ERROR)
    of_models.tqdm, of_tasks.tqdm = (partial(_undrawn, bar) for bar in bars)
    try:
        yield
    finally:
        logger.setLevel(level)
        of_models.tqdm, of_tasks.tqdm = bars


def _undrawn(bar: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return bar(*given, **{**named, "disable": True})


@contextmanager
def _hub(online: Callable[[], bool]) -> Iterator[None]:
    """Where the hub does not answer, its clients are told so at once: they would go on asking for minutes."""
    import datasets
    import huggingface_hub.constants

    places: tuple[Any, ...] = (datasets.config, huggingface_hub.constants)
    before = [place.HF_HUB_OFFLINE for place in places]
    try:
        for place, was in zip(places, before, strict=True):
            place.HF_HUB_OFFLINE = was or not online()
        yield
    finally:
        for place, was in zip(places, before, strict=True):
            place.HF_HUB_OFFLINE = was


def as_lm(model: PlainModel, seed: int = 0) -> Any:
    """The model as an `lm_eval.api.model.LM`, for lm-eval's own `simple_evaluate`."""
    from lm_eval.api.model import TemplateLM
    from lm_eval.models.utils import handle_stop_sequences, has_bos_prefix, normalize_gen_kwargs
    from lm_eval.models.utils import postprocess_generated_text as without_stops
    from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

    class PolicyLM(TemplateLM):  # type: ignore[misc]  # lm-eval asks for its own base class
        """See `as_lm`."""

        tokenizer = model.tokenizer

        @property
        def eot_token_id(self) -> int:
            return int(model.tokenizer.eos_token_id)

        @property
        def prefix_token_id(self) -> int:
            first = model.tokenizer.bos_token_id
            return self.eot_token_id if first is None else int(first)

        @property
        def tokenizer_name(self) -> str:
            return str(model.tokenizer.name_or_path).replace("/", "__")

        def tok_encode(self, string: str, add_special_tokens: bool | None = None, **_: Any) -> list[int]:
            if add_special_tokens is None and has_bos_prefix(string, model.tokenizer.decode(self.prefix_token_id)):
                add_special_tokens = False
            special = {} if add_special_tokens is None else {"add_special_tokens": add_special_tokens}
            return list(model.tokenizer.encode(string, **special))

        def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
            if not model.tokenizer.chat_template:
                raise RedQueenError("the model has no chat template: leave out --suite-chat")
            return str(
                model.tokenizer.apply_chat_template(
                    chat_history,
                    tokenize=False,
                    add_generation_prompt=add_generation_prompt,
                    continue_final_message=not add_generation_prompt,
                )
            )

        def _loglikelihood_tokens(self, requests: Sequence[Any], **_: Any) -> list[tuple[float, bool]]:
            rows = []
            for _text, before, said in requests:
                whole = (*before, *said)[-(model.context + 1) :]  # the oldest tokens go where all do not fit
                if not said or len(said) >= len(whole):
                    raise RedQueenError(f"an answer of {len(said)} tokens leaves no token before it to be rated after")
                rows.append((whole, len(whole) - len(said)))
            return model.rate(rows)

        def loglikelihood_rolling(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[float]:
            windows, sizes = [], []
            for request in requests:
                (text,) = request.args
                cut = get_rolling_token_windows(self.tok_encode(text), self.prefix_token_id, model.context, 1)
                own = [(None, *make_disjoint_window(each)) for each in cut]
                windows += own
                sizes.append(len(own))
            rated = iter(self._loglikelihood_tokens(windows))
            return [sum(next(rated)[0] for _ in range(size)) for size in sizes]

        def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
            prompts, wanted, ends = [], [], []
            last = model.tokenizer.decode(self.eot_token_id)
            for request in requests:
                text, given = request.args
                settings = normalize_gen_kwargs(given, _LONGEST)
                if unknown := [key for key, value in settings.items() if key not in _KNOWN and value is not None]:
                    raise RedQueenError(
                        f"a task asks for {unknown[0]}={settings[unknown[0]]!r}, which is not done here"
                    )
                stops = handle_stop_sequences(settings.get("until"), eos=last)
                limit = int(settings["max_gen_toks"])
                if limit >= model.context:
                    raise RedQueenError(f"a task asks for {limit} tokens of a model whose texts have {model.context}")
                prompts.append(tuple(self.tok_encode(text)[-(model.context - limit) :]))
                ends.append(stops)
                sampled = bool(settings.get("do_sample"))
                wanted.append(
                    Continuation(
                        limit=limit,
                        stops=tuple(stops),
                        temperature=float(settings.get("temperature") or 1.0) if sampled else 0.0,
                        top_p=float(settings.get("top_p") or 1.0) if sampled else 1.0,
                        top_k=int(settings.get("top_k") or 0) if sampled else 0,
                        seed=derive(seed, text, request.idx),
                    )
                )
            said = model.go_on(prompts, wanted)
            texts = [model.tokenizer.decode(tokens, skip_special_tokens=True) for tokens in said]
            return [without_stops(text, stops, None) for text, stops in zip(texts, ends, strict=True)]

    return PolicyLM()
