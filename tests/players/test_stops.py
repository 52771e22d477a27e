"""Free text that ends where a call does: `Ask.stops`, in every player that samples tokens."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from redqueen.chance import derive
from redqueen.players.endpoint import Server
from redqueen.players.language.answers import Boxed
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.saying import Voice
from redqueen.players.transformer.loading import LoadedModel, tiny_model, tiny_tokenizer
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.vllm import VllmSampler
from redqueen.records import ask_from_json, ask_to_json
from redqueen.types import Ask, Message, Seat, Turn

CHAT = ChatFormat(tiny_tokenizer())
SEAT = Seat("solver")
STOP = "</search>"


def words(text):
    return tuple(CHAT.tokenizer.encode(text))


def question(n, stops=()):
    return Ask(SEAT, (Message("game", f"Question {n}?"),), seed=derive(7, n), stops=stops)


@pytest.fixture(scope="module")
def policy():
    """It says letters and signs at random, so that a stop of one letter comes soon and at different places."""
    loaded = tiny_model(3)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(3)
        for value in loaded.model.parameters():
            value += 0.05 * torch.randn_like(value)
    return TransformerPolicy(LoadedModel("tiny", loaded.model, loaded.tokenizer), max_completion_length=24)


def test_a_stop_is_completed_by_the_token_that_brings_its_last_character():
    tokens = words("<search>x</search> and on")
    completed = [end for end in range(1, len(tokens) + 1) if CHAT.completes(tokens[:end], (STOP, "</python>"))]
    assert CHAT.decode(tokens[: completed[0]]) == "<search>x</search>"
    assert not CHAT.completes(words("<search>x</searc"), (STOP,))
    assert not CHAT.completes(tokens, ())


def test_recited_words_end_at_the_first_stop_and_else_with_the_turn():
    assert CHAT.decode(CHAT.reply_tokens("a <search>x</search> b", (STOP,))) == "a <search>x</search>"
    assert CHAT.reply_tokens("a <search>x</search>", (STOP,))[-1] != CHAT.end
    assert CHAT.reply_tokens("no call", (STOP,)) == (*words("no call"), CHAT.end)
    assert CHAT.reply_tokens("no call") == (*words("no call"), CHAT.end)


def test_a_reply_ends_with_the_first_token_that_completes_a_stop(policy):
    free = policy.reply([question(n) for n in range(40)])
    held = policy.reply([question(n, ("e", "qq")) for n in range(40)])
    lengths = set()
    for one, other in zip(free, held, strict=True):
        tokens = one.tokens.tolist()
        first = next((n + 1 for n in range(len(tokens)) if "e" in policy.format.decode(tokens[: n + 1])), len(tokens))
        assert other.tokens.tolist() == tokens[:first]
        assert other.logprobs == pytest.approx(one.logprobs[:first], abs=1e-5)
        assert other.truncated == ("e" not in other.text and one.truncated)
        lengths.add(first)
    assert len(lengths) > 4


def test_stops_give_the_same_reply_alone_in_company_and_in_a_stream(policy):
    asks = [question(n, ("e",) if n % 2 else ()) for n in range(16)]
    together = policy.reply(asks)
    stream = policy.stream(5)
    numbers = stream.put([replace(ask) for ask in asks])
    streamed = {}
    while len(streamed) < len(asks):
        streamed.update(stream.get())
    for ask, number, one in zip(asks, numbers, together, strict=True):
        (alone,) = policy.reply([ask])
        for other in (alone, streamed[number]):
            assert other.tokens.tolist() == one.tokens.tolist()
            assert (other.text, other.truncated) == (one.text, one.truncated)
    assert len({len(reply.tokens) for reply in together}) > 3


def test_a_reply_that_stopped_at_the_limit_is_not_truncated(policy):
    (free,) = policy.reply([question(0)])
    tokens = free.tokens.tolist()
    manner = policy.manner
    try:
        policy.manner = replace(manner, limit=3)
        last = policy.format.decode(tokens[2:3])
        assert last.strip()
        (held,) = policy.reply([question(0, (policy.format.decode(tokens[:3]),))])
    finally:
        policy.manner = manner
    assert held.tokens.tolist() == tokens[:3]
    assert not held.truncated


def test_what_stopped_is_handed_over_whole_and_is_not_malformed():
    voice = Voice("learner", 0, CHAT, Boxed())
    text = "I look it up. <search>x</search>"
    tokens = words(text)
    prompt = CHAT.prompt(question(0))
    reply = voice.say(question(0, (STOP,)), prompt, tokens, [-1.0] * len(tokens), truncated=False)
    assert (reply.text, reply.thought, reply.malformed) == (text, "", False)
    other = voice.say(question(0), prompt, tokens, [-1.0] * len(tokens), truncated=False)
    assert (other.text, other.malformed) == ("", True)


def test_the_next_prompt_closes_a_turn_that_stopped():
    ask = question(0, (STOP,))
    tokens = words("<search>x</search>")
    reply = Voice("learner", 0, CHAT).say(ask, CHAT.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False)
    shown = (*ask.messages, Message("solver", reply.text), Message("tool", "found"))
    prompt = CHAT.prompt(Ask(SEAT, shown, past=(Turn(ask, reply),))).tolist()
    before = [*reply.prompt_tokens.tolist(), *tokens]
    assert prompt[: len(before)] == before
    assert prompt[len(before) :] == [CHAT.end, *words("\nfound\n")]


def test_an_endpoint_s_words_are_cut_after_the_first_stop(monkeypatch):
    class Response:
        def json(self):
            text = "Hm. <search>x</search> <information>mine</information>"
            return {"choices": [{"message": {"content": text}, "finish_reason": "length"}]}

    server = Server("m")
    monkeypatch.setattr(Server, "_post", lambda *args: Response())
    reply = server._answer(None, None, question(0, (STOP,)))
    assert (reply.text, reply.truncated, reply.malformed) == ("Hm. <search>x</search>", False, False)
    assert server._answer(None, None, question(0)).truncated


def test_a_stop_within_a_thought_ends_no_reply(monkeypatch):
    ask = question(0, (STOP,))
    thought, call = "<think>I could <search>x</search>, or not.</think>", "<search>y</search>"
    voice = Voice("learner", 0, CHAT, Boxed(), stops=("\n",))
    completes = voice.completes(ask)
    tokens = words(thought + call + " and on")
    ends = [end for end in range(1, len(tokens) + 1) if completes(tokens[:end])]
    assert CHAT.decode(tokens[: ends[0]]) == thought + call
    reply = voice.say(ask, CHAT.prompt(ask), tokens[: ends[0]], [-1.0] * ends[0], truncated=False)
    assert (reply.text, reply.thought) == (call, "I could <search>x</search>, or not.")

    class Response:
        def __init__(self, text):
            self.text = text

        def json(self):
            return {"choices": [{"message": {"content": self.text}, "finish_reason": "stop"}]}

    sent = []
    monkeypatch.setattr(Server, "_post", lambda *args: Response(sent.pop()))
    sent = [thought + call + " and on", "<think>I could <search>x</search>, or"]
    never, served = (Server("m")._answer(None, None, ask) for _ in sent[:])
    assert (served.text, served.thought) == (reply.text, reply.thought)
    assert (never.text, never.malformed) == ("", True)


def test_a_policy_and_an_endpoint_read_the_same_reply_alike(monkeypatch):
    texts = ["<think>6 * 7</think>So \\boxed{42}", "\\boxed{42", "<think>\\boxed{42}", "It is \\boxed{42} now"]
    ask, server = question(0), Server("m", answer=Boxed())

    class Response:
        def json(self):
            return {"choices": [{"message": {"content": text}, "finish_reason": "length" if cut else "stop"}]}

    monkeypatch.setattr(Server, "_post", lambda *args: Response())
    for text in texts:
        for cut in (False, True):
            tokens = words(text)
            said = Voice("m", 0, CHAT, Boxed()).say(ask, CHAT.prompt(ask), tokens, [-1.0] * len(tokens), truncated=cut)
            served = server._answer(None, None, ask)
            assert (served.text, served.thought, served.malformed) == (said.text, said.thought, said.malformed)
            assert said.text == ("42" if text.endswith(("42}", "now")) and "think>\\" not in text and not cut else "")
    text, cut = "It is 42", True
    plain = Server("m")._answer(None, None, ask)
    assert (plain.text, plain.truncated, plain.malformed) == ("It is 42", True, False)


def test_stops_are_recorded_and_older_records_have_none():
    ask = question(0, (STOP, "</python>"))
    data = ask_to_json(ask)
    assert ask_from_json(data).stops == ask.stops
    del data["stops"]
    assert ask_from_json(data).stops == ()


def test_vllm_is_told_the_stops_and_keeps_the_token_that_completed_one(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(SamplingParams=SimpleNamespace))
    tokens = words("<search>x</search>")

    class Engine:
        model_config = SimpleNamespace(logprobs_mode="processed_logprobs", max_model_len=512)

    speaker = VllmSampler(Engine(), CHAT.tokenizer, tmp_path)
    held, free = (speaker._sampling(each, speaker.usual) for each in (question(0, (STOP,)), question(0)))
    assert (held.stop, held.include_stop_str_in_output, held.detokenize) == ([STOP], True, True)
    assert not hasattr(free, "stop")
    assert free.detokenize is False
    monkeypatch.setattr(speaker, "_generate", lambda prompts, settings: [None] * len(prompts))
    monkeypatch.setattr(speaker, "_sampled", lambda output, temperature: (list(tokens), [-1.0] * len(tokens)))
    stopped, cut = speaker.reply([question(0, (STOP,)), question(1)])
    assert (stopped.text, stopped.truncated) == ("<search>x</search>", False)
    assert cut.truncated
