#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing to build SGPRS on Debian 12: packages of packages.txt, then CUDA headers.
# On a machine that has everything it only looks: no root, no network. Idempotent.
set -euo pipefail
cd "$(dirname "$0")/../.."
say() { echo "setup: $*" >&2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "not root and no sudo. As root, run: $*"
    exit 1
  fi
}

# Names on stdin that dpkg does not know as installed.
missing_packages() {
  local name
  while read -r name; do
    dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || echo "$name"
  done
}

install_packages() {
  say "installing $# packages: $*"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >&2
}

if command -v dpkg-query >/dev/null; then
  mapfile -t missing < <(grep -v '^#' tools/dev/packages.txt | missing_packages)
  if [ "${#missing[@]}" -gt 0 ]; then
    install_packages "${missing[@]}"
  else
    say "all Debian packages are here"
  fi
else
  say "not a Debian system: see that you have what tools/dev/packages.txt names"
fi

# shellcheck source=tools/dev/cuda_headers.sh
. tools/dev/cuda_headers.sh
if found=$(find_cuda_headers); then
  say "CUDA headers: $found"
elif [ -n "${SGPRS_CUDA_INCLUDE:-}" ]; then
  say "CUDA_INCLUDE=$SGPRS_CUDA_INCLUDE has no cuda.h of CUDA 13.0 or newer"
  exit 1
else
  fetch_cuda_headers
  say "CUDA headers: $(find_cuda_headers)"
fi
see_nvtx_headers "$(find_cuda_headers)"
