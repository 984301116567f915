# What people type; CMake does the work. `make help` lists the targets.

PREFIX ?= /usr/local
DESTDIR ?=
TEST_JOBS ?= 2
BUILD = build/release
NINJA := $(shell command -v ninja 2>/dev/null)
GENERATOR = $(if $(NINJA),,-G "Unix Makefiles")

all: $(BUILD)/CMakeCache.txt
	cmake --build $(BUILD) --parallel

# Warnings are errors for developers (make test), not for those who only build.
$(BUILD)/CMakeCache.txt:
	cmake --preset release $(GENERATOR) -DFR_WERROR=OFF

help:
	@echo 'make                             build: build/release/frugal, libfrugal.a, libfrugal.so'
	@echo 'make demo                        set up, build, show all of it: demo-out/report.html'
	@echo 'make test                        set up, build, run the short tests'
	@echo 'make test-asan                   the short tests with address and undefined-behaviour sanitizers'
	@echo 'make test-long                   sanitizers, fuzzing, valgrind and the long tests: an hour or more'
	@echo 'make check                       the rules of the sources, without building'
	@echo 'make tidy                        clang-tidy'
	@echo 'make bench                       build and run all benches'
	@echo 'make install PREFIX= DESTDIR='
	@echo 'make format                      clang-format over all sources'
	@echo 'make clean'

setup:
	@scripts/setup

demo: setup
	@$(MAKE) --no-print-directory all
	$(BUILD)/frugal demo -o demo-out

test: setup
	cmake --preset release $(GENERATOR)
	cmake --build $(BUILD) --parallel
	@scripts/run-tests $(BUILD) short $(TEST_JOBS)

test-asan: setup
	cmake --preset asan $(GENERATOR)
	cmake --build build/asan --parallel
	@scripts/run-tests build/asan short $(TEST_JOBS)

test-long: setup
	@scripts/run-long-tests $(TEST_JOBS)

check:
	@scripts/check-layers
	@scripts/check-banned

tidy: $(BUILD)/CMakeCache.txt
	@scripts/check-tidy

bench: all
	cmake --build $(BUILD) --parallel --target bench
	@set -e; for bench in $(BUILD)/bench/bench_*; do echo; echo "$$bench"; "$$bench"; done

install: all
	DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

format:
	@scripts/format

clean:
	rm -rf build demo-out

.PHONY: all help setup demo test test-asan test-long check tidy bench install format clean
