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
INSTALLED_TEST_ALL := $(VENV)/.installed-test-all
INSTALLED_DOCS := $(VENV)/.installed-docs
INSTALLED_BENCH := $(VENV)/.installed-bench
INSTALLED_EXPERIMENTS := $(VENV)/.installed-experiments
INSTALLED_RELEASE := $(VENV)/.installed-release

.PHONY: demo test test-all test-rest lint verify fuzz docs docs-tag pictures bench bench-quick instructions sanitize core-coverage paper paper-quick wheel wheel-test audit coverage clean help

help:  ## Show what can be made
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

demo: $(INSTALLED)  ## Distill scikit-learn's breast-cancer data: prints the tree and the rates, writes fcca-out/report.html
	$(BIN)/fcca distill --out fcca-out

test: $(INSTALLED_TEST) lint  ## Lint, and the quick part of the tests: every room and promise, in five minutes
	$(BIN)/python -m pytest $(ON_ALL_CORES) --part quick

test-all: $(INSTALLED_TEST_ALL) lint  ## Lint, and all tests
	$(BIN)/python -m pytest $(ON_ALL_CORES)

test-rest: $(INSTALLED_TEST_ALL)  ## The tests that `make test` leaves out
	$(BIN)/python -m pytest $(ON_ALL_CORES) --part rest

lint: $(INSTALLED_TEST)  ## Style, types and the direction between rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

verify: $(INSTALLED_TEST_ALL)  ## The full-size exactness suites, from fixed seeds
	$(BIN)/python -m pytest $(ON_ALL_CORES) -m verify

EXECUTIONS ?= 100000
fuzz: $(INSTALLED_TEST_ALL)  ## Throw damaged documents at what reads fcca's own JSON, guided by coverage (EXECUTIONS=1000000 for more)
	$(BIN)/python -c 'import atheris' 2>/dev/null || $(INSTALL) --no-build-isolation -e '.[fuzz]'
	$(BIN)/python fuzz/json_loaders.py --executions $(EXECUTIONS)

HTML := docs/_build/html
docs: $(INSTALLED_DOCS)  ## The documentation: docs/_build/html/index.html; with DOCS_VERSION=0.1.0 in a folder of that name
	DOCS_VERSION=$(DOCS_VERSION) $(BIN)/python -m sphinx -W --keep-going -q -b html docs $(HTML)$(DOCS_VERSION:%=/%)
	$(if $(DOCS_VERSION),$(BIN)/python docs/_ext/versions.py $(HTML) $(DOCS_BASE))

# The pages run code, so a tag's documentation is made in a checkout of its own, with an environment of its own.
docs-tag:  ## The documentation of a tag, beside the others: make docs-tag TAG=v0.1.0 (DOCS_BASE: where the versions will be found)
	@test -n "$(TAG)" || { echo "Which tag? make docs-tag TAG=v0.1.0"; exit 1; }
	git worktree add --force --detach build/docs-$(TAG) $(TAG)
	$(MAKE) -C build/docs-$(TAG) docs DOCS_VERSION=$(TAG:v%=%)
	mkdir -p $(HTML) && rm -rf $(HTML)/$(TAG:v%=%) && mv build/docs-$(TAG)/$(HTML)/$(TAG:v%=%) $(HTML)/
	git worktree remove --force build/docs-$(TAG)
	$(PYTHON) docs/_ext/versions.py $(HTML) $(DOCS_BASE)

pictures: $(INSTALLED_TEST_ALL)  ## The pictures of the README, docs/_static/*.png (needs chromium)
	$(BIN)/python docs/pictures.py $$(command -v chromium)

bench: $(INSTALLED_BENCH)  ## Beside Gurobi, HiGHS, CP-SAT, treecf, pystreed, gosdt, pycontree and the authors' code: half an hour
	$(BIN)/python -m benchmarks

bench-quick: $(INSTALLED_BENCH)  ## A small part of every comparison, in two minutes
	$(BIN)/python -m benchmarks --quick

instructions: $(INSTALLED)  ## Count the instructions of the core's kernels and compare them with the recorded ones (needs valgrind)
	$(BIN)/python benchmarks/instructions.py

sanitize: $(INSTALLED_TEST_ALL)  ## The core under the sanitizers of GCC: memory, undefined behaviour, threads
	$(BIN)/python sanitizers/run.py

core-coverage: $(INSTALLED_TEST_ALL)  ## Which lines of core/ the tests reach; fails below 95 %
	$(BIN)/python sanitizers/lines.py

paper: $(INSTALLED_EXPERIMENTS)  ## The paper's whole study: every table and figure anew, into experiments/out/
	$(BIN)/python -m experiments run paper

paper-quick: $(INSTALLED_EXPERIMENTS)  ## A small part of it, in under two minutes
	$(BIN)/python -m experiments run quick

wheel: $(INSTALLED_RELEASE)  ## Build the sdist, and a wheel from nothing but the sdist, into dist/
	rm -f dist/fcca-*
	$(BIN)/python -m build --sdist --no-isolation --outdir dist .
	$(BIN)/python -m pip wheel --no-deps --no-build-isolation -w dist dist/fcca-*.tar.gz
	@! command -v $(BIN)/auditwheel >/dev/null || $(BIN)/auditwheel show dist/fcca-*.whl

wheel-test: $(INSTALLED_TEST_ALL) wheel  ## Look into sdist and wheel, and run the wheel in a new environment without a compiler
	FCCA_REQUIRE_ALL=1 $(BIN)/python -m pytest -m release tests/release

audit: $(INSTALLED_TEST_ALL) $(INSTALLED_RELEASE)  ## Known vulnerabilities of what fcca and its extras need (asks PyPI)
	$(BIN)/python .ci/audit.py

coverage: $(INSTALLED_TEST_ALL)  ## Which lines and branches of the package the tests reach; fails below 95 %
	$(BIN)/python -m pytest $(ON_ALL_CORES) --cov --cov-report=term:skip-covered --cov-report=json:build/coverage.json
	$(BIN)/python .ci/coverage_verdict.py build/coverage.json

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
	$(INSTALL) --no-build-isolation -e '.[test,dev]'
	@touch $@

$(INSTALLED_TEST_ALL): $(INSTALLED_TEST) | compiler $(BIN)/python
	$(INSTALL) --no-build-isolation -e '.[test-all,dev]'
	@touch $@

$(INSTALLED_DOCS): $(INSTALLED) | compiler $(BIN)/python
	$(INSTALL) --no-build-isolation -e '.[docs]'
	@touch $@

# The peers are optional: what cannot be had here is skipped by the suite, with a line.
BENCH_PEERS := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"], sep="\n")
$(INSTALLED_BENCH): $(INSTALLED) | compiler $(BIN)/python
	@$(BIN)/python -c '$(BENCH_PEERS)' | while read -r peer; do \
		$(INSTALL) "$$peer" || echo "$$peer cannot be installed here; what needs it will be skipped."; done
	@touch $@

$(INSTALLED_EXPERIMENTS): $(INSTALLED) | compiler $(BIN)/python
	$(INSTALL) --no-build-isolation -e '.[experiments]'
	@touch $@

$(INSTALLED_RELEASE): $(INSTALLED) | compiler $(BIN)/python
	$(INSTALL) --no-build-isolation -e '.[release]'
	@touch $@
