#!/bin/bash
# Runs the demo (make demo). Where neither MariaDB nor MySQL is installed, installs MariaDB's programs with apt: asks
# first, unless there is nobody to ask and the rights are there. No service is started.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:?usage: demo.sh PROGRAM [OPTIONS]}
shift

# What the demo itself looks for: see Find in package sandbox.
PATH=$PATH:/usr/sbin:/usr/local/sbin:/usr/libexec
fetched=${XDG_CACHE_HOME:-$HOME/.cache}/ttlproxy/mysql/bin/mysqld
if ! command -v mariadbd >/dev/null && ! command -v mysqld >/dev/null && [ ! -x "$fetched" ]; then
  if [ "$(id -u)" = 0 ] && [ ! -t 0 ]; then
    scripts/get-mariadb.sh
  elif [ -t 0 ] && command -v apt-get >/dev/null; then
    read -r -p "The demo needs a MariaDB or MySQL server, and there is none. Install MariaDB's programs with apt (no service is started)? [y/N] " answer
    [[ $answer == [yY]* ]] || { echo "Nothing installed. Any MariaDB from 10.6 or MySQL from 8.0 on will do."; exit 1; }
    if [ "$(id -u)" = 0 ]; then scripts/get-mariadb.sh; else sudo scripts/get-mariadb.sh; fi
  fi
fi
exec "$program" demo "$@"
