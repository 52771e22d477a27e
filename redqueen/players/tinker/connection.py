"""A server that speaks the Tinker API: connecting, waiting for it, and its errors in one line.

The client itself retries broken connections, 429 and 5xx after 1, 2, 4, ... at most 30 seconds, without end. Here a
local server that no longer answers is given `patience` seconds, and any one request `timeout` seconds, or a minute
where it takes no work of the model. A run that loses its server ends with one line and can be resumed from its last
checkpoint.
"""

from __future__ import annotations

import atexit
import math
import os
import re
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from difflib import get_close_matches
from threading import Thread
from typing import Any, TypeVar

from redqueen.markup import visible
from redqueen.players.bounded_http import Answer, BoundedClient, Refused
from redqueen.players.tinker.adapters import Adapter
from redqueen.players.tinker.dialects import Dialect, recognised
from redqueen.players.tinker.protobuf import Translation
from redqueen.trust.door import enter
from redqueen.types import RedQueenError

T = TypeVar("T")
PREFIX = "tinker:"
KEY = "TINKER_API_KEY"
_NO_KEY = "tml-none"  # sent to a local server if no key is set: the client requires one
_START = "start it as docs/scale.md says"
_AT_ONCE = 60.0  # seconds for what takes no work of the model: a session, and what the server has
_PATIENCE, _POLL = 30.0, 2.0  # seconds
_LONGEST = 4096  # characters of what a server says of itself or of an error
_KNOCK, _SAID = 10.0, 1 << 20  # seconds, and bytes, of an answer to a question besides training


class Connection:
    """See the module. `service` is a `tinker.ServiceClient` and `rest` a `tinker.RestClient`, or any objects with their
    methods. `alive` returns whether the server still answers; it is called only while a request takes long."""

    def __init__(
        self,
        service: Any,
        rest: Any,
        base_model: str,
        where: str,
        *,
        is_skyrl: bool,
        alive: Callable[[], bool] = lambda: True,
        unload: Callable[[str], None] | None = None,
        timeout: float = 1800.0,
        patience: float = _PATIENCE,
        poll: float = _POLL,
        most_open: int = 8,
    ) -> None:
        self.base_model = base_model
        self.where = where
        self.longest: int | None = None  # tokens that the model reads, where the server says so
        self.vocabulary = 1 << 31  # tokens; a policy says how many its tokenizer knows
        self._service, self._rest = service, rest
        self._is_skyrl = is_skyrl
        self._alive, self._unload = alive, unload
        self._timeout, self._patience, self._poll = timeout, patience, poll
        self._most_open = most_open
        self._open: OrderedDict[str, Adapter] = OrderedDict()  # past selves that have a place of their own, by path
        self._places: dict[str, None] = {}  # the adapters that hold one

    def check(self) -> None:
        """Raises RedQueenError for a server that cannot be used or does not have the base model; for a server with one
        model no base model need be named."""
        found = self.call("say what it serves", lambda: self._rest.get_server_capabilities().result(), _AT_ONCE)
        models = {str(each.model_name): each.max_context_length for each in found.supported_models}
        if not self.base_model and len(models) == 1:
            (self.base_model,) = models
        if self.base_model not in models:
            close = get_close_matches(self.base_model, models, n=1)
            known = f"did you mean {close[0]}?" if close else f"it has {', '.join(list(models)[:8])}"
            raise RedQueenError(f"{self.where} does not have the base model {self.base_model!r}: {known}")
        self.longest = models[self.base_model]

    def tokenizer(self, adapter: Adapter) -> Any:
        """The tokenizer of the base model, loaded on this machine: from a folder, the cache or the hub."""
        try:
            return adapter.client.get_tokenizer()
        except (OSError, ValueError, ImportError) as error:
            raise RedQueenError(
                f"the tokenizer of {self.base_model} cannot be loaded on this machine: {one_line(error)}"
            ) from error

    def create(self, rank: int, seed: int | None) -> Adapter:
        """A new adapter, initialised as the identity."""
        client = self.call(
            "make an adapter",
            lambda: self._service.create_lora_training_client(self.base_model, rank=rank, seed=seed).result(),
        )
        adapter = Adapter(self, client, rank)
        self._places[adapter.model_id] = None
        return adapter

    def past(self, path: str, rank: int) -> Adapter:
        """The adapter that was saved at `path`, in a slot of its own on the server. At most `most_open` are kept; the
        least recently used one is released, and loaded again when it is used."""
        if path not in self._open:
            adapter = self.create(rank, None)
            adapter.load(path)
            self._open[path] = adapter
            if len(self._open) > self._most_open:
                _, leaving = self._open.popitem(last=False)
                self.release(leaving)
        self._open.move_to_end(path)
        return self._open[path]

    def release(self, adapter: Adapter) -> None:
        """Frees an adapter's slot, if the server allows it."""
        del self._places[adapter.model_id]
        if self._unload:
            self._unload(adapter.model_id)

    def close(self) -> None:
        """Frees the slots of all adapters; their weights must have been saved before."""
        while self._places and self._unload:
            self._unload(self._places.popitem()[0])

    def sampler(self, path: str) -> Any:
        """A `tinker.SamplingClient` for named sampler weights."""
        return self.call("open a past self", lambda: self._service.create_sampling_client(model_path=path).result())

    def dialect(self, outputs: Sequence[str], metrics: Sequence[str]) -> Dialect:
        return recognised(self._is_skyrl, outputs, metrics)

    @property
    def keeps_samplers(self) -> bool:
        return not self._is_skyrl

    def check_length(self, tokens: int) -> None:
        """Raises RedQueenError if `tokens` exceeds the model's context length."""
        if self.longest is not None and tokens > self.longest:
            raise RedQueenError(
                f"{tokens} tokens, prompt and reply, do not fit the {self.longest} that {self.base_model} reads at "
                f"{self.where}: shorten --max-completion-length or what is asked"
            )

    def call(self, doing: str, work: Callable[[], T], within: float = math.inf) -> T:
        """What `work` returns, run in another thread. Raises RedQueenError if the server fails, is too slow (`within`
        seconds, where that is less than its timeout), or no longer answers."""
        return _bounded(
            self.where,
            doing,
            work,
            self._alive,
            timeout=min(within, self._timeout),
            patience=self._patience,
            poll=self._poll,
        )


