# Sourced after common.sh: every input, by package name, through the machine's own package clients. No host is named here: the
# clients know their mirrors. A file is used only when its sha256 is the pinned one (or, for Debian, when apt has just checked it
# against the signed index); what was used is recorded in `facts`.

# have FILE SHA256: is it downloaded, and what we asked for?
have() {
  [ -f "$DOWNLOADS/$1" ] && echo "$2  $DOWNLOADS/$1" | sha256sum --check --status
}

# pypi FILE REQUIREMENT SHA256 [PIP-OPTION...]
pypi() {
  local file=$1 requirement=$2 sha256=$3 room
  shift 3
  fact source "${requirement/==/ } $sha256"
  have "$file" "$sha256" && return
  room=$(mktemp -d "$DOWNLOADS/.pypi.XXXXXX")
  # pip refuses a file with another hash before it looks inside.
  echo "$requirement --hash=sha256:$sha256" >"$room/requirements.txt"
  pip_download --require-hashes --no-deps --dest "$room" -r "$room/requirements.txt" "$@" ||
    die "could not download \`$requirement\` from PyPI"
  mv "$room/$file" "$DOWNLOADS/$file"
  rm -rf "$room"
}

# pypi_wheel FILE REQUIREMENT SHA256 PLATFORM: a wheel for our native CPython 3.13, whatever Python this machine has. PLATFORM is one of
# the file's own tags: pip does not conclude that a newer manylinux includes it.
pypi_wheel() {
  pypi "$1" "$2" "$3" --only-binary=:all: --python-version 3.13 --implementation cp --abi cp313 --abi none --platform "$4"
}

