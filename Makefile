# What people type. CMake does the work; see CMakePresets.json.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
BENCH ?=

all: build

setup:
	@scripts/setup

# Who only builds sees warnings as warnings. `make test` makes errors of them, and so they stay in that folder, or one
# after the other would build everything twice.
configure: setup
	@werror=$$(sed -n 's/^FR_WERROR:[A-Z]*=//p' build/release/CMakeCache.txt 2>/dev/null); \
	    cmake --preset release -DFR_WERROR=$${werror:-OFF} >/dev/null

build: configure
	@cmake --build --preset release -j $(JOBS)

demo: configure
	@cmake --build --preset release -j $(JOBS) --target frugal
	@build/release/frugal demo -o demo-out

# The rules of the sources, in a second and without building; `make test` has them too.
check:
	@scripts/check-layers
	@scripts/check-banned

# Short tests; ends in "N passed, N failed, N skipped".
test: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@scripts/run-tests build/release -L short

# The same in another preset: test-asan, test-ubsan, test-tsan, test-debug.
test-%: setup
	@cmake --preset $* >/dev/null
	@cmake --build --preset $* -j $(JOBS)
	@scripts/run-tests build/$* -L short

# Short tests again under sanitizers, then the long ones: fuzzing, valgrind, kills, big data.
test-long:
	@scripts/setup --dev
	@scripts/run-long-tests $(JOBS)

# All benches one after the other, or those whose name starts so: make bench BENCH=kernels_spmm
bench: build
	@cmake --build --preset release --target bench -j $(JOBS)
	@set -e; for bench in build/release/bench/bench_$(BENCH)*; do \
	    [ -x "$$bench" ] && [ -f "$$bench" ] || continue; echo "$$bench"; "$$bench"; echo; \
	done

install: build
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

format:
	@scripts/format

# Advice of clang-tidy; FILES= for some files only.
tidy: configure
	@scripts/check-tidy $(FILES)

clean:
	@rm -rf build demo-out

.PHONY: all setup configure build demo check test test-long bench install format tidy clean
