# Sourced by the recipes of reactors that are small enough to be compiled in one step.

# need_reactor_tools TOOL PACKAGE...: what the client of the recipe's own sources is, beside what all of them need.
need_reactor_tools() {
  need tar tar python3 python3 sha256sum coreutils "$@"
  python3 -m pip --version >/dev/null 2>&1 || command -v uv >/dev/null ||
    die "this machine has neither \`pip\` nor \`uv\`; on Debian and Ubuntu: apt-get install python3-pip"
  [ -n "${ZIG_WHEEL:-}" ] || die "this recipe is written for x86_64 and aarch64 machines, not for $(uname -m)"
}

# edit FILE SUBSTITUTION: fails when there is nothing to substitute, because then the source is not the one we know.
edit() {
  perl -0pi -e "$2 or die qq(no match in $1\n)" "$1"
}
