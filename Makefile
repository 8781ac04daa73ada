# The front door. `make check test` is most of what CI runs, in an environment of its own (.ci/run).
PYTHON ?= python3
VENV   ?= .venv

BIN     := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input
UV      := $(BIN)/uv --quiet --no-config --no-python-downloads
TESTS   := pytest -q -n auto --dist worksteal -p no:anyio

# Environments beside the usual one, each made anew at each run, with what somebody else may have: the core alone, the lowest versions, other Pythons.
FRESH     = $(UV) venv --clear --python $(BIN)/python $(VENV)-$@
INTO      = $(UV) pip install --python $(VENV)-$@/bin/python
INSTALLED = PHALANX_INSTALLED=$(abspath $(VENV)-$@) NUMBA_OPT=0 \
	$(VENV)-$@/bin/python -m pytest -q -p no:cacheprovider -W default --confcutdir tests/cli tests/cli/test_installed.py

# What pytest makes of a file before it reads it is kept for the next run, also where Python is told to keep nothing.
unexport PYTHONDONTWRITEBYTECODE

# So many seconds of a processor are given to the tests, other tests on other days (tests/support/thoroughly.py); nothing before the `=` is every test.
BUDGET   ?= 200
# These run others' programs in environments of their own, and have targets of their own.
OUTSIDE  := $(addprefix experiments/,judges/% head_to_head/% nist/% spark/%)
KERNELS  := $(sort $(shell grep -rlw njit src --include='*.py') $(wildcard src/phalanx/kernels/*.py))
# So many megabytes may an installation of the core have, with all that it needs.
CORE_MB  := 700
# What compiles longest begins first.
WARMED   := mutual-cover slicing mondrian global-guarantee safe-sampling m-invariance anatomy
PYTHONS  ?= $(shell for version in 3.11 3.12 3.13 3.14; do \
	for python in python$$version $(HOME)/.pyenv/versions/$$version*/bin/python; do $$python -c "" 2>/dev/null && echo $$python && break; done; done; true)

.DELETE_ON_ERROR:
.PHONY: help demo test thorough quick seconds check format core lowest spark spark-demo spark-bench pythons pythons-found lock audit fuzz kills mutants bench profile experiments tables losses judges peers nist oracle docs clean

help:  ## what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 18

demo: $(VENV)/.demo  ## set everything up and publish a real series, five years of it, three ways
	@$(BIN)/phalanx demo

test: $(VENV)/.warm  ## a case of every quick test and a share of the others, others on other days; the same again with SEED=…
	@BUDGET=$(BUDGET) $(BIN)/python -m $(TESTS) --durations 10

quick: $(VENV)/.warm  ## a case of every test that takes less than a quarter of a second
	@BUDGET=60 SLOW_SHARE=0 $(BIN)/python -m $(TESTS) -m "not slow"

thorough: $(VENV)/.warm  ## every test, with all its examples
	@BUDGET= $(BIN)/python -m $(TESTS) --durations 10

seconds: $(VENV)/.warm  ## every test, and what each takes into tests/seconds.json, by which the others choose
	@BUDGET= SECONDS=tests/seconds.json $(BIN)/python -m $(TESTS)

check: $(VENV)/.locked  ## lint, format, types, layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict src
	@$(BIN)/lint-imports

format: $(VENV)/.locked  ## what can be put right by machine
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

core: $(VENV)/.uv  ## the core alone, without any extra: how large it is, which has a bound, and that it works with the kernels that are installed with it
	@$(FRESH)
	@$(INTO) .
	@size=$$(du -sm $(VENV)-$@/lib/python3*/site-packages | cut -f 1); echo "$$size MB, of $(CORE_MB) at most: the core and what it needs"; \
	  [ "$$size" -le $(CORE_MB) ] || { echo "Not green: the core is light; make what is new an extra." >&2; exit 1; }
	@$(INTO) 'pytest>=8.3'
	@PHALANX_KERNELS=installed $(INSTALLED)

lowest: $(VENV)/.uv  ## the lowest versions that pyproject.toml declares: that they work
	@$(FRESH)
	@HATCH_BUILD_NO_HOOKS=true $(INTO) --resolution lowest-direct '.[all]' 'pytest>=8.3'  # kernels are compiled as they are used, quickly
	@$(INSTALLED)

spark: $(VENV)-spark/.made  ## the tests of Spark, in an environment of its own, which has PySpark; needs Java 17
	@$(VENV)-spark/bin/python -m pytest -q -p no:anyio -n 0 tests/engines tests/series/test_on_spark.py

spark-demo: $(VENV)-spark/.made  ## a table published on this machine, on Spark here, and on a cluster of two workers on loopback (ROWS=…)
	@$(VENV)-spark/bin/python experiments/spark/demo.py --rows $(or $(ROWS),200000)

spark-bench: $(VENV)-spark/.made  ## the local engine beside Spark, and each of its stages (SPARK_BENCH='--rows 1000000 10000000 --json FILE')
	@$(VENV)-spark/bin/python benchmarks/spark.py $(SPARK_BENCH)

pythons: $(VENV)/.uv  ## the quick tests on every Python that is here, or on PYTHONS=…; some cases of each with BUDGET=100
	@set -e; for python in $(PYTHONS); do \
	  echo "== $$($$python --version)"; $(UV) venv --clear --python $$python $(VENV)-$@; \
	  $(INTO) --require-hashes -r requirements.lock; $(INTO) --no-deps --editable .; \
	  NUMBA_CACHE_DIR=$(abspath $(VENV)-$@)/numba $(VENV)-$@/bin/python -m $(TESTS) -m "not slow" $(WHICH); \
	done

pythons-found:  ## the Pythons that are here
	@echo $(PYTHONS)

lock: $(VENV)/.uv  ## requirements.lock anew: the newest versions of all that tests and checks install, with their hashes
	@$(UV) pip compile --upgrade --universal --generate-hashes --no-annotate --extra test --extra check --python-version 3.11 \
	  --default-index https://pypi.org/simple --custom-compile-command 'make lock' --output-file requirements.lock pyproject.toml

audit: $(VENV)/.uv  ## whether a vulnerability is known of anything in requirements.lock; fails where nobody can be asked
	@$(UV) tool run --from 'pip-audit~=2.10' pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r requirements.lock || \
	  { echo "Not green: a vulnerability is known, or PyPI could not be asked about a package; the lines above say which." >&2; exit 1; }

fuzz: $(VENV)/.locked  ## ten thousand hostile inputs at every door
	@PYTHONPATH=tests $(BIN)/python -m fuzz

kills: $(VENV)/.locked  ## 200 publishers killed at random moments, with each kind of ledger
	@cd tests && $(abspath $(BIN))/python -m crash.moments 200

mutants: $(VENV)/.locked  ## 300 small changes to what checks, remembers and accounts, which some test must notice
	@PYTHONPATH=tests $(BIN)/python -m mutants

bench: $(VENV)/.locked  ## speed and memory, beside the floor; the table of jobs as JSON, too, into jobs.json
	@echo "== benchmarks/jobs.py"; $(BIN)/python benchmarks/jobs.py --json jobs.json
	@set -e; for script in $(filter-out benchmarks/jobs.py benchmarks/spark.py,$(sort $(wildcard benchmarks/[a-z]*.py))); do echo "== $$script"; $(BIN)/python $$script; done

profile: $(VENV)/.locked  ## where the processor's time goes in the jobs whose name holds JOB="mondrian, k"
	@$(BIN)/python benchmarks/jobs.py --profile --only "$(JOB)"

experiments: $(VENV)/.locked  ## each figure of the papers beside ours, into experiments/README.md; less of everything with VARIANT=--quick
	@$(BIN)/python experiments/page.py $(VARIANT)

tables: $(VENV)/.locked  ## what each experiment prints by itself, one after the other
	@set -e; for script in $(filter-out $(OUTSIDE),$(sort $(shell grep -l __main__ experiments/*/*.py))); do echo "== $$script"; $(BIN)/python $$script; done

losses: $(VENV)/.locked  ## every method on every table, before and now, beside the papers' ways and other tools; needs PHALANX_DATA (LOSSES=--write: into the page)
	@$(BIN)/python experiments/losses/methods.py $(LOSSES)

judges: $(VENV)/.locked  ## our adversaries beside Anonymeter and anonypyx, in an environment of their own
	@$(BIN)/python experiments/judges/judges.py

peers: $(VENV)/.locked  ## all methods beside anonypyx, anjana, a synthesizer and ARX's solutions on one table; needs PHALANX_DATA (PEERS=--write: into the pages)
	@$(BIN)/python experiments/head_to_head/head_to_head.py $(PEERS)

nist: $(VENV)/.locked  ## NIST's judge on draws of all methods; needs PHALANX_DATA and NIST='--excerpts FOLDER' (--write: into the pages)
	@$(BIN)/python experiments/nist/nist.py $(NIST)

oracle: $(VENV)/.locked  ## publish from every world: what who knows the method learns, as a table (ORACLE='--write METHOD': into its page)
	@PYTHONPATH=tests $(BIN)/python -m worlds.table $(ORACLE)

docs: $(VENV)/.locked  ## the documentation as a site, into build/site; a warning is an error
	@$(BIN)/python -m sphinx -q -W --keep-going -d build/doctrees -c docs . build/site

clean:  ## remove the environment and every cache
	rm -rf $(VENV) $(VENV)-core $(VENV)-lowest $(VENV)-spark $(VENV)-pythons experiments/judges/.venv-judges experiments/head_to_head/.venv-peers experiments/nist/.venv-nist build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp says that what it names is installed as pyproject.toml and requirements.lock now have it; a second run starts at once.
$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null || \
	  { echo "Phalanx needs Python 3.11 to 3.14 and '$(PYTHON)' is not one; name one that is, as in: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.uv pyproject.toml
	@$(UV) pip install --python $(BIN)/python --editable '.[demo]'
	@touch $@

# Half a gigabyte, so it is kept, and made anew only where pyproject.toml changed.
$(VENV)-spark/.made: $(VENV)/.uv pyproject.toml
	@$(UV) venv --clear --python $(BIN)/python $(VENV)-spark
	@$(UV) pip install --python $(VENV)-spark/bin/python --editable '.[all,spark]' 'pytest>=8.3' 'pytest-xdist>=3.6' 'hypothesis>=6.120'
	@touch $@

$(VENV)/.uv: $(VENV)/.python
	@$(INSTALL) 'uv~=0.13.9'
	@touch $@

$(VENV)/.locked: $(VENV)/.uv pyproject.toml requirements.lock
	@$(UV) pip install --python $(BIN)/python --require-hashes -r requirements.lock
	@$(UV) pip install --python $(BIN)/python --no-deps --editable .
	@touch $@

# Kernels are compiled once, before two processes of the tests would both do so.
$(VENV)/.warm: $(VENV)/.locked $(KERNELS)
	@printf '%s\n' $(WARMED) | xargs -n 1 -P 2 $(BIN)/phalanx warm --quiet >/dev/null
	@touch $@