def _bounded(
    where: str,
    doing: str,
    work: Callable[[], T],
    alive: Callable[[], bool],
    *,
    timeout: float,
    patience: float = _PATIENCE,
    poll: float = _POLL,
) -> T:
    """As `Connection.call`."""
    done: Future[T] = Future()
    Thread(target=_carry_out, args=(work, done), daemon=True).start()
    began, silent = time.monotonic(), None
    while not wait([done], timeout=poll).done:
        now = time.monotonic()
        silent = None if alive() else now if silent is None else silent
        if silent is not None and now - silent >= patience:
            raise RedQueenError(
                f"the server at {where} has not answered for {patience:g} s: {_START}, and go on from the last "
                "checkpoint with: redqueen resume RUN"
            )
        if now - began > timeout:
            raise RedQueenError(f"{where} did not {doing} within {timeout:g} s")
    try:
        return done.result()
    except _troubles() as error:
        raise RedQueenError(trouble(where, doing, error)) from error


def trouble(where: str, doing: str, error: BaseException) -> str:
    """The one-line message for an error that the client raised."""
    said = one_line(error)
    status = getattr(error, "status_code", None)  # of the client's errors that answer to a response
    if status in (401, 403) or "api_key" in said:
        return f"{where} refused the key ({said}): put a valid one into ${KEY}"
    if "not loaded" in said:
        return f"{where} has forgotten this run's model ({said}): go on from the last checkpoint with redqueen resume"
    return f"{where} could not {doing}: {said}"


def one_line(error: BaseException) -> str:
    """The server's own message if it can be found in `error`."""
    text = " ".join(str(error)[:_LONGEST].split()) or type(error).__name__
    detail = re.search(r"""['"]detail['"]: ['"](.*?)['"]\}""", text)
    text = detail[1] if detail else re.sub(r"^Request failed: (.*) for self\.request_id=.*$", r"\1", text)
    key = os.environ.get(KEY, "")
    return visible((text.replace(key, "[key]") if key else text)[:240])


def _carry_out(work: Callable[[], T], done: Future[T]) -> None:
    try:
        done.set_result(work())
    except BaseException as error:
        done.set_exception(error)


