#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# deb.sh [--contents]: builds the .deb from a build tree and installs it, with apt and nothing but the distribution's
# archive, in a clean root of this machine's Debian release: the command, the quickstart's db_bench through the installed
# library, an application built with find_package(furrow) and one built with pkg-config. Then everything is purged, and a
# list of all files from before is compared with one from after. --contents stops after looking into the .deb, which
# needs neither root nor a network.
#
# FURROW_BUILD_DIR: the build tree (build/release). KEYS: of db_bench (400000). FURROW_DEBIAN_MIRROR
# (http://deb.debian.org/debian). FURROW_ROOT_CACHE (/var/tmp/furrow-package-roots): the clean root with a compiler in it,
# made once with debootstrap (which is installed if it is missing; 2 to 4 minutes), and the archive's packages; remove it
# to begin anew. Everything is mounted in a mount namespace of this script, so nothing stays mounted, however it ends.
. "$(dirname "$0")/../conformance/lib.sh"

contents_only=0
case "${1:-}" in
  "") ;;
  --contents) contents_only=1 ;;
  *) die "usage: deb.sh [--contents]" ;;
esac
if ((!contents_only)) && [[ ${FURROW_DEB_NAMESPACE:-} != "$$" ]]; then
  [[ $(id -u) == 0 ]] || die "needs root for chroot (deb.sh --contents does not)"
  # exec keeps the process id: a variable that was merely inherited does not count.
  FURROW_DEB_NAMESPACE=$$ exec unshare --mount --propagation private "$0" "$@"
fi

