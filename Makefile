# Everything a newcomer or CI needs: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Most of a test's time on Slurm is waiting, so several wait at once, each worker with test clusters of its own.
AT_ONCE := --numprocesses 4 --dist worksteal

.PHONY: demo test test-launchers lint types unit bench docs clean

$(BIN)/voy: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo]'
	touch $@

$(VENV)/.tested: $(BIN)/voy
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,docs]'
	touch $@

demo: $(BIN)/voy
	$(BIN)/voy demo --into "$$(mktemp -d)/voyageur-demo"

test: lint types
	bash tests/testbed/install.sh
	$(BIN)/python -m pytest $(AT_ONCE)

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tested
	$(BIN)/mypy

unit: $(VENV)/.tested
	$(BIN)/python -m pytest --ignore=tests/behaviour --ignore=tests/faults --ignore=tests/testbed

# The heavy packages go into virtual environments of their own, below build/launchers, once.
test-launchers: $(VENV)/.tested
	bash tests/testbed/install.sh
	VOYAGEUR_LAUNCHERS=1 $(BIN)/python -m pytest tests/launchers --numprocesses 2 --dist worksteal
	$(BIN)/python -m tests.launchers.proven

bench: $(VENV)/.tested
	bash tests/testbed/install.sh
	bash bench/data/install.sh
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m bench

docs: $(VENV)/.tested
	$(BIN)/mkdocs build --strict --site-dir build/docs

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
