#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything that can be checked without running the programs. Runs all steps, then says which failed.
# lint.sh [STEP...]: only these. clang-tidy reads the commands and generated headers of build/.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
failed=()

sources() { git ls-files -z --cached --others --exclude-standard -- "$@"; }

shell_scripts() {
  sources | while IFS= read -r -d '' file; do
    [ -f "$file" ] || continue
    case ${file##*/} in
      *.sh) printf '%s\0' "$file" ;;
      *.*) ;;
      *) head -c 64 "$file" | head -n 1 | grep -aqE '^#!.*\b(ba)?sh$' && printf '%s\0' "$file" ;;
    esac
  done
}

step_format() {
  local wrong
  wrong=$(sources '*.c' '*.cc' '*.h' | xargs -0 -r clang-format --dry-run 2>&1 | sed -n 's/:.*\[-Wclang-format.*//p' | sort -u)
  [ -z "$wrong" ] && return
  printf '%s\n' "$wrong"
  echo "not as clang-format would have it: run \`make format\`"
  return 1
}
step_layers() { tools/dev/check_layers.py; }
step_files() { tools/dev/check_files.py; }
step_shell() { shell_scripts | xargs -0 -r shellcheck -x; }
step_python() { sources '*.py' | xargs -0 -r pyflakes3; }
step_docs() { tools/dev/gen_docs.py --check; }
step_tidy() { tools/dev/tidy.py build -j "${JOBS:-$(nproc)}"; }

steps=("$@")
[ $# -gt 0 ] || steps=(format layers files shell python docs tidy)
for step in "${steps[@]}"; do
  if ! declare -F "step_$step" >/dev/null; then
    echo "lint: no step is called $step" >&2
    exit 2
  fi
  start=$SECONDS
  if "step_$step"; then
    echo "lint: $step is fine ($((SECONDS - start)) s)"
  else
    echo "lint: $step FAILED ($((SECONDS - start)) s)"
    failed+=("$step")
  fi
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "lint: failed: ${failed[*]}" >&2
  exit 1
fi
echo "lint: clean"
