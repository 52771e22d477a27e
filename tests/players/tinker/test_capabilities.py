"""What a server is known to do, and what it is seen to do."""

from pathlib import Path

from redqueen.players.tinker.capabilities import checked, known_table

DOCS = Path(__file__).parents[3] / "docs" / "scale.md"


def test_the_table_of_the_docs_is_the_one_that_is_generated():
    assert known_table() in DOCS.read_text()


def test_every_kind_of_server_is_told_apart_and_found_whole(service, connect):
    gone = []
    checks = {check.what: check for check in checked(connect(service, unload=gone.append))}
    assert all(check.ok for check in checks.values()), checks
    kind = {"tinker": "Tinker", "skyrl-jax": "SkyRL (jax)"}[service.kind]
    assert checks["kind of server"].found == kind
    assert checks["base model"].found == "tiny/base; reads 4096 tokens"
    past = "overwrite the learner" if service.kind == "skyrl-jax" else "leave the learner alone"
    assert past in checks["named sampler weights"].found
    assert gone == ["model_0"]


def test_a_server_that_takes_another_gradient_than_it_is_sent_is_found_out(service, connect, monkeypatch):
    steps = []
    training = type(service.create_lora_training_client("tiny/base", 4, 0).result())
    step = training.optim_step

    def scaled(self, params):
        steps.append(1)
        for value in self.weights:
            if value.grad is not None and len(steps) == 2:
                value.grad *= 3.0
        return step(self, params)

    monkeypatch.setattr(training, "optim_step", scaled)
    (found,) = [check for check in checked(connect(service)) if check.what == "our own losses"]
    assert not found.ok
