# Every target is a plain command you could type. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := bin

# Tools run through `go run` at a pinned version: nothing is installed, and go.mod stays free of them.
GOLANGCI    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
BENCHSTAT   := golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
PREFIX      ?= /usr/local
FUZZTIME    ?= 30s
CHAOSTIME   ?= 1m
MODELTIME   ?= 10m
LOGINTIME   ?= 2m
NOWTIME     ?= 1m
QUEUETIME   ?= 3m
QUEUEROWS   ?= 300000
# Where the program is compiled and not tested.
CROSS       := linux/arm64 darwin/arm64 freebsd/amd64 openbsd/amd64 netbsd/amd64
# The packages whose tests take longest, so that they begin first and none is left alone at the end.
SLOW        := ./integration ./proxy/statement ./ttl ./integration/wire ./catalog ./integration/clients ./ttl/work ./ttl/signal ./proxy ./sandbox ./ttl/plan

.PHONY: help build cross install demo unit test race e2e fuzz bench bench-delete bench-foreground bench-proxy suites soak soak-tables soak-locked soak-history bench-now lint fmt vuln tidy docs chaos chaos-queue galera group peers logins restarts wire mutants clients browser check-all up down

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the program into bin/
	go build -trimpath -o $(BIN)/ ./cmd/...

cross: ## compile the program for systems on which it is not tested
	@for system in $(CROSS); do \
	  echo "$$system"; \
	  CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/} go build -trimpath ./cmd/... || exit 1; \
	done

install: build ## put the program into PREFIX/bin (PREFIX=/usr/local)
	install -D -m 755 $(BIN)/ttlproxy $(DESTDIR)$(PREFIX)/bin/ttlproxy

demo: build ## a private server, the proxy and a few tables that expire (options: make demo ARGS=--server=mysql)
	@$(BIN)/ttlproxy demo $(ARGS)

unit: ## tests that need no server
	go test -short ./...

test: ## everything a contributor must pass: gets the servers, runs all tests with the race detector on both
	@scripts/test.sh -race -shuffle=on -parallel 4 $(SLOW) ./...

race: ## tests that need no server, with the race detector, in random order, twice
	go test -short -race -shuffle=on -count=2 ./...

e2e: ## the stories against real servers, without the race detector
	@scripts/test.sh -count=1 ./integration/...

fuzz: ## each fuzz target for FUZZTIME (30s)
	@scripts/fuzz.sh $(FUZZTIME)

bench: ## benchmarks into bin/bench.txt, compared with bin/bench.old.txt if there is one
	@mkdir -p $(BIN)
	go test -short -run '^$$' -bench . -benchmem -count 6 ./... | tee $(BIN)/bench.txt
	@test ! -f $(BIN)/bench.old.txt || go run $(BENCHSTAT) $(BIN)/bench.old.txt $(BIN)/bench.txt

bench-delete: ## rows per second of the engine, one DELETE, pt-archiver and others
	go run ./bench/delete $(ARGS)

bench-foreground: build ## what an application and a replica feel of each of them, against bars (ARGS=-quick: in a minute)
	go run ./bench/delete -busy -replica -runs 1 -rows 3000000 -step 10s -alone 20s $(ARGS)

bench-proxy: build ## CPU, latency and memory of the proxy, against HAProxy and no proxy
	go run ./bench/dataplane

suites: build ## the servers' own regression tests, through a plain relay and through the proxy
	go run ./integration/suites -suite mariadb
	go run ./integration/suites -suite mysql
	go run ./integration/suites -suite client
	go run ./integration/suites -suite go
	go run ./integration/suites -suite go -server mysql

lint: ## go vet and golangci-lint, which also checks the direction of imports
	go vet ./...
	go run $(GOLANGCI) run

fmt: ## format
	go run $(GOFUMPT) -l -w .

vuln: ## known vulnerabilities in what is called
	go run $(GOVULNCHECK) ./...

tidy: ## check that go.mod and go.sum hold exactly what is needed
	go mod tidy -diff

soak: build ## 5,000 idle and 200 busy sessions through one proxy, on both servers, with bounded memory
	go run ./bench/soak -proxy $(BIN)/ttlproxy

soak-tables: build ## 1,000 tables that are due at once, on both servers: when their jobs start, against bars of 5 and 10 s, and what they cost at rest
	go run ./bench/soak -proxy $(BIN)/ttlproxy -tables 1000 -most 5s

