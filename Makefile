# `make help` lists the targets. Targets that touch the kernel need root: sudo make test.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
BIN := bin/headgate
BENCH := test/bench
# Nested modules: what they compare headgate with, or test it with, is no dependency of headgate.
NESTED := $(BENCH) test/gateways
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
UNITS := $(DESTDIR)$(PREFIX)/lib/systemd/system
SHARE := $(DESTDIR)$(PREFIX)/share
BASH_COMPLETION := $(SHARE)/bash-completion/completions/headgate
ZSH_COMPLETION := $(SHARE)/zsh/site-functions/_headgate
FISH_COMPLETION := $(SHARE)/fish/vendor_completions.d/headgate.fish
# The version of what is built here: by the last tag or, without one, the next one of the changelog, and the commit.
COMMIT = $(shell git describe --always --exclude '*' --dirty=.dirty 2>/dev/null)
NEXT = $(shell sed -n 's/^\#\# \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)
VERSION ?= $(or $(shell git describe --tags --match 'v[0-9]*' 2>/dev/null),v$(NEXT)-dev$(addprefix +,$(COMMIT)))
LINKED = -X main.linkedVersion=$(VERSION)
# As root the tests must not skip what needs root.
export HEADGATE_REQUIRE_ROOT := $(if $(filter 0,$(shell id -u)),1,)

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/headgate; needs only Go
	$(GO) build -ldflags "$(LINKED)" -o $(BIN) ./cmd/headgate

.PHONY: version
version: # what is built, for scripts
	@echo $(VERSION)

.PHONY: demo
demo: build ## Limit real packets in a throwaway namespace and check the numbers (root)
	./$(BIN) demo

.PHONY: test
test: ## Run all tests; as root those on the real kernel too
	@[ "$$(id -u)" = 0 ] || echo "not root: the tests on the real kernel are left out; sudo make test runs them"
	$(GO) vet ./...
	$(GO) test -timeout 9m ./...
	for module in $(NESTED); do $(GO) -C $$module vet ./...; $(GO) -C $$module test -timeout 9m ./...; done

.PHONY: race
race: ## Run all tests with the race detector (root)
	$(GO) test -race -timeout 15m ./...
	for module in $(NESTED); do $(GO) -C $$module test -race -timeout 15m ./...; done

.PHONY: fuzz
fuzz: ## Fuzz each parser of outside input for 20 seconds (root)
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime 20s $$pkg; \
		done; \
	done

.PHONY: bench
bench: bench-packets bench-requests bench-http ## Measure packets, limits by key, and the agent, as ratios in one run (root)

.PHONY: bench-packets
bench-packets: ## Measure ns per packet and packets a second (root)
	$(GO) -C $(BENCH) run ./packets

.PHONY: bench-peers
bench-peers: ## Measure packets a second beside nftables and iptables; needs root and both installed, takes ten minutes
	$(GO) -C $(BENCH) run ./peers

.PHONY: bench-scale
bench-scale: ## Measure cost by the number of sources, and two CPUs beside one (root)
	$(GO) -C $(BENCH) run ./scale

.PHONY: bench-requests
bench-requests: ## Measure ns and bytes of limits by key, beside other limiters; needs 8 GB, takes minutes
	$(GO) -C $(BENCH) run ./requests

.PHONY: bench-http
bench-http: ## Measure goodput under attack beside nginx, and what the agent costs; needs root and two CPUs
	$(GO) -C $(BENCH) run ./http

.PHONY: bench-fleet
bench-fleet: ## Measure limits that machines share through Redis, beside other clients, and while Redis breaks; takes two minutes
	$(GO) -C $(BENCH) run ./fleet

.PHONY: generate
generate: ## Compile the BPF programs and remake what is generated; needs clang-19, llvm-19 and lld-19
	$(GO) generate ./...
	$(GO) -C $(BENCH) generate ./...

.PHONY: format
format: ## Format Go and C; needs clang-format-19
	gofmt -w bpf cmd examples loader maps userspace test
	clang-format-19 -i bpf/headgate.c bpf/include/*.h $$(find test -name '*.c')

.PHONY: lint
lint: ## Check format, vet, and the linter's rules; needs clang-format-19
	@test -z "$$(gofmt -l bpf cmd examples loader maps userspace test | tee /dev/stderr)"
	clang-format-19 --dry-run --Werror bpf/headgate.c bpf/include/*.h $$(find test -name '*.c')
	GOOS=darwin $(GO) vet ./...
	GOOS=darwin $(GO) -C $(BENCH) vet ./...
	cd .ci/tools && $(GO) build -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	./bin/golangci-lint run ./...
	for module in $(NESTED); do (cd $$module && $(CURDIR)/bin/golangci-lint run ./...); done

.PHONY: tidy
tidy: ## Check that go.mod and go.sum of all modules say what is needed, and no more
	for module in . $(NESTED); do $(GO) -C $$module mod tidy -diff; done

.PHONY: modules
modules: # the directories of all modules, for scripts
	@echo . $(NESTED)

.PHONY: man
man: build ## Write the man pages to docs/man
	rm -f docs/man/*.[58]
	env -u HEADGATE_PIN ./$(BIN) man docs/man

.PHONY: install
install: ## Install the program, man pages, completions and units below PREFIX (/usr/local), and files in /etc that are missing; builds only what is missing
	@test -x $(BIN) || $(MAKE) build
	install -D -m 0755 $(BIN) $(DESTDIR)$(PREFIX)/bin/headgate
	install -d $(SHARE)/man/man5 $(SHARE)/man/man8 $(UNITS) $(dir $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION))
	install -m 0644 docs/man/*.5 $(SHARE)/man/man5/
	install -m 0644 docs/man/*.8 $(SHARE)/man/man8/
	for unit in headgate.service headgate-attach.service headgate.socket; do \
		sed 's|/usr/local/bin/headgate|$(PREFIX)/bin/headgate|' deploy/$$unit > $(UNITS)/$$unit && chmod 0644 $(UNITS)/$$unit; \
	done
	$(BIN) completion bash > $(BASH_COMPLETION)
	$(BIN) completion zsh > $(ZSH_COMPLETION)
	$(BIN) completion fish > $(FISH_COMPLETION)
	chmod 0644 $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION)
	test -e $(DESTDIR)$(SYSCONFDIR)/headgate/headgate.yaml || install -D -m 0640 deploy/headgate.yaml $(DESTDIR)$(SYSCONFDIR)/headgate/headgate.yaml
	test -e $(DESTDIR)$(SYSCONFDIR)/default/headgate-attach || install -D -m 0644 deploy/headgate-attach.default $(DESTDIR)$(SYSCONFDIR)/default/headgate-attach

.PHONY: uninstall
uninstall: ## Remove what install installed, but for files in /etc; detach first (deploy/README.md)
	rm -f $(DESTDIR)$(PREFIX)/bin/headgate $(SHARE)/man/man5/headgate.yaml.5 $(SHARE)/man/man8/headgate.8 $(SHARE)/man/man8/headgate-*.8
	rm -f $(UNITS)/headgate{,-attach}.service $(UNITS)/headgate.socket $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION)

.PHONY: deb
deb: ## Build the Debian package bin/headgate_VERSION_ARCH.deb
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w $(LINKED)" -o bin/deb/headgate ./cmd/headgate
	rm -rf bin/*.deb bin/deb/man && mkdir -p bin/deb/man
	for page in docs/man/*.[58]; do gzip -9nc $$page > bin/deb/man/$$(basename $$page).gz; done
	gzip -9nc CHANGELOG.md > bin/deb/changelog.gz
	for unit in headgate.service headgate-attach.service; do sed 's|/usr/local/bin/|/usr/bin/|' deploy/$$unit > bin/deb/$$unit; done
	./bin/deb/headgate completion bash > bin/deb/headgate.bash
	./bin/deb/headgate completion zsh > bin/deb/_headgate
	./bin/deb/headgate completion fish > bin/deb/headgate.fish
	cd .ci/tools && $(GO) build -o ../../bin/nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm
	VERSION=$(VERSION) ARCH=$$($(GO) env GOARCH) ./bin/nfpm package --config deploy/nfpm.yaml --packager deb --target bin/

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin
