# Everything runs from .venv, which the first target that needs it creates. `make help` lists the targets.
SHELL := bash
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
VENV := .venv/.stamp
export PATH := $(CURDIR)/$(BIN):$(PATH)
RELEASE := build/release/.stamp
DEBUG := build/debug/.stamp
NATIVE := $(shell find bvb_core ai -name '*.py[xd]' 2>/dev/null) $(wildcard proto/bvb/v1/*.proto) setup.py
STUBBED := $(subst /,.,$(basename $(shell find bvb_core ai -name '*.pyi' 2>/dev/null)))
INSTALL := $(BIN)/pip install --quiet --no-build-isolation --no-deps -e .
# Sanitizers: the runtime has to come first, and Python itself is not clean of leaks.
ASAN := LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc

.PHONY: help build demo test soak serve bench bench-suite bench-compare bench-peers count performance lint format docs debug clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1 \t/' | expand -t 24

# The build requirements stand in pyproject.toml only; builds in .venv are not isolated, so that they are incremental.
$(VENV): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); x = p["project"]; \
		print(*p["build-system"]["requires"], *x["dependencies"], *x["optional-dependencies"]["dev"], sep="\n")' \
		> .venv/requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r .venv/requirements.txt
	@touch $@

$(RELEASE): $(VENV) $(NATIVE)
	$(INSTALL)
	@rm -f $(DEBUG); mkdir -p $(@D); touch $@

$(DEBUG): $(VENV) $(NATIVE)
	BVB_DEBUG=1 $(INSTALL)
	@rm -f $(RELEASE); mkdir -p $(@D); touch $@

build: $(RELEASE)  ## build everything into .venv

demo:  ## start the service, ask it for the best move in a real position
	@$(MAKE) --question --no-print-directory build || echo "building, about two minutes the first time" >&2
	@PIP_QUIET=1 $(MAKE) --silent --no-print-directory build
	@$(BIN)/python examples/demo.py

test: build lint  ## the test suite of CI
	$(BIN)/python -m pytest -m "not soak" --benchmark-disable $(ARGS)

soak: build  ## the big counts, takes long
	$(BIN)/python -m pytest -m soak -s --benchmark-disable $(ARGS)

serve: build  ## start the service (ARGS="--port 50051")
	$(BIN)/bvb serve $(ARGS)

bench: build  ## speed figures
	$(BIN)/bvb bench $(ARGS)

bench-suite: build  ## measure tests/bench and keep the figures in .benchmarks
	$(BIN)/python -m pytest tests/bench --benchmark-autosave --benchmark-columns=median,iqr,min,rounds $(ARGS)

bench-compare: build  ## measure tests/bench beside the figures kept last (ARGS=--benchmark-compare=0003: beside others)
	$(BIN)/python -m pytest tests/bench --benchmark-compare --benchmark-columns=median,iqr,min,rounds $(ARGS)

bench-peers: build  ## ours beside OpenSpiel, which is installed for this alone (ARGS=--json)
	$(BIN)/python -m tests.bench.peers $(ARGS)

count: build  ## machine instructions an iteration and an action, by part; needs valgrind (ARGS=--json)
	$(BIN)/python -m tests.bench.count $(ARGS)

performance: build  ## measure everything in docs/performance.md anew and write its tables and plots; needs valgrind
	BVB_PORTABLE=1 $(BIN)/python -m tests.bench.performance $(ARGS)

lint: build  ## style, types, wire schema
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/stubtest --mypy-config-file pyproject.toml --ignore-missing-stub --ignore-disjoint-bases $(STUBBED)
	$(BIN)/cython-lint bvb_core ai
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code

format: $(VENV)  ## put the wire schema into its standard form
	$(BIN)/buf format --write

docs: build  ## write docs/api.md from the wire schema
	$(BIN)/python docs/generate_api.py

debug: $(DEBUG)  ## sanitizer build and tests, then back to the normal build
	$(ASAN) $(BIN)/python -m pytest -m "not soak" --benchmark-disable -p no:cacheprovider $(ARGS); \
		status=$$?; $(MAKE) --no-print-directory build && exit $$status

clean:  ## remove what was built, except .venv
	rm -rf build dist *.egg-info bvb/v1
	find bvb_core ai -name '*.so' -delete
