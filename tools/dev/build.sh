#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh PRESET TARGET [cmake flags]: configures if needed, then builds one target (none = only configure).
set -euo pipefail
cd "$(dirname "$0")/../.."
preset=$1 target=$2
shift 2
directory=build
[ "$preset" = release ] || directory=build/$preset
mkdir -p "$directory"

if [ ! -e "$directory/build.ninja" ] || [ CMakePresets.json -nt "$directory/build.ninja" ] || [ $# -gt 0 ]; then
  echo "configure: $preset into $directory" >&2
  if ! cmake --preset "$preset" "$@" >"$directory/configure.log" 2>&1; then
    cat "$directory/configure.log" >&2
    exit 1
  fi
fi
[ "$target" = none ] && exit 0
echo "build: $target in $directory" >&2
exec cmake --build "$directory" --target "$target" -j "${JOBS:-$(nproc)}"
