# What people type. CMake does the work; see CMakePresets.json.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

all: build

setup:
	@scripts/setup

build: setup
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build --preset release -j $(JOBS)

demo: setup
	@cmake --preset release -DFR_TESTS=OFF -DFR_BENCH=OFF -B build/demo >/dev/null
	@cmake --build build/demo --target frugal -j $(JOBS)
	@build/demo/frugal demo -o demo-out

# Short tests; ends in "N passed, N failed, N skipped".
test: build
	@scripts/run-tests build/release -L short

# Short tests again under sanitizers and without threads, then the long ones: fuzzing, kills, big data.
test-long: test
	@for preset in asan ubsan tsan; do \
	    cmake --preset $$preset >/dev/null && cmake --build --preset $$preset -j $(JOBS) && \
	    scripts/run-tests build/$$preset -L short || exit 1; \
	done
	@cmake --preset fuzz >/dev/null && cmake --build --preset fuzz -j $(JOBS) && scripts/run-tests build/fuzz -L long -R fuzz/
	@scripts/run-tests build/release -L long

test-%:
	@cmake --preset $* >/dev/null && cmake --build --preset $* -j $(JOBS) && scripts/run-tests build/$* -L short

bench: build
	@cmake --build --preset release --target bench -j $(JOBS)

install: build
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

format:
	@scripts/format

clean:
	@rm -rf build demo-out

.PHONY: all setup build demo test test-long bench install format clean
