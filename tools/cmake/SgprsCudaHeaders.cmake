# SPDX-License-Identifier: Apache-2.0
# Finds cuda.h (headers only; nothing links the toolkit). Order: -DSGPRS_CUDA_INCLUDE, an installed
# toolkit, then what `make setup` unpacked from the PyPI package nvidia-cuda-runtime. Headers older
# than CUDA 13.0 are passed over.
function(sgprs_cuda_new_enough result directory)
  set(version 0)
  set(header ${directory}/cuda.h)
  if(EXISTS ${header})
    file(STRINGS ${header} line REGEX "^#define CUDA_VERSION [0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+$" version "${line}")
  endif()
  if(NOT version GREATER_EQUAL 13000)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

find_path(SGPRS_CUDA_INCLUDE cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda /usr/local/cuda-13.0 ${CMAKE_SOURCE_DIR}/build/cuda
  PATH_SUFFIXES include
  VALIDATOR sgprs_cuda_new_enough
  DOC "Directory of cuda.h, CUDA 13.0 or newer")
if(NOT SGPRS_CUDA_INCLUDE)
  message(FATAL_ERROR
    "cuda.h of CUDA 13.0 or newer not found: run `make setup`, or give -DSGPRS_CUDA_INCLUDE=DIR")
endif()
find_path(SGPRS_NVTX_INCLUDE nvtx3/nvToolsExt.h
  HINTS ${SGPRS_CUDA_INCLUDE} PATHS ${CMAKE_SOURCE_DIR}/build/nvtx/include
  DOC "Directory of nvtx3/nvToolsExt.h")
if(NOT SGPRS_NVTX_INCLUDE)
  message(FATAL_ERROR "nvtx3/nvToolsExt.h not found: run `make setup`, or give -DSGPRS_NVTX_INCLUDE=DIR")
endif()
add_library(sgprs_cuda_headers INTERFACE)
target_include_directories(sgprs_cuda_headers SYSTEM INTERFACE ${SGPRS_CUDA_INCLUDE} ${SGPRS_NVTX_INCLUDE})
