# What the scripts of this folder share. Source it.
# shellcheck shell=bash disable=SC2034 # the variables are for those scripts

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/corewise-machines

# Ends the script as one that could not do its work, in contrast to a command that failed in a guest.
give_up() {
  echo "${0##*/}: $*" >&2
  exit 125
}

machine_names() {
  local file
  for file in "$here"/machines/*.conf; do basename "$file" .conf; done
}

# Reads machines/NAME.conf (its variables: README.md).
read_machine() {
  local file=$here/machines/$1.conf
  [[ -f $file ]] || give_up "no machine '$1'; there are: $(machine_names | xargs)"
  arch='' cpu='' board='' smp='' memory=1024 distances='' capacities='' clusters='' more=()
  nodes=()
  # shellcheck source=/dev/null
  source "$file"
  [[ $arch == x86_64 || $arch == aarch64 ]] || give_up "$file: arch is '$arch', not x86_64 or aarch64"
  [[ -n $smp ]] || give_up "$file: smp is missing"
}

# QEMU's options for the processors and memory nodes of the machine that was read, into the array `shape`.
describe_machine() {
  local default_cpu=max node share cpus from to distance
  [[ $arch == x86_64 ]] || default_cpu=cortex-a72
  shape=(-cpu "${cpu:-$default_cpu}" -smp "$smp" -m "${memory}M")
  share=$((memory / (${#nodes[@]} > 0 ? ${#nodes[@]} : 1)))
  for node in "${!nodes[@]}"; do
    cpus=${nodes[node]}
    [[ -z $cpus || $cpus == *=* ]] || cpus=cpus=$cpus
    shape+=(-object "memory-backend-ram,id=memory$node,size=${share}M"
      -numa "node,nodeid=$node,memdev=memory$node${cpus:+,$cpus}")
  done
  for distance in $distances; do
    IFS=, read -r from to distance <<<"$distance"
    shape+=(-numa "dist,src=$from,dst=$to,val=$distance")
  done
  shape+=("${more[@]}")
}

# unpack_packages ARCH DIR PACKAGE...: Debian packages of another architecture than the host's, maybe, unpacked into
# DIR; '@kernel' is the cloud kernel. The lists and the choice of versions are apt's own, kept in the cache: nothing is
# installed, the host's architectures stay as they are, and nobody needs to be root.
unpack_packages() {
  local deb=amd64 dir=$2 apt state package
  [[ $1 == x86_64 ]] || deb=arm64
  state=$cache/apt-$deb
  mkdir -p "$state"/{lists/partial,archives/partial} "$dir"
  : >"$state/status"
  apt=(-qq -o "APT::Architecture=$deb" -o "APT::Architectures::=$deb" -o "APT::Sandbox::User="
    -o "Dir::State=$state" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state" -o Acquire::Languages=none)
  # A third party's source may be unreachable: what counts is that the packages are known then.
  apt-get "${apt[@]}" update >&2 || true

  local wanted=()
  for package in "${@:3}"; do
    if [[ $package == @kernel ]]; then
      package=$(apt-cache "${apt[@]}" depends "linux-image-cloud-$deb" |
        awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2; exit }')
      [[ -n $package ]] || give_up "apt knows no linux-image-cloud-$deb: are Debian's sources configured?"
    fi
    wanted+=("$package")
  done
  local downloads
  downloads=$(mktemp -d "$cache/downloads.XXXXXX")
  (cd "$downloads" && apt-get "${apt[@]}" download "${wanted[@]}" >&2) ||
    give_up "cannot download ${wanted[*]} for $deb"
  for package in "$downloads"/*.deb; do dpkg -x "$package" "$dir"; done
  rm -r "$downloads"
}
