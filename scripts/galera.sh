#!/bin/bash
# Starts a private Galera cluster of three MariaDB members on loopback, runs the tests that need one, and stops it again.
# Installs mariadb-server-core, galera-4 and rsync with apt where they are missing, which needs root. Arguments go to go test.
set -euo pipefail
cd "$(dirname "$0")/.."

members=3
say() { echo "galera: $*"; }
die() { echo "galera: $*" >&2; exit 1; }

PATH=$PATH:/usr/sbin:/usr/libexec # where servers live, and not every user looks
library() { find /usr/lib /usr/lib64 -name libgalera_smm.so 2>/dev/null | sed -n 1p; }
have_all() { command -v mariadbd && command -v mariadb-install-db && command -v mariadb && command -v rsync && [ -n "$(library)" ]; }

if ! have_all >/dev/null; then
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || die "this needs mariadbd, galera-4 and rsync; installing them needs apt and root"
  say "installing mariadb-server, galera-4 and rsync"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update >/dev/null || say "apt-get update failed; trying with the lists there are"
  apt-get -q -y install --no-install-recommends mariadb-server galera-4 rsync </dev/null >/dev/null
  have_all >/dev/null || die "apt has installed them, and still not all are there"
fi

# A member that joins gets its data by rsync, whose daemon gives up root's rights: so nothing here runs as root.
user=$(id -un)
[ "$user" != root ] || user=mysql
id "$user" >/dev/null || die "there is no user $user to run the members as"

work=$(mktemp -d "${TMPDIR:-/tmp}/ttlproxy-galera-XXXXXX")
chmod 755 "$work"
pids=()
cleanup() {
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  [ ${#pids[@]} = 0 ] || wait "${pids[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

# Each member takes four ports: for SQL, the group, and data for those that join. They are free when we look.
free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
base=$((20000 + RANDOM % 10000))
until for ((p = base; p < base + 4 * members; p++)); do free "$p" || break; done && free "$p"; do base=$((base + 50)); done
sql_port() { echo $((base + 4 * $1)); }
group=$(for ((i = 0; i < members; i++)); do printf '127.0.0.1:%d,' $((base + 4 * i + 1)); done)

start() { # MEMBER [OPTION...]
  local i=$1 dir=$work/$1
  shift
  mkdir "$dir"
  chown "$user" "$dir"
  mariadb-install-db --no-defaults --user="$user" --datadir="$dir/data" --auth-root-authentication-method=normal \
    --skip-test-db >"$dir/install.log" 2>&1 || { cat "$dir/install.log" >&2; die "member $i cannot be made"; }
  mariadbd --no-defaults --user="$user" --datadir="$dir/data" --socket="$dir/s" --pid-file="$dir/pid" --log-error="$dir/log" \
    --bind-address=127.0.0.1 --port="$(sql_port "$i")" --server-id=1 --log-bin=bin --log-slave-updates --gtid-domain-id=1 \
    --binlog-format=ROW --binlog-row-image=FULL --binlog-row-metadata=FULL --default-time-zone=+00:00 \
    --innodb-autoinc-lock-mode=2 --innodb-flush-log-at-trx-commit=2 --innodb-buffer-pool-size=256M \
    --wsrep-on=ON --wsrep-provider="$(library)" --wsrep-cluster-name=ttlproxy --wsrep-cluster-address="gcomm://${group%,}" \
    --wsrep-node-name="member$i" --wsrep-node-address="127.0.0.1:$((base + 4 * i + 1))" \
    --wsrep-sst-method=rsync --wsrep-sst-receive-address="127.0.0.1:$((base + 4 * i + 3))" \
    --wsrep-provider-options="gmcast.listen_addr=tcp://127.0.0.1:$((base + 4 * i + 1));ist.recv_addr=127.0.0.1:$((base + 4 * i + 2))" \
    "$@" </dev/null >"$dir/out" 2>&1 &
  pids+=($!)
  for _ in $(seq 300); do
    [ "$(mariadb --no-defaults -h127.0.0.1 -P"$(sql_port "$i")" -uroot -NBe "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'wsrep_local_state_comment'" 2>/dev/null)" != Synced ] || return 0
    kill -0 "${pids[-1]}" 2>/dev/null || break
    sleep 0.2
  done
  tail -n 30 "$dir/log" >&2 || true
  die "member $i does not come up"
}

start 0 --wsrep-new-cluster
for ((i = 1; i < members; i++)); do start "$i"; done
names=$(for ((i = 0; i < members; i++)); do printf 'root@tcp(127.0.0.1:%d)/ ' "$(sql_port "$i")"; done)
say "$members members run: $names"

TTLPROXY_TEST_GALERA=$names TTLPROXY_CHAOS_TIME=${TTLPROXY_CHAOS_TIME:-1m} \
  go test -race -count=1 -json -timeout 30m -run Galera ./catalog ./proxy ./ttl/signal ./integration/chaos "$@" | go run ./scripts/testsum
