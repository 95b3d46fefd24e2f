#!/bin/bash
# What make takes for libtool: one object of a source, without libtool's seconds.
while [[ $1 == --* ]]; do
  shift
done
exec "$@"
