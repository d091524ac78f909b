# make run     the program, in an environment of its own (ARGS="…" are handed to it)
# make test    everything CI runs: environment, then `make check`
# make check   lint, format, types, import contracts, tests
# make bench   figures, as ratios within one run (BENCH="latency startup" chooses)
# make screenshots   the pictures README shows
# make lock    compiles requirements/*.txt     make clean         removes the environment and every cache
#
# Needs Python 3.11 or newer and nothing else; PYTHON=… names one.

VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
BENCH ?=
export VENV PYTHON
# Without compiled files every process of the tests would compile all of them again, and so would all that they start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test check env env-dev bench screenshots lock clean

run: env
	@$(BIN)/ullage $(ARGS)

test: check

# Every step runs, so that one look shows all that is wrong; the tests come last, because they take the longest.
check: env-dev
	@failed=; \
	for step in "ruff check ." "ruff format --check ." mypy lint-imports "pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)"; do \
		echo "== $$step"; \
		$(BIN)/$$step || failed="$$failed[$$step] "; \
	done; \
	if [ -n "$$failed" ]; then echo "make check: failed: $$failed" >&2; exit 1; fi

bench: env-dev
	@for file in tests/bench/bench_*.py; do \
		echo "== $$file"; \
		$(BIN)/python -m tests.bench.$$(basename $$file .py) $(ARGS) || exit 1; \
	done

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
