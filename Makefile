# Two commands do all the set-up on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
TOOLS  := $(VENV)/.tools
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help install browser demo test check format unit snippets bench checked clean

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
	$(BIN)/python -m pytest -n auto tests

test: check unit  ## everything that must be green

format: $(TOOLS)  ## put the sources into the house's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## speed as ratios against peers in the same run: a table, and JSON in benchmarks/results
	$(BIN)/python -m pip install --quiet $(call extra,bench)
	$(BIN)/python -m benchmarks

checked: $(TOOLS)  ## the counting tests on kernels that check every index
	find src -name '*.so' -delete
	COUNTWISE_CHECKED=1 $(BIN)/python -m pip install --quiet --editable .
	$(BIN)/python -m pytest -q -n auto tests/counts tests/laws tests/models tests/discretize
	find src -name '*.so' -delete
	$(BIN)/python -m pip install --quiet --editable .

clean:  ## remove what was built
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis demo
	find src -name '*.so' -delete
	find src -name '_*.c' -delete
