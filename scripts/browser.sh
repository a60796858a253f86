#!/bin/bash
# Tests the status page in a browser, and demands that it runs: makes sure that there are a Chromium, Node.js and npm
# (installs them with apt, which needs root), and runs the test on both servers. Arguments go to go test: -update takes
# the pictures in docs/images anew.
set -euo pipefail
cd "$(dirname "$0")/.."

# Only what is not there is installed: apt's npm and a Node.js of another origin exclude each other.
lacking() {
  command -v chromium || command -v chromium-browser || command -v google-chrome || echo "lacks chromium fonts-dejavu-core"
  command -v node || echo "lacks nodejs"
  command -v npm || echo "lacks npm"
}
packages=$(lacking | sed -n 's/^lacks //p' | tr '\n' ' ')

if [ -n "$packages" ]; then
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || {
    echo "browser: this needs chromium, nodejs (18 or later) and npm; installing them needs apt and root" >&2
    exit 1
  }
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update >/dev/null || echo "browser: apt-get update failed; trying with the lists there are"
  # shellcheck disable=SC2086 # a list of packages
  apt-get -q -y install --no-install-recommends $packages </dev/null >/dev/null
  [ -z "$(lacking | grep '^lacks ')" ] || { echo "browser: apt has installed $packages, and still not all are there" >&2; exit 1; }
fi
export TTLPROXY_TEST_BROWSER=1
exec scripts/test.sh -count=1 ./integration/browser "$@"
