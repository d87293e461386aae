# `make` alone lists the targets. The work is in scripts/, one file each.

.DEFAULT_GOAL := help
.PHONY: help run build types test test-cluster test-foreign race lint fmt fuzz mutants bench cross release test-packages vuln setup clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build and start a hub here, with this machine enrolled (ARGS='--listen …')
	@bin/parley up $(ARGS)

build: ## build the page and bin/parley
	@scripts/setup.sh page
	@scripts/page.sh
	@scripts/build.sh

types: ## make the page's types anew, after a change of the REST face
	@scripts/types.sh

test: ## everything CI checks: set-up, page, lint, tests, the race detector where goroutines meet, a little fuzzing, browser, a cross-build
	@scripts/test.sh

test-cluster: ## three hubs, PostgreSQL and NATS, with every fault: recovery times, and the history judged (about ten minutes)
	@scripts/cluster.sh

test-foreign: ## programs of others (openai, litellm, @openai/agents, acpx), fetched, against a hub
	@scripts/foreign.sh

race: ## every package under the race detector (about a quarter of an hour)
	@scripts/race.sh

lint: ## formatting and house rules only
	@scripts/setup.sh lint
	@scripts/lint.sh

fmt: ## format all Go files
	@scripts/setup.sh lint
	@.tools/bin/golangci-lint fmt ./...

fuzz: ## fuzz every decoder and the law of no growth in turn (FUZZTIME=5m for longer)
	@scripts/fuzz.sh

mutants: ## take mends out again one by one, and see their tests fail (ARGS='tokens' for some)
	@scripts/mutants.sh $(ARGS)

bench: build ## measure against the machine's own limits (ARGS=…)
	@bin/parley bench $(ARGS)

release: ## bin/release/parley-VERSION-….tar.gz: the hub, with endpoints for all other systems beside it
	@scripts/release.sh

test-packages: ## build packages, and install, upgrade and remove them in a copy of this system (root, Linux; minutes)
	@scripts/setup.sh page
	@scripts/page.sh
	@scripts/packages.sh test

cross: ## bin/cross/parley-… for linux, windows and darwin
	@scripts/setup.sh page
	@scripts/page.sh
	@scripts/build.sh linux/amd64 linux/arm64 windows/amd64 darwin/arm64

vuln: ## known vulnerabilities in what we depend on (needs internet)
	@go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...

setup: ## install what the tests need, without running them
	@scripts/setup.sh

clean: ## remove what was built
	@git clean -fdxq -- bin web/dist
	@rm -f .tools/page.built
