# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced, after lib.sh, by scripts that run programs of Debian's without installing them. fetch_packages unpacks
# packages, of other releases too, into FURROW_CACHE (/var/tmp/furrow-cache), which may be removed. apt gets a
# configuration of its own: the system's lists and caches are not touched, and no root is needed.
# FURROW_DEBIAN_MIRROR (http://deb.debian.org/debian).
PACKAGES=  # where fetch_packages put them: a file tree with usr/ and etc/

# fetch_packages NAME SUITE PACKAGE...: the packages unpacked over each other, in PACKAGES; from the cache, if NAME is in it
# already. Dependencies are the caller's business. 1, and the reason in FETCH_LOG, if they cannot be had. Needs a scratch.
fetch_packages() {
  local name=$1 suite=$2 cache=${FURROW_CACHE:-/var/tmp/furrow-cache} lock rc=0
  shift 2
  mkdir -p "$cache" || die "cannot make $cache; name another place with FURROW_CACHE"
  PACKAGES=$cache/packages-$name
  FETCH_LOG=$SCRATCH/fetch.log
  exec {lock}>"$PACKAGES.lock"
  flock "$lock"  # two runs at once: the second waits for what the first fetches
  [[ -d $PACKAGES ]] || unpack_packages "$suite" "$PACKAGES" "$@" >"$FETCH_LOG" 2>&1 || rc=1
  exec {lock}>&-
  return $rc
}

# FOLDER is complete, or not there.
unpack_packages() {
  local suite=$1 folder=$2 work apt keyring=/usr/share/keyrings/debian-archive-keyring.gpg package rc=0
  shift 2
  work=$(mktemp -d "$folder.XXXXXX") || return 1
  mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/parts" "$work/debs" "$work/root"
  : >"$work/status"  # as if nothing were installed
  echo "deb [signed-by=$keyring] ${FURROW_DEBIAN_MIRROR:-http://deb.debian.org/debian} $suite main" >"$work/list"
  apt=(apt-get -q -o "Dir::State=$work/state" -o "Dir::State::status=$work/status" -o "Dir::Cache=$work/cache"
    -o "Dir::Etc::SourceList=$work/list" -o "Dir::Etc::SourceParts=$work/parts" -o "APT::Sandbox::User=$(id -un)")
  say "fetching $* of $suite"
  if "${apt[@]}" update && (cd "$work/debs" && "${apt[@]}" download "$@"); then
    for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$work/root" || rc=1; done
    ((rc == 0)) && mv "$work/root" "$folder"
  else
    rc=1
  fi
  rm -rf "$work"
  return $rc
}
