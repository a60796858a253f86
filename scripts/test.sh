#!/bin/bash
# Runs go test with the given arguments, on a real MariaDB and a real MySQL, and ends with "N passed, M failed".
#
# A server named by TTLPROXY_TEST_MARIADB or TTLPROXY_TEST_MYSQL is used; else one is installed or fetched; else
# one runs in Docker; else its tests are skipped, which is said at the end. With CI=true a missing server fails.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
containers=()
scratch=
cleanup() {
  [ ${#containers[@]} = 0 ] || docker rm --force "${containers[@]}" >/dev/null
  [ -z "$scratch" ] || rm -rf "$scratch"
}
trap cleanup EXIT

# in_docker IMAGE PASSWORD-VARIABLE: run the image and print the data source name of its root
in_docker() {
  local id port
  id=$(docker run --detach --env "$2=ttlproxy" --publish 127.0.0.1::3306 "$1" --max-allowed-packet=64M --local-infile=1)
  containers+=("$id")
  port=$(docker port "$id" 3306/tcp | sed 's/.*://')
  # the images start a first server without network to prepare the data: wait for the one that listens
  for _ in $(seq 120); do
    if docker exec "$id" sh -c 'exec 3<>/dev/tcp/127.0.0.1/3306 || (mariadb-admin ping -h127.0.0.1 || mysqladmin ping -h127.0.0.1)' >/dev/null 2>&1; then
      dsn="root:ttlproxy@tcp(127.0.0.1:$port)/"
      return
    fi
    sleep 1
  done
  echo "test: $1 does not start in Docker" >&2
  return 1
}

# provide FLAVOUR VARIABLE IMAGE PASSWORD-VARIABLE
provide() {
  if [ -n "${!2:-}" ]; then
    echo "test: $1 is the one that $2 names"
  elif scripts/get-"$1".sh; then
    return
  elif docker info >/dev/null 2>&1 && in_docker "$3" "$4"; then
    export "$2=$dsn"
    echo "test: $1 runs in Docker ($3)"
  else
    missing+=("$1")
  fi
}
provide mariadb TTLPROXY_TEST_MARIADB mariadb:10.11 MARIADB_ROOT_PASSWORD
provide mysql TTLPROXY_TEST_MYSQL mysql:9 MYSQL_ROOT_PASSWORD

# Without promtool the test of the alerting rules skips its part; with CI=true it fails.
scripts/get-promtool.sh || true
PATH=$PATH:${XDG_CACHE_HOME:-$HOME/.cache}/ttlproxy/bin

# The race detector needs a C compiler.
has_compiler() { command -v "$(go env CC)" >/dev/null; }
if [[ " $* " == *" -race "* ]] && ! has_compiler; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "test: installing gcc, for the race detector"
    DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends gcc libc6-dev </dev/null >/dev/null || true
  fi
  if ! has_compiler; then
    echo "test: without a C compiler (install gcc), the race detector is left out"
    for argument; do
      shift
      [ "$argument" = -race ] || set -- "$@" "$argument"
    done
  fi
fi

# Servers write much that nobody reads again: where there is memory to spare it stays there, and the tests take a
# quarter less time.
in_memory() {
  [ -z "${TMPDIR:-}" ] || return
  [ "$(df --output=avail -k /dev/shm | tail -n 1)" -gt 6000000 ] || return
  [ "$(sed -nE 's/^MemAvailable: *([0-9]+) kB/\1/p' /proc/meminfo)" -gt 10000000 ] || return
  scratch=$(mktemp -d /dev/shm/t.XXXX)
  printf '#!/bin/sh\n' >"$scratch/program" && chmod +x "$scratch/program" && "$scratch/program" # forbidden in some places
}
if in_memory 2>/dev/null; then
  export TMPDIR=$scratch GOTMPDIR=${GOTMPDIR:-/tmp}
fi

# Everything is compiled before the first test runs: else, on a new machine, those with deadlines share it with a
# compiler. Of the arguments, a compiler wants to know of these.
to_compile() {
  local argument
  for argument; do
    case $argument in -race | -tags=* | ./*) printf '%s\n' "$argument" ;; esac
  done
}
mapfile -t wanted < <(to_compile "$@")
go list -export -deps -test "${wanted[@]}" >/dev/null || true # go test says what does not compile

# Tests wait for a third of their time, so one package more than there are cores keeps these busy; many more would make
# tests with deadlines unfair. The longest take ten minutes; the time limit is for a machine that does something else
# besides.
if [[ " $* " != *" -p "* ]]; then
  set -- -p "$(($(getconf _NPROCESSORS_ONLN) + 1))" "$@"
fi
status=0
go test -json -timeout 1h "$@" | go run ./scripts/testsum "${missing[@]}" || status=$?
exit $status
