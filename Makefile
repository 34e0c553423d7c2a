# Penstock's commands; `make help` lists them. Each target makes its prerequisites, and nothing is
# made twice: packages follow pyproject.toml, and the native core follows its sources.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
# Used by every JVM of the tests (tests/support/spark/jvm_options.py).
SPARK_CLASSES := $(VENV)/spark-classes.jsa

# Includes the folders: deleting a file changes only its folder.
NATIVE_SOURCES := setup.py native/Cargo.toml native/Cargo.lock native/build.rs $(shell find native/src)

# The number of examples each property test draws under `make fuzz`, and how long each fuzz target runs.
FUZZ_EXAMPLES ?= 2000
FUZZ_SECONDS ?= 600

# The number of generated networks that route documents with annotations and without under `make fuzz`.
FUZZ_CASES ?= 100000

# The number of random histories of synchronisation under `make fuzz`.
FUZZ_HISTORIES ?= 100000

# One more than there are processors: the longest tests mostly wait for child processes.
TEST_PROCESSES ?= $(shell echo $$((1 + $$(getconf _NPROCESSORS_ONLN))))

# How often `make soak` kills the pipeline, and routers.
SOAK_KILLS ?= 100

# Keeps the output of parallel jobs apart, except that of the installer, whose progress must show at
# once. The make that macOS ships does not support it.
OUTPUT_SYNC := $(if $(filter output-sync,$(.FEATURES)),--output-sync=line)
OUTPUT_AT_ONCE := $(if $(OUTPUT_SYNC),--output-sync=none)

# Packages are installed without bytecode, and Python writes it when a module is first imported.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run test lint bench docs wheel fuzz soak clean
.PHONY: install python-lint python-tests spark-tests crate-lint crate-tests

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## Install everything into .venv, build the native core, show what is there
	@$(BIN)/penstock doctor

# Needs only what the pipeline needs: no tools of development, no plots.
run: $(VENV)/.runtime ## Deliver the example alerts: six publishers, 21 subscriptions, on Spark
	@$(BIN)/penstock doctor
	@PATH="$(abspath $(BIN)):$$PATH" examples/alerts/run.sh build/alerts
	@echo; echo "Look further: $(BIN)/penstock mailbox severe --workspace build/alerts"

test: ## Run every check: lint, the crate's tests, the stub check, pytest
	@$(MAKE) --jobs=2 $(OUTPUT_SYNC) crate-tests spark-tests python-tests lint

lint: python-lint crate-lint ## Check formatting, types and lints of both languages

python-lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

python-tests: setup $(SPARK_CLASSES)
	$(BIN)/python -m pytest --quiet -m 'not spark' --numprocesses $(TEST_PROCESSES) --dist worksteal

# In one process: each process starts its own Spark.
spark-tests: setup $(SPARK_CLASSES)
	$(BIN)/python -m pytest --quiet -m spark

# With the profile of `make setup`, which has compiled the build scripts and macros already.
crate-lint: setup
	@if ! cargo fmt --version >/dev/null 2>&1; then $(call rust_missing,cargo fmt); \
	else (set -x; cd native && cargo fmt --check && cargo fmt --check --manifest-path fuzz/Cargo.toml); fi
	@if ! cargo clippy --version >/dev/null 2>&1; then $(call rust_missing,cargo clippy); \
	else (set -x; cd native && cargo clippy --quiet --locked --profile quick --all-targets --all-features -- -D warnings); fi

# Needs no .venv, so it compiles while that is made. The seed is fixed, so a new failure is caused by the
# change; `make fuzz` draws new examples.
crate-tests:
	@if ! command -v cargo >/dev/null; then $(call rust_missing,the tests of the crate); \
	else (set -x; cd native && PROPTEST_RNG_SEED=1 cargo test --quiet --locked --features baselines); fi

# With the optimised core: fat LTO, as in the wheels.
bench: $(VENV)/.optimized ## Measure every budget and write benchmarks/results
	$(BIN)/penstock bench reader --check --write benchmarks/results
	$(BIN)/penstock bench paths --check --write benchmarks/results
	$(BIN)/penstock bench results --check --write benchmarks/results
	$(BIN)/penstock bench index --check --write benchmarks/results
	$(BIN)/penstock bench keywords --check --write benchmarks/results
	$(BIN)/penstock bench mediation --check --write benchmarks/results
	$(BIN)/penstock bench relations --check --write benchmarks/results
	$(BIN)/penstock bench routing --check --write benchmarks/results
	$(BIN)/penstock bench overlay --check --write benchmarks/results
	$(BIN)/penstock bench sync --check --write benchmarks/results
	$(BIN)/penstock bench hostile --check --write benchmarks/results
	$(BIN)/penstock bench mailbox --check --write benchmarks/results
	$(BIN)/penstock bench pipeline --check --write benchmarks/results
	$(BIN)/penstock bench delivery --check --write benchmarks/results

