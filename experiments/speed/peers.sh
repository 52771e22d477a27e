#!/bin/sh
# sh experiments/speed/peers.sh: environments for the engines that experiments/speed/engines.py sets beside ours.
# vLLM's build for the CPU goes to .venv-vllm (as for make test-vllm), llama.cpp to .venv-llama, where it is compiled.
set -eu
cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-python3}

[ -e .venv-vllm/ready ] || tests_vllm/run.sh --collect-only --quiet

ENV=.venv-llama
if [ ! -e "$ENV/ready" ]; then
    "$PYTHON" -m venv "$ENV"
    "$ENV/bin/python" -m pip install --quiet --disable-pip-version-check 'llama-cpp-python==0.3.36'
    touch "$ENV/ready"
fi
