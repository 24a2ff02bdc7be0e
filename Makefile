# `make demo` trains on the sample data and shows the suspects; `make test` runs every check that guards a change.
# Both work in a virtual environment of their own, .venv, which the first of them makes (about two minutes).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
DEMO := scanmix-runs/demo
TREE := build/tree
CHECKED := scanmix_cli models tests sample_data benchmarks

PYTHONS := 3.10 3.11 3.12 3.13

.PHONY: demo test pythons audit lint format clean

demo: $(VENV)/ready
	$(BIN)/scanmix train sample_data/digits --overwrite --out $(DEMO)
	$(BIN)/scanmix report --run $(DEMO) --top 10

# One thread a worker, or the workers take each other's cores.
test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto

# The tests under every Python that is on this machine, each in an environment of its own.
pythons:
	@for version in $(PYTHONS); do \
		if ! python$$version -c '' 2> /dev/null; then echo "python$$version is not on this machine"; continue; fi; \
		$(MAKE) test PYTHON=python$$version VENV=.venv-$$version || exit 1; \
	done

# Known weaknesses of what is pinned. Needs the network, and stops nothing.
audit: $(VENV)/ready-dev
	@$(PIP) pip-audit
	@$(BIN)/python .ci/audit.py

# Types and import rules are checked on the package as it is installed, with models/ inside it.
lint: $(VENV)/ready-dev
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	rm -rf $(TREE)
	mkdir -p $(TREE)
	cp -p pyproject.toml $(TREE)
	cp -R -p scanmix_cli $(TREE)/scanmix_cli
	cp -R -p models $(TREE)/scanmix_cli/models
	cd $(TREE) && "$(CURDIR)/$(BIN)/mypy" --cache-dir "$(CURDIR)/.mypy_cache" --package scanmix_cli
	cd $(TREE) && "$(CURDIR)/$(BIN)/lint-imports" --no-cache --no-logo

format: $(VENV)/ready-dev
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

clean:
	rm -rf .venv .venv-* build dist .mypy_cache .pytest_cache .ruff_cache

# The stamps keep a finished installation from being repeated until the project's requirements change.
$(VENV)/ready: pyproject.toml constraints.txt
	@echo "Installing into $(VENV): about two minutes the first time."
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 10) and 'scanmix needs Python 3.10 or newer: run make PYTHON=...')"
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/ready-dev: $(VENV)/ready
	$(PIP) --editable '.[dev]'
	touch $@
