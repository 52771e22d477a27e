"""A service in this process with the methods of the tinker client, and small models behind it.

`Service("tinker")` sums losses and keeps named sampler weights; `Service("skyrl-jax")` does what SkyRL 0.3.0 was seen
to do: a row's loss over the sum of its weights, the gradient over the number of rows, and sampler weights loaded over
those that learn.
"""

from concurrent.futures import Future
from copy import deepcopy
from functools import cache
from types import SimpleNamespace

import pytest
import torch

from redqueen.players.tinker.connection import Connection
from redqueen.players.tinker.policy import TinkerPolicy
from redqueen.players.transformer.loading import LoadedModel, add_lora, tiny_model, tiny_tokenizer

BASE = "tiny/base"
TOKENIZER = tiny_tokenizer()


def done(value):
    future = Future()
    future.set_result(value)
    return future


def two_layers(rank=4):
    """A model under an adapter that is not the identity."""
    return deepcopy(_made(rank))


@cache
def _made(rank):
    loaded = add_lora(tiny_model(3, hidden=32), rank, 0)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(7)
        for name, value in loaded.model.named_parameters():
            if "lora_" in name:
                value += 0.05 * torch.randn_like(value)
    return LoadedModel(loaded.name, loaded.model.eval(), TOKENIZER)


class Service:
    """See the module."""

    def __init__(self, kind="tinker", longest=4096):
        self.kind, self.longest = kind, longest
        self.saved, self.log, self.models = {}, [], []

    def get_server_capabilities(self):
        found = [SimpleNamespace(model_name=BASE, max_context_length=self.longest)]
        return done(SimpleNamespace(supported_models=found))

    def create_lora_training_client(self, base_model, rank, seed):
        self.log.append("create")
        self.models.append(Training(self, rank, f"model_{len(self.models)}"))
        return done(self.models[-1])

    def create_sampling_client(self, model_path):
        return done(Sampling(self, model_path))


class Training:
    def __init__(self, service, rank, model_id):
        self.service, self.model_id = service, model_id
        self.model = two_layers(rank).model
        self.weights = [value for value in self.model.parameters() if value.requires_grad]
        self.adam = torch.optim.AdamW(self.weights, lr=0.0, betas=(0.9, 0.999))
        self.count, self.loaded = 0, ""

    def get_tokenizer(self):
        return TOKENIZER

    def logprobs(self, tokens):
        """[T - 1] of the tokens after the first."""
        return (
            self.model(torch.tensor([tokens]))
            .logits[0, :-1]
            .log_softmax(-1)
            .gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
        )

    def forward(self, data, loss_fn):
        self.service.log.append(f"forward {len(data)}")
        with torch.no_grad():
            return done(self._output([self._rated(datum) for datum in data], "forward"))

    def forward_backward(self, data, loss_fn, loss_fn_config=None):
        self.service.log.append(f"{loss_fn} {len(data)}")
        averages = self.service.kind == "skyrl-jax"
        rated = [self._rated(datum) for datum in data]
        for datum, logprobs in zip(data, rated, strict=True):
            given = {key: torch.tensor(value.data) for key, value in datum.loss_fn_inputs.items()}
            weights = given.get("weights", torch.ones(len(logprobs)))
            words = torch.where(weights != 0, weights * _loss(loss_fn, logprobs, given, loss_fn_config or {}), 0.0)
            (words.sum() / weights.sum().clamp(min=1e-9) if averages else words.sum()).backward()
        self.count += len(data)
        return done(self._output(rated, "forward_backward"))

    def _rated(self, datum):
        first = datum.model_input.to_ints()[0]
        return self.logprobs([first, *datum.loss_fn_inputs["target_tokens"].data])

    def _output(self, rated, what):
        jax = self.service.kind == "skyrl-jax"
        outputs = [{"logprobs": SimpleNamespace(data=row.detach().tolist())} for row in rated]
        if jax:
            outputs = [{**each, "elementwise_loss": each["logprobs"]} for each in outputs]
        return SimpleNamespace(loss_fn_outputs=outputs, metrics={} if jax else {"loss:sum": 0.0})

    def optim_step(self, params):
        self.service.log.append("optim_step")
        for value in self.weights:
            value.grad = torch.zeros_like(value) if value.grad is None else value.grad
            if self.service.kind == "skyrl-jax":
                value.grad /= self.count
        norm = torch.nn.utils.get_total_norm([value.grad for value in self.weights])
        if params.grad_clip_norm:
            torch.nn.utils.clip_grad_norm_(self.weights, params.grad_clip_norm)
        (group,) = self.adam.param_groups
        group.update(lr=params.learning_rate, betas=(params.beta1, params.beta2), eps=params.eps)
        group["weight_decay"] = params.weight_decay
        self.adam.step()
        self.adam.zero_grad()
        self.count = 0
        return done(SimpleNamespace(metrics={"skyrl.ai/grad_norm": float(norm)}))

    def save_state(self, name):
        path = f"tinker://{self.model_id}/weights/{name}"
        assert path not in self.service.saved, f"{path} is there already"
        self.service.log.append("save_state")
        self.service.saved[path] = (
            [value.detach().clone() for value in self.weights],
            deepcopy(self.adam.state_dict()),
        )
        return done(SimpleNamespace(path=path))

    def load_state_with_optimizer(self, path):
        self.service.log.append("load_state")
        if path not in self.service.saved:
            raise ValueError(f"Error retrieving result: there is no {path}")
        weights, adam = self.service.saved[path]
        self._put_on(weights)
        self.adam.load_state_dict(deepcopy(adam))
        return done(None)

    def load_state(self, path):
        self._put_on(self.service.saved[path][0])
        return done(None)

    def save_weights_for_sampler(self, name):
        path = f"tinker://{self.model_id}/sampler_weights/{name}"
        self.service.saved[path] = ([value.detach().clone() for value in self.weights], None)
        return done(SimpleNamespace(path=path))

    def save_weights_and_get_sampling_client(self):
        saved = self.save_weights_for_sampler(f"now{len(self.service.saved)}").result()
        return done(Sampling(self.service, saved.path))

    def _put_on(self, weights):
        with torch.no_grad():
            for value, other in zip(self.weights, weights, strict=True):
                value.copy_(other)


