#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that only a GPU can tell, in one go: run.sh --help
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
export SGPRS_BIN_DIR=${SGPRS_BIN_DIR:-$root/build/bin} SGPRS_LIB_DIR=${SGPRS_LIB_DIR:-$root/build/lib}
export SGPRS_TEST_BIN_DIR=${SGPRS_TEST_BIN_DIR:-$root/build/tests/bin}
export SGPRS_PYTORCH_ENV=${SGPRS_PYTORCH_ENV:-$root/build/pytorch}
exec python3 "$here/run.py" "$@"
