"""Between a client that sends batches and takes results as protobuf alone (tinker from 0.25 on) and a server that reads
and writes JSON alone (SkyRL 0.3.0).

    tinker.ServiceClient(base_url=Translation("http://HOST:8000", key).url, api_key=key)

It listens on this machine, on a free port, until the process ends, and passes on what it does not translate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import numpy as np

from redqueen.players.bounded_http import Answer, BoundedClient, Refused, imported
from redqueen.texts import is_deep

PROTO = "application/x-protobuf"
SAMPLE = "/api/v1/asample"
_LARGEST = 1 << 30  # bytes of a request, and of an answer
_SILENT, _WHOLE = 44.0, 1800.0  # seconds without data, since the client asks anew after 45, and of a whole answer
_AT_ONCE = 64  # requests
_ADDRESS, _KEY = "127.0.0.1", "X-API-Key"


class Untranslatable(Exception):
    """A batch that has no form in JSON; its text says why."""


class Translation:
    """See the module. Requests must come with the `key`, and go to the server with it."""

    def __init__(self, server: str, key: str) -> None:
        self._upstream = BoundedClient(_SILENT, _WHOLE, {_KEY: key}, _AT_ONCE, _LARGEST)
        self._server = ThreadingHTTPServer((_ADDRESS, 0), _handler(server, self._upstream, key))
        self._server.daemon_threads = True
        self.url = f"http://{_ADDRESS}:{self._server.server_address[1]}"
        Thread(target=self._server.serve_forever, name="translation", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._upstream.close()


def request_as_json(packed: bytes) -> tuple[str, dict[str, Any]]:
    """The path and the body of a request for a forward pass, or one forward and backward. Raises Untranslatable for
    what is none, for images, and for sparse inputs."""
    from google.protobuf.message import DecodeError
    from tinker.proto import tinker_public_pb2 as proto

    try:
        found = proto.ForwardBackwardRequest.FromString(packed)
    except DecodeError as error:
        raise Untranslatable(f"the body is no request for a forward pass: {error}") from None
    batch = {
        "data": [
            {
                "model_input": {"chunks": [_chunk(each) for each in datum.model_input]},
                "loss_fn_inputs": {name: _tensor(value) for name, value in datum.loss_fn_inputs.items()},
            }
            for datum in found.data
        ],
        "loss_fn": found.loss_fn,
        "loss_fn_config": dict(found.loss_fn_config) or None,
    }
    name = "forward" if found.forward_only else "forward_backward"
    return f"/api/v1/{name}", {f"{name}_input": batch, "model_id": found.model_id, "seq_id": found.seq_id}


def answer_as_proto(found: object) -> bytes | None:
    """What was sampled, or what a pass gave, as protobuf; None for any other answer. Raises Untranslatable for one that
    has no such form."""
    if not isinstance(found, dict):
        return None
    try:
        if "sequences" in found:
            return _sampled(found)
        if "loss_fn_outputs" in found:
            return _passed(found)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise Untranslatable(f"an answer that cannot be read: {type(error).__name__}: {str(error)[:80]}") from None
    return None


def with_names(promise: dict[str, Any], count: int) -> dict[str, Any]:
    """The server's promise of `count` replies, with a name for each: the client wants them from the promise."""
    names = [f"{promise.get('request_id')}-{number}" for number in range(count)]
    return {"sample_sequence_ids": names, **promise}


def _chunk(chunk: Any) -> dict[str, Any]:
    if chunk.WhichOneof("chunk") != "encoded_text":
        raise Untranslatable("only tokens of text are translated")
    return {"type": "encoded_text", "tokens": np.frombuffer(chunk.encoded_text.tokens, np.int32).tolist()}


def _tensor(tensor: Any) -> dict[str, Any]:
    from tinker.proto import tinker_public_pb2 as proto

    kinds: dict[int, tuple[str, type]] = {
        proto.DTYPE_FLOAT32: ("float32", np.float32),
        proto.DTYPE_INT64: ("int64", np.int64),
    }
    if tensor.HasField("sparse_csr") or tensor.dtype not in kinds:
        raise Untranslatable("only dense inputs in float32 and int64 are translated")
    name, kind = kinds[tensor.dtype]
    return {"data": np.frombuffer(tensor.dense, kind).tolist(), "dtype": name, "shape": list(tensor.shape) or None}


