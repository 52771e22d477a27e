#!/bin/sh
# make test-scale: an environment of its own in .venv-scale, SkyRL's server on loopback, and the tests here.
# Skips, loudly and with status 0, only where Python 3.11 or the packages cannot be had.
set -eu
cd "$(dirname "$0")/.."
ENV=.venv-scale
PYTHON=${PYTHON:-python3}

skip() {
    echo "=================================================================="
    echo "  TEST-SCALE WAS SKIPPED: $1"
    echo "=================================================================="
    exit 0
}

if [ ! -e "$ENV/ready" ] || [ pyproject.toml -nt "$ENV/ready" ] || [ "$0" -nt "$ENV/ready" ]; then
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null ||
        skip "it needs Python 3.11 (PYTHON=... names one); $PYTHON is not"
    "$PYTHON" -m venv "$ENV"
    # the library's own bound on torch keeps pip from taking a CUDA build where a CPU build lies at hand
    "$ENV/bin/python" -m pip install --quiet --disable-pip-version-check \
        -e '.[tinker]' 'skyrl[tinker,jax]==0.3.0' uv 'pytest>=8' ||
        skip "pip could not install SkyRL 0.3.0 and what it needs"
    touch "$ENV/ready"
fi
OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} exec "$ENV/bin/python" -m pytest tests_scale -s "$@"
