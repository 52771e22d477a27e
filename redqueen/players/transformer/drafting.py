"""Drafts by the model itself, with some of its sub-layers left out, which the whole model then reads in one pass: the
same text in fewer passes of the whole model (SWIFT, Xia et al. 2025, arXiv:2410.06916).

    draft    the next words by the shortened model, one by one, while it is sure of them
    verify   one pass of the whole model over all of them: for each place the distribution of what comes next

The draw for token t of a reply is number t of its seed, in the draft, in the verification and without drafts. A drafted
token stands where the whole model draws the same one, and the first that it draws otherwise stands in its place. So
every reply is the one that is sampled without drafts, at any temperature and under any nucleus, but for the rounding of
products: among the unlikeliest words of a large vocabulary the next one may be drawn. Rejection sampling, which keeps
only the distribution, would accept more: of (.5 .3 .2) drafted as (.7 .2 .1) .8 of the tokens, where the same draw
accepts .7.

With acceptance a, drafts of g tokens and a draft at c of the price, tokens a pass are (1 - a^(g+1)) / (1 - a), and the
speed-up is that over (g c + 1).

Which sub-layers are left out is searched on the words that were sampled: a set is scored by the share of the last 50
places at which its likeliest token is the whole model's. Differences: proposals are random sets, and every fourth the
best set with one sub-layer exchanged, in place of Bayesian optimisation every 25th; they are tried when a batch of
replies is over, a few at a time, not in each step of decoding; drafts are single lines, not trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch

from redqueen.chance import uniform
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.layers import ATTENTION, GATES, SubLayer
from redqueen.players.transformer.sampling import Complete, Manner, Sample, Saying, draw
from redqueen.progress import stage
from redqueen.types import RedQueenError

FEW = 4  # replies that are drafted for at once: with more, a pass of the whole model is bound by products already
LONGEST = 25  # tokens of a draft
SURE = 0.8  # a draft ends after a token before which the likeliest one had less than this
WINDOW = 50  # places on which a set is scored
TRIES = 4  # sets that are tried after a batch of replies
GOOD, MOST_TRIES, PATIENCE = 0.93, 1_000, 300  # the search ends at this score, after so many tries, so many in vain


@dataclass
class Counts:
    """What drafting came to."""

    tokens: int = 0  # said
    passes: int = 0  # of the whole model, over all replies at once
    rows: int = 0  # replies in these passes
    drafted: int = 0
    accepted: int = 0  # of these

    @property
    def tokens_a_pass(self) -> float:
        """Of one reply."""
        return self.tokens / max(self.rows, 1)

    @property
    def acceptance(self) -> float:
        """The share of drafted tokens that stand."""
        return self.accepted / max(self.drafted, 1)


class Drafting:
    """Samples as `sampling.sample` does, with drafts that leave out the share `skip` of the sub-layers between the
    first and the last layer. `nodes` bounds the keys and values of the drafts. Raises RedQueenError for a share that
    leaves out none, and for a model whose layers are not known (`layers.py`)."""

    def __init__(self, forward: Forward, skip: float, nodes: int) -> None:
        layers = forward.known_layers
        if layers is None:
            raise RedQueenError(
                "--draft leaves out parts of Llama-like layers, and this model has others: leave it out"
            )
        self._parts = [(number, part) for number in range(1, layers - 1) for part in (ATTENTION, GATES)]
        self._count = int(skip * len(self._parts))
        if not self._count:
            raise RedQueenError(
                f"--draft {skip:g} leaves out none of the {len(self._parts)} sub-layers between the first and the last "
                "layer: more, or a deeper --model"
            )
        self._forward = forward
        self._store = KeyValueStore(forward, nodes)
        self._search = Random(0)  # of sets, on which no reply depends
        self.left_out = self._evenly()
        self.score = 0.0  # of this set
        self.tries = self._in_vain = 0
        self.counts = Counts()

    def forget(self) -> None:
        """Drops the drafts' keys and values, which are those of other weights."""
        self._store.forget()

    @torch.inference_mode()
    def sample(
        self,
        store: KeyValueStore,
        prompts: Sequence[tuple[int, ...]],
        seeds: Sequence[int],
        manners: Sequence[Manner],
        completes: Sequence[Complete | None],
    ) -> list[Sample]:
        """See `sampling.sample`; `store` holds the keys and values of the whole model."""
        sayings = [Saying(*each) for each in zip(prompts, seeds, manners, completes, strict=True)]
        likeliest: list[list[int]] = [[] for _ in sayings]  # of the whole model, at each token said
        with stage("tokens", sum(saying.manner.limit for saying in sayings)) as growing:
            while going := [number for number, saying in enumerate(sayings) if not saying.finished]:
                now = [sayings[number] for number in going]
                drafts = self._drafted(now)
                rows = [(*saying.row, *draft) for saying, draft in zip(now, drafts, strict=True)]
                wanted = [range(len(saying.row) - 1, len(row)) for saying, row in zip(now, rows, strict=True)]
                states = store.read(rows, wanted)
                logits = self._forward.logits(states.hidden[states.numbers])
                self.counts.passes += 1
                self.counts.rows += len(now)
                at = 0
                for number, saying, draft in zip(going, now, drafts, strict=True):
                    block = logits[at : at + len(draft) + 1]
                    at += len(block)
                    said = self._verified(saying, draft, block)
                    likeliest[number] += block.argmax(dim=1)[:said].tolist()
                    growing.done += said
        self._improve([*zip(sayings, likeliest, strict=True)])
        return [saying.sample for saying in sayings]

    def _drafted(self, sayings: Sequence[Saying]) -> list[list[int]]:
        """For each saying the words that the shortened model would say next."""
        drafts: list[list[int]] = [[] for _ in sayings]
        room = [min(LONGEST, each.manner.limit - len(each.tokens) - 1) for each in sayings]
        going = [number for number, left in enumerate(room) if left > 0]
        with self._forward.leaving_out(self.left_out):
            while going:
                rows = [(*sayings[number].row, *drafts[number]) for number in going]
                states = self._store.read(rows, [(len(row) - 1,) for row in rows])
                logits = self._forward.logits(states.hidden[states.numbers])
                sure = logits.float().softmax(dim=1).amax(dim=1).tolist()
                staying = []
                for number, line, chance in zip(going, logits, sure, strict=True):
                    saying, draft = sayings[number], drafts[number]
                    (token,) = _drawn(saying, len(draft), line[None])[0]
                    draft.append(token)
                    if chance >= SURE and len(draft) < room[number] and token not in saying.manner.stops:
                        staying.append(number)
                going = staying
        return drafts

    def _verified(self, saying: Saying, draft: Sequence[int], logits: torch.Tensor) -> int:
        """Lets a saying grow by what the whole model draws, [draft + 1, V], up to the first token that was drafted
        otherwise; returns by how many."""
        tokens, logprobs = _drawn(saying, 0, logits)
        said = 0
        for place, (token, logprob) in enumerate(zip(tokens, logprobs, strict=True)):
            saying.grow(token, logprob)
            said += 1
            stands = place < len(draft) and token == draft[place]
            self.counts.accepted += stands
            if saying.finished or not stands:
                break
        self.counts.drafted += len(draft)
        self.counts.tokens += said
        return said

    # Which sub-layers to leave out

    def _improve(self, said: Sequence[tuple[Saying, list[int]]]) -> None:
        """Tries a few other sets on what was said."""
        if self.score >= GOOD or self.tries >= MOST_TRIES or self._in_vain >= PATIENCE:
            return
        saying, likeliest = max(said, key=lambda each: len(each[0].tokens))
        if len(saying.tokens) < 2:
            return
        end = len(saying.prompt) + len(saying.tokens)
        places = range(max(len(saying.prompt), end - WINDOW), end)
        wanted = likeliest[-len(places) :]
        self.score = self._scored(self.left_out, saying.row, places, wanted)
        for _ in range(TRIES):
            self.tries += 1
            other = self._proposed()
            score = self._scored(other, saying.row, places, wanted)
            self._in_vain += 1
            if score > self.score:
                self.left_out, self.score, self._in_vain = other, score, 0
                self._store.forget()  # its keys and values are those of another model

    def _scored(
        self, left_out: frozenset[SubLayer], row: tuple[int, ...], places: range, likeliest: Sequence[int]
    ) -> float:
        """The share of `places` of a row before which the likeliest token is the whole model's."""
        with self._forward.leaving_out(left_out):
            states = self._forward.over([row], [[place - 1 for place in places]])
            found = self._forward.logits(states.hidden[states.numbers]).argmax(dim=1).tolist()
        return sum(map(int.__eq__, found, likeliest)) / len(places)

    def _proposed(self) -> frozenset[SubLayer]:
        if self.tries % TRIES:
            return frozenset(self._search.sample(self._parts, self._count))
        inside, outside = sorted(self.left_out), sorted(set(self._parts) - self.left_out)
        gone, new = self._search.choice(inside), self._search.choice(outside or inside)
        return frozenset({*self.left_out} - {gone} | {new})

    def _evenly(self) -> frozenset[SubLayer]:
        """Sub-layers at even distances: where the search begins."""
        step = len(self._parts) / self._count
        return frozenset(self._parts[int(number * step)] for number in range(self._count))


def _drawn(saying: Saying, ahead: int, logits: torch.Tensor) -> tuple[list[int], list[float]]:
    """What is drawn from `logits` [n, V] for the next n tokens of a saying that is `ahead` tokens longer."""
    first = len(saying.tokens) + ahead
    draws = torch.tensor([uniform(saying.seed, first + number) for number in range(len(logits))], dtype=torch.float64)
    tokens, logprobs = draw(logits, draws, saying.manner.temperature, saying.manner.nucleus)
    return tokens.tolist(), logprobs.tolist()
