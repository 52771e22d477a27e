"""What a client of today sends as protobuf reaches a server of JSON, and its answers come back."""

import json
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import numpy as np
import pytest

from redqueen.players.tinker import protobuf
from redqueen.players.tinker.protobuf import PROTO, Translation, Untranslatable, answer_as_proto, request_as_json

tinker = pytest.importorskip("tinker")
from tinker.proto import tinker_public_pb2 as proto  # noqa: E402
from tinker.proto.request_conv import forward_backward_request_to_proto  # noqa: E402
from tinker.proto.response_conv import deserialize_proto_response  # noqa: E402
from tinker.types.forward_backward_input import ForwardBackwardInput  # noqa: E402
from tinker.types.forward_backward_output import ForwardBackwardOutput  # noqa: E402
from tinker.types.forward_backward_request import ForwardBackwardRequest  # noqa: E402
from tinker.types.sample_response import SampleResponse  # noqa: E402

KEY = {"X-API-Key": "tml-key"}

TARGETS, WEIGHTS = [5, 6, 49151], [0.5, -1.25, 1e-9]
SAMPLED = {
    "sequences": [
        {"stop_reason": "stop", "tokens": [7, 49151], "logprobs": [-0.5, -2.25]},
        {"stop_reason": "length", "tokens": [], "logprobs": None},
    ],
    "prompt_logprobs": [None, -0.125],
}
PASSED = {
    "loss_fn_output_type": "scalar",
    "loss_fn_outputs": [
        {"logprobs": {"data": [-0.5, -1.5], "dtype": "float32", "shape": [2]}},
        {"logprobs": {"data": [-3.0], "dtype": "float32", "shape": None}},
    ],
    "metrics": {"loss:sum": 2.5},
}


def asked(forward_only=False, config=None, datum=None):
    """The bytes that the client itself makes of a request."""
    inputs = {
        "target_tokens": tinker.types.TensorData(data=TARGETS, dtype="int64"),
        "weights": tinker.types.TensorData(data=WEIGHTS, dtype="float32", shape=[3]),
    }
    usual = tinker.types.Datum(model_input=tinker.types.ModelInput.from_ints([1, 2, 3]), loss_fn_inputs=inputs)
    batch = ForwardBackwardInput(data=[datum or usual], loss_fn="cispo", loss_fn_config=config)
    found = forward_backward_request_to_proto(
        ForwardBackwardRequest(forward_backward_input=batch, model_id="m:1", seq_id=4)
    )
    found.forward_only = forward_only
    return found.SerializeToString()


def test_a_batch_is_what_it_was():
    path, body = request_as_json(asked(config={"clip_low_threshold": 0.8}))
    assert path == "/api/v1/forward_backward"
    assert (body["model_id"], body["seq_id"]) == ("m:1", 4)
    batch = body["forward_backward_input"]
    assert (batch["loss_fn"], batch["loss_fn_config"]) == ("cispo", {"clip_low_threshold": 0.8})
    (datum,) = batch["data"]
    assert datum["model_input"] == {"chunks": [{"type": "encoded_text", "tokens": [1, 2, 3]}]}
    assert datum["loss_fn_inputs"]["target_tokens"] == {"data": TARGETS, "dtype": "int64", "shape": None}
    weights = datum["loss_fn_inputs"]["weights"]
    assert (weights["dtype"], weights["shape"]) == ("float32", [3])
    assert weights["data"] == np.array(WEIGHTS, np.float32).tolist()
    json.dumps(body)


def test_a_pass_without_gradient_has_a_path_of_its_own():
    path, body = request_as_json(asked(forward_only=True))
    assert path == "/api/v1/forward"
    assert set(body) == {"forward_input", "model_id", "seq_id"}
    assert body["forward_input"]["loss_fn_config"] is None


