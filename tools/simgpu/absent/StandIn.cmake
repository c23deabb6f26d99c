# SPDX-License-Identifier: Apache-2.0
# sgprs_stand_ins(TARGET NAMES names.txt [SOURCES every source that defines a listed name]): a custom
# target that writes the entries and version scripts of the libraries in names.txt.
# sgprs_stand_in(TARGET SONAME ENTRIES target [SOURCES ...]): one of those libraries.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(SGPRS_STAND_IN_GENERATOR ${CMAKE_CURRENT_LIST_DIR}/generate.py)

function(sgprs_stand_ins target)
  cmake_parse_arguments(ARG "" "NAMES" "SOURCES" ${ARGN})
  get_filename_component(names ${ARG_NAMES} ABSOLUTE)
  set(paths)
  foreach(source ${ARG_SOURCES})
    get_filename_component(path ${source} ABSOLUTE)
    list(APPEND paths ${path})
  endforeach()
  file(STRINGS ${names} heads REGEX "^\\[")
  set(sonames)
  set(files)
  foreach(head ${heads})
    string(REGEX REPLACE "^\\[([^ ]+) .*" "\\1" soname "${head}")
    list(APPEND sonames ${soname})
    list(APPEND files ${CMAKE_CURRENT_BINARY_DIR}/generated/${soname}.c ${CMAKE_CURRENT_BINARY_DIR}/generated/${soname}.map)
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${names})
  add_custom_command(OUTPUT ${files}
    COMMAND Python3::Interpreter ${SGPRS_STAND_IN_GENERATOR} ${names} ${CMAKE_CURRENT_BINARY_DIR}/generated ${paths}
    DEPENDS ${SGPRS_STAND_IN_GENERATOR} ${names} ${paths}
    COMMENT "Entries of ${sonames}" VERBATIM)
  add_custom_target(${target} DEPENDS ${files})
  set(${target}_SONAMES ${sonames} PARENT_SCOPE)
endfunction()

function(sgprs_stand_in target soname)
  cmake_parse_arguments(ARG "" "ENTRIES" "SOURCES" ${ARGN})
  string(REGEX MATCH "^lib([^.]+)\\.so\\.(.+)$" unused ${soname})
  set(name ${CMAKE_MATCH_1})
  set(version ${CMAKE_MATCH_2})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated/${soname})
  add_library(${target} SHARED ${generated}.c ${ARG_SOURCES})
  add_dependencies(${target} ${ARG_ENTRIES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${version}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/simgpu
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    BUILD_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON LINK_DEPENDS ${generated}.map)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wno-missing-prototypes>)
  target_link_options(${target} PRIVATE -Wl,--version-script=${generated}.map -Wl,-Bsymbolic -Wl,--no-undefined)
endfunction()
