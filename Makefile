# On a fresh machine: `make demo` runs the main job, `make test` the tests. Both make .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHARED_DATA := $(abspath ../shared/data)
export FCCA_DATA ?= $(if $(wildcard $(SHARED_DATA)),$(SHARED_DATA))
# scikit-learn checks array-API input only where scipy was asked for it.
export SCIPY_ARRAY_API = 1

# Beyond eight workers the longest test alone decides how long it takes.
ON_ALL_CORES := -n logical --maxprocesses 8 --dist worksteal

CORE := CMakeLists.txt pyproject.toml $(wildcard core/*.cpp core/*.hpp)
INSTALLED := $(VENV)/.installed
INSTALLED_TEST := $(VENV)/.installed-test
INSTALLED_DOCS := $(VENV)/.installed-docs
INSTALLED_BENCH := $(VENV)/.installed-bench
INSTALLED_EXPERIMENTS := $(VENV)/.installed-experiments

.PHONY: demo test lint verify docs bench paper paper-quick wheel clean help

help:  ## Show what can be made
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-12s %s\n", $$1, $$2}'

demo: $(INSTALLED)  ## Distill scikit-learn's breast-cancer data: prints the tree and the rates, writes fcca-out/report.html
	$(BIN)/fcca distill --q 0.5 --regularization 0.005 --out fcca-out

test: $(INSTALLED_TEST) lint  ## Run the tests
	$(BIN)/python -m pytest $(ON_ALL_CORES)

lint: $(INSTALLED_TEST)  ## Style, types and the direction between rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

verify: $(INSTALLED_TEST)  ## The full-size exactness suites, from fixed seeds
	$(BIN)/python -m pytest $(ON_ALL_CORES) -m verify

docs: $(INSTALLED_DOCS)  ## The documentation: docs/_build/html/index.html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench: $(INSTALLED_BENCH)  ## Side by side with Gurobi, HiGHS, CP-SAT, treecf, pystreed, gosdt, pycontree and the paper's figures
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/ensembles.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/million.py
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/selection.py
	$(BIN)/python benchmarks/paper_figures.py
	$(BIN)/python benchmarks/paper_milp.py

paper: $(INSTALLED_EXPERIMENTS)  ## The paper's whole study: every table and figure anew, into experiments/out/
	$(BIN)/python -m experiments run paper

paper-quick: $(INSTALLED_EXPERIMENTS)  ## A small part of it, in under two minutes
	$(BIN)/python -m experiments run quick

wheel: $(INSTALLED)  ## Build a wheel into dist/
	$(BIN)/python -m pip wheel --no-deps --no-build-isolation -w dist .

clean:  ## Remove everything that was made
	rm -rf $(VENV) build dist fcca-out experiments/out experiments/out-quick docs/_build docs/auto_examples docs/generated

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "fcca needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 demo"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

.PHONY: compiler
compiler:
	@for cxx in $${CXX:-c++ g++ clang++}; do command -v $$cxx >/dev/null 2>&1 && exit 0; done; \
		echo "fcca's core is C++20 and no C++ compiler was found. Install one (Debian: apt-get install g++; macOS: xcode-select --install) or set CXX."; exit 1

# The build's own tools stay in the environment, so that what comes later compiles the core only where it changed.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BUILD_TOOLS := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "cmake", "ninja")

$(INSTALLED): $(CORE) | compiler $(BIN)/python
	$(INSTALL) $$($(BIN)/python -c '$(BUILD_TOOLS)')
	$(INSTALL) --no-build-isolation -e .
	@touch $@

$(INSTALLED_TEST): $(INSTALLED) | compiler $(BIN)/python
	$(INSTALL) --no-build-isolation -e '.[test,dev,docs]'
	@touch $@

$(INSTALLED_DOCS): $(INSTALLED) | compiler $(BIN)/python
	$(INSTALL) --no-build-isolation -e '.[docs]'
	@touch $@

$(INSTALLED_BENCH): $(INSTALLED) | compiler $(BIN)/python
	$(INSTALL) --no-build-isolation -e '.[bench]'
	@touch $@

$(INSTALLED_EXPERIMENTS): $(INSTALLED) | compiler $(BIN)/python
	$(INSTALL) --no-build-isolation -e '.[experiments]'
	@touch $@
