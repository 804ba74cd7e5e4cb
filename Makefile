# tstrace: `make help` lists what there is. Every target does its own set-up, once.
.DEFAULT_GOAL := build
.PHONY: build demo test tests test-unit test-browser test-live test-golang test-pythons test-nodes test-servers test-kernels walks kernels-doc faults-doc mutants package test-package check format texts bench bench-guard whole exact soak lab clean help

# As scripts/build-tests.mjs lists them.
UNIT := cat build/test/unit-tests
BROWSER := find build/test/test/browser -name '*.test.js' | sort
LIVE_ALONE := cat build/test/live-alone
LIVE_TWO := cat build/test/live-two-at-once
LIVE_MANY := cat build/test/live-many-at-once
C_FILES := $(shell find bpf test -name '*.[ch]')
# The kernel of the matrix that live tests run on where this machine does not allow BPF.
HERE_INSTEAD := 6.1
KERNELS := node --enable-source-maps build/test/test/vm/run.js
# No test takes a tenth of this: one that hangs fails, and does not keep the others waiting for ever.
NODE_TEST := node --enable-source-maps --test --test-timeout=600000
# node alone would leave a CPU free; and so does a test that waits.
SIDE_BY_SIDE := --test-concurrency=$$(($$(nproc) + 1))

build: node_modules/.installed ## build tstrace: BPF objects, bundle; bin/tstrace works afterwards
	@scripts/setup.sh build
	@node scripts/build.mjs

node_modules/.installed: package-lock.json
	@npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

demo: build ## put a small load on this machine, and show its run queue latency for 5 seconds
	@scripts/demo.sh

test: test-unit test-browser test-live ## all tests; the live ones load real BPF programs and need root

tests: build
	@scripts/setup.sh workloads
	@node scripts/build-tests.mjs

test-unit: tests
	@scripts/setup.sh unit
	@$(NODE_TEST) $(SIDE_BY_SIDE) $$($(UNIT))

test-browser: tests
	@scripts/setup.sh browser
	@$(NODE_TEST) --test-concurrency=2 $$($(BROWSER))

test-live: tests
	@scripts/setup.sh test
	@node build/test/test/vm/allowed.js; allowed=$$?; \
	if [ $$allowed = 0 ]; then \
		$(NODE_TEST) $(SIDE_BY_SIDE) $$($(LIVE_MANY)); many=$$?; \
		$(NODE_TEST) --test-concurrency=2 $$($(LIVE_TWO)); two=$$?; \
		$(NODE_TEST) --test-concurrency=1 $$($(LIVE_ALONE)) && [ $$many$$two = 00 ]; \
	elif [ $$allowed = 3 ]; then scripts/setup.sh kernels && $(KERNELS) $(HERE_INSTEAD); \
	else exit $$allowed; fi

test-golang: tests ## Go programs, built here by Debian's Go (450 MB, installed if missing): names, tables, live
	@scripts/setup.sh golang test
	@$(NODE_TEST) --test-concurrency=1 $$(find build/test/test/golang -name '*.test.js')

test-pythons: tests ## names and lines of functions of Python 3.9, 3.13 and 3.14, which are fetched from other Debians (25 MB)
	@scripts/setup.sh pythons
	@node --enable-source-maps build/test/test/pythons/main.js

# Whose functions live tests name: of processes beside the one that runs the tests, and of that one and its own.
NODES := 22.23.3 24.21.0 25.9.0 26.12.1
NODES_OF_TESTS := 22.23.3 24.21.0 26.12.1
OF_VERSIONS := javascript-versions wasm
OF_OWN_VERSION := javascript-shares names-of-many
LIVE_FILES = $(foreach name,$(1),build/test/test/live/$(name).test.js)

test-nodes: tests ## names of functions of Node.js 22, 24, 25 and 26
	@scripts/setup.sh test
	@TSTRACE_TEST_NODES='$(NODES)' $(NODE_TEST) --test-concurrency=1 $(call LIVE_FILES,$(OF_VERSIONS))
	@for version in $(NODES_OF_TESTS); do echo "# Node.js $$version"; \
		build/nodes/$$version/$(NODE_TEST) --test-concurrency=1 $(call LIVE_FILES,$(OF_OWN_VERSION)) || exit 1; done

