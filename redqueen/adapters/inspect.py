"""Tasks of Inspect (the UK AI Security Institute's package inspect-ai, extra `inspect`) asked of a policy's model.

    redqueen evaluate outputs/grpo-0 --suite inspect:path/to/task.py

The file's tasks are run by Inspect's own `eval`, with its solvers and scorers; the file is code and is run as such.
Each request is the conversation in the model's chat template, or its texts one after the other where it has none.
Replies take the likeliest tokens unless the task sets a temperature, and end after 512 tokens unless it says otherwise.
Tools are not offered to the model: a task that brings some is refused.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from redqueen.chance import derive
from redqueen.protocols import PlainModel
from redqueen.types import Continuation, Mark, RedQueenError

_LONGEST = 512  # tokens of a reply where the task does not say
_TOGETHER = 0.05  # seconds in which requests are gathered, to be answered in one batch


def marks(
    model: PlainModel,
    names: Sequence[str],
    most: int | None = None,  # samples of a task, the first of them; all by default
    shots: int | None = None,
    chat: bool = False,
    seed: int = 0,
    online: Callable[[], bool] = lambda: True,
) -> list[Mark]:
    """What the model gets in the tasks of each file, by scorer: the mean of each sample over its epochs, right as 1.
    Raises RedQueenError for a file that is not there or a task that fails."""
    if shots is not None or chat:
        raise RedQueenError("a task of Inspect says itself what is shown: leave out --suite-shots and --suite-chat")
    try:
        import inspect_ai
    except ImportError as error:
        raise RedQueenError(f"--suite inspect needs pip install 'redqueen[inspect]' ({error})") from None
    for name in names:
        if not Path(name.partition("@")[0]).is_file():
            raise RedQueenError(f"there is no task file {name.partition('@')[0]}: a Python file with Inspect's @task")
    found = []
    with tempfile.TemporaryDirectory(prefix="redqueen-inspect-") as logs:
        for name in names:
            try:
                done = inspect_ai.eval(  # which looks for files below the working directory
                    os.path.relpath(name),
                    as_model(model, seed),
                    limit=most,
                    display="none",
                    log_dir=logs,
                    log_level="error",
                )
            except RedQueenError:
                raise
            except Exception as error:  # the file is the user's own code
                raise RedQueenError(f"Inspect cannot run {name}: {_one_line(error)}") from error
            if not done:
                raise RedQueenError(f"{name} holds no task of Inspect: a function under @task")
            for log in done:
                if log.status != "success":
                    said = log.error.message if log.error else log.status
                    raise RedQueenError(f"the task {log.eval.task} of {name} failed: {_one_line(said)}")
                found += list(_marks_of(log))
    return found


def _marks_of(log: Any) -> Iterator[Mark]:
    """The mark of each scorer of a task."""
    from inspect_ai.scorer import value_to_float

    number = value_to_float()
    values: dict[str, dict[str, list[float]]] = {}  # scorer -> sample -> its epochs
    for sample in log.samples or ():
        for scorer, score in (sample.scores or {}).items():
            if isinstance(score.value, str | int | float | bool):
                values.setdefault(scorer, {}).setdefault(str(sample.id), []).append(float(number(score.value)))
    if not values:
        raise RedQueenError(f"the task {log.eval.task} has no scorer that gives one value to a sample")
    task = str(log.eval.task).rpartition("/")[2]
    for scorer, samples in values.items():
        each = tuple(float(np.mean(epochs)) for _, epochs in sorted(samples.items()))
        if not all(map(math.isfinite, each)):
            raise RedQueenError(f"the scorer {scorer} of the task {task} gave a value that is no number")
        yield Mark(task, scorer, float(np.mean(each)), each)


@dataclass
class _Request:
    prompt: tuple[int, ...]
    wanted: Continuation
    said: tuple[int, ...] | None = None


def as_model(model: PlainModel, seed: int = 0) -> Any:
    """The model as an `inspect_ai.model.Model`."""
    import anyio
    from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi

    @modelapi(name="redqueen")  # the newest of this name counts
    class PolicyAPI(ModelAPI):  # type: ignore[misc]  # Inspect asks for its own base class
        """See `as_model`. Requests that come together are answered in one batch."""

        def __init__(self, model_name: str, base_url: Any = None, api_key: Any = None, config: Any = None) -> None:
            super().__init__(model_name)
            self._waiting: list[_Request] = []

        def max_connections(self) -> int:
            return 64

        async def generate(self, input: Sequence[Any], tools: Sequence[Any], tool_choice: Any, config: Any) -> Any:
            if tools:
                raise RedQueenError("a task offers its model tools, which a policy does not call here")
            request = _Request(*self._asked(input, config))
            self._waiting.append(request)
            await anyio.sleep(_TOGETHER)
            if request.said is None:
                together, self._waiting = self._waiting, []
                answers = model.go_on([each.prompt for each in together], [each.wanted for each in together])
                for each, answer in zip(together, answers, strict=True):
                    each.said = answer
            said = request.said or ()
            text = str(model.tokenizer.decode(said, skip_special_tokens=True))
            for stop in request.wanted.stops:
                text = text.split(stop)[0]
            cut = len(said) == request.wanted.limit
            return ModelOutput.from_content("redqueen/policy", text, stop_reason="max_tokens" if cut else "stop")

        def _asked(self, messages: Sequence[Any], config: Any) -> tuple[tuple[int, ...], Continuation]:
            tokenizer = model.tokenizer
            chat = [{"role": each.role, "content": each.text} for each in messages]
            if tokenizer.chat_template:
                shown = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
                prompt = tokenizer.encode(shown, add_special_tokens=False)
            else:
                shown = "\n\n".join(each["content"] for each in chat)
                prompt = tokenizer.encode(shown)
            limit = min(config.max_tokens or _LONGEST, model.context - 1)
            wanted = Continuation(
                limit=limit,
                stops=tuple(filter(None, config.stop_seqs or ())),
                temperature=float(config.temperature or 0.0),
                top_p=1.0 if config.top_p is None else float(config.top_p),
                top_k=int(config.top_k or 0),
                # the same question is asked again in each epoch: the place in the queue tells them apart
                seed=derive(seed, shown, sum(each.prompt == tuple(prompt) for each in self._waiting)),
            )
            return tuple(prompt[-(model.context - limit) :]), wanted

    return get_model("redqueen/policy", memoize=False)


def _one_line(said: object) -> str:
    return " ".join(str(said).split())[:200]
