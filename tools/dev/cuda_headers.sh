#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by setup.sh. The toolkit is used for its headers alone: an installed one of 13.0 or newer, else the
# headers of the PyPI package nvidia-cuda-runtime (it has cuda.h and cudaTypedefs.h; they include only
# the C library). Those of NVTX (nvtx3/nvToolsExt.h) come from there, too, or from PyPI's nvidia-nvtx: a
# toolkit need not have them. Same order as tools/cmake/SgprsCudaHeaders.cmake.
CUDA_HEADERS_PACKAGE='nvidia-cuda-runtime==13.0.96'
CUDA_HEADERS_AT=build/cuda/include
NVTX_HEADERS_PACKAGE='nvidia-nvtx==13.0.85'
NVTX_HEADERS_AT=build/nvtx/include

# True if $1/cuda.h is of CUDA 13.0 or newer.
cuda_new_enough() {
  local version
  [ -r "$1/cuda.h" ] || return 1
  version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$1/cuda.h")
  [ "${version:-0}" -ge 13000 ]
}

# Prints the directory of cuda.h; fails if there is none.
find_cuda_headers() {
  local root
  if [ -n "${SGPRS_CUDA_INCLUDE:-}" ]; then
    cuda_new_enough "$SGPRS_CUDA_INCLUDE" && echo "$SGPRS_CUDA_INCLUDE"
    return
  fi
  for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-13.0 build/cuda; do
    if [ -n "$root" ] && cuda_new_enough "$root/include"; then
      echo "$root/include"
      return
    fi
  done
  return 1
}

# A wheel is a zip: only its include folder is unpacked.
unpack_wheel_headers() {
  python3 - "$1" "$2" <<'PYTHON'
import pathlib, sys, zipfile

wheel, target = sys.argv[1], pathlib.Path(sys.argv[2])
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        _, found, inside = name.partition("/include/")
        if not found or not inside.endswith((".h", ".hpp")) or ".." in inside:
            continue
        path = target / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(archive.read(name))
PYTHON
}

# fetch_headers PACKAGE DIRECTORY: the headers of a PyPI package; fails without it.
fetch_headers() {
  local folder wheel status=0
  if ! python3 -m pip --version >/dev/null 2>&1; then
    install_packages python3-pip
  fi
  folder=$(mktemp -d)
  if python3 -m pip download --quiet --no-deps --only-binary :all: --disable-pip-version-check \
    --no-cache-dir -d "$folder" "$1"; then
    wheel=$(echo "$folder"/*.whl)
    unpack_wheel_headers "$wheel" "$folder/include"
    mkdir -p "$(dirname "$2")"
    rm -rf "$2"
    mv "$folder/include" "$2"
  else
    status=1
  fi
  rm -rf "$folder"
  return $status
}

fetch_cuda_headers() {
  say "no CUDA 13 toolkit here: taking the headers of PyPI's $CUDA_HEADERS_PACKAGE"
  if ! fetch_headers "$CUDA_HEADERS_PACKAGE" "$CUDA_HEADERS_AT"; then
    say "no headers from PyPI. Install a CUDA toolkit of 13.0 or newer, or run make with CUDA_INCLUDE=DIR (the folder of cuda.h)"
    exit 1
  fi
}

# see_nvtx_headers CUDA_DIRECTORY
see_nvtx_headers() {
  [ ! -r "$1/nvtx3/nvToolsExt.h" ] && [ ! -r "$NVTX_HEADERS_AT/nvtx3/nvToolsExt.h" ] || return 0
  say "no NVTX headers beside cuda.h: taking those of PyPI's $NVTX_HEADERS_PACKAGE"
  if ! fetch_headers "$NVTX_HEADERS_PACKAGE" "$NVTX_HEADERS_AT"; then
    say "no headers from PyPI. Install the toolkit's NVTX headers (Debian: cuda-nvtx-13-0)"
    exit 1
  fi
}