keys=${KEYS:-400000}
cache=${FURROW_ROOT_CACHE:-/var/tmp/furrow-package-roots}
mirror=${FURROW_DEBIAN_MIRROR:-http://deb.debian.org/debian}
base_packages=(ca-certificates g++ cmake make pkg-config)
deb=   # the package
base=  # the root that is kept
root=  # the clean root of this run, made from it

step() { printf '\n### %4d s  %s\n' "$SECONDS" "$*"; }

# --- the package

build_package() {
  step "build, and cpack -G DEB, from $BUILD"
  cmake --build "$BUILD" -j "$JOBS" --target furrow_installable >"$SCRATCH/build.log" 2>&1 || {
    tail -n 30 "$SCRATCH/build.log" >&2
    die "the build failed"
  }
  cpack -G DEB --config "$BUILD/CPackConfig.cmake" -B "$SCRATCH/deb" >"$SCRATCH/cpack.log" 2>&1 || {
    cat "$SCRATCH/cpack.log" >&2
    die "cpack failed"
  }
  deb=$(echo "$SCRATCH"/deb/*.deb)
  [[ -f $deb ]] || die "cpack made not one package: $deb"
  ls -l "$deb"
}

check_contents() {
  step "contents and control fields"
  dpkg-deb --contents "$deb" | tee "$SCRATCH/contents"
  dpkg-deb --field "$deb"
  local want
  for want in bin/furrow 'lib/.*libfurrow-rocksdb[0-9.]+\.so\.[0-9.]+' 'lib/.*libfurrow\.so' include/furrow/furrow.h \
    'lib/(.*/)?cmake/furrow/furrow-config\.cmake' 'lib/(.*/)?pkgconfig/furrow\.pc' lib/systemd/system/furrow-settle.service \
    lib/systemd/system/furrow-settle.timer lib/systemd/system/furrow-settle-now.service share/man/man1/furrow.1.gz \
    share/doc/furrow/copyright share/doc/furrow/docs/install.md share/doc/furrow/examples/cmake-app/CMakeLists.txt; do
    grep -Eq " \./usr/$want( -> .*)?\$" "$SCRATCH/contents" || die "/usr/$want is not in the package"
  done
  if grep -Evq '^[dl-]([r-][w-][x-]){3} root/root ' "$SCRATCH/contents"; then die "files that are not root's"; fi
  if grep -Ev ' \./(usr/([^ ]*))?( -> [^/ ]+)?$' "$SCRATCH/contents"; then die "files outside of /usr"; fi
  local library
  library=$(grep -Eo 'libfurrow-rocksdb[0-9.]+[0-9]\.so' "$SCRATCH/contents" | head -n 1)
  library=${library#libfurrow-rocksdb}
  dpkg-deb --field "$deb" Depends | grep -q "librocksdb${library%.so} " ||
    die "it does not depend on librocksdb${library%.so}, for which its library is"
}

# --- the clean root

chroot_in() {
  local where=$1
  shift
  chroot "$where" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb \
    DEBIAN_FRONTEND=noninteractive ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} "$@"
}
in_root() { chroot_in "$root" "$@"; }

# apt-get in the root, quiet unless it fails; once more with a fresh index if the cached one is out of date.
apt_in() {
  local where=$1
  shift
  chroot_in "$where" apt-get -q -y --no-install-recommends "$@" >"$SCRATCH/apt.log" 2>&1 ||
    { chroot_in "$where" apt-get -q update && chroot_in "$where" apt-get -q -y --no-install-recommends "$@"; } \
      >>"$SCRATCH/apt.log" 2>&1 || {
    cat "$SCRATCH/apt.log" >&2
    die "apt-get $* failed in the clean root"
  }
}

# A /dev/shm of its own: the stages of this machine's databases are none of the package's business.
mount_system() {
  mount -t proc proc "$1/proc"
  mount --bind /dev "$1/dev"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
  mount -t tmpfs -o size=1g tmpfs "$1/dev/shm"
  mkdir -p "$cache/archives/partial"
  mount --bind "$cache/archives" "$1/var/cache/apt/archives"
  cp /etc/resolv.conf "$1/etc/resolv.conf"
}

unmount_all() {
  local point
  for point in var/cache/apt/archives dev/shm dev/pts dev proc ""; do
    if mountpoint -q "$1/$point"; then umount -l "$1/$point"; fi
  done
}

# Makes $base: complete, or not there.
base_root() {
  local suite=$1
  step "no $base yet: debootstrap $suite"
  if ! command -v debootstrap >/dev/null; then
    apt-get update -q >"$SCRATCH/apt.log" 2>&1 && apt-get install -q -y debootstrap >>"$SCRATCH/apt.log" 2>&1 || {
      cat "$SCRATCH/apt.log" >&2
      die "debootstrap could not be installed"
    }
  fi
  rm -rf --one-file-system "$base.new"
  debootstrap --variant=minbase "$suite" "$base.new" "$mirror" >"$SCRATCH/debootstrap.log" 2>&1 || {
    tail -n 20 "$SCRATCH/debootstrap.log" >&2
    die "debootstrap failed"
  }
  echo force-unsafe-io >"$base.new/etc/dpkg/dpkg.cfg.d/unsafe-io"  # a scratch root needs no fsync
  mount_system "$base.new"
  step "install ${base_packages[*]} in it"
  apt_in "$base.new" update
  apt_in "$base.new" install "${base_packages[@]}"
  unmount_all "$base.new"
  mv "$base.new" "$base"
}

# The base root with a layer above it for this run; a copy where the kernel has no overlay.
clean_root() {
  local suite
  suite=$(. /etc/os-release && echo "${VERSION_CODENAME:?}")
  base=$cache/$suite-$(dpkg --print-architecture)-$(echo "1 $mirror ${base_packages[*]}" | sha256sum | cut -c 1-8)
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9
  if [[ ! -d $base ]]; then base_root "$suite"; fi
  step "a clean root from $base"
  root=$SCRATCH/root
  mkdir -p "$root" "$SCRATCH/upper" "$SCRATCH/work"
  if ! mount -t overlay -o "lowerdir=$base,upperdir=$SCRATCH/upper,workdir=$SCRATCH/work" overlay "$root" 2>/dev/null; then
    say "no overlay file system here: a copy"
    cp -a --reflink=auto "$base/." "$root"
  fi
  mount_system "$root"
}

end() {
  if [[ -n $root ]]; then unmount_all "$root"; fi
  if [[ -n $base ]]; then unmount_all "$base.new"; fi
  if grep -q " $SCRATCH/" /proc/self/mounts; then die "something is still mounted in $SCRATCH: it is left as it is"; fi
  clean_up
}

# All files of the root but those in which apt, dpkg and ldconfig keep their books.
list_files() {
  (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/log -o -path ./var/lib/apt -o \
    -path ./var/lib/dpkg -o -path ./var/cache/apt -o -path ./var/cache/ldconfig -o -path ./var/cache/debconf \) -prune -o \
    ! -path './etc/ld.so.cache' ! -path '*/__pycache__*' -printf '%y %p %l\n' | LC_ALL=C sort)
}
list_packages() { in_root dpkg-query -W -f '${Package}\n' | LC_ALL=C sort; }

# --- what is tried in it

