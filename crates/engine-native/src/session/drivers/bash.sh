# A live Bash: runs one cell after another in one shell.
#
# Frames on descriptor 3, both ways: the length in decimal, a line feed, and that many bytes: to here the cell's text, from here JSON. Cells are
# counted from 1. A cell may change anything of the shell: what it breaks is its own session.
#
# A cell is evaluated at the shell's top level, so that what it declares stays, and on the first line of a shell that has no file, so that
# messages name the cell and its line. What ends the shell (`exit`, `set -e`, `${name:?}`, an interrupt) comes to the trap on EXIT, which hands all
# of its state to a new shell in the same process.

if [[ $0 == "${BASH_SOURCE[0]}" ]]; then
  # Out of the way of programs that use the first few; the shell takes those from 10 and from 63 downwards for itself.
  exec 99<&3 3<&- "$BASH" -c '. "$1"; shift; while { __belljar_next; } 2>/dev/null; do eval "$__belljar_text" 99<&-; done' bash "$0"
fi

__belljar_driver=${BASH_SOURCE[0]} __belljar_running='' __belljar_interrupted='' __belljar_flags='' __belljar_cell=0 __belljar_channel=99

# Report the cell that has run, and take the next one. False when the server is gone.
__belljar_next() {
  __belljar_status=$?
  __belljar_flags=$-
  builtin set +exu
  [[ $__belljar_running ]] && __belljar_report
  builtin exec 0</dev/null
  IFS= builtin read -r -u 99 __belljar_length || return 1
  # Bytes: in another locale they would be characters.
  IFS= LC_ALL=C builtin read -r -N "$__belljar_length" -u 99 __belljar_text || return 1
  __belljar_running=1 __belljar_interrupted=''
  BASH_ARGV0="<cell $((++__belljar_cell))>"
  [[ $__belljar_flags == *x* ]] && __belljar_text="set -x; $__belljar_text"
  [[ $__belljar_flags == *u* ]] && builtin set -u
  [[ $__belljar_flags == *e* ]] && builtin set -e
  # A signal before this would be lost, and none comes.
  builtin printf -v __belljar_begun '{"begun":%d}' "$__belljar_cell"
  builtin printf '%d\n%s' "${#__belljar_begun}" "$__belljar_begun" >&99
  return 0
}

__belljar_report() {
  __belljar_running=''
  builtin printf -v __belljar_text '{"done":%d,"exit_code":%d%s}' "$__belljar_cell" "$__belljar_status" "${__belljar_interrupted:+,\"interrupted\":true}"
  builtin printf '%d\n%s' "${#__belljar_text}" "$__belljar_text" >&"$__belljar_channel"
}

__belljar_interrupt() {
  if [[ $__belljar_running ]]; then
    __belljar_interrupted=1
    builtin exit 130
  fi
}

# The shell ends. Its arguments are the cell's.
__belljar_leave() {
  [[ $__belljar_running ]] || return
  __belljar_find_channel || return
  __belljar_arguments=("$@")
  __belljar_state=$(
    builtin declare -p
    builtin declare -f
    builtin shopt -p
    builtin alias -p
    { builtin set +o; builtin trap -p; } | while IFS= builtin read -r line; do
      # Ours are set already, and what would be in our own way is set with each cell.
      [[ $line == *__belljar_* || $line == *' errexit' || $line == *' nounset' || $line == *' xtrace' ]] || builtin printf '%s\n' "$line"
    done
  ) 2>/dev/null
  __belljar_report
  # By way of 0: a copy of one that is closed on exec is closed, too, unless it is one of the first three.
  builtin exec 0<&"$__belljar_channel" 99<&0 0</dev/null 98<<<"$__belljar_state" "$BASH" -c \
    '. "$1"; . /dev/fd/98 2>/dev/null; exec 98<&-; __belljar_enter; set -- "${__belljar_arguments[@]}"; while { __belljar_next; } 2>/dev/null; do eval "$__belljar_text" 99<&-; done' \
    bash "$__belljar_driver" restored
}

# Closed for the cell, the channel is kept by the shell under a number that it chose.
__belljar_find_channel() {
  for __belljar_channel in 99 {10..62}; do
    [[ -S /dev/fd/$__belljar_channel ]] && return 0
  done
  return 1
}

__belljar_enter() {
  __belljar_running='' __belljar_channel=99 __belljar_state=''
  # For the first line of `__belljar_next`, which keeps them.
  [[ $__belljar_flags == *u* ]] && builtin set -u
  [[ $__belljar_flags == *e* ]] && builtin set -e
}

builtin trap '{ __belljar_status=$? __belljar_flags=$-; builtin set +exu; } 2>/dev/null; __belljar_leave "$@"' EXIT
builtin trap __belljar_interrupt INT

if [[ $__belljar_cell == 0 && -z $2 ]]; then
  builtin printf '15\n{"ready": true}' >&99
fi
