# SPDX-License-Identifier: Apache-2.0
# The front door. CMakePresets.json says what a build is; tools/dev says what a step does.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
export JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 20

# Where the toolkit's headers are; empty = found by CMake.
CUDA_INCLUDE ?=
export SGPRS_CUDA_INCLUDE := $(CUDA_INCLUDE)
CONFIGURE_FLAGS := $(if $(CUDA_INCLUDE),-DSGPRS_CUDA_INCLUDE=$(CUDA_INCLUDE))

.PHONY: help setup build demo test test-heavy test-pytorch test-asan test-tsan bench lint format docs fuzz clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what is missing (Debian packages, CUDA headers); needs root or sudo only then
	@tools/dev/setup.sh

build: setup ## Programs into build/bin, libraries into build/lib
	@tools/dev/build.sh release all $(CONFIGURE_FLAGS)

demo: build ## The main job on a simulated GPU: the paper's baseline policy against sgprs
	@build/bin/sgprs demo $(DEMO_FLAGS)

test: build ## Every test that needs nothing special (labels unit, sim, e2e, bpf)
	@tools/dev/build.sh release sgprs_tests $(CONFIGURE_FLAGS)
	@ctest --preset release

test-heavy: build ## The long ones (label heavy)
	@tools/dev/build.sh release sgprs_tests $(CONFIGURE_FLAGS)
	@ctest --preset heavy

test-pytorch: build ## PyTorch programs on the simulated device (label pytorch); loads 540 MB from PyPI, once
	@ctest --test-dir build -L '^pytorch$$' --output-on-failure

test-asan: setup ## Unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/dev/build.sh asan sgprs_tests_unit $(CONFIGURE_FLAGS)
	@ctest --preset asan

test-tsan: setup ## Unit tests under ThreadSanitizer
	@tools/dev/build.sh tsan sgprs_tests_unit $(CONFIGURE_FLAGS)
	@ctest --preset tsan

bench: build ## Benchmarks (tests/bench); results in build/bench
	@tools/dev/build.sh release sgprs_benches $(CONFIGURE_FLAGS)
	@tools/dev/bench.sh $(BENCH_FLAGS)

lint: build ## Formatter, clang-tidy, layers, sizes, licences, shell, Python, generated tables
	@tools/dev/lint.sh

format: ## Let clang-format rewrite every source
	@git ls-files -z --cached --others --exclude-standard -- '*.c' '*.cc' '*.h' | xargs -0 clang-format -i

docs: ## Regenerate the tables in the READMEs
	@tools/dev/gen_docs.py

fuzz: setup ## Run each fuzz target for FUZZ_SECONDS
	@tools/dev/build.sh fuzz sgprs_fuzzers $(CONFIGURE_FLAGS)
	@tools/dev/fuzz.sh $(FUZZ_SECONDS)

clean: ## Remove everything that was built
	@rm -rf build