def test_what_was_sampled_is_read_by_the_client():
    found = deserialize_proto_response(answer_as_proto(SAMPLED), SampleResponse)
    assert [(each.stop_reason, each.tokens, each.logprobs) for each in found.sequences] == [
        ("stop", [7, 49151], [-0.5, -2.25]),
        ("length", [], None),
    ]
    assert found.prompt_logprobs == [None, -0.125]


def test_what_a_pass_gave_is_read_by_the_client():
    found = deserialize_proto_response(answer_as_proto(PASSED), ForwardBackwardOutput)
    assert found.metrics == {"loss:sum": 2.5}
    first, second = found.loss_fn_outputs
    assert {name: value.data for name, value in first.items()} == {"logprobs": [-0.5, -1.5]}
    assert {name: value.data for name, value in second.items()} == {"logprobs": [-3.0]}


@pytest.mark.parametrize("other", [{"error": "no", "category": "user"}, {"type": "save_weights"}, [1], None, "x"])
def test_other_answers_stay_as_they_are(other):
    assert answer_as_proto(other) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"sequences": 3},
        {"sequences": [{"tokens": [1]}]},
        {"sequences": [{"stop_reason": "tired", "tokens": [1]}]},
        {"sequences": [{"stop_reason": "stop", "tokens": [1.5]}]},
        {"sequences": [{"stop_reason": "stop", "tokens": [1 << 40]}]},
        {"sequences": [{"stop_reason": "stop", "tokens": [1], "logprobs": ["x"]}]},
        {"loss_fn_outputs": [3]},
        {"loss_fn_outputs": [{"logprobs": {}}]},
        {"loss_fn_outputs": [{"logprobs": {"data": [0.0]}}, {"loss": {"data": [0.0]}}]},
        {"loss_fn_outputs": [], "metrics": {"loss": "low"}},
    ],
)
def test_an_answer_that_cannot_be_is_one_line(wrong):
    with pytest.raises(Untranslatable, match=r"^an answer that cannot be read: [^\n]*$"):
        answer_as_proto(wrong)


def test_batches_that_have_no_form_in_json_are_refused():
    with pytest.raises(Untranslatable, match="no request for a forward pass"):
        request_as_json(b"\xff\xff")
    image = tinker.types.Datum(
        model_input=tinker.types.ModelInput(chunks=[tinker.types.ImageChunk(data=b"x", format="png")]),
        loss_fn_inputs={},
    )
    with pytest.raises(Untranslatable, match="only tokens of text"):
        request_as_json(asked(datum=image))
    sparse = proto.ForwardBackwardRequest()
    sparse.data.add().loss_fn_inputs["weights"].sparse_csr.values = b""
    with pytest.raises(Untranslatable, match="only dense inputs"):
        request_as_json(sparse.SerializeToString())


class Json(BaseHTTPRequestHandler):
    """A server of JSON that keeps what it was told."""

    protocol_version = "HTTP/1.1"
    answers, told = {}, []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.told.append((self.path, body, self.headers.get("X-API-Key")))
        status, found = self.answers[self.path]
        self._say(status, found)

    def do_GET(self):
        self._say(200, {"path": self.path})

    def _say(self, status, found):
        content = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *words):
        pass