def _sampled(found: Mapping[str, Any]) -> bytes:
    from tinker.proto import tinker_public_pb2 as proto

    ends = {"stop": proto.STOP_REASON_STOP, "length": proto.STOP_REASON_LENGTH}
    packed = proto.SampleResponse()
    for each in found["sequences"]:
        said = packed.sequences.add()
        said.stop_reason = ends[each["stop_reason"]]
        said.tokens = _whole(each["tokens"])
        if each.get("logprobs") is not None:
            said.logprobs = _floats(each["logprobs"])
    if found.get("prompt_logprobs") is not None:
        packed.prompt_logprobs = _floats(found["prompt_logprobs"])
    return bytes(packed.SerializeToString())


def _passed(found: Mapping[str, Any]) -> bytes:
    from tinker.proto import tinker_public_pb2 as proto

    packed = proto.ForwardBackwardOutput(loss_fn_output_type=str(found.get("loss_fn_output_type", "")))
    for name, value in (found.get("metrics") or {}).items():
        packed.metrics[name] = float(value)
    rows = found["loss_fn_outputs"]
    if len({frozenset(row) for row in rows}) > 1:
        raise ValueError("rows have other fields than one another")
    for row in rows:  # a record each, since their shapes may differ
        record = packed.loss_fn_outputs.add(num_datums=1)
        for name, value in row.items():
            values = _floats(value["data"])
            field = record.fields[name]
            field.dtype, field.data = proto.DTYPE_FLOAT32, values
            field.offsets = np.array([0, len(values)], np.int64).tobytes()
            field.trailing_shape.extend((value.get("shape") or [0])[1:])
    return bytes(packed.SerializeToString())


def _floats(values: Any) -> bytes:
    """float32, NaN for what is missing."""
    return np.array([np.nan if each is None else each for each in values], np.float32).tobytes()


def _whole(values: Any) -> bytes:
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in values):
        raise ValueError("tokens are whole numbers")
    return np.array(values, np.int32).tobytes()


def _handler(server: str, upstream: BoundedClient, key: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are kept

        def do_GET(self) -> None:
            if self._refused():
                return
            self._answer(lambda: upstream.get(f"{server}{self.path}"))

        def do_POST(self) -> None:
            if self._refused():
                return None
            length = self.headers.get("Content-Length", "0")
            if not length.isascii() or not length.isdigit() or int(length) > _LARGEST:
                self.close_connection = True
                return self._say(413, {"detail": f"a request has a length, of at most {_LARGEST >> 20} MiB"})
            packed = self.rfile.read(int(length))
            path, body = self.path, dict[str, Any]()
            try:
                if self.headers.get("Content-Type", "").startswith(PROTO):
                    path, body = request_as_json(packed)
                elif packed:
                    body = json.loads(packed)
                if not isinstance(body, dict):
                    raise Untranslatable("the body of a request is an object")
            except (Untranslatable, ValueError, RecursionError) as error:
                return self._say(400, {"detail": str(error)})
            count = body.get("num_samples", 1) if path == SAMPLE else 0
            return self._answer(lambda: upstream.post(f"{server}{path}", body), count)

        def _refused(self) -> bool:
            """Refuses whoever has another key, such as another user of this machine, before anything is read."""
            if compare_digest(self.headers.get(_KEY, "").encode(), key.encode()):
                return False
            self.close_connection = True
            self._say(401, {"detail": "the key is not that of the run"})
            return True

        def _answer(self, ask: Callable[[], Answer], count: int = 0) -> None:
            """Passes on an answer, to an order of `count` replies, or of none."""
            httpx = imported()
            try:
                answer = ask()
            except httpx.TimeoutException:
                return self._say(408, {"detail": "the server has not answered yet"})
            except (httpx.HTTPError, Refused) as error:
                return self._say(502, {"detail": f"the server behind gave no answer: {error}"})
            content = answer.text.encode()
            kind = answer.headers.get("content-type", "text/plain")
            if answer.status == 200 and (count or PROTO in self.headers.get("Accept", "")):
                try:
                    found = answer.json()
                    packed = None if count else answer_as_proto(found)
                except (Untranslatable, ValueError) as error:
                    return self._say(200, {"error": str(error), "category": "server"})
                if count and isinstance(found, dict) and not is_deep(found):
                    content = json.dumps(with_names(found, count)).encode()
                if packed is not None:
                    content, kind = packed, PROTO
            return self._send(answer.status, content, kind)

        def _say(self, status: int, found: Mapping[str, Any]) -> None:
            self._send(status, json.dumps(found).encode(), "application/json")

        def _send(self, status: int, content: bytes, kind: str) -> None:
            with suppress(ConnectionError):  # who asked has gone
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is written for each request."""

    return Handler
