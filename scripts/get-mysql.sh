#!/bin/bash
# Makes sure that there is a MySQL to test with, without touching the system: where none is installed, fetches the
# one that Debian's development suite carries, with all its libraries, into the user's cache folder. Needs apt and
# the network, no rights. The mirror is the one this machine's apt already uses.
#
#   TTLPROXY_MYSQL_MINIMUM  lowest version accepted (default 9.7: the suite moves, the tests should not move back)
#   TTLPROXY_MYSQL_SUITE    suite to fetch from (default sid)
#   TTLPROXY_APT_MIRROR     mirror to use instead of the machine's own
set -euo pipefail

minimum=${TTLPROXY_MYSQL_MINIMUM:-9.7}
suite=${TTLPROXY_MYSQL_SUITE:-sid}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ttlproxy # the folder package sandbox looks in
prefix=$cache/mysql

say() { echo "get-mysql: $*"; }
die() { echo "get-mysql: $*" >&2; exit 1; }

# version PROGRAM: the version of a MySQL server, nothing if it is none (or MariaDB under MySQL's name)
version() { { "$1" --no-defaults --version | grep -v MariaDB | sed -nE 's/.*Ver ([0-9.]+).*/\1/p'; } 2>/dev/null || true; }
# new_enough VERSION
new_enough() { [ -n "$1" ] && [ "$(printf '%s\n' "$minimum" "$1" | sort -V | head -n 1)" = "$minimum" ]; }

mkdir -p "$cache"
exec 9>"$cache/get-mysql.lock"
flock 9 # two test runs at once fetch it once

for server in "$prefix/bin/mysqld" "$(command -v mysqld || true)" /usr/sbin/mysqld; do
  if [ -x "$server" ] && new_enough "$(version "$server")"; then
    say "MySQL $(version "$server") is there: $server"
    exit 0
  fi
done

command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
  die "this needs apt; install MySQL $minimum or later yourself, or set TTLPROXY_TEST_MYSQL to a server's data source name"

mirror=${TTLPROXY_APT_MIRROR:-$(
  # the machine's main Debian archive: neither an -updates nor a -security suite
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk '$2 !~ /-/ && $3 == "main" && $1 ~ /debian\/?$/ { print $1; exit }'
)}
[ -n "$mirror" ] || die "no Debian mirror in this machine's apt configuration; set TTLPROXY_APT_MIRROR to one, or TTLPROXY_TEST_MYSQL to a server's data source name"

# A private apt: own lists, own cache, and an empty list of installed packages, so that every library comes along,
# the C library included. Nothing of it is installed. Signatures are checked, dates are not: an old copy of the suite will do.
work=$(mktemp -d "$cache/fetching-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,archives/partial,root}
: >"$work/status"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f $keyring ] && signed="[signed-by=$keyring] " || signed=
echo "deb ${signed}${mirror%/} $suite main" >"$work/sources.list"
private_apt() {
  apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
    -o Dir::State::Lists="$work/lists" -o Dir::State::status="$work/status" -o Dir::State::extended_states="$work/extended" \
    -o Dir::Cache="$work" -o Dir::Cache::Archives="$work/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=true \
    -o APT::Install-Recommends=false -o Binary::apt-get::APT::Keep-Downloaded-Packages=true "$@"
}
say "fetching MySQL from $suite of $mirror into $prefix"
private_apt update >"$work/log" 2>&1 || { tail -n 15 "$work/log" >&2; die "apt cannot read the package lists"; }
private_apt -y --download-only install mysql-server-core mysql-client-core libtcmalloc-minimal4t64 >>"$work/log" 2>&1 ||
  { tail -n 15 "$work/log" >&2; die "apt cannot fetch MySQL from $suite"; }
for package in "$work"/archives/*.deb; do dpkg -x "$package" "$work/root"; done
rm -rf "$work"/root/usr/share/{doc,man,locale,info,bug,lintian} "$work"/root/{var,run}

# The programs run through their own loader and libraries; a wrapper for each knows where those are, wherever the
# folder is moved. The server also learns where its messages, character sets and plugins are.
libraries=$(basename "$(dirname "$(find "$work/root/usr/lib" -name 'libc.so.6' | head -n 1)")")
loader=$(cd "$work/root" && find usr/lib/"$libraries" lib lib64 -name 'ld-linux*.so.*' 2>/dev/null | head -n 1 || true)
[ -n "$loader" ] || die "no loader among the fetched libraries"
mkdir -p "$work/root/bin"
for program in "$work"/root/usr/sbin/mysqld "$work"/root/usr/bin/mysql*; do
  # scripts among them need an installed system: leave them out
  [ "$(head -c 4 "$program" | tail -c 3)" = ELF ] || continue
  name=$(basename "$program") arguments=
  [ "$name" != mysqld ] || arguments='--basedir="$p/usr" --lc-messages-dir="$p/usr/share/mysql" --character-sets-dir="$p/usr/share/mysql/charsets" --plugin-dir="$p/usr/lib/mysql/plugin"'
  cat >"$work/root/bin/$name" <<WRAPPER
#!/bin/sh
p=\$(cd "\$(dirname "\$0")/.." && pwd)
l=\$p/usr/lib/$libraries
export OPENSSL_MODULES="\$l/ossl-modules" LIBMYSQL_PLUGIN_DIR="\$p/usr/lib/mysql/plugin"
exec "\$p/$loader" --inhibit-cache --argv0 "$name" --library-path "\$l:\$p/lib/$libraries:\$p/usr/lib/mysql/private" "\$p${program#"$work/root"}" "\$@" $arguments
WRAPPER
  chmod 755 "$work/root/bin/$name"
done

found=$(version "$work/root/bin/mysqld")
new_enough "$found" || die "$suite has MySQL ${found:-that does not run here}, and $minimum or later is needed"
rm -rf "$prefix"
mv "$work/root" "$prefix"
say "MySQL $found is in $prefix ($(du -sm "$prefix" | cut -f 1) MB)"
