#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [SECONDS]: runs each libFuzzer program of build/fuzz for SECONDS from its corpus. What it learns
# stays in build/fuzz/corpus, what it breaks goes to build/fuzz/findings. Exit 1 if anything broke.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-20}
failed=()
[ -s build/fuzz/fuzzers.txt ] || { echo "fuzz: no fuzz target was declared (sgprs_fuzz)" >&2; exit 1; }
while read -r name max_bytes directories; do
  read -ra corpus <<<"$directories"
  learnt=build/fuzz/corpus/$name findings=build/fuzz/findings/$name/
  mkdir -p "$learnt" "$findings"
  echo "== $name, $seconds s"
  if "build/fuzz/tests/bin/$name" -max_total_time="$seconds" -max_len="$max_bytes" -timeout=10 \
    -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 -artifact_prefix="$findings" \
    "$learnt" "${corpus[@]}" </dev/null; then :; else failed+=("$name"); fi
done <build/fuzz/fuzzers.txt
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: broke ${failed[*]}; inputs are in build/fuzz/findings" >&2
  exit 1
fi
