# Every target does its own set-up (tools/setup.py), works from a fresh clone, and takes seconds when nothing changed.
SHELL := /bin/bash
PYTHON ?= python3
JOBS ?= $(shell nproc)
SETUP := $(PYTHON) tools/setup.py
RUN := .venv/bin/python

export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
export HF_HUB_OFFLINE := 1
# A second checkout finds the first one's objects; precompiled headers are what the sloppiness is for.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export CCACHE_SLOPPINESS := pch_defines,time_macros,include_file_mtime,include_file_ctime

.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-cpp test-python test-browser test-pytorch bench bench-peers lint docs clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## .venv with the package installed
	@$(SETUP) package

demo: ## real programs on device="spyre": semantic search (QUERY="…" asks your own) and training
	@$(SETUP) package demo
	$(RUN) examples/semantic_search.py $(if $(QUERY),"$(QUERY)")
	$(RUN) examples/train_digits.py

build: ## the C++ layers that need no torch, with their tests, in build/dev
	@$(SETUP)
	@CMAKE_CXX_COMPILER_LAUNCHER=$$(command -v ccache) cmake --preset dev >/dev/null
	cmake --build --preset dev

test: test-cpp test-python ## every test: GoogleTest through ctest, then pytest

test-cpp: build
	ctest --preset dev

test-python:
	@$(SETUP) package demo test
	$(RUN) -m pytest

test-browser: ## HTML pages of reports and benchmarks in a headless Chromium, which it installs
	@$(SETUP) package demo test browser
	$(RUN) -m pytest tests/browser

test-pytorch: build/pytorch ## PyTorch's own device-generic tests, of a checkout in build/pytorch (FILES="test_nn.py" chooses)
	@$(SETUP) package test
	$(RUN) -m tests.device_generic build/pytorch/test $(FILES)

build/pytorch:
	@$(SETUP) package
	git clone --quiet --depth 1 --filter=blob:none --sparse \
	  --branch v$$($(RUN) -c "import torch; print(torch.__version__.split('+')[0])") \
	  https://github.com/pytorch/pytorch $@
	git -C $@ sparse-checkout set test

BENCH_OUT := --json build/benchmarks.json --html build/benchmarks.html
bench: ## ratios against CPU eager in one run; a page in build/benchmarks.html (BENCH="--quick --only softmax" chooses)
	@$(SETUP) package demo
	$(RUN) -m benchmarks $(BENCH_OUT) $(BENCH)

bench-peers: ## the same, against torch.compile and JAX as well: half an hour, mostly compile time of the peers
	@$(SETUP) package demo peers
	$(RUN) -m benchmarks --peers eager,compile,jax $(BENCH_OUT) $(BENCH)

lint: ## clang-format, clang-tidy, ruff, mypy, codespell
	@$(SETUP) package lint
	$(RUN) tools/lint.py

docs: ## generated pages, then the site in build/site
	@$(SETUP) package docs
	$(RUN) tools/generate_docs.py
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --quiet --strict

clean: ## removes everything that the other targets made
	rm -rf build .venv dist .pytest_cache .hypothesis .ruff_cache .mypy_cache
