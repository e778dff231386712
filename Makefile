# `make demo` and `make test` need only python3 with venv and pip: they create .venv, install, and run.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-long lint reach-paper bench clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $(READY)

demo: $(READY)
	$(BIN)/python -m bayesspn.demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -m "not long" -n 2

test-long: $(READY)
	$(BIN)/pytest -m long -n 2

reach-paper: $(READY)
	$(BIN)/python experiments/reach_paper.py $(if $(DATA),--data $(DATA))

bench: $(READY)
	$(BIN)/python bench/engine.py $(if $(DATA),--data $(DATA))

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
