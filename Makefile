# Everything runs in .venv, which is built again when pyproject.toml or constraints.txt change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
# Two processes: tests that compile are bound by memory before they are bound by cores.
WORKERS ?= 2

# Tests start hundreds of processes, and each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help check test test-slow test-versions kill browser update docs pages pictures fuzz bench bench-project lint clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: $(STAMP) ## compile the examples for every target and compare with snapshots/
	$(BIN)/hlodiff check

PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: $(STAMP) ## run the tests that compile little and start few processes
	$(PYTEST) -m "not slow"

test-slow: $(STAMP) browser ## run the others: whole runs of the command, every page of the docs played, a browser
	$(PYTEST) -m slow

VERSIONS ?= 0.7.2 0.8.0 0.9.2 pinned
TARGETS ?= cpu

test-versions: $(STAMP) ## run the tests of reading and capturing with VERSIONS of jax, for TARGETS=tpu,cuda too; 1.3 GB at a time
	$(BIN)/python -m tests.versions --targets $(TARGETS) $(VERSIONS)

KILLS ?= 300
SEED ?= 0

kill: $(STAMP) ## kill what writes or makes temporary folders KILLS times (300) at random points and look at what is left
	$(BIN)/python -m tests.kill $(KILLS) $(SEED)

# What the tests of the HTML page drive; where it cannot be installed, those tests fail and say so.
browser:
	@command -v chromium >/dev/null && exit 0; \
	as_root() { if [ "$$(id -u)" = 0 ]; then "$$@"; else sudo -n "$$@"; fi; }; \
	{ as_root apt-get update -q && as_root apt-get install -q -y --no-install-recommends chromium; } >&2 \
	|| echo "make test-slow: no Chromium here, and it could not be installed: install Debian's package chromium" >&2

update: $(STAMP) ## record the examples again in snapshots/
	$(BIN)/hlodiff update

docs: $(STAMP) $(DOCS_STAMP) ## build the docs as a site in build/site; a link that leads nowhere fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "open build/site/index.html"

pages: $(STAMP) ## make the pages and pictures of docs/ that come from the code: commands, configuration, JSON, passes, rooms
	$(BIN)/python -m tests.commands_page
	$(BIN)/python -m tests.configuration_page
	$(BIN)/python -m tests.json_schemas
	$(BIN)/python -m tests.normalizer_page
	$(BIN)/python -m tests.rooms

pictures: $(STAMP) browser ## make docs/pictures from a real run for three targets and a headless browser
	$(BIN)/python -m tests.pictures

MINUTES ?= 10
fuzz: $(STAMP) ## read damaged inputs for MINUTES=10, in child processes; prints finds
	$(BIN)/python -m tests.fuzzing --minutes $(MINUTES)

bench: $(STAMP) ## speed, memory and size, as ratios measured in one run
	$(BIN)/python -m benchmarks

FUNCTIONS ?= 300

bench-project: $(STAMP) ## hundreds of functions beside plain JAX (FUNCTIONS=300): time, memory, git; half an hour
	$(BIN)/python -m benchmarks.project --functions $(FUNCTIONS)

lint: $(STAMP) ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean: ## remove .venv and everything that can be built again
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hlodiff needs Python 3.11 or later: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[tpu,cuda,dask,examples,dev]'
	@touch $@

# Only the site needs these, so the tests do not wait for them.
$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@