class Sampling:
    def __init__(self, service, path):
        self.service, self.path = service, path
        owner = next(each for each in service.models if each.model_id == path.split("/")[2])
        self.training = owner
        if service.kind == "tinker":  # weights of its own
            self.training = Training(service, owner.weights[0].shape[0], owner.model_id)
            self.training._put_on(service.saved[path][0])

    def sample(self, prompt, num_samples, sampling_params):
        if self.service.kind == "skyrl-jax":
            self.training._put_on(self.service.saved[self.path][0])
        tokens, logprobs, rng = prompt.to_ints(), [], torch.Generator().manual_seed(sampling_params.seed)
        first = len(tokens)
        with torch.no_grad():
            while len(tokens) - first < sampling_params.max_tokens and tokens[-1] not in sampling_params.stop:
                row = self.training.model(torch.tensor([tokens])).logits[0, -1].log_softmax(-1)
                tokens.append(int(torch.multinomial(row.exp(), 1, generator=rng)))
                logprobs.append(float(row[tokens[-1]]))
        reason = "stop" if tokens[-1] in sampling_params.stop else "length"
        sequence = SimpleNamespace(tokens=tokens[first:], logprobs=logprobs, stop_reason=reason)
        return done(SimpleNamespace(sequences=[sequence]))

    def compute_logprobs(self, prompt):
        with torch.no_grad():
            return done([None, *self.training.logprobs(prompt.to_ints()).tolist()])


def _loss(name, logprobs, given, config):
    """[T - 1] before the weights."""
    if name == "cross_entropy":
        return -logprobs
    ratios, advantages = (logprobs - given["logprobs"]).exp(), given["advantages"]
    held = ratios.clamp(config["clip_low_threshold"], config["clip_high_threshold"])
    if name == "cispo":
        return -held.detach() * logprobs * advantages
    return -torch.minimum(ratios * advantages, held * advantages)


@pytest.fixture(params=["tinker", "skyrl-jax"])
def kind(request):
    return request.param


@pytest.fixture
def service(kind):
    return Service(kind)


@pytest.fixture
def connect():
    """A function that gives a connection to a service, with what else it is told."""

    def make(service, **settings):
        is_skyrl = service.kind != "tinker"
        made = Connection(service, service, BASE, "http://here", is_skyrl=is_skyrl, **{"poll": 0.01, **settings})
        made.check()
        return made

    return make


@pytest.fixture
def policy(connect, service):
    """A function that gives a policy on the service."""

    def make(**settings):
        connection = connect(service)
        return TinkerPolicy(
            connection.create(4, 0), TOKENIZER, **{"learning_rate": 1e-2, "max_grad_norm": 1e9, **settings}
        )

    return make


@pytest.fixture
def twin():
    """A function that gives the same policy on this machine."""
    from redqueen.players.transformer.policy import TransformerPolicy

    def make(**settings):
        return TransformerPolicy(two_layers(), **{"learning_rate": 1e-2, "max_grad_norm": 1e9, **settings})

    return make
