# make run     the program, in an environment of its own (ARGS="…" are handed to it)
# make test    everything CI runs: environment, then `make check`
# make check   lint, format, types, import contracts, tests
# make bench   the figures README quotes       make screenshots   the pictures README shows
# make lock    compiles requirements/*.txt     make clean         removes the environment and every cache
#
# Needs Python 3.11 or newer and nothing else; PYTHON=… names one.

VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
export VENV PYTHON

.PHONY: run test check env env-dev bench screenshots lock clean

run: env
	@$(BIN)/ullage $(ARGS)

test: check

check: env-dev
	@echo "== ruff check" && $(BIN)/ruff check .
	@echo "== ruff format" && $(BIN)/ruff format --check .
	@echo "== mypy" && $(BIN)/mypy
	@echo "== import contracts" && $(BIN)/lint-imports
	@echo "== pytest" && $(BIN)/python -m pytest $(ARGS)

bench: env-dev
	@$(BIN)/python bench/figures.py $(ARGS)

screenshots: env-dev
	@$(BIN)/python screenshots/make.py $(ARGS)

env:
	@sh requirements/install.sh run

env-dev:
	@sh requirements/install.sh dev

lock:
	@sh requirements/lock.sh

clean:
	rm -rf $(VENV) .venv-lock build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find compaction agent tui tests -name __pycache__ -type d -prune -exec rm -rf {} +