try_command() {
  step "apt-get install $(basename "$deb")"
  cp "$deb" "$root/tmp/furrow.deb"
  apt_in "$root" install /tmp/furrow.deb
  in_root dpkg-query -L furrow | LC_ALL=C sort >"$SCRATCH/owned"
  in_root furrow version
  in_root furrow help | sed -n 1,3p
  local unit
  for unit in basic.target.wants/furrow-settle.service timers.target.wants/furrow-settle.timer; do
    [[ -L $root/etc/systemd/system/$unit ]] || die "$unit: the package did not enable the unit"
  done
  # What the units call must be a command that there is.
  sed -n 's/^Exec[A-Za-z]*=furrow //p' "$root"/usr/lib/systemd/system/furrow-*.service | sort -u >"$SCRATCH/calls"
  [[ -s $SCRATCH/calls ]] || die "no unit calls furrow"
  while read -r call; do
    say "as the units do: furrow $call"
    # shellcheck disable=SC2086  # words, as systemd splits them
    in_root furrow $call
  done <"$SCRATCH/calls"
}

try_db_bench() {
  step "the quickstart's db_bench, $keys keys"
  apt_in "$root" install rocksdb-tools
  local uri=furrow://dir:/var/tmp/zones
  in_root furrow mkfs "$uri" --zones=64 --zone-size=64MiB --yes
  in_root env LD_PRELOAD=libfurrow.so db_bench "--fs_uri=$uri" --db=/quickstart --num="$keys" --value_size=400 \
    --compression_type=none --benchmarks=fillseq,overwrite,readrandom,readseq --reads=$((keys / 4)) --seed=1 \
    >"$SCRATCH/bench" 2>"$SCRATCH/bench.err" || {
    show_log "$SCRATCH/bench"
    die "db_bench failed"
  }
  grep -E '^(fillseq|overwrite|readrandom|readseq) ' "$SCRATCH/bench"
  local benchmark found
  for benchmark in fillseq overwrite readrandom readseq; do
    [[ -n $(rate_of $benchmark <"$SCRATCH/bench") ]] || die "db_bench did not report $benchmark"
  done
  found=$(in_root env LD_PRELOAD=libfurrow.so ldb "--fs_uri=$uri" --db=/quickstart scan --hex | grep -c ' : ')
  ((found == keys)) || die "ldb scan found $found keys, not $keys"
  in_root furrow df "$uri" | sed -n 1,12p
}

try_applications() {
  step "an application with find_package(furrow), and with pkg-config"
  apt_in "$root" install librocksdb-dev
  cat >"$root/tmp/applications.sh" <<'END'
set -e
source=/usr/share/doc/furrow/examples/cmake-app
uri=furrow://dir:/var/tmp/zones
cmake -S $source -B /tmp/app >/tmp/app.log && cmake --build /tmp/app >>/tmp/app.log || { cat /tmp/app.log; exit 1; }
/tmp/app/app $uri
echo "pkg-config: $(pkg-config --modversion furrow): $(pkg-config --cflags --libs furrow)"
test -e "$(pkg-config --variable=preload furrow)"
g++ -std=c++17 $source/main.cc -o /tmp/app/by-pkg-config $(pkg-config --cflags --libs furrow)
/tmp/app/by-pkg-config $uri
ldd /tmp/app/app | grep libfurrow
END
  in_root bash /tmp/applications.sh | tee "$SCRATCH/applications"
  [[ $(grep -c '^run 1 with Furrow' "$SCRATCH/applications") == 2 && $(grep -c '^run 2 ' "$SCRATCH/applications") == 1 ]] ||
    die "the second application does not see what the first has written"
}

try_removal() {
  step "purge"
  local left path
  left=$(ls -A "$root/dev/shm")
  [[ -z $left ]] || die "all programs have ended, but in /dev/shm there is still: $left"
  rm -rf "$root/var/tmp/zones"
  apt_in "$root" purge furrow
  while read -r path; do
    if [[ -e $root$path && $path == *furrow* || -f $root$path || -L $root$path && ! -d $root$path ]]; then
      die "the package is purged, but there is still $path"
    fi
  done <"$SCRATCH/owned"
  list_files | grep -i furrow && die "these are left of furrow"
  # And what came along with it, so that before and after can be the same to the last file.
  list_packages >"$SCRATCH/packages.after"
  mapfile -t added < <(LC_ALL=C comm -13 "$SCRATCH/packages.before" "$SCRATCH/packages.after")
  apt_in "$root" purge "${added[@]}"
  list_files >"$SCRATCH/files.after"
  diff "$SCRATCH/files.before" "$SCRATCH/files.after" || die "before (<) and after (>) differ"
  say "$(wc -l <"$SCRATCH/files.after") files and directories, the same as before"
}

make_scratch /var/tmp
build_package
check_contents
((!contents_only)) || exit 0
trap end EXIT
clean_root
list_files >"$SCRATCH/files.before"
list_packages >"$SCRATCH/packages.before"
try_command
try_db_bench
try_applications
try_removal
step "ok"
