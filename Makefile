# The front door. `make check test` is what CI runs, in an environment of its own (.ci/run).
PYTHON ?= python3
VENV   ?= .venv

BIN     := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input

.DELETE_ON_ERROR:
.PHONY: help demo test quick check format bench experiments judges oracle docs-reference clean

help:  ## what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 18

demo: $(VENV)/.demo  ## set everything up and publish a real series, five years of it, three ways
	@$(BIN)/phalanx demo

test: $(VENV)/.test  ## every test
	@$(BIN)/python -m pytest -q -n auto --dist worksteal --durations 10

quick: $(VENV)/.test  ## every test but the slow ones
	@$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow"

check: $(VENV)/.check  ## lint, format, types, layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict src
	@$(BIN)/lint-imports

format: $(VENV)/.check  ## what can be put right by machine
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.test  ## speed and memory, beside the floor
	@set -e; for script in $(sort $(wildcard benchmarks/[a-z]*.py)); do echo "== $$script"; $(BIN)/python $$script; done

experiments: $(VENV)/.test  ## the papers' figures on real data
	@set -e; for script in $(sort $(shell grep -l __main__ experiments/*/*.py)); do echo "== $$script"; $(BIN)/python $$script; done

judges: $(VENV)/.test  ## our adversaries beside Anonymeter and anonypyx, in an environment of their own
	@$(BIN)/python experiments/judges/judges.py

oracle: $(VENV)/.test  ## publish from every world: what who knows the method learns, as a table (ORACLE='--write METHOD': into its page)
	@PYTHONPATH=tests $(BIN)/python -m worlds.table $(ORACLE)

docs-reference: $(VENV)/.test  ## docs/reference/ from the docstrings
	@$(BIN)/python docs/reference.py

clean:  ## remove the environment and every cache
	rm -rf $(VENV) experiments/judges/.venv-judges build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp says that its extra is installed as pyproject.toml now has it; a second run starts at once.
$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null || \
	  { echo "Phalanx needs Python 3.11 to 3.14 and '$(PYTHON)' is not one; name one that is, as in: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml
	@$(INSTALL) --editable '.[demo]'
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml
	@$(INSTALL) --editable '.[demo,test]'
	@touch $@

$(VENV)/.check: $(VENV)/.python pyproject.toml
	@$(INSTALL) --editable '.[check]'
	@touch $@
