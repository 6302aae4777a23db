# SPDX-License-Identifier: Apache-2.0
# TC_VERSION is the project's version ("0.1.0"), the same for every build of it. TC_VERSION_FULL
# adds the commit outside a tagged one ("0.1.0+g1a2b3c4d"). Only src/cli and src/server are given
# them, so a commit rebuilds nothing else.

set(tc_version_full "${PROJECT_VERSION}")
if(tc_in_git)
  find_package(Git QUIET)
endif()
if(tc_in_git AND GIT_FOUND)
  execute_process(
    COMMAND "${GIT_EXECUTABLE}" describe --tags --always --long --abbrev=8 --match "v${PROJECT_VERSION}"
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    OUTPUT_VARIABLE tc_describe OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE tc_rc)
  if(tc_rc EQUAL 0 AND NOT tc_describe MATCHES "^v${PROJECT_VERSION}-0-g")
    string(REGEX MATCH "[0-9a-f]+$" tc_commit "${tc_describe}")
    string(APPEND tc_version_full "+g${tc_commit}")
  endif()
  execute_process(
    COMMAND "${GIT_EXECUTABLE}" rev-parse --git-path logs/HEAD
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    OUTPUT_VARIABLE tc_reflog OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  cmake_path(ABSOLUTE_PATH tc_reflog BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
  if(EXISTS "${tc_reflog}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${tc_reflog}")
  endif()
endif()

function(tc_define_version target)
  target_compile_definitions(${target} PRIVATE
    "TC_VERSION=\"${PROJECT_VERSION}\"" "TC_VERSION_FULL=\"${tc_version_full}\"")
endfunction()
