"""Free text, sampled token by token on shared prefixes.

Prompts are read through a cache (key_values.py), each distinct prefix once. Then all replies grow
together, a token each per step. A reply attends to its prompt, whose keys and values are held once
for all replies to it, and to its own tokens so far:

    prompts      A A A B            prompt keys   A  B                  looked at by   A1 A2 A3 | B1
    replies      A1 A2 A3 B1        own keys      A1. A2. A3. B1.       each by itself
                 A1 .. A3 B1        a finished reply leaves, and its keys and values go to the store,
                 A1    A3 ..        where the seat's next turn finds them

The draw for token t of a reply is number t of its seed, so a reply does not depend on the others of its
batch (up to rounding).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from redqueen.chance import uniforms
from redqueen.players.language.formats import WHOLE, Nucleus
from redqueen.players.transformer.attention import by_memory
from redqueen.players.transformer.compiled import between
from redqueen.players.transformer.compiled.library import stepping
from redqueen.players.transformer.compiled.steps import Places
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.products import without_onednn
from redqueen.players.transformer.recorded import Recorded
from redqueen.progress import stage

ROOM = 32  # places by which a growing row's keys and values grow
PATIENCE = 2  # steps after which weights are packed, which takes as long as two or three steps save
SHORT = 256  # places of a shared path that each of its rows reads by itself; all rows together read a longer one faster
RECORDED = ("cuda",)  # devices whose steps are recorded
BIN = 256  # tokens of the vocabulary whose probabilities are summed before the draw selects among them


@dataclass(frozen=True)
class Sample:
    """What was sampled for one prompt."""

    tokens: tuple[int, ...]  # [R] with the token that ended it, unless truncated
    logprobs: tuple[float, ...]  # [R] at the sampling temperature
    truncated: bool


Complete = Callable[[Sequence[int]], bool]  # whether the last of a reply's tokens, [R], completes it


@dataclass(frozen=True)
class Manner:
    """How replies are sampled."""

    stops: frozenset[int]
    limit: int  # tokens of the longest reply
    temperature: float  # 0 takes the likeliest token
    nucleus: Nucleus = WHOLE


class Saying:
    """One reply as it grows."""

    def __init__(self, prompt: tuple[int, ...], seed: int, manner: Manner, complete: Complete | None = None) -> None:
        self.prompt = prompt
        self.seed = seed
        self.manner = manner
        self.tokens: list[int] = []
        self.logprobs: list[float] = []
        self._complete = complete  # None if only a stop token ends the reply
        self._completed = False

    @property
    def row(self) -> tuple[int, ...]:
        """All tokens so far."""
        return (*self.prompt, *self.tokens)

    def grow(self, token: int, logprob: float) -> None:
        self.tokens.append(token)
        self.logprobs.append(logprob)
        self._completed = self._complete is not None and self._complete(self.tokens)

    @property
    def ended(self) -> bool:
        return self._completed or (bool(self.tokens) and self.tokens[-1] in self.manner.stops)

    @property
    def finished(self) -> bool:
        return len(self.tokens) == self.manner.limit or self.ended

    @property
    def sample(self) -> Sample:
        return Sample(tuple(self.tokens), tuple(self.logprobs), not self.ended)


@torch.inference_mode()
def sample(
    forward: Forward,
    store: KeyValueStore,
    prompts: Sequence[tuple[int, ...]],
    seeds: Sequence[int],
    manner: Manner | Sequence[Manner],
    completes: Sequence[Complete | None] = (),
) -> list[Sample]:
    """One sampled reply to each prompt, in one manner or in its own. A reply also ends where its entry of `completes`,
    if given, returns true."""
    manners = [manner] * len(prompts) if isinstance(manner, Manner) else manner
    ends = completes or [None] * len(prompts)
    sayings = [Saying(*each) for each in zip(prompts, seeds, manners, ends, strict=True)]
    with stage("tokens", sum(saying.manner.limit for saying in sayings)) as growing:
        for wave in _waves(sayings, store.budget):
            choir = Choir(forward, store, wave)
            while choir.sayings:
                growing.done += len(choir.sayings)
                for saying in choir.step():
                    growing.done += saying.manner.limit - len(saying.tokens)  # which it did not need
    return [saying.sample for saying in sayings]


def _waves(sayings: Sequence[Saying], budget: int) -> Iterator[list[Saying]]:
    """The sayings in order, in parts for which the store has room; at least one each."""
    wave: list[Saying] = []
    prompts: set[tuple[int, ...]] = set()
    size = 0
    for saying in sayings:
        limit = saying.manner.limit
        new = limit + (0 if saying.prompt in prompts else len(saying.prompt))
        if wave and size + new > budget:
            yield wave
            wave, prompts, size, new = [], set(), 0, limit + len(saying.prompt)
        wave.append(saying)
        prompts.add(saying.prompt)
        size += new
    if wave:
        yield wave


class Choir:
    """Sayings that grow together, one token each a step."""

    def __init__(self, forward: Forward, store: KeyValueStore, sayings: Sequence[Saying]) -> None:
        self.sayings: list[Saying] = []
        self._forward = forward
        self._store = store
        self._steps = 0
        self._gather(list(sayings))

    def join(self, sayings: Sequence[Saying]) -> None:
        """Adds new sayings; the tokens so far of those that already grow become a part of their prompts."""
        growing = self.sayings
        if growing:
            self._leave(range(len(growing)))
        self._gather([*growing, *sayings])

    def step(self) -> list[Saying]:
        """Adds a token to every saying; returns those that are finished by it, which are removed."""
        tokens = [saying.tokens[-1] for saying in self.sayings]
        depths = [len(saying.prompt) + len(saying.tokens) - 1 for saying in self.sayings]
        self._steps += 1
        if self._steps % PATIENCE == 0:
            self._forward.pack(len(tokens))
        with stepping():
            if self._recorded is None:
                hidden = self._forward.hidden(tokens, depths, self._looking)
            else:
                hidden = self._recorded.hidden(tokens, depths)
        return self._draw(self._forward.logits(hidden))

    def _gather(self, sayings: list[Saying]) -> None:
        """Computes the tokens so far of each saying, and samples its next token."""
        rows = list(dict.fromkeys(saying.row for saying in sayings))
        with stepping():
            states = self._store.read(rows, [(len(row) - 1,) for row in rows])
        numbers = {row: number for number, row in enumerate(rows)}
        groups = [numbers[saying.row] for saying in sayings]
        self.sayings = sayings
        paths = [self._store.path(row) for row in rows]
        left = max(saying.manner.limit - len(saying.tokens) for saying in sayings)
        self._looking = Looking(self._store, paths, groups, left)
        self._recorded = Recorded(self._forward, self._looking) if self._looking.stays else None
        logits = self._forward.logits(states.hidden)
        self._draw(logits[[states.numbers[group] for group in groups]])

    def _draw(self, logits: Tensor) -> list[Saying]:
        draws = torch.from_numpy(
            uniforms([each.seed for each in self.sayings], [len(each.tokens) for each in self.sayings])
        )
        for manner, rows in self._alike():
            tokens, logprobs = draw(logits[rows], draws[rows], manner.temperature, manner.nucleus)
            for saying, token, logprob in zip(self.sayings[rows], tokens.tolist(), logprobs.tolist(), strict=True):
                saying.grow(token, logprob)
        done = [number for number, saying in enumerate(self.sayings) if saying.finished]
        left = [self.sayings[number] for number in done]
        if done:
            self._leave(done)
        return left

    def _alike(self) -> Iterator[tuple[Manner, slice]]:
        """The runs of neighbouring sayings of one manner."""
        start = 0
        for number in range(1, len(self.sayings) + 1):
            manner = self.sayings[start].manner
            if number == len(self.sayings) or self.sayings[number].manner is not manner:
                yield manner, slice(start, number)
                start = number

    def _leave(self, numbers: Sequence[int]) -> None:
        """Moves the keys and values of these sayings to the store, except of the last token, which was not computed."""
        self._store.remember([self.sayings[number].row[:-1] for number in numbers], *self._looking.own(numbers))
        gone = set(numbers)
        staying = [number for number in range(len(self.sayings)) if number not in gone]
        self.sayings = [self.sayings[number] for number in staying]
        if staying:
            self._looking.keep(staying)


class Looking:
    """Attention of r rows that grow by one node each pass. A row attends to a path in the store and to its own
    nodes since then; a path that several rows share is held once for all of them.

    On CUDA a step is recorded (recorded.py): rows that are not kept stay until half of all do, and room doubles, up to
    `most` places."""

    def __init__(
        self, store: KeyValueStore, paths: Sequence[np.ndarray], groups: Sequence[int], most: int = 1 << 30
    ) -> None:
        device = store.keys[0].device
        self.stays = device.type in RECORDED  # whether rows that are not kept stay for a while
        size = max(len(path) for path in paths)
        if self.stays:
            size = _rounded(size)
        nodes = np.zeros((len(paths), size), dtype=np.int64)
        for number, path in enumerate(paths):
            nodes[number, : len(path)] = path
        self._taken = torch.from_numpy(nodes).to(device)
        self._lengths = torch.tensor([len(path) for path in paths], device=device)  # [G]
        self._shared = len(paths) < len(groups)
        self._size = size if self._shared else 0  # P, places of a shared path
        self._start = 0 if self._shared else size  # own places that were taken from the store
        self._length = self._start  # own places in use
        self._newest = torch.tensor([self._start - 1], device=device)  # the last of them
        self._most = self._start + most
        self._begun = False  # whether there is room for the nodes of the next pass
        self.changes = 0  # how often what a pass reads was put elsewhere
        self.living = list(range(len(groups)))  # the rows that are kept
        self._keys: list[Tensor] = []  # [layers] of [G, Hkv, P, d], if shared
        self._values: list[Tensor] = []
        self._own_keys: list[Tensor] = []  # [layers] of [r, Hkv, room, d]; products over slices would be copied first
        self._own_values: list[Tensor] = []
        self._of_pass: dict[int | None, tuple[Tensor, Tensor]] = {}  # the masks, by window
        self._sit(torch.tensor(groups, device=device))
        self._take(store)

    def __call__(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float, window: int | None
    ) -> Tensor:
        if layer == 0 and not self._begun:
            self.begin()
        self._begun = False
        kept = self._own_keys[layer], self._own_values[layer]  # [r, Hkv, room, d]
        rows, heads, width = query.shape
        key_heads = key.shape[1]
        query = query.view(rows, key_heads, heads // key_heads, width)
        paths = (self._keys[layer], self._values[layer]) if self._shared else None  # [G, Hkv, P, d]
        apart = self._read_together
        places = self._groups, self._row_lengths, self._start, self._length
        of_own = between.attended(query, (key, value), kept, None if apart else paths, *places, window, scale)
        if of_own is None:
            for all_places, new in zip(kept, (key, value), strict=True):
                all_places.index_copy_(2, self._newest, new[:, :, None])
        if of_own is not None and not apart:
            answer = of_own[0]
        else:
            with without_onednn():
                answer = self._answer(query, kept, paths, of_own, window, scale)
        return answer.reshape(rows, heads, width)

    def places(self) -> Places | None:
        """Makes room for a node of every row where a step is computed as one; None where torch's products read the
        shared paths."""
        if self._read_together:
            return None
        if not self._begun:
            self.begin()
        self._begun = False
        paths = (self._keys, self._values) if self._shared else None
        own = self._own_keys, self._own_values
        return Places(own, paths, self._groups, self._row_lengths, self._start, self._length)

    @property
    def _read_together(self) -> bool:
        """Whether the shared paths are read for all their rows at once."""
        return self._shared and self._size > SHORT

    @property
    def rows(self) -> int:
        """r, with those that stay."""
        return len(self._groups)

    def begin(self) -> None:
        """Makes room for a node more of every row."""
        self._length += 1
        self._newest.fill_(self._length - 1)
        self.begin_again()
        room = self._own_keys[0].shape[2]
        if room < self._length:
            wider = self._length + ROOM
            if self.stays:
                wider = _rounded(min(max(2 * room, wider), max(self._most, self._length)))
            for kept in (self._own_keys, self._own_values):
                for layer, narrow in enumerate(kept):  # one after the other, so that few are held twice
                    kept[layer] = _roomier(narrow, wider)
            self.changes += 1

    def begin_again(self) -> None:
        """Goes back to where the pass began, if it has."""
        self._begun = True
        self._of_pass.clear()

    def _answer(
        self,
        query: Tensor,
        kept: tuple[Tensor, Tensor],
        paths: tuple[Tensor, Tensor] | None,
        of_own: tuple[Tensor, Tensor] | None,
        window: int | None,
        scale: float,
    ) -> Tensor:
        """[r, Hkv, g, d], the attention of `query` to the places of each row, where it is not known yet, and to the
        shared paths."""
        path, own = self._masks(window, query.dtype)
        if paths is None:
            own = own.expand(-1, -1, query.shape[2], -1)
            if query.is_cuda:
                return by_memory(query, *kept, own, scale)
            return scaled_dot_product_attention(query, *kept, own, scale=scale)
        of_path = attended(self._together(query), *paths, path, scale)
        apart = [self._apart(each) for each in of_path]
        return joined(apart, attended(query, *kept, own, scale) if of_own is None else of_own)

    def own(self, rows: Sequence[int]) -> tuple[list[Tensor], list[Tensor]]:
        """Keys and values, [layers] of [rows, t, Hkv, d], of the nodes that `rows` have added."""
        wanted = torch.tensor([self.living[row] for row in rows], device=self._groups.device)
        added = slice(self._start, self._length)
        keys = [layer[wanted, :, added].transpose(1, 2) for layer in self._own_keys]
        return keys, [layer[wanted, :, added].transpose(1, 2) for layer in self._own_values]

    def keep(self, rows: Sequence[int]) -> None:
        """Removes all rows but `rows`."""
        self.living = [self.living[row] for row in rows]
        if self.stays and 2 * len(self.living) > self.rows:
            return
        kept = torch.tensor(self.living, device=self._groups.device)
        self.living = list(range(len(rows)))
        self.changes += 1
        self._own_keys = [layer[kept] for layer in self._own_keys]
        self._own_values = [layer[kept] for layer in self._own_values]
        groups = self._groups[kept]
        used, numbers = torch.unique(groups, return_inverse=True)
        if not self._shared or len(used) <= 0.75 * len(self._lengths):  # less is not worth the copy
            self._keys = [layer[used] for layer in self._keys]
            self._values = [layer[used] for layer in self._values]
            self._lengths, groups = self._lengths[used], numbers
        self._sit(groups)

    def _take(self, store: KeyValueStore) -> None:
        """Copies the paths out of the store: as shared, or as the beginning of each row's own."""
        each = self._taken[self._groups, : self._start]  # [r, own places]
        for layer in range(len(store.keys)):
            if self._shared:
                self._keys.append(store.keys[layer][self._taken].transpose(1, 2).contiguous())
                self._values.append(store.values[layer][self._taken].transpose(1, 2).contiguous())
            room = _rounded(self._start + ROOM) if self.stays else self._start + ROOM
            self._own_keys.append(_roomier(store.keys[layer][each].transpose(1, 2), room))
            self._own_values.append(_roomier(store.values[layer][each].transpose(1, 2), room))

    def _sit(self, groups: Tensor) -> None:
        """Gives each row, [r] int, an index among those that attend to the same path."""
        self._groups = groups
        self._row_lengths = self._lengths[groups]  # [r]
        count = len(self._lengths)
        number = (groups[:, None] == groups[None, :]).tril(-1).sum(dim=1)  # of the row in its group
        self._seats_each = int(number.max()) + 1  # M
        self._seats = groups * self._seats_each + number
        filled = torch.arange(count * self._seats_each, device=groups.device)
        self._in_order = len(groups) == len(filled) and bool((self._seats == filled).all())

    def _together(self, of_rows: Tensor) -> Tensor:
        """From [r, Hkv, g, x] to [G, Hkv, M * g, x]: the rows of a group side by side."""
        _, heads, shared, width = of_rows.shape
        count, each = len(self._lengths), self._seats_each
        if not self._in_order:
            seated = of_rows.new_zeros(count * each, heads, shared, width)
            seated[self._seats] = of_rows
            of_rows = seated
        rows = of_rows.reshape(count, each, heads, shared, width).transpose(1, 2)
        return rows.reshape(count, heads, each * shared, width)

    def _apart(self, of_groups: Tensor) -> Tensor:
        """Back from [G, Hkv, M * g, x] to [r, Hkv, g, x]."""
        count, heads, _, width = of_groups.shape
        each = self._seats_each
        rows = of_groups.view(count, heads, each, -1, width).transpose(1, 2).reshape(count * each, heads, -1, width)
        return rows if self._in_order else rows[self._seats]

    def _masks(self, window: int | None, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """0 where a row attends and a number next to the lowest elsewhere: for the places of the shared paths,
        [G, 1, 1, P], and for the rows' own, [r, 1, 1, room]."""
        if window not in self._of_pass:
            device, room = self._lengths.device, self._own_keys[0].shape[2]
            lengths = self._lengths[:, None]  # [G, 1] of the path before the nodes that were added
            newest = lengths + self._newest - self._start  # and how deep the newest of these is
            path, own = torch.arange(self._size, device=device), torch.arange(room, device=device)
            depths = torch.where(own < self._start, own, lengths + own - self._start)  # [G, room]
            sees = torch.where(own < self._start, own < lengths, own <= self._newest)
            of_path = path < lengths
            if window is not None:
                of_path, sees = of_path & (newest - path < window), sees & (newest - depths < window)
            self._of_pass[window] = _mask(of_path, dtype), _mask(sees[self._groups], dtype)
        return self._of_pass[window]


def _mask(sees: Tensor, dtype: torch.dtype) -> Tensor:
    """[n, 1, 1, places]. Not the lowest number itself: where a row sees none of a path, kernels of CUDA that compute
    with powers of two would come to minus infinity for all of it, and to no number."""
    mask = torch.zeros(sees.shape, dtype=dtype, device=sees.device)
    return mask.masked_fill_(~sees, torch.finfo(dtype).min / 4)[:, None, None]


def attended(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """The attention of `query` [n, H, q, d] to `keys` and `values` [n, H, k, d] under a mask [n, 1, 1, k]: the answers,
    [n, H, q, d], and the logarithms of what the shares were divided by, [n, H, q, 1] float32."""
    if query.device.type != "cpu":
        return _attended_on_cuda(query, keys, values, mask, scale)
    mask = mask.expand(-1, -1, query.shape[2], -1)
    answer, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, keys, values, attn_mask=mask, scale=scale
    )
    return answer, sums[..., None]


def _attended_on_cuda(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    if query.shape[3] % 8 or keys.shape[2] % 8:
        return attended_step_by_step(query, keys, values, mask, scale)
    asked = query.shape[2]
    bias = mask.expand(-1, query.shape[1], asked, -1)
    answer, sums, _, _ = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, keys, values, bias, True, 0.0, False, scale=scale
    )
    return answer, sums[:, :, :asked, None]


def attended_step_by_step(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    """The same where torch has no operation for it, in float32."""
    scores = (query.float() * scale) @ keys.float().transpose(2, 3) + mask
    sums = scores.logsumexp(dim=3, keepdim=True)
    return ((scores - sums).exp() @ values.float()).to(query.dtype), sums


def joined(one: Sequence[Tensor], other: Sequence[Tensor]) -> Tensor:
    """The attention to two sets of keys, from the attention to each: both answers by their shares of the whole."""
    share = torch.sigmoid(one[1] - other[1]).to(one[0].dtype)
    return torch.lerp(other[0], one[0], share)


def _rounded(places: int) -> int:
    """At least so many places, as CUDA reads them fastest."""
    return -(-places // 16) * 16


def _roomier(old: Tensor, room: int) -> Tensor:
    """[r, Hkv, room, d] beginning with [r, Hkv, T, d], zero beyond."""
    new = old.new_zeros(*old.shape[:2], room, old.shape[3])
    new[:, :, : old.shape[2]] = old
    return new


def draw(logits: Tensor, draws: Tensor, temperature: float, nucleus: Nucleus = WHOLE) -> tuple[Tensor, Tensor]:
    """Inverse transform sampling from `logits` [r, V] with `draws` [r] between 0 and 1: the token where the cumulative
    probability passes the draw, [r], and its log-probability, [r], among the tokens of the `nucleus`. Temperature 0
    takes the likeliest token, with log-probability 0. The vocabulary is read once: the draw selects a bin first, then a
    token of it."""
    rows, size = logits.shape
    draws = draws.to(logits.device)
    if temperature == 0.0:
        return logits.argmax(dim=1), torch.zeros_like(draws)
    scores = logits / temperature if logits.dtype == torch.float32 else logits.float().div_(temperature)
    if nucleus != WHOLE:
        scores = narrowed(scores, nucleus)
    mass = scores.sub_(scores.amax(dim=1, keepdim=True)).exp_()
    if size % BIN:
        mass = pad(mass, (0, BIN - size % BIN))
    bins = mass.view(rows, -1, BIN)
    heap = bins.sum(dim=2).double().cumsum(dim=1)
    goal = (draws * heap[:, -1])[:, None]
    which = torch.searchsorted(heap, goal, right=True).clamp(max=heap.shape[1] - 1)
    below = torch.where(which > 0, heap.gather(1, (which - 1).clamp(min=0)), 0.0)
    inner = bins[torch.arange(rows, device=logits.device), which[:, 0]].double()
    last = ((inner > 0) * torch.arange(BIN, device=logits.device)).amax(dim=1, keepdim=True)  # sums are rounded
    place = torch.searchsorted(below + inner.cumsum(dim=1), goal, right=True).minimum(last)
    tokens = which * BIN + place
    return tokens[:, 0], (mass.gather(1, tokens).double() / heap[:, -1:]).log()[:, 0]


def narrowed(scores: Tensor, nucleus: Nucleus) -> Tensor:
    """`scores` [r, V], minus infinity outside of the nucleus: `top_k` first, then `top_p` of what is left, then
    `min_p`, in the order of transformers. The likeliest token always stays."""
    if 0 < nucleus.top_k < scores.shape[1]:
        least = scores.topk(nucleus.top_k, dim=1).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if nucleus.top_p < 1.0:
        ordered, places = scores.sort(dim=1, descending=True)
        shares = ordered.softmax(dim=1)
        before = shares.cumsum(dim=1) - shares  # [r, V] the probability of all likelier tokens
        out = torch.zeros_like(scores, dtype=torch.bool).scatter(1, places, before >= nucleus.top_p)
        scores = scores.masked_fill(out, -torch.inf)
    if nucleus.min_p > 0.0:
        shares = scores.softmax(dim=1)
        scores = scores.masked_fill(shares < nucleus.min_p * shares.amax(dim=1, keepdim=True), -torch.inf)
    return scores
