# Sourced by every recipe: the recipe's environment, its progress lines, its log, its resumable steps.
#
# BELLJAR_RECIPES  the `runtimes/` tree. Read only, and its files need not be executable.
# BELLJAR_WORK     scratch, shared by all recipes and kept between attempts.
# BELLJAR_OUT      an empty directory for the result.

set -euo pipefail
umask 022
: "${BELLJAR_RECIPES:?is the runtimes/ tree}" "${BELLJAR_WORK:?is a scratch directory}" "${BELLJAR_OUT:?is an empty directory for the result}"

# make and configure cannot live with a space in a path.
case $BELLJAR_RECIPES$BELLJAR_WORK in
  *[[:space:]]*)
    echo "error: the recipes cannot work below a directory with a space in its name: $BELLJAR_WORK" >&2
    exit 1
    ;;
esac

TOOLCHAIN=$BELLJAR_RECIPES/toolchain
DOWNLOADS=$BELLJAR_WORK/downloads
JOBS=$(nproc 2>/dev/null || echo 2)

# A caller's compiler settings would end up in the artefact; a fixed hash seed, locale and date keep it the same every time.
unset CC CXX CPP AR RANLIB CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CONFIG_SITE MAKEFLAGS PYTHONPATH PYTHONHOME PYTHONSTARTUP VIRTUAL_ENV
export LC_ALL=C.UTF-8 TZ=UTC PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 SOURCE_DATE_EPOCH=1760000000
export ZIG_GLOBAL_CACHE_DIR=$BELLJAR_WORK/zig-cache ZIG_LOCAL_CACHE_DIR=$BELLJAR_WORK/zig-cache

# begin RECIPE STEPS: standard output becomes the log; progress goes to the real one, a failure's last words to the real stderr.
begin() {
  RECIPE=$1 STEPS=$2 STEP=0
  LOG=$BELLJAR_WORK/log/$RECIPE.log REASON=$BELLJAR_WORK/log/$RECIPE.reason
  mkdir -p "$BELLJAR_WORK/log" "$DOWNLOADS" "$BELLJAR_WORK/stamps" "$BELLJAR_OUT"
  echo "the \`$RECIPE\` recipe failed" >"$REASON"
  exec 3>&1 4>&2 >"$LOG" 2>&1
  trap 'finish $?' EXIT
  # Two recipes in one work directory would build the same CPython at the same time.
  if command -v flock >/dev/null; then
    exec 9>"$BELLJAR_WORK/lock"
    flock 9
  fi
  # What an interrupted attempt left half downloaded.
  rm -rf "$DOWNLOADS"/.*.??????
  CHAIN=$RECIPE_VERSION
}

# A recipe whose steps mean something new under the same text (rare) changes this number.
RECIPE_VERSION=1

finish() {
  local code=$1
  trap - EXIT
  # Background work of an interrupted step must not outlive the recipe.
  jobs -p | xargs -r kill 2>/dev/null || true
  if [ "$code" -ne 0 ]; then
    tail -n 15 "$LOG" >&4
    echo "error: $(cat "$REASON") (log: $LOG)" >&4
  fi
  exit "$code"
}

# die SENTENCE. Through a file, because steps run in subshells.
die() {
  echo "$1" >"$REASON"
  exit 1
}

# step WHAT: one progress line, and from here on the sentence for a failure.
step() {
  STEP=$((STEP + 1))
  echo "\`$RECIPE\`: the step \"$1\" failed" >"$REASON"
  echo "step $STEP/$STEPS $1" >&3
  echo "=== step $STEP/$STEPS $1 ($(date -u +%T))"
}

# once FUNCTION [FILE | HELPER...]: run a step unless it is done. Its stamp holds a hash of the function, of what it is made of, and of the
# stamp before it, so an edited recipe redoes exactly what follows the edit. A step first removes what it is about to make.
once() {
  local name=$1 part key
  key=$(
    {
      echo "$CHAIN"
      for part in "$@"; do
        declare -f "$part" || cat -- "$part"
      done
    } | sha256sum | cut -c1-64
  )
  CHAIN=$key
  if [ "$(cat "$BELLJAR_WORK/stamps/$name" 2>/dev/null)" = "$key" ]; then
    echo "--- $name: done before"
    return
  fi
  rm -f "$BELLJAR_WORK/stamps/$name"
  # A subshell in its own statement: inside `if` or `||` bash would ignore the step's failing commands.
  (set -e; "$name")
  echo "$key" >"$BELLJAR_WORK/stamps/$name"
}

# need TOOL PACKAGE...: all that is missing in one sentence, with the Debian packages that bring it.
need() {
  local missing=() packages=()
  while [ $# -gt 0 ]; do
    if ! command -v "$1" >/dev/null; then
      missing+=("\`$1\`")
      packages+=("$2")
    fi
    shift 2
  done
  if [ ${#missing[@]} -gt 0 ]; then
    die "this machine lacks ${missing[*]}; on Debian and Ubuntu: apt-get install $(printf '%s\n' "${packages[@]}" | sort -u | paste -sd' ')"
  fi
}

# fact KEY VALUE: a line of the result's `facts`.
fact() {
  echo "$1=$2" >>"$BELLJAR_OUT/facts"
}