soak-locked: build ## 900 and 100,000 expired rows of which an application holds two, on both servers: how long all others take to go, against a bar of 3 s
	go run ./bench/soak -proxy $(BIN)/ttlproxy -locked 900 -most 3s
	go run ./bench/soak -proxy $(BIN)/ttlproxy -locked 100000 -most 3s

soak-history: build ## 5 million jobs in the history of 1,000 tables, on both servers: how long each look takes, against a bar of 20 ms
	go run ./bench/soak -proxy $(BIN)/ttlproxy -history 5000000 -most 20ms

bench-now: build ## 1,000 rows expire per second for NOWTIME (1m), on both servers: how late they go, by the binary log; and what 1,000 idle tables cost
	go run ./bench/soak -proxy $(BIN)/ttlproxy -now 1000 -for $(NOWTIME) -half 600ms -p99 2s -most 5s
	go run ./bench/soak -proxy $(BIN)/ttlproxy -now 1000 -for $(NOWTIME) -most 15s -nodes 2
	go run ./bench/soak -proxy $(BIN)/ttlproxy -now 1 -tables 1000

docs: ## write the reference pages that are generated from the code
	go test ./cmd/... -run 'Reference|MetricsPage' -update
	go test ./catalog/setting -run Page -update

chaos: ## proxies and servers killed for CHAOSTIME (1m), every deleted row judged; random statements for MODELTIME (10m), against a model; a year of partitions
	@TTLPROXY_CHAOS_TIME=$(CHAOSTIME) TTLPROXY_MODEL_TIME=$(MODELTIME) scripts/test.sh -race -count=1 -p 1 -timeout 5h ./integration/chaos ./integration/model
	@TTLPROXY_CHAOS_TIME=$(CHAOSTIME) scripts/test.sh -count=1 -timeout 2h -run TestPartitionsOverAYear ./ttl

chaos-queue: ## an expiry queue of QUEUEROWS (300000) rows, filled with pauses, and QUEUETIME (3m) of an application and dying proxies: hardly a row without an entry, no statement that fails
	@TTLPROXY_TEST_LOGS=1 TTLPROXY_CHAOS_TIME=$(QUEUETIME) TTLPROXY_QUEUE_ROWS=$(QUEUEROWS) scripts/test.sh -count=1 -v -timeout 8h -run TestQueueOutlivesChaos ./integration/chaos

galera: ## the tests that need a Galera cluster, on one of three members, for CHAOSTIME (1m)
	@TTLPROXY_CHAOS_TIME=$(CHAOSTIME) scripts/galera.sh

group: ## a primary of MySQL's Group Replication that loses its majority: half a minute
	@TTLPROXY_TEST_GROUP=1 scripts/test.sh -count=1 -run 'TestGroupReplicationDecides|TestGroupSignal' ./proxy ./ttl/signal

peers: ## clients, servers and networks that pause for 45 s or vanish, directly and through the proxy: two minutes of waiting
	@TTLPROXY_TEST_PEERS=1 scripts/test.sh -count=1 -parallel 32 -run TestPausesEndNoSession ./integration/wire

wire: ## the tests of the relay at length: every statement held back, with all sets of capabilities
	@TTLPROXY_TEST_WIRE=all scripts/test.sh -count=1 ./integration/wire

logins: ## a thousand logins a second for LOGINTIME (2m) on each server: the proxy never runs out of ports
	@TTLPROXY_TEST_LOGINS=$(LOGINTIME) scripts/test.sh -count=1 -run TestAThousandLoginsASecond ./proxy

restarts: ## twenty restarts and another binary behind one socket, with 500 new connections a second: none is refused
	@TTLPROXY_TEST_RESTARTS=1 scripts/test.sh -count=1 -parallel 1 -run TestRestartRefusesNobody ./integration

mutants: ## each guard of the safety rules taken away, one at a time: its named tests must notice (ARGS='-run pause')
	@scripts/get-mariadb.sh
	@scripts/get-mysql.sh
	@go run ./scripts/mutants $(ARGS)

clients: ## drivers and frameworks in Node, Python, PHP, Java, Ruby and C, and the command lines; all have to be installed
	@TTLPROXY_TEST_CLIENTS=all scripts/test.sh -count=1 ./integration/clients

browser: ## the status page in a Chromium without a window, with a real engine behind it
	@scripts/browser.sh

check-all: build cross tidy lint race test fuzz chaos galera group peers logins restarts wire mutants clients browser vuln soak suites ## the slow matrix: everything above, with fuzzing

up: ## docker compose: databases and proxies, for trying things out
	docker compose up --build --wait

down: ## and away again
	docker compose down --volumes
