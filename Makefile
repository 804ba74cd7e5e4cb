# tstrace: `make help` lists what there is. Every target does its own set-up, once.
.DEFAULT_GOAL := build
.PHONY: build demo test tests test-unit test-browser test-live test-package check format bench clean help

UNIT := find build/test/test/unit -name '*.test.js'
BROWSER := find build/test/test/browser -name '*.test.js' | sort
LIVE := find build/test/test/live -name '*.test.js' | sort
C_FILES := $(shell find bpf test -name '*.[ch]')
NODE_TEST := node --enable-source-maps --test

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
	@node scripts/build-tests.mjs

test-unit: tests
	@scripts/setup.sh unit
	@$(NODE_TEST) $$($(UNIT))

test-browser: tests
	@scripts/setup.sh browser
	@$(NODE_TEST) $$($(BROWSER))

test-live: tests
	@scripts/setup.sh test
	@$(NODE_TEST) --test-concurrency=1 $$($(LIVE))

test-package: build ## pack, install into an empty folder, run
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

bench: tests ## measure against the peers, side by side (installs them)
	@scripts/setup.sh bench
	@for bench in runqlat offcputime profile timehist flamegraph; do echo; echo "== $$bench"; node build/test/bench/$$bench.js; done

clean: ## remove everything that was built or installed here
	rm -rf build dist node_modules src/generated

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 16
