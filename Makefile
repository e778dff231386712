# `make demo` and `make test` need only python3 with venv and pip: they create .venv, install, and run.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INSTALLED := $(VENV)/.installed
RIVALS ?= .rivals
OLDEST := .oldest

.PHONY: demo compiled test test-long test-oldest package fuzz mutants lint docs transcript pictures \
	choose-graphs bench bench-scoring bench-rows bench-small bench-growth bench-quality bench-imputation \
	bench-scaling table1 table2 figure3 cost plain supervised recovery honesty intervals rivals results sense clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $(READY) $(INSTALLED)

# the package alone is enough for the demo; the engine is compiled once, in halves side by side
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $(INSTALLED)

demo: $(INSTALLED)
	@$(BIN)/python -m bayesspn.demo --compile score & $(BIN)/python -m bayesspn.demo --compile fit; wait
	$(BIN)/python -m bayesspn.demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# pages are checked by links and anchors; warnings are errors. The time of site/.built is when a
# build that went well began: tests take the site if nothing that it shows is newer.
docs: $(READY)
	@mkdir -p site && touch site/.building
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@mv site/.building site/.built
	@echo "open site/index.html"

# with DATA=FOLDER of adult.csv and abalone.csv all five tables, else three; takes a while
transcript: $(READY)
	$(BIN)/python experiments/transcript.py $(if $(DATA),--data $(DATA))

# answers against tables that ship inside packages, worst first: scikit-learn's, and those of
# statsmodels and vega_datasets, of which nothing but their files is used
sense: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps statsmodels vega_datasets
	$(BIN)/python experiments/sense.py $(if $(TABLES),--tables $(TABLES))

# compiles the engine once, by random tables through all of it, before many tests need it
compiled: $(READY)
	$(BIN)/pytest -q -m "not long" tests/fuzz

test: $(READY)
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint docs compiled
	$(BIN)/pytest -m "not long" -n 2 --ignore=tests/fuzz

# pictures of the documentation: DATA=FOLDER of adult and abalone; needs Chromium
pictures: $(READY)
	$(BIN)/python experiments/pictures.py --data $(DATA)

test-long: $(READY)
	$(BIN)/pytest -m long -n 2

# the quick tests with the oldest versions of everything; compiled code is kept apart
$(OLDEST)/.ready: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[test]" -c tests/oldest.txt
	touch $(OLDEST)/.ready

test-oldest: $(OLDEST)/.ready
	NUMBA_CACHE_DIR=$(abspath $(OLDEST))/numba $(OLDEST)/bin/python -m pytest -m "not long" -p no:cacheprovider \
		$(or $(TESTS),tests/tables tests/estimators tests/questions tests/files tests/rows tests/prediction)

# what users install: built, installed in an empty environment, and asked a question
package: $(READY)
	$(BIN)/pytest -m long tests/test_package.py

# ten minutes of random tables; FUZZ_SECONDS and FUZZ_START change how many and which
fuzz: $(READY)
	$(BIN)/pytest -m long -s tests/fuzz

# one-line mistakes in a copy of the package, each of which a quick test must notice
mutants: $(READY)
	$(BIN)/python tests/mutants.py $(ARGS)

# an hour and a half: whether the evidence chooses good graphs
choose-graphs: $(READY)
	for part in large small priors; do \
		$(BIN)/python experiments/choose_graphs.py $$part $(if $(DATA),--data $(DATA)) || exit 1; done
	$(BIN)/python experiments/choose_graphs.py report

bench: $(READY)
	$(BIN)/python bench/engine.py $(if $(DATA),--data $(DATA))

# the paper's experiments; DATA=FOLDER of the data sets, ARGS="--quick", "--only nltcs" and the like.
# Each goes on where it was stopped. Rivals are installed when they are first needed.
EXPERIMENT = --rivals $(RIVALS) $(if $(DATA),--data $(DATA)) $(ARGS)

table1 table2 figure3 cost: $(READY)
	$(BIN)/python experiments/$@.py $(EXPERIMENT)

rivals: $(READY)
	$(BIN)/python experiments/rival_runs.py $(EXPERIMENT)

# RESULTS.md and its figures, from what has been run
results: $(READY)
	$(BIN)/python experiments/report.py $(ARGS)

# what a user gets in a minute, without another parameter, with three seeds: lines of both tables
plain: $(READY)
	for seed in 0 1 2; do for table in table1 table2; do \
		$(BIN)/python experiments/$$table.py $(EXPERIMENT) --method ours --seconds 60 --seed $$seed \
		|| exit 1; done; done

# classes and numbers, beside linear methods, forests and boosting: about half an hour
supervised: $(READY)
	$(BIN)/python experiments/supervised.py $(if $(DATA),--data $(DATA)) $(ARGS)

# how near default fits come to known truths; ARGS="--rivals $(RIVALS)": rivals beside them
recovery: $(READY)
	$(BIN)/python experiments/recovery.py $(ARGS)

# intervals and warnings, judged by the other half of real tables
honesty: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps statsmodels vega_datasets
	$(BIN)/python experiments/honesty.py $(if $(DATA),--data $(DATA)) $(ARGS)

# intervals against known truths: many categories, few rows
intervals: $(READY)
	$(BIN)/python experiments/intervals.py $(ARGS)

# SPFlow brings its own torch, so it gets an environment of its own
$(RIVALS)/spflow/.ready: $(READY)
	cd experiments && ../$(BIN)/python -m rivals.environments $(abspath $(RIVALS)) spflow

bench-scoring: $(READY) $(RIVALS)/spflow/.ready
	$(BIN)/python bench/scoring.py $(if $(DATA),--data $(DATA))

bench-rows: $(READY)
	$(BIN)/python bench/rows.py $(if $(DATA),--data $(DATA))

# BEFORE=PATH/TO/OLD/src measures another version in the same run
bench-small: $(READY)
	$(BIN)/python bench/small.py --rivals $(RIVALS) $(if $(BEFORE),--before $(BEFORE)) $(ARGS)

bench-growth: $(READY)
	$(BIN)/python bench/growth.py

bench-quality: $(READY)
	$(BIN)/python bench/quality.py $(if $(DATA),--data $(DATA))

# up to ten million rows: half an hour, and 8 GB of memory
bench-scaling: $(READY)
	$(BIN)/python bench/scaling.py

bench-imputation: $(READY)
	$(BIN)/python bench/imputation.py $(if $(DATA),--data $(DATA))

clean:
	rm -rf $(VENV) .rivals $(OLDEST) site .mypy_cache .ruff_cache .pytest_cache
