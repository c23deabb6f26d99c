# SPDX-License-Identifier: Apache-2.0
# How tests and fuzz targets are declared. Labels: CONTRIBUTING.md.

# Tests are not in `all`: `sgprs_tests` builds every one, `sgprs_tests_unit` those labelled unit (what
# the sanitizer builds run).
add_custom_target(sgprs_tests)
add_custom_target(sgprs_tests_unit)
add_custom_target(sgprs_fuzzers)
add_custom_target(sgprs_benches)

# sgprs_test(NAME label SOURCES... [LIBS libs...] [TIMEOUT seconds]): a GoogleTest program, discovered
# by CTest.
function(sgprs_test name label)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/bin)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gmock GTest::gtest GTest::gtest_main Threads::Threads)
  add_dependencies(sgprs_tests ${name})
  if(label STREQUAL unit)
    add_dependencies(sgprs_tests_unit ${name})
  endif()
  # A case is called by the name that its suite gives it, not by the bytes of its parameter.
  gtest_discover_tests(${name} NO_PRETTY_VALUES PROPERTIES LABELS ${label} TIMEOUT ${ARG_TIMEOUT} DISCOVERY_TIMEOUT 60)
endfunction()

# sgprs_bench(NAME_bench SOURCES... [LIBS libs...]): a Google Benchmark program, run by `make bench`.
function(sgprs_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  find_package(benchmark REQUIRED)
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/bin)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} benchmark::benchmark benchmark::benchmark_main Threads::Threads)
  add_dependencies(sgprs_benches ${name})
endfunction()

# sgprs_fuzz(NAME CORPUS dirs... SOURCES... [LIBS libs...] [MAX_BYTES n]): SOURCES define
# LLVMFuzzerTestOneInput. With SGPRS_FUZZ (preset fuzz, clang) a libFuzzer program in
# build/fuzz/tests/bin. In every build NAME_corpus, a CTest of label unit that feeds it each file of
# the corpus (and prefixes of it), so that a crash once found stays found.
option(SGPRS_FUZZ "Build the libFuzzer programs of tests/fuzz (needs clang)" OFF)
if(SGPRS_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    message(FATAL_ERROR "SGPRS_FUZZ needs clang: use the preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

function(sgprs_fuzz name)
  cmake_parse_arguments(ARG "" "MAX_BYTES" "CORPUS;SOURCES;LIBS" ${ARGN})
  if(NOT ARG_MAX_BYTES)
    set(ARG_MAX_BYTES 4096)
  endif()
  foreach(directory ${ARG_CORPUS})
    get_filename_component(directory ${directory} ABSOLUTE)
    list(APPEND corpus ${directory})
  endforeach()
  add_executable(${name}_corpus EXCLUDE_FROM_ALL ${ARG_SOURCES} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc)
  target_link_libraries(${name}_corpus PRIVATE ${ARG_LIBS} Threads::Threads)
  set_target_properties(${name}_corpus PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/bin)
  add_test(NAME ${name}_corpus COMMAND ${name}_corpus ${corpus})
  set_tests_properties(${name}_corpus PROPERTIES LABELS unit TIMEOUT 120)
  add_dependencies(sgprs_tests ${name}_corpus)
  add_dependencies(sgprs_tests_unit ${name}_corpus)
  if(SGPRS_FUZZ)
    add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE ${ARG_LIBS} Threads::Threads)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/bin)
    add_dependencies(sgprs_fuzzers ${name})
    # One line a fuzzer, read by tools/dev/fuzz.sh: name, longest input, corpus directories.
    list(JOIN corpus " " corpus_line)
    file(APPEND ${CMAKE_BINARY_DIR}/fuzzers.txt "${name} ${ARG_MAX_BYTES} ${corpus_line}\n")
  endif()
endfunction()
file(REMOVE ${CMAKE_BINARY_DIR}/fuzzers.txt)
