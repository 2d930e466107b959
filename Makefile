# `make demo` and `make test` set themselves up; `make help` lists the rest.
# Another Python: PYTHON=python3.12 make test. Another place: VENV=/somewhere make test.

VENV ?= .venv
BIN := $(VENV)/bin

# The Python that is already in the environment, else the first one that is new enough.
ifndef PYTHON
PYTHON := $(shell for p in $(BIN)/python python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; \
	done)
endif
VERSION := $(shell "$(PYTHON)" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)

# A stamp says: what pyproject.toml asks for is installed, for this version of Python.
RUNTIME := $(VENV)/.runtime-$(VERSION)
DEV := $(VENV)/.dev-$(VERSION)

# As many test processes as cores, but each compiles and needs its own memory: four at most.
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ "$$n" -gt 4 ] && n=4; echo "$$n")
# A file stays in one process, so that its tests share what is compiled.
# xdist 3.8 waits for ever once it has replaced a crashed process: none is replaced.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --max-worker-restart=0

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo test test-all lint format types imports bench clean

help:  ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) \
		| while IFS="$$(printf '\t')" read -r name what; do printf 'make %-10s %s\n' "$$name" "$$what"; done

setup: $(RUNTIME)  ## make the environment in .venv, with what the package needs
setup-dev: $(DEV)  ## the same, with what tests, lint and benchmarks need

$(RUNTIME): pyproject.toml .ci/setup
	@.ci/setup "$(PYTHON)" "$(VENV)" .
	@touch $@

$(DEV): pyproject.toml .ci/setup
	@.ci/setup "$(PYTHON)" "$(VENV)" '.[dev]'
	@touch $(RUNTIME) $@

demo: $(RUNTIME)  ## train a network on 5x5 Hex before your eyes, a few minutes
	$(BIN)/halfmove demo

test: $(DEV)  ## the default tests
	$(PYTEST) -m 'not slow' $(ARGS)

test-all: $(DEV)  ## every test, the slow ones included
	HALFMOVE_TEST_KEYS=1 $(PYTEST) $(ARGS)

lint: $(DEV)  ## style of every Python file
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: $(DEV)  ## rewrite every Python file in the one style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: $(DEV)  ## type-check the package
	$(BIN)/mypy

imports: $(DEV)  ## check that imports point only towards core
	$(BIN)/lint-imports --no-logo

bench: $(DEV)  ## measure the search beside mctx
	$(BIN)/python -m benchmarks.search $(ARGS)

clean:  ## remove the environment, caches and output
	rm -rf $(VENV) build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
