"""A process with a second copy of a policy's model, which replies while the policy learns (`--placement process`).

    apart = policy.apart()
    player = apart.now()          # replies as the policy does now, whatever becomes of it
    policy.update(...)            # meanwhile, in this process

Prompts are made and replies are read here; the process is asked for arithmetic alone: tokens in, tokens and
log-probabilities out, as `sampling.sample` and `scoring.rate` compute them here, to the last bit on one device with as
many threads. Lines of JSON and weights as safetensors go over a socket that nobody else holds; nothing is unpickled.

    here -> there                                      there -> here
    {"load": version} + weights                        {"digest": ...} of the weights as they lie in its model
    {"sample": prompts, seeds, manners, stops}         {"samples": [tokens, log-probabilities, whether cut off]}
    {"rate": rows, targets, temperature}               {"rated": log-probabilities of each row's targets}

The digest must be that of the weights that were sent: anything else ends the run, since replies of unknown weights
would be learned from. A process that dies ends it with one line too. (HybridFlow, arXiv:2409.19256, places each role in
processes of its own behind one controller, which here is the recipe.)
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from io import BufferedRWPair
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import finalize

import numpy as np
import torch
from torch import Tensor

from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.formats import Nucleus
from redqueen.players.language.saying import Mind, Minds, Question, Speaker, completing
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.loading import LoadedModel, load_model
from redqueen.players.transformer.replying import minds_of, rated_in_parts, written
from redqueen.players.transformer.sampling import Manner, Sample, sample
from redqueen.players.transformer.scoring import Query, Rating, Target, chunk_of, rate
from redqueen.types import Ask, RedQueenError, Reply

if TYPE_CHECKING:
    from redqueen.players.transformer.policy import TransformerPolicy

END = 5.0  # seconds in which it must end once it is told to


class Apart:
    """The process of one policy. It is started at once, and ends with this object."""

    def __init__(self, policy: TransformerPolicy, loaded: LoadedModel, device: str, nodes: int) -> None:
        self._policy = policy
        self.times, self.seconds = 0, 0.0  # how often weights were handed over so far, and for how long
        self._lock = RLock()
        self._holds: object = None  # whose weights it has
        self._folder = Path(tempfile.mkdtemp(prefix="redqueen-apart-"))
        try:
            _write_base(policy, loaded, self._folder)
            ours, theirs = socket.socketpair()
            with theirs:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", __name__, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C is for the trainer
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(part or os.getcwd() for part in sys.path)},
                )
        except BaseException:
            shutil.rmtree(self._folder)
            raise
        self._stream = ours.makefile("rwb")
        self.process = process
        self._end = finalize(self, _end, process, self._stream, ours, self._folder)
        hello = {
            "folder": str(self._folder),
            "adapter": policy.has_adapter,
            "dtype": str(loaded.model.dtype).removeprefix("torch."),
            "device": device,
            "nodes": nodes,
            "threads": torch.get_num_threads(),
        }
        _send(self._stream, hello)
        self._ready = False

    def now(self) -> Elsewhere:
        """A player that replies as the policy does now, in the process."""
        return Elsewhere(self._policy, self)

    def close(self) -> None:
        """Ends the process."""
        self._end()

    def sample(
        self, player: Elsewhere, rows: Sequence[tuple[int, ...]], seeds: Sequence[int], ways: Sequence[dict[str, Any]]
    ) -> list[Sample]:
        """One sampled reply to each prompt, in its own way."""
        told = self._asked(player, {"sample": {"prompts": rows, "seeds": seeds, "ways": ways}})
        return [Sample(tuple(tokens), tuple(logprobs), cut_off) for tokens, logprobs, cut_off in told["samples"]]

    def rate(self, player: Elsewhere, queries: Sequence[Query], temperature: float) -> list[np.ndarray]:
        """For each query the log-probabilities of its targets."""
        rows = [[each.tokens, [[target.at, target.legal] for target in each.targets]] for each in queries]
        told = self._asked(player, {"rate": {"rows": rows, "temperature": temperature}})
        return [np.array(values) for values in told["rated"]]

    def _asked(self, player: Elsewhere, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self._holds is not player:
                self._load(player)
            return self._answer(request)

    def _load(self, player: Elsewhere) -> None:
        """Hands over the weights of a player, and makes sure of them."""
        from safetensors.torch import save

        self._holds = None
        self._answer({"wake": True})  # it has loaded its model
        began = time.perf_counter()
        told = self._answer({"load": player.version}, save(player.weights))
        if told["digest"] != digest_of(player.weights):
            raise RedQueenError(
                f"the process that samples holds other weights than {player.name} had after {player.version} updates: "
                "what it says cannot be learned from"
            )
        self._holds = player
        self.times += 1
        self.seconds += time.perf_counter() - began

    def _answer(self, request: Mapping[str, Any], body: bytes = b"") -> dict[str, Any]:
        try:
            if not self._ready:
                self._heard()  # that it has loaded its model
                self._ready = True
                shutil.rmtree(self._folder, ignore_errors=True)
            _send(self._stream, request, body)
            return self._heard()
        except (OSError, EOFError, ValueError) as error:
            why = f"the process that samples for {self._policy.name} has ended"
            raise RedQueenError(f"{why} ({error}): look above for what it said last") from None

    def _heard(self) -> dict[str, Any]:
        told, _ = _receive(self._stream)
        if "refused" in told:
            raise RedQueenError(f"the process that samples for {self._policy.name}: {told['refused']}")
        return told


class Elsewhere(Speaker):
    """A player that replies as a policy did when this was made. Its weights, a copy, are handed over with the first
    ask."""

    asked_in_threads: ClassVar[bool] = True

    def __init__(self, policy: TransformerPolicy, apart: Apart) -> None:
        self.speak_as(policy)
        self.weights = {
            key: value.detach().to("cpu", copy=True).contiguous() for key, value in policy.weights().items()
        }
        self._temperature = policy.temperature
        self._ends = sorted(policy.ends)
        self._apart = apart
        self._minds = Minds(self.prompt, self._compute)

    def _think(self, asks: Sequence[Ask]) -> list[Mind]:
        return self._minds.of(asks)

    def _compute(self, unknown: Mapping[Question, np.ndarray]) -> dict[Question, Mind]:
        return minds_of(unknown, self.format, lambda queries: self._apart.rate(self, queries, self._temperature))

    def _write(self, asks: Sequence[Ask]) -> list[Reply]:
        voices = [self._voice(ask) for ask in asks]
        ways = []
        for ask, voice in zip(asks, voices, strict=True):
            spoken = self._spoken(ask)
            stops = voice.stops_of(ask)
            ways.append(
                {
                    "ends": self._ends,
                    "limit": spoken.limit,
                    "temperature": spoken.temperature,
                    "nucleus": asdict(spoken.nucleus),
                    **({"stops": stops, "reading": voice.chat.reading()} if stops else {}),
                }
            )
        return written(asks, voices, lambda rows, seeds: self._apart.sample(self, rows, seeds, ways))


def digest_of(weights: Mapping[str, Tensor]) -> str:
    """A digest of names and values."""
    digest = hashlib.sha256()
    for key in sorted(weights):
        value = weights[key].detach().cpu().contiguous()
        digest.update(f"{key} {value.dtype} {list(value.shape)} ".encode())
        digest.update(value.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _write_base(policy: TransformerPolicy, loaded: LoadedModel, folder: Path) -> None:
    """The model without its adapter, the tokenizer, and the adapter, from which the process makes its copy."""
    model = loaded.model
    if policy.has_adapter:
        base = model.get_base_model()
        plain = {
            key.replace(".base_layer.", "."): value for key, value in base.state_dict().items() if "lora_" not in key
        }
        base.save_pretrained(folder / "base", state_dict=plain)
        model.save_pretrained(folder / "adapter")
    else:
        model.save_pretrained(folder / "base")
    loaded.tokenizer.save_pretrained(folder / "base")


def _end(process: subprocess.Popen[bytes], stream: BufferedRWPair, ours: socket.socket, folder: Path) -> None:
    with suppress(OSError):  # what was not sent is for nobody
        stream.close()
    ours.close()  # at which the process ends
    try:
        process.wait(END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def _send(stream: BufferedRWPair, header: Mapping[str, Any], body: bytes = b"") -> None:
    stream.write(json.dumps({**header, "bytes": len(body)}).encode() + b"\n")
    stream.write(body)
    stream.flush()


def _receive(stream: BufferedRWPair) -> tuple[dict[str, Any], bytes]:
    line = stream.readline()
    if not line:
        raise EOFError("it closed its end")
    header = json.loads(line)
    body = stream.read(header.pop("bytes"))
    return header, body


# In the process


class _Model:
    """The copy of the model, and what is remembered of its keys and values."""

    def __init__(self, hello: Mapping[str, Any]) -> None:
        torch.set_num_threads(hello["threads"])
        folder = Path(hello["folder"])
        loaded = load_model(str(folder / "base"), getattr(torch, hello["dtype"]), hello["device"])
        self._tokenizer, model = loaded.tokenizer, loaded.model
        if hello["adapter"]:
            from peft import PeftModel

            model = PeftModel.from_pretrained(model, folder / "adapter").eval()
        self._named = dict(model.requires_grad_(False).named_parameters())
        self._forward = Forward(model)
        self._nodes = hello["nodes"]
        self._store = KeyValueStore(self._forward, self._nodes)

    def answer(self, request: Mapping[str, Any], body: bytes) -> dict[str, Any]:
        match request:
            case {"wake": _}:
                return {"ready": True}
            case {"load": _}:
                return {"digest": self._load(body)}
            case {"sample": asked}:
                return {"samples": self._sample(asked["prompts"], asked["seeds"], asked["ways"])}
            case {"rate": asked}:
                return {"rated": self._rate(asked["rows"], asked["temperature"])}
        raise RedQueenError(f"it cannot do {', '.join(request)}")

    @torch.no_grad()
    def _load(self, body: bytes) -> str:
        from safetensors.torch import load

        given = load(body)
        for key, value in given.items():
            self._named[key].copy_(value)
        self._store.forget()
        self._forward.unpack()
        return digest_of({key: self._named[key] for key in given})

    def _sample(self, prompts: Any, seeds: Sequence[int], ways: Sequence[Mapping[str, Any]]) -> list[Any]:
        manners = [
            Manner(frozenset(way["ends"]), way["limit"], way["temperature"], Nucleus(**way["nucleus"])) for way in ways
        ]
        completes = [
            completing(ChatFormat.that_reads(self._tokenizer, way["reading"]), way["stops"]) if "stops" in way else None
            for way in ways
        ]
        rows = [tuple(prompt) for prompt in prompts]
        samples = self._forward.wearing(
            None, lambda: sample(self._forward, self._store, rows, seeds, manners, completes)
        )
        return [(each.tokens, each.logprobs, each.truncated) for each in samples]

    def _rate(self, rows: Any, temperature: float) -> list[list[float]]:
        queries = [
            Query(tuple(tokens), tuple(Target(at, tuple(legal)) for at, legal in targets)) for tokens, targets in rows
        ]
        chunk = chunk_of(self._forward.vocabulary, self._forward.device.type)

        def rating(part: Sequence[Query]) -> Rating:
            return self._forward.wearing(
                None, lambda: rate(self._store.read, self._forward.logits, part, temperature, chunk)
            )

        return [values.tolist() for values in rated_in_parts(queries, self._nodes, rating)]


def serve(handle: int) -> None:
    """The loop of the process, until the other end is closed."""
    stream = socket.socket(fileno=handle).makefile("rwb")
    try:
        hello, _ = _receive(stream)
        answer: Callable[[Mapping[str, Any], bytes], dict[str, Any]]
        try:
            answer, first = _Model(hello).answer, {"ready": True}
        except RedQueenError as error:
            _send(stream, {"refused": str(error)})
            return
        _send(stream, first)
        while True:
            request, body = _receive(stream)
            try:
                _send(stream, answer(request, body))
            except RedQueenError as error:
                _send(stream, {"refused": str(error)})
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


if __name__ == "__main__":
    serve(int(sys.argv[1]))