docs: setup ## Generate the reference pages and build the documentation into site/, strictly
	$(BIN)/python docs/tools/build_docs.py

# The wheel is built from the source distribution, as an installer would.
wheel: setup ## Build the source distribution and a wheel of the optimised core into dist/
	PENSTOCK_REQUIRE_NATIVE=1 $(BIN)/python -m build --outdir dist

fuzz: setup ## Search for counterexamples at length: generated tests, then every fuzz target
	PENSTOCK_FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest --quiet -m hypothesis \
		--numprocesses auto --dist worksteal
	cd native && PROPTEST_CASES=$(FUZZ_EXAMPLES) cargo test --quiet --locked --release --features baselines
	$(BIN)/python benchmarks/annotation_cases.py --cases $(FUZZ_CASES) --processes $(TEST_PROCESSES)
	$(BIN)/python benchmarks/sync_histories.py --histories $(FUZZ_HISTORIES) --processes $(TEST_PROCESSES)
	$(BIN)/python fuzz/campaign.py --seconds $(FUZZ_SECONDS) --write

soak: setup ## Kill the pipeline, routers and a sync server a hundred times each, simulate overlays, write benchmarks/results/soak*.txt
	$(BIN)/python benchmarks/soak.py --kills $(SOAK_KILLS)
	$(BIN)/python benchmarks/soak_routers.py --kills $(SOAK_KILLS)
	$(BIN)/python benchmarks/soak_sync.py --kills $(SOAK_KILLS) --basex-kills $$(( $(SOAK_KILLS) / 10 )) --write
	$(BIN)/python benchmarks/soak_overlay.py --write

clean: ## Remove everything that was made
	rm -rf $(VENV) build dist results site native/target native/fuzz/target
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache src/penstock.egg-info
	rm -f src/penstock/_native*.so src/penstock/_native*.pyd
	find src tests docs benchmarks fuzz -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	@python=$$($(find_python)); \
	echo "making $(VENV) with $$python"; \
	$$python -m venv --clear $(VENV)
	@touch $@

# What `make run` needs.
$(VENV)/.runtime: $(VENV)/.made pyproject.toml $(NATIVE_SOURCES)
	@$(MAKE) $(OUTPUT_AT_ONCE) install ARGUMENTS='--build quick --extra spark'
	@touch $@

# Everything: tests, lints, documentation, plots.
$(VENV)/.installed: $(VENV)/.runtime
	@$(MAKE) $(OUTPUT_AT_ONCE) install ARGUMENTS='--extra all --extra dev --extra docs'
	@touch $@

# Replaces the quick build until the next change of the sources.
$(VENV)/.optimized: $(VENV)/.runtime
	@$(MAKE) $(OUTPUT_AT_ONCE) install ARGUMENTS='--build release'
	@touch $@

install:
	@$(BIN)/python tools/installer.py $(ARGUMENTS)

# Two dozen JVMs start in half the time with it; where it cannot be made, they start without.
$(SPARK_CLASSES): $(VENV)/.installed
	@echo "keeping the classes of Spark for the JVMs of the tests"
	@PYTHONPATH=tests $(BIN)/python -m support.spark.class_data_archive >$(VENV)/spark-classes.log 2>&1 \
		|| echo "not kept: see $(VENV)/spark-classes.log" >&2

# A shell command that prints the first suitable Python, or says what is wrong. PYTHON=... wins.
define find_python
for candidate in $(or $(PYTHON),python3 python3.13 python3.12 python3.11); do \
	if "$$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo "$$candidate"; exit 0; fi; \
done; \
echo "Penstock needs Python 3.11 or newer with its venv module (Debian and Ubuntu: apt install python3-venv); name one with make PYTHON=..." >&2; \
exit 1
endef

# A missing part of the Rust toolchain is a message, and where the native core is required, a failure.
define rust_missing
echo "$(1): not run, the Rust toolchain lacks it (rustup component add rustfmt clippy)" >&2; \
[ "$${PENSTOCK_REQUIRE_NATIVE:-}" != 1 ]
endef
