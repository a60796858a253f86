#!/bin/bash
# Runs every fuzz target of the module for the given time (default 30s), one after the other.
set -euo pipefail
cd "$(dirname "$0")/.."
for package in $(go list ./...); do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "$package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-30s}" "$package"
  done
done
