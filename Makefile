# gpurec: `make` builds, `make test` tests, `make demo` shows the whole path.
GO      ?= go
BIN     := bin/gpurec
OUT     ?= out
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)
# The flag parser's writer of manuals, which nothing here uses, takes time at each start.
TAGS    := urfave_cli_no_docs
# What ./... leaves out because it lies under testdata.
PKGS    := ./... ./testdata/lab/... ./testdata/picture/... ./testdata/stress/... ./testdata/biglog/...
SLOW_PKGS := $(shell grep -rl --include=*_test.go 'testing\.Short()' cmd record correlate export testdata/lab | xargs -r -n1 dirname | sort -u | sed 's|^|./|')
FUZZTIME ?= 10s
FUZZ_PKGS := $(shell grep -rl --include=*_test.go '^func Fuzz' record correlate export 2>/dev/null | xargs -r -n1 dirname | sort -u)
# CGO_ENABLED=0: one static binary that runs on any Linux of its architecture.
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := build
.PHONY: help build install demo test test-slow test-duckdb test-readers race lab lint fuzz-smoke bench generate check-generated docs-picture clean

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

build: ## build bin/gpurec (needs Go only)
	$(GO) build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/gpurec

install: ## install gpurec into GOBIN
	$(GO) install -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' ./cmd/gpurec

demo: build ## record (or unpack) a run, correlate, export, report
	@./testdata/demo/demo.sh $(BIN) $(OUT)

test: ## unit and integration tests; live ones run as root where the kernel allows
	$(GO) vet $(PKGS)
	$(GO) test -short -timeout 60m $(PKGS)

test-slow: ## the packages that have slow tests, with them: every trace through every export
	$(GO) test -timeout 60m $(SLOW_PKGS)

test-duckdb: ## open the Parquet export in real DuckDB (needs cgo and a C++ runtime)
	cd testdata/duckdb && CGO_ENABLED=1 $(GO) test -timeout 60m ./...

test-readers: build ## read the Parquet export with JavaScript, Rust's Arrow and ClickHouse (needs node and npm)
	@d=$$(mktemp -d) && trap 'rm -rf $$d' EXIT && mkdir -p $$d/lake/host=node1 $$d/lake/host=node2 && \
	cp testdata/readers/* $$d/ && (cd $$d && npm install --silent --no-audit --no-fund --no-package-lock) && \
	$(BIN) export -q testdata/demo/demo.gpurec -o "$$d/lake/host=node1/run={run}/" && \
	$(BIN) export -q testdata/golden/log-v1.gpurec -o "$$d/lake/host=node2/run={run}/" && \
	$(GO) run ./testdata/biglog -size 524288 -o $$d/big.gpurec testdata/demo/demo.gpurec && \
	$(BIN) export -q $$d/big.gpurec -o $$d/lake/host=node2/run=big/ && \
	cd $$d && node readers.mjs $$d/lake

race: ## the tests under the race detector (needs cgo)
	CGO_ENABLED=1 $(GO) test -race -short -timeout 60m -skip '^(TestEveryExportIsSound|TestRoundTripsOfAllTraces)$$' $(PKGS)

lab: ## the VM lab: real scheduler, fences and ioctls without a GPU (docs/lab.md)
	$(GO) run ./testdata/lab/cmd/lab $(if $(KERNEL),-kernel $(KERNEL)) $(if $(SCENARIO),-scenario $(SCENARIO)) $(LABFLAGS)

lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -s -l $$(git ls-files '*.go'))" || { gofmt -s -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet $(PKGS)
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 $(PKGS)

fuzz-smoke: ## every fuzz target for FUZZTIME (default 10s)
	./testdata/fuzz-smoke.sh $(FUZZTIME) $(FUZZ_PKGS)

bench: ## benchmarks, for benchstat
	$(GO) test -run '^$$' -bench . -benchmem ./...

generate: ## rebuild generated code (needs clang, llvm, libbpf-dev, protobuf-compiler)
	./testdata/generate.sh

check-generated: ## prove that the committed generated code is what its sources give
	./testdata/generate.sh --check

docs-picture: ## draw docs/demo.svg again: a part of the demo as Perfetto shows it
	@d=$$(mktemp -d) && trap 'rm -rf $$d' EXIT && \
	$(GO) run ./cmd/gpurec export -q testdata/demo/demo.gpurec -o $$d/demo.pftrace && \
	$(GO) run ./testdata/picture -o docs/demo.svg -from 44ms -to 59.5ms -job gemm $$d/demo.pftrace

clean: ## remove what make built
	rm -rf bin $(OUT) testdata/workloads/build