def _troubles() -> tuple[type[BaseException], ...]:
    """The exceptions of the client for which the server, not this program, is at fault."""
    import httpx
    import tinker
    from tinker.lib.retryable_exception import RetryableException

    return (tinker.TinkerError, RetryableException, httpx.HTTPError, OSError, ValueError)


def is_on_server(model: str) -> bool:
    return model.startswith(PREFIX)


def base_and_url(model: str) -> tuple[str, str]:
    """The base model and the url in "tinker:BASE@URL"; the url is empty for the hosted service."""
    base, at, url = model.removeprefix(PREFIX).rpartition("@")
    if not at:
        base, url = url, ""
    if not base or (at and not url):
        raise RedQueenError(
            f"the model {model!r} is not known: write {PREFIX}BASE@URL, or {PREFIX}BASE if it is hosted"
        )
    return base, url


def connect(base_model: str, url: str) -> Connection:
    """The server at `url`; without a url, the hosted service. Raises RedQueenError if the client is not installed,
    nothing answers, the key is refused or the server does not have the base model."""
    try:
        import tinker
    except ImportError:
        raise RedQueenError("a policy on a server needs the extra [tinker]: pip install 'redqueen[tinker]'") from None
    os.environ.setdefault("TINKER_TELEMETRY", "0")  # nothing of a run is sent that the run does not need
    # the pinned client still has it; what it names instead makes a new adapter, for which a server may have no place
    warnings.filterwarnings("ignore", r"DEPRECATED: TrainingClient\.load_state", FutureWarning)
    url = (url or os.environ.get("TINKER_BASE_URL", "")).rstrip("/")
    if not url and not os.environ.get(KEY):
        raise RedQueenError(f"the hosted Tinker service needs a key in ${KEY}; a server of your own: tinker:BASE@URL")
    if url:
        enter(url, "", f"the server {url!r}", "would be sent what is said")
    name = _greet(url) if url else ""
    where = url or "the hosted Tinker service"
    is_skyrl = "Tinker API Mock" in name  # what SkyRL's server calls itself
    key = os.environ.get(KEY) or _NO_KEY
    spoken = Translation(url, key) if is_skyrl else None
    settings: dict[str, Any] = {"base_url": spoken.url if spoken else url, "api_key": key} if url else {}

    def alive() -> bool:
        return not url or _answers(url)

    service, rest = _bounded(
        where,
        "open a session",
        lambda: (tinker.ServiceClient(**settings), tinker.RestClient(**settings)),
        alive,
        timeout=_AT_ONCE,
    )
    connection = Connection(
        service,
        rest,
        base_model,
        where,
        is_skyrl=is_skyrl,
        alive=alive,
        unload=(lambda model: _unload(url, model)) if url else None,
    )
    connection.check()
    atexit.register(connection.close)  # a client that is killed frees its places when its session times out
    return connection


def _greet(url: str, tries: int = 4) -> str:
    """The server's description of itself at its root url. Retries after 0.5, 1 and 2 seconds."""
    import httpx

    if not url.startswith(("http://", "https://")):
        raise RedQueenError(f"the server's url must begin with http:// or https://, not {url!r}")
    for attempt in range(tries):
        try:
            if _get(f"{url}/api/v1/healthz").status < 500:
                return _get(url).text[:_LONGEST]
        except httpx.InvalidURL as error:
            raise RedQueenError(f"the server's url {url!r} is not a url ({error})") from None
        except Refused as error:
            raise RedQueenError(f"the answer of {url} is not taken: {error}") from None
        except httpx.HTTPError:
            pass  # nothing answers yet
        if attempt + 1 < tries:
            time.sleep(0.5 * 2**attempt)
    raise RedQueenError(f"nothing answers at {url}: is the server running? {_START}")


def _answers(url: str) -> bool:
    import httpx

    try:
        return _get(f"{url}/api/v1/healthz").status < 500
    except (httpx.HTTPError, Refused):
        return False


def _get(url: str) -> Answer:
    with BoundedClient(_KNOCK, _KNOCK, largest=_SAID) as client:
        return client.get(url)


def _unload(url: str, model: str) -> None:
    """Frees an adapter's slot. The client has no call for it; a server that refuses keeps the slot."""
    import httpx

    try:
        with BoundedClient(_KNOCK, _KNOCK, largest=_SAID) as client:
            client.post(f"{url}/api/v1/unload_model", {"model_id": model})
    except (httpx.HTTPError, Refused):
        return
