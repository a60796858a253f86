#!/bin/bash
# Makes sure that there is a promtool to check the alerting rules with: where none is installed, takes it out of Debian's
# prometheus package into the user's cache folder. Nothing is installed, no service is started, no rights are needed.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/ttlproxy # scripts/test.sh looks in its bin

say() { echo "get-promtool: $*"; }
die() { echo "get-promtool: $*" >&2; exit 1; }

PATH=$PATH:$cache/bin
if command -v promtool >/dev/null; then
  say "promtool is there: $(command -v promtool)"
  exit 0
fi
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || die "this needs apt; install promtool, a part of Prometheus, yourself"

mkdir -p "$cache/bin"
work=$(mktemp -d "$cache/fetching-XXXXXX")
trap 'rm -rf "$work"' EXIT
say "fetching Debian's prometheus package"
(cd "$work" && apt-get -q -o APT::Sandbox::User="$(id -un)" download prometheus >/dev/null) ||
  die "apt could not download it: apt-get update may help"
dpkg-deb --extract "$work"/prometheus_*.deb "$work/root"
install "$work/root/usr/bin/promtool" "$cache/bin/promtool"
promtool --version >/dev/null || die "the one that was fetched does not run on this machine"
say "fetched: $(promtool --version 2>&1 | head -n 1)"