@pytest.fixture
def behind():
    """A server of JSON, and the address of a translation before it."""
    handler = type("Handler", (Json,), {"answers": {}, "told": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with closing(Translation(f"http://127.0.0.1:{server.server_port}", "tml-key")) as made:
            yield handler, made.url
        server.shutdown()


def test_requests_go_through_with_the_key(behind):
    handler, url = behind
    handler.answers["/api/v1/forward"] = 200, {"request_id": "3"}
    answer = httpx.post(f"{url}/api/v1/forward_backward", content=asked(True), headers=KEY | {"Content-Type": PROTO})
    assert answer.json() == {"request_id": "3"}
    ((path, body, key),) = handler.told
    assert (path, key, body["model_id"]) == ("/api/v1/forward", "tml-key", "m:1")
    assert httpx.get(f"{url}/api/v1/healthz", headers=KEY).json() == {"path": "/api/v1/healthz"}


def test_nobody_else_asks_with_the_key_of_the_run(behind):
    handler, url = behind
    for other in ({}, {"X-API-Key": "tml-other"}):
        assert httpx.post(f"{url}/api/v1/forward", json={}, headers=other).status_code == 401
        assert httpx.post(f"{url}/api/v1/forward", content=b"{", headers=other).status_code == 401
    assert handler.told == []


def test_answers_are_packed_for_who_asks_for_it(behind):
    handler, url = behind
    handler.answers["/api/v1/retrieve_future"] = 200, SAMPLED
    plain = httpx.post(f"{url}/api/v1/retrieve_future", json={"request_id": "3"}, headers=KEY)
    assert plain.json() == SAMPLED
    packed = httpx.post(f"{url}/api/v1/retrieve_future", json={"request_id": "3"}, headers=KEY | {"Accept": PROTO})
    assert packed.headers["content-type"] == PROTO
    assert deserialize_proto_response(packed.content, SampleResponse).sequences[0].tokens == [7, 49151]
    handler.answers["/api/v1/retrieve_future"] = 200, {"sequences": 3}
    wrong = httpx.post(f"{url}/api/v1/retrieve_future", json={"request_id": "3"}, headers=KEY | {"Accept": PROTO})
    assert wrong.json()["error"].startswith("an answer that cannot be read")
    handler.answers["/api/v1/retrieve_future"] = 400, {"detail": "no such adapter"}
    failed = httpx.post(f"{url}/api/v1/retrieve_future", json={"request_id": "3"}, headers=KEY | {"Accept": PROTO})
    assert (failed.status_code, failed.json()) == (400, {"detail": "no such adapter"})


def test_each_reply_that_is_promised_has_a_name(behind):
    handler, url = behind
    handler.answers["/api/v1/asample"] = 200, {"request_id": "8"}
    answer = httpx.post(f"{url}/api/v1/asample", json={"num_samples": 2}, headers=KEY)
    assert answer.json() == {"request_id": "8", "sample_sequence_ids": ["8-0", "8-1"]}
    handler.answers["/api/v1/asample"] = 200, {"request_id": "8", "sample_sequence_ids": ["a", "b"]}
    assert httpx.post(f"{url}/api/v1/asample", json={"num_samples": 2}, headers=KEY).json()["sample_sequence_ids"] == [
        "a",
        "b",
    ]


def test_what_cannot_be_passed_on_is_one_line(behind, monkeypatch):
    handler, url = behind
    assert httpx.post(f"{url}/api/v1/x", content=b"\xff", headers=KEY | {"Content-Type": PROTO}).status_code == 400
    assert httpx.post(f"{url}/api/v1/x", content=b"{", headers=KEY).status_code == 400
    assert httpx.post(f"{url}/api/v1/x", content=b"[1]", headers=KEY).status_code == 400
    monkeypatch.setattr(protobuf, "_LARGEST", 10)
    assert httpx.post(f"{url}/api/v1/x", content=b" " * 11, headers=KEY).status_code == 413
    assert handler.told == []


def test_a_server_that_is_gone_or_silent_is_said_to_be_so(monkeypatch):
    with closing(Translation("http://127.0.0.1:9", "tml-key")) as made:
        gone = httpx.get(f"{made.url}/api/v1/healthz", headers=KEY)
        assert (gone.status_code, "gave no answer" in gone.json()["detail"]) == (502, True)
    monkeypatch.setattr(protobuf, "_SILENT", 0.2)
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Json) as silent,
        closing(Translation(f"http://127.0.0.1:{silent.server_port}", "tml-key")) as made,
    ):
        assert httpx.get(f"{made.url}/api/v1/healthz", headers=KEY).status_code == 408
