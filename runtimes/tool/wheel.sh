# Sourced by recipes of tools: a program that PyPI has as a wheel.

# program_of_wheel NAME: VERSION, PLATFORM, TAGS and SHA256 say which; leaves `bin/NAME`.
program_of_wheel() {
  local name=$1 file
  begin "$name" 2
  [ -n "${SHA256:-}" ] || die "there is no pinned \`$name\` for $(uname -m); install it yourself and put it on the PATH"
  file=$name-$VERSION-py3-none-$TAGS.whl
  need python3 python3
  step "download it"
  pypi "$file" "$name==$VERSION" "$SHA256" --only-binary=:all: --platform "$PLATFORM"
  step "unpack it"
  # A wheel is a zip file. Only this one member is taken.
  mkdir -p "$BELLJAR_OUT/bin"
  python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' \
    "$DOWNLOADS/$file" "$name-$VERSION.data/scripts/$name" >"$BELLJAR_OUT/bin/$name"
  chmod 755 "$BELLJAR_OUT/bin/$name"
  fact version "$VERSION"
}
