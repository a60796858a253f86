#!/bin/bash
# Tests the status page in a browser, and demands that it runs: makes sure that there are a Chromium, Node.js and npm
# (installs them with apt, which needs root), and runs the test on both servers. Arguments go to go test: -update takes
# the pictures in docs/images anew.
set -euo pipefail
cd "$(dirname "$0")/.."

have_all() { { command -v chromium || command -v chromium-browser || command -v google-chrome; } && command -v node && command -v npm; }

if ! have_all >/dev/null; then
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || {
    echo "browser: this needs chromium, nodejs (18 or later) and npm; installing them needs apt and root" >&2
    exit 1
  }
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update >/dev/null || echo "browser: apt-get update failed; trying with the lists there are"
  apt-get -q -y install --no-install-recommends chromium nodejs npm fonts-dejavu-core </dev/null >/dev/null
  have_all >/dev/null || { echo "browser: apt has installed them, and still not all are there" >&2; exit 1; }
fi
export TTLPROXY_TEST_BROWSER=1
exec scripts/test.sh -count=1 ./integration/browser "$@"
