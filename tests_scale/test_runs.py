"""Recipes through the server: they learn, go on after a kill of the client, and end in one line without a server."""

import json
import signal
import time

import httpx
import pytest

STEPS = 10


def spiral(server, folder):
    return (
        "train spiral --game kuhn_poker --matches-per-step 64 --learning-rate 1e-2 --lora-rank 8 --evaluate-every 5 "
        f"--checkpoint-every 4 --steps {STEPS} --model {server.model} --output {folder}"
    ).split()


def finished(process, timeout=600):
    out, said = process.communicate(timeout=timeout)
    assert process.returncode == 0, said[-2000:] + out[-2000:]
    return said


def metrics(folder):
    path = folder / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for(folder, steps, process, timeout=600):
    began = time.monotonic()
    while len(metrics(folder)) < steps:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() - began < timeout
        time.sleep(0.05)


def figures(folder):
    """Everything but times."""
    return [{key: value for key, value in line.items() if key != "time"} for line in metrics(folder)]


def assert_alike(these, those):
    """The same figures up to the server's rounding, and the same counts of what they rest on."""
    counts = ("rests_on", "samples")
    for one, other in zip(these, those, strict=True):
        assert [one[name] for name in counts] == [other[name] for name in counts]
        assert {k: v for k, v in one.items() if k not in counts} == pytest.approx(
            {k: v for k, v in other.items() if k not in counts}, rel=1e-4, abs=1e-5
        )


@pytest.fixture(scope="module")
def unbroken(server, tmp_path_factory):
    """A run that nobody disturbed."""
    return tmp_path_factory.mktemp("runs") / "unbroken"


def test_spiral_learns_on_kuhn_poker(server, redqueen, unbroken):
    finished(redqueen(*spiral(server, unbroken)))
    lines = metrics(unbroken)
    assert len(lines) == STEPS
    measured = [line["exploitability"] for line in lines if "exploitability" in line]
    last = json.loads((unbroken / "final.json").read_text())["exploitability"]
    print(f"\nspiral: exploitability {measured[0]:.4f} at the start, {last:.4f} after {STEPS} steps")
    print(f"seconds a step: {[round(line['time']['step'], 1) for line in lines]}")
    assert measured[0] == pytest.approx(0.4583, abs=0.05)  # nearly uniform: 11/24
    assert abs(last - measured[0]) > 0.01
    assert len({round(line["loss"], 6) for line in lines}) > STEPS // 2
    assert len({round(line["reward/first"], 6) for line in lines}) > STEPS // 2
    assert all(line["gradient_norm"] > 0 for line in lines)
    assert max(line["sampler_mismatch_max"] for line in lines) < 1e-3


def test_a_client_that_was_killed_goes_on_as_if_it_had_not_been(server, redqueen, unbroken, tmp_path):
    folder = tmp_path / "killed"
    process = redqueen(*spiral(server, folder))
    wait_for(folder, 5, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    finished(redqueen("resume", folder))
    assert_alike(figures(folder), figures(unbroken))
    print(f"\nkilled and resumed: the same to the last bit: {figures(folder) == figures(unbroken)}")


def test_spin_meets_its_past_self(server, redqueen, tmp_path):
    folder = tmp_path / "spin"
    words = (
        "train spin --questions sums --steps 3 --updates 2 --tasks 8 --pairs-per-update 8 --problems 2 "
        "--max-completion-length 8 --learning-rate 1e-3 --lora-rank 8 --evaluate-every 3 --checkpoint-every 2"
    )
    finished(redqueen(*words.split(), "--model", server.model, "--output", folder))
    lines = metrics(folder)
    print(f"\nspin: loss {[round(line['loss'], 4) for line in lines]}, ")
    print(f"margin {[round(line['preference_margin'], 4) for line in lines]}")
    assert lines[0]["loss"] == pytest.approx(0.6931, abs=1e-3)  # log 2: the reference is the policy itself
    assert lines[1]["loss"] < lines[0]["loss"]
    assert lines[1]["preference_margin"] > 0


def test_past_selves_play(server, redqueen, tmp_path):
    folder = tmp_path / "fictitious"
    words = (
        "train fictitious_self_play --game kuhn_poker --steps 3 --matches-per-step 32 --learning-rate 1e-2 "
        "--lora-rank 8 --snapshot-every 1 --evaluate-every 3"
    )
    finished(redqueen(*words.split(), "--model", server.model, "--output", folder))
    records = [line for path in (folder / "episodes").glob("*.jsonl") for line in path.read_text().splitlines()]
    assert any("learner@1" in record for record in records)


def test_what_is_wrong_is_said_in_one_line(server, redqueen):
    def said(*words):
        process = redqueen("train", "spiral", "--steps", 1, *words)
        _, error = process.communicate(timeout=120)
        assert process.returncode == 2, error
        return error.strip().splitlines()[-1]

    assert "does not have the base model 'nobody/here': " in said("--model", f"tinker:nobody/here@{server.url}")
    assert "nothing answers at http://127.0.0.1:9" in said("--model", f"tinker:{server.base}@http://127.0.0.1:9")
    wide = said("--model", server.model, "--lora-rank", 64)
    assert "could not make an adapter: LoRA rank 64 must be between 1 and 16" in wide


def test_the_doctor_checks_a_server(server, redqueen):
    process = redqueen("doctor", "--backend", "tinker", "--url", server.url)
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    print(out)
    assert "SkyRL (jax)" in out


def test_a_server_that_is_killed_ends_the_run_in_one_line_and_it_goes_on(server, redqueen, unbroken, tmp_path):
    folder = tmp_path / "orphan"
    process = redqueen(*spiral(server, folder))
    wait_for(folder, 5, process)
    server.kill()
    began = time.monotonic()
    _, error = process.communicate(timeout=120)
    print(f"\n{error.strip().splitlines()[-1]} (after {time.monotonic() - began:.0f} s)")
    assert process.returncode == 2
    assert f"redqueen: the server at {server.url} has not answered for 30 s" in error
    assert "Traceback" not in error
    server.start()
    assert httpx.get(f"{server.url}/api/v1/healthz").status_code == 200
    finished(redqueen("resume", folder))
    assert_alike(figures(folder), figures(unbroken))
