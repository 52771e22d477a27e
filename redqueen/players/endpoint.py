"""A model behind an OpenAI-compatible endpoint: a hosted service, or a local vLLM, SGLang, llama.cpp or Ollama."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Event
from typing import Any, ClassVar, TypeVar

import numpy as np

from redqueen.chance import derive, uniform
from redqueen.markup import visible
from redqueen.players.bounded_http import LARGEST, Answer, BoundedClient, Refused, imported
from redqueen.players.language.answers import Plain, thought_and_action
from redqueen.players.language.chat_format import worded
from redqueen.protocols import AnswerFormat, Heard
from redqueen.texts import THINK, Marks, opened_before, until_stop, well_formed
from redqueen.trust.door import enter
from redqueen.types import Ask, RedQueenError, Reply, Unreachable

Chat = list[dict[str, str]]  # {"role": ..., "content": ...}
T = TypeVar("T")
_KNOCK = 5.0  # seconds
_NEAR_ONE = 1e-3  # nats above 0 that a server's rounding may put a log-probability
_LIMIT, _RENAMED = "max_tokens", "max_completion_tokens"  # OpenAI's newer models take the second name alone
_RATED = 20  # the most likely first tokens that an endpoint is asked for; OpenAI's and vLLM's maximum
_OF_THE_PROMPT = (400, 413, 422)  # statuses of a prompt that is too long, or that a filter stops
_ALL_REFUSED = 8  # prompts after which an endpoint that has taken none is taken to refuse all


class PromptRefused(RedQueenError):
    """The endpoint takes no request with this prompt."""


@dataclass(frozen=True)
class Server:
    """Answers asks through `POST {url}/chat/completions`, several at a time, in their order.

    Connection errors, time-outs, 429 and 5xx are retried `retries` times, after the Retry-After header or
    exponential backoff from `backoff` seconds with jitter, the longer of both, and never after more than
    `longest_wait`. An answer that is larger than `largest`, or takes longer than `total` as a whole, ends the run with
    one line, and is not retried. A prompt that it refuses (400, 413, 422: too long, or stopped by a filter) has no
    reply where it takes others, and a warning says so. The endpoint is sent a seed made from the ask's, which it may
    ignore, and the limit of tokens as `max_tokens`, or as `max_completion_tokens` once it has refused the first and
    named the second.
    """

    asked_in_threads: ClassVar[bool] = True

    model: str
    url: str = "http://localhost:8000/v1"
    api_key_env: str = "OPENAI_API_KEY"  # the environment variable that holds the key; none is sent where it is unset
    answer: AnswerFormat = field(default_factory=Plain)
    system: str = ""
    wording: str = "{prompt}"  # of the first message, where {prompt} stands for it
    temperature: float | None = 1.0  # None leaves it to the endpoint
    max_tokens: int | None = 512  # None leaves it to the endpoint
    concurrency: int = 8  # requests in flight
    timeout: float = 120.0  # seconds without any data from the endpoint
    total: float = 600.0  # seconds for a whole answer
    largest: int = LARGEST  # bytes of an answer, as sent and as unpacked
    retries: int = 5
    backoff: float = 0.5  # seconds before the first retry
    longest_wait: float = 60.0  # seconds
    extra: Mapping[str, Any] = field(default_factory=dict)  # further fields of the request, such as top_p
    stops: tuple[str, ...] = ()  # texts after which a reply is cut
    label: str = ""  # the player's name; the model's where it is empty
    thoughts: Marks = THINK  # where the endpoint sends what the model thinks along with what it says
    _names: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)  # as the endpoint says
    _taken: set[str] = field(default_factory=set, init=False, repr=False, compare=False)  # its url, once it has replied

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise RedQueenError(f"the server's url must begin with http:// or https://, not {self.url!r}")
        enter(self.url, "", f"the endpoint {self.url!r}", "would be sent what is said")
        if "@" in self.url.partition("://")[2].partition("/")[0]:
            raise RedQueenError(
                "a server's url holds no user and password, as it stands in the record of a run: put a key into the "
                f"environment variable {self.api_key_env or 'OPENAI_API_KEY'}"
            )
        if self.concurrency < 1 or self.retries < 0 or min(self.timeout, self.total, self.largest) <= 0:
            raise RedQueenError("a server needs concurrency of 1 or more, retries of 0 or more and limits above 0")

    @property
    def name(self) -> str:
        return self.label or self.model

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        """The replies in the order of `asks`. Raises RedQueenError if the endpoint cannot be reached, refuses, or does
        not speak the protocol."""
        return self._all(self._answer, self._silent, asks)

    def reply_each(self, asks: Sequence[Ask], heard: Heard) -> list[Reply]:
        """As `reply`; `heard` is told the place of each reply and the reply when it comes, whatever fails later."""
        return self._all(self._answer, self._silent, asks, heard)

    def rate_each(self, asks: Sequence[Ask], heard: Heard) -> list[np.ndarray]:
        """As `rate_choices`, and as `reply_each`."""
        self._check_choices(asks)
        return self._all(self._rated, _unrated, asks, heard)

    def _all(
        self,
        answer: Callable[[BoundedClient, Event, Ask], T],
        without: Callable[[Ask], T],
        asks: Sequence[Ask],
        heard: Heard | None = None,
    ) -> list[T]:
        """`answer` to each ask, several at a time; one whose prompt is refused goes `without`."""
        if not asks:
            return []
        stop = Event()  # set when one request has failed for good: the others need not wait their turn
        with (
            BoundedClient(self.timeout, self.total, self._headers(), self.concurrency, self.largest) as client,
            ThreadPoolExecutor(min(self.concurrency, len(asks))) as workers,
        ):
            answers = [workers.submit(answer, client, stop, ask) for ask in asks]
            places = {each: place for place, each in enumerate(answers)}
            found: dict[int, T] = {}
            refused: dict[int, PromptRefused] = {}

            def hear(place: int, one: T) -> None:
                found[place] = one
                if heard is not None:
                    heard(place, one)

            try:
                for each in as_completed(answers):
                    try:
                        hear(places[each], each.result())
                    except PromptRefused as error:
                        refused[places[each]] = error
                        if len(refused) == min(_ALL_REFUSED, len(asks)) and self.url not in self._taken:
                            raise
                    del places[each]
                for place in refused:
                    hear(place, without(asks[place]))
                if refused:
                    warnings.warn(f"{next(iter(refused.values()))}: what is asked so has no reply", stacklevel=2)
                return [found[place] for place in range(len(asks))]
            except BaseException:
                stop.set()
                workers.shutdown(cancel_futures=True)  # those in flight are waited for: they are paid for
                for each, place in places.items():
                    if heard is not None and each.done() and not each.cancelled() and each.exception() is None:
                        heard(place, each.result())
                raise

    def _silent(self, ask: Ask) -> Reply:
        return Reply("", self.name, malformed=True)

    def check(self) -> Server:
        """This server. Raises Unreachable if nothing answers at the url; any answer will do."""
        httpx = imported()
        try:
            with BoundedClient(_KNOCK, _KNOCK, largest=self.largest) as client:
                client.get(self.url)
        except httpx.ConnectError as error:
            raise Unreachable(f"{self._who}{self._silence(error)}") from None
        except (httpx.TransportError, httpx.InvalidURL, Refused):
            pass  # the first request will tell
        return self

    def messages(self, ask: Ask) -> Chat:
        """The ask as a chat: the seat is the assistant, every other speaker is the user; consecutive messages of
        one role are joined. The last user message ends with the legal replies and the answer format."""
        chat: Chat = []
        if self.system:
            _append(chat, "system", self.system)
        for message in worded(ask.messages, str(ask.seat), self.wording):
            own = message.speaker == str(ask.seat)
            _append(chat, "assistant" if own else "system" if message.speaker == "system" else "user", message.text)
        if ask.choices:
            _append(chat, "user", f"Your answer must be exactly one of: {', '.join(ask.choices)}")
        if self.answer.instruction:
            _append(chat, "user", self.answer.instruction)
        return chat

    def identity(self) -> str:
        """What the replies depend on besides the ask, as far as it is known here: address, prompts and sampling."""
        said = (self.model, self.url, self.answer, self.system, self.wording, self.temperature, self.max_tokens)
        return repr((*said, sorted(self.extra.items()), self.stops, self.thoughts))

    def rate_choices(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """[K] for each ask: the probability of each of its choices among those that one of the likeliest first tokens
        (`top_logprobs`) begins, summing to one; NaN where none does. Raises RedQueenError for choices that begin alike,
        and for an endpoint that sends no log-probabilities."""
        self._check_choices(asks)
        return self._all(self._rated, _unrated, asks)

    def _check_choices(self, asks: Sequence[Ask]) -> None:
        for ask in asks:
            if len({choice[:1].casefold() for choice in ask.choices}) < len(ask.choices):
                raise RedQueenError(
                    f"{self.url} rates the first token of a reply, and {', '.join(ask.choices)} begin alike: sample "
                    "replies (--samples 32), or give a judge verdicts of one character (--judge.scale 1-9)"
                )

    def _rated(self, client: BoundedClient, stop: Event, ask: Ask) -> np.ndarray:
        rating = {_LIMIT: 1, "logprobs": True, "top_logprobs": _RATED}
        response = self._post(client, stop, {**self._body(ask), **rating}, ask.seed)
        try:
            likely = _first(response)["logprobs"]["content"][0]["top_logprobs"]
            found = {str(each["token"]): float(each["logprob"]) for each in likely}
            readable = all(logprob <= _NEAR_ONE for logprob in found.values())  # which NaN is not
        except (AttributeError, ValueError, KeyError, IndexError, TypeError, OverflowError):
            readable = False
        if not readable:
            raise RedQueenError(
                f"{self.url} sent no log-probabilities (top_logprobs {_RATED}): its replies can be sampled "
                "(exploitability --samples 32; a judge without --judge.expected)"
            )
        mass = np.zeros(len(ask.choices))
        for token, logprob in found.items():
            begun = token.strip().casefold()  # "A", " A" and "a" are one verdict; "che" begins "check"
            for number, choice in enumerate(ask.choices):
                if begun and choice.casefold().startswith(begun):
                    mass[number] += np.exp(logprob)
        return mass / mass.sum() if mass.sum() > 0.0 else np.full(len(mass), np.nan)

    def _headers(self) -> dict[str, str]:
        if not (key := self._key()):
            return {}
        if not (key.isascii() and key.isprintable()):
            raise RedQueenError(f"${self.api_key_env} holds a character that no key has: a line break, perhaps")
        return {"Authorization": f"Bearer {key}"}

    def _key(self) -> str:
        return os.environ.get(self.api_key_env, "").strip() if self.api_key_env else ""

    def _body(self, ask: Ask) -> dict[str, Any]:
        """The request for a reply."""
        body: dict[str, Any] = {"model": self.model, "messages": self.messages(ask)}
        body["seed"] = derive(ask.seed, "server") & 0x7FFF_FFFF  # the widest that every endpoint takes
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.max_tokens is not None:
            body[_LIMIT] = self.max_tokens
        return {**body, **self.extra}

    def _answer(self, client: BoundedClient, stop: Event, ask: Ask) -> Reply:
        response = self._post(client, stop, self._body(ask), ask.seed)
        text, truncated = self._content(response)
        opened = opened_before(text, self.thoughts)  # by the chat template, which is the endpoint's
        # endpoints differ in whether they give back a stop they were sent
        called = until_stop(text, ask.stops, opened, self.thoughts)
        cut = until_stop(text, self.stops, opened, self.thoughts) if called is None else called
        if cut is not None:
            text, truncated = cut, False
        plain = isinstance(self.answer, Plain)  # as far as it goes, it is the answer
        thought, working, action = thought_and_action(
            text,
            self.answer,
            ask.choices,
            opened,
            whole=called is not None,
            truncated=truncated and not plain,
            marks=self.thoughts,
        )
        return Reply(action, self.name, thought=thought, working=working, truncated=truncated, malformed=not action)

    def _post(self, client: BoundedClient, stop: Event, body: Mapping[str, Any], seed: int) -> Answer:
        """The endpoint's response with status 200, after at most `retries` retries."""
        httpx = imported()
        for attempt in range(self.retries + 1):
            wait = min(self.backoff * 2**attempt, self.longest_wait) * (0.5 + uniform(seed, attempt))
            try:
                sent = self._renamed(body)
                response = client.post(self._endpoint, sent)
                if _names_another(response, sent):
                    self._names[_LIMIT] = _RENAMED
                    response = client.post(self._endpoint, self._renamed(body))
            except Refused as error:
                raise Unreachable(f"{self._who}the answer of {self.url} is not taken: {error}") from None
            except httpx.TimeoutException:
                trouble = f"{self.url} did not answer within {self.timeout:g} s"
            except httpx.ConnectError as error:
                trouble = self._silence(error)
            except httpx.TransportError as error:
                trouble = f"the connection to {self.url} broke ({self._one_line(error) or type(error).__name__})"
            except httpx.InvalidURL as error:
                raise RedQueenError(f"the server's url {self.url!r} is not a url ({error})") from None
            else:
                if response.status == 200 and not self._is_error(response):
                    self._taken.add(self.url)
                    return response
                if response.status not in (200, 429) and response.status < 500:
                    raise self._refusal(response, body)
                trouble = f"{self.url} answered {response.status} ({self._said(response)})"
                wait = max(wait, _retry_after(response.headers.get("retry-after", "")))
            if attempt < self.retries and stop.wait(min(wait, self.longest_wait)):
                break
        raise Unreachable(f"{self._who}{trouble}; gave up after {self.retries + 1} tries")

    def _renamed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The request under the names that the endpoint has asked for."""
        return {self._names.get(name, name): value for name, value in body.items()}

    def _silence(self, error: Exception) -> str:
        return f"nothing answers at {self.url} ({error}): is the server running?"

    @property
    def _who(self) -> str:
        return f"{self.label}: " if self.label else ""

    @property
    def _endpoint(self) -> str:
        return f"{self.url.rstrip('/')}/chat/completions"

    def _refusal(self, response: Answer, body: Mapping[str, Any]) -> RedQueenError:
        """What is raised for a response that a retry would not change."""
        status, said = response.status, self._said(response)
        if 300 <= status < 400:
            place = self._one_line(response.headers.get("location", ""))
            line = f"{self.url} sends elsewhere ({status}, {place}), and is not followed: name that address itself"
        elif status in (401, 403):
            line = f"{self.url} refused the key ({status}, {said}): put a valid one into ${self.api_key_env}"
        elif status == 404:
            line = f"{self.url} has no model {self.model!r}, or its url should end in /v1 ({status}, {said})"
        elif status == 400 and "temperature" in said and "temperature" in body:
            line = (
                f"{self.url} refused the temperature {body['temperature']} ({status}, {said}): set one that it takes "
                "(or None in Python, which sends none)"
            )
        else:
            kind = PromptRefused if status in _OF_THE_PROMPT else RedQueenError
            return kind(f"{self.url} refused the request ({status}, {said})")
        return RedQueenError(line)

    def _is_error(self, response: Answer) -> bool:
        """Whether a response says that it is an error, as those of some gateways do with status 200."""
        try:
            found = response.json()
        except ValueError:
            return False
        return isinstance(found, dict) and bool(found.get("error")) and "choices" not in found

    def _content(self, response: Answer) -> tuple[str, bool]:
        """The model's text, and whether it was truncated. Missing content is an empty text, content in parts their
        text; half a character becomes the mark of a missing one, and the key is never part of it."""
        try:
            choice = _first(response)
            content = choice["message"]["content"]
            parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
            others = [str(part["type"]) for part in parts if part["type"] != "text"]
            text = "".join(part["text"] for part in parts if part["type"] == "text")
        except (AttributeError, ValueError, KeyError, IndexError, TypeError):
            said = self._one_line(response.text)
            raise RedQueenError(f"{self.url} did not send a chat completion but: {said}") from None
        if others:
            raise RedQueenError(
                f"{self.url} sent a part of type {self._one_line(others[0])} in its reply, where only text is read"
            )
        return self._without_key(well_formed(text)), choice.get("finish_reason") == "length"

    def _said(self, response: Answer) -> str:
        """The server's own error message."""
        try:
            error = response.json()["error"]
            return self._one_line(error if isinstance(error, str) else error["message"])
        except (ValueError, KeyError, IndexError, TypeError):
            return self._one_line(response.text) or "no explanation"

    def _one_line(self, text: object) -> str:
        """The beginning of what a server said, safe to print."""
        return visible(" ".join(self._without_key(str(text)).split())[:120])

    def _without_key(self, text: str) -> str:
        key = self._key()
        return text.replace(key, "[key]") if key else text


def _first(response: Answer) -> dict[str, Any]:
    """The choice with the lowest index, wherever it stands; the first of those without. Raises one of Python's errors
    for what is no chat completion."""
    found: dict[str, Any] = min(response.json()["choices"], key=lambda choice: choice.get("index") or 0)
    return found


def _unrated(ask: Ask) -> np.ndarray:
    return np.full(len(ask.choices), np.nan)


def _names_another(response: Answer, body: Mapping[str, Any]) -> bool:
    """Whether the endpoint refused the name of the limit of tokens and said the one it takes."""
    return response.status == 400 and _LIMIT in body and _RENAMED in response.text


def _append(chat: Chat, role: str, text: str) -> None:
    if chat and chat[-1]["role"] == role:
        chat[-1]["content"] += "\n\n" + well_formed(text)
    else:
        chat.append({"role": role, "content": well_formed(text)})


def _retry_after(header: str) -> float:
    """Seconds from now in a Retry-After header, given as a number or as a date; 0 if it is empty."""
    if header.strip().isdecimal():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
        return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return 0.0
