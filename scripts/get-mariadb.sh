#!/bin/bash
# Makes sure that there is a MariaDB to test with, its command-line client and its dump: where they are missing,
# installs them with apt, which needs root. Only programs are installed, no service is started (these packages have none).
set -euo pipefail

say() { echo "get-mariadb: $*"; }
die() { echo "get-mariadb: $*" >&2; exit 1; }

PATH=$PATH:/usr/sbin:/usr/local/sbin:/usr/libexec # where servers live, and not every user looks
have_all() { command -v mariadbd && command -v mariadb-install-db && command -v mariadb && command -v mariadb-dump; }

if have_all >/dev/null; then
  say "$(mariadbd --no-defaults --version | sed -E 's/.*Ver ([^ ]+).*/MariaDB \1/') is there: $(command -v mariadbd)"
  exit 0
fi
command -v apt-get >/dev/null ||
  die "this needs apt; install MariaDB 10.6 or later yourself, or set TTLPROXY_TEST_MARIADB to a server's data source name"
[ "$(id -u)" = 0 ] ||
  die "installing needs root: sudo apt-get install mariadb-server-core mariadb-client (or set TTLPROXY_TEST_MARIADB)"
say "installing mariadb-server-core and mariadb-client"
export DEBIAN_FRONTEND=noninteractive
apt-get -q update >/dev/null || say "apt-get update failed; trying with the lists there are"
apt-get -q -y install --no-install-recommends mariadb-server-core mariadb-client </dev/null >/dev/null
have_all >/dev/null || die "apt has installed them, and still not all of mariadbd, mariadb-install-db, mariadb and mariadb-dump are there"
say "installed: $(mariadbd --no-defaults --version)"