test-servers: tests ## Debian's PostgreSQL, redis, nginx, JVM, Node.js, Python and uWSGI in known trouble, each tool from outside
	@scripts/setup.sh servers
	@$(NODE_TEST) --test-concurrency=1 $$(find build/test/test/servers -name '*.test.js' | sort)

test-kernels: tests ## the tools' live tests on other kernels, in virtual machines; KERNEL=6.1 one of them, QUICK=1 few tests, ONE=1 one of each tool, TOOL=NAME FILE=torture
	@scripts/setup.sh kernels
	@$(KERNELS) $(if $(QUICK),--quick) $(if $(ONE),--one) $(TOOL:%=--tool %) $(FILE:%=--file %) $(KERNEL)

walks: tests ## what walking a user stack costs, on each kernel of the matrix; KERNEL=6.1 or here one of them
	@$(if $(filter-out here,$(or $(KERNEL),all)),scripts/setup.sh kernels)
	@$(KERNELS) --walks $(KERNEL)

kernels-doc: tests ## docs/kernels.md, of what test-kernels last found
	@$(KERNELS) --page

faults-doc: tests ## docs/faults.md, of the table in test/faults
	@node build/test/test/faults/main.js

mutants: tests ## whether tests notice bugs that are put in: docs/mutants.md; FILE=bpf/lib/filter.h, TOOL=NAME, ID='B15 G1'
	@scripts/setup.sh unit test
	@node --enable-source-maps build/test/test/mutants/main.js $(FILE:%=--file %) $(TOOL:%=--tool %) $(if $(ID),--id '$(ID)')

package: ## a tarball that npm can install, in build/
	@scripts/package.sh

test-package: ## make package in a clean copy, install that into an empty folder, run
	@scripts/test-package.sh

check: build ## format, lint, types, format of the BPF code
	@scripts/setup.sh check
	@node_modules/.bin/biome check --error-on-warnings .
	@node_modules/.bin/tsc
	@node_modules/.bin/tsc -p src/browser
	@node_modules/.bin/tsc -p test/browser
	@$$(command -v clang-format-19 || command -v clang-format) --dry-run -Werror $(C_FILES)

format: node_modules/.installed ## put everything into the house's format
	@node_modules/.bin/biome check --write .
	@$$(command -v clang-format-19 || command -v clang-format) -i $(C_FILES)

texts: build ## every text a user can meet: all help, then errors, notices, losses, … with their places in the code
	@node scripts/texts.mjs

bench: tests ## measure against the peers, side by side (installs them); TOOL=NAME for one; QUICK=1
	@scripts/setup.sh guard bench
	@scripts/peers.sh
	@node --enable-source-maps build/test/bench/against-peers/main.js $(TOOL)

bench-guard: tests ## fails if this tstrace costs more than the base commit's, measured in turn; TOOL=NAME, BASE=COMMIT
	@scripts/setup.sh guard
	@node --enable-source-maps build/test/bench/guard/main.js $(if $(BASE),--base '$(BASE)') $(TOOL)

whole: tests ## how much is in cut stacks: Debian's programs under load, tstrace and its peers; ONLY='redis nginx'
	@scripts/setup.sh whole
	@scripts/peers.sh
	@node --enable-source-maps build/test/bench/whole/main.js $(ONLY)

exact: tests ## whether walks find the return addresses that gdb and perf find, of the same programs; ONLY='redis nginx'
	@scripts/setup.sh whole exact
	@node --enable-source-maps build/test/bench/exact/main.js $(ONLY)

soak: tests ## a tool of each kind for 20 minutes under load: memory, descriptors, kernel memory stay flat; TOOL='trace stat' only these
	@node build/test/test/soak/soak.js $(TOOL)

lab: tests ## what why says of each trouble of the latency lab, ten seeds each: 20 minutes, on a quiet machine
	@scripts/setup.sh test
	@TSTRACE_LAB_SEEDS=1,2,3,4,5,6,7,8,9,10 $(NODE_TEST) --test-timeout=3600000 build/test/test/live/lab.test.js

clean: ## remove everything that was built or installed here
	rm -rf build dist node_modules src/generated

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 16