# pypi_sdist FILE REQUIREMENT SHA256 BACKEND: pip asks a source distribution's build backend for metadata even when it only downloads,
# which for NumPy would mean to configure a whole native build. A stand-in backend answers with name and version.
pypi_sdist() {
  local stub=$BELLJAR_WORK/stub-backend
  mkdir -p "$stub"
  cat >"$stub/$4.py" <<PYTHON
import os
def get_requires_for_build_wheel(config_settings=None):
    return []
def prepare_metadata_for_build_wheel(directory, config_settings=None):
    name, version = "$2".split("==")
    os.mkdir(os.path.join(directory, f"{name}-{version}.dist-info"))
    with open(os.path.join(directory, f"{name}-{version}.dist-info", "METADATA"), "w") as file:
        file.write(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return f"{name}-{version}.dist-info"
PYTHON
  PYTHONPATH=$stub pypi "$1" "$2" "$3" --no-binary=:all: --no-build-isolation
}

pip_download() {
  if python3 -m pip --version >/dev/null 2>&1; then
    python3 -m pip --disable-pip-version-check --no-input download --progress-bar off "$@"
  else
    uv tool run --quiet pip --disable-pip-version-check --no-input download --progress-bar off "$@"
  fi
}

# npm_package FILE NAME VERSION SHA256
npm_package() {
  local file=$1 name=$2 version=$3 sha256=$4 room
  fact source "$name $version $sha256"
  have "$file" "$sha256" && return
  room=$(mktemp -d "$DOWNLOADS/.npm.XXXXXX")
  # npm keeps its cache with us: a home directory that is not writable, or absent, is no obstacle. `pack` runs no script of the package.
  (cd "$room" && npm pack --silent --ignore-scripts --cache "$BELLJAR_WORK/npm-cache" "$name@$version") ||
    die "could not download \`$name@$version\` with npm"
  mv "$room"/*.tgz "$DOWNLOADS/$file"
  rm -rf "$room"
  have "$file" "$sha256" || die "\`$name@$version\` is not the file this recipe was written for (its sha256 differs)"
}

# debian_source NAME VERSION SHA256 VERSIONS: upstream's source of a Debian package, without Debian's patches, as $DOWNLOADS/NAME.orig.
# Debian's archive moves on. When VERSION is gone, the newest that matches the pattern VERSIONS and that the signed index serves is
# taken instead; apt checks every file against that index.
debian_source() {
  local name=$1 version=$2 sha256=$3 versions=$4 file=$1.orig
  if have "$file" "$sha256"; then
    echo "$version" >"$DOWNLOADS/$file.version"
    echo "$sha256" >"$DOWNLOADS/$file.sha256"
  elif ! { [ -f "$DOWNLOADS/$file.version" ] && have "$file" "$(cat "$DOWNLOADS/$file.sha256")"; }; then
    debian_indexes
    debian_download "$name" "$version" "$sha256" "$versions"
  fi
  fact source "$name $(cat "$DOWNLOADS/$file.version" "$DOWNLOADS/$file.sha256" | paste -sd' ')"
}

debian_download() {
  local name=$1 pinned=$2 sha256=$3 versions=$4 file=$DOWNLOADS/$1.orig room candidate
  for candidate in "$pinned" $(debian_versions "$name" "$versions"); do
    room=$(mktemp -d "$DOWNLOADS/.debian.XXXXXX")
    echo "trying $name $candidate"
    # --tar-only: only the upstream archive. An index may name a file that the mirror no longer has: then the next version.
    if (cd "$room" && private_apt apt-get -q source --download-only --tar-only "$name=$candidate") && [ -n "$(ls "$room")" ]; then
      mv "$room"/*.orig.tar.* "$file"
      rm -rf "$room"
      echo "$candidate" >"$file.version"
      sha256sum "$file" | cut -c1-64 >"$file.sha256"
      if [ "$candidate" = "$pinned" ] && ! have "$name.orig" "$sha256"; then
        die "\`$name\` $pinned is not the source this recipe was written for (its sha256 differs)"
      fi
      return
    fi
    rm -rf "$room"
  done
  die "no Debian mirror of this machine has the source of \`$name\` (wanted $pinned)"
}

# All versions that the indexes name and that match the pattern, newest first.
debian_versions() {
  private_apt apt-cache showsrc "$1" | sed -n 's/^Version: //p' | grep -E "^$2" | sort -Vru || true
}

# A private apt: the archive's address and its keyring from the machine's own sources, other suites, `deb-src` instead of `deb`, own lists
# and cache. Needs no root, leaves the machine's configuration alone, and still checks signatures.
debian_indexes() {
  local apt=$BELLJAR_WORK/apt codename id suite found=0
  # Once a recipe run: the variable is set in this shell, a fresh attempt asks the mirror again.
  [ -z "${DEBIAN_INDEXES:-}" ] || return 0
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  id=$(. /etc/os-release && echo "${ID:-}")
  rm -rf "$apt"
  mkdir -p "$apt/sources.d" "$apt/lists/partial" "$apt/cache/archives/partial"
  for suite in $(debian_suites "$id" "$codename"); do
    debian_stanza "$codename" "$suite" >"$apt/sources.d/$suite.sources"
    if ! [ -s "$apt/sources.d/$suite.sources" ]; then
      rm "$apt/sources.d/$suite.sources"
      debian_line "$codename" "$suite" >"$apt/sources.d/$suite.list"
    fi
    cat "$apt/sources.d/$suite".* | grep -q . && found=1
  done
  [ "$found" = 1 ] || die "found no entry for \`${codename:-this release}\` in this machine's apt sources; the CPython source comes from there"
  # A suite that this mirror does not carry is an error of `update`, but the others are there all the same.
  private_apt apt-get -q update || echo "apt-get update: not every suite answered"
  DEBIAN_INDEXES=yes
}

# The suites that hold a CPython 3.13, most likely first.
debian_suites() {
  case $1 in
    ubuntu) echo "$2 questing plucky" ;;
    *) echo "forky sid trixie" ;;
  esac
}

# deb822 sources: the stanza that names the plain suite; -updates and -security have other names in each release.
debian_stanza() {
  cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk -v from="$1" -v to="$2" '
    BEGIN { RS = ""; FS = "\n" }
    $0 ~ ("Suites:[^\n]*[ \t]" from "([ \t\n]|$)") {
      for (i = 1; i <= NF; i++) {
        if ($i ~ /^#/) continue
        if ($i ~ /^Types:/) print "Types: deb-src"
        else if ($i ~ /^Suites:/) print "Suites: " to
        else print $i
      }
      exit
    }'
}

# The older format, one line an entry.
debian_line() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -nE "s/^deb +(\[[^]]*\] +)?([^ ]+) +$1 +(.*)/deb-src \1\2 $2 \3/p" | head -n 1
}

private_apt() {
  local command=$1 apt=$BELLJAR_WORK/apt
  shift
  "$command" -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources.d" -o Dir::State::lists="$apt/lists" \
    -o Dir::Cache="$apt/cache" -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User="$(id -un)" "$@"
}
