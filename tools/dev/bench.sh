#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every benchmark program one after another; tables on stdout, JSON in build/bench/NAME.json.
# bench.sh [Google Benchmark flags]
set -euo pipefail
cd "$(dirname "$0")/../.."
shopt -s nullglob
mkdir -p build/bench
programs=(build/tests/bin/*_bench)
[ ${#programs[@]} -gt 0 ] || { echo "bench: no benchmark was built" >&2; exit 1; }
for program in "${programs[@]}"; do
  name=$(basename "$program")
  echo "== $name"
  "$program" --benchmark_out="build/bench/$name.json" --benchmark_out_format=json "$@"
done
export SGPRS_BIN_DIR=$PWD/build/bin SGPRS_LIB_DIR=$PWD/build/lib
for script in tests/bench/bench_*.py; do
  name=$(basename "$script" .py)
  echo "== $name"
  python3 "$script" | tee "build/bench/$name.json"
done
