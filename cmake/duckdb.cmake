# SPDX-License-Identifier: Apache-2.0
# DuckDB: the header to compile against, and a library for the programs to load when they first need
# it (nothing links it). The system's is used when there is one of version 1; else a pinned release is
# fetched into build/deps, or TC_DEPS_DIR, which several checkouts may share.
#
# Sets: target tc_duckdb (the header), tc_duckdb_library (the file).

set(tc_duckdb_version 1.4.4)

find_path(tc_duckdb_include NAMES duckdb.h)
find_library(tc_duckdb_library NAMES duckdb)
set(tc_duckdb_system OFF)
if(tc_duckdb_include AND tc_duckdb_library)
  # The oldest header that has all that is used.
  file(STRINGS "${tc_duckdb_include}/duckdb.h" tc_duckdb_has
    REGEX "duckdb_get_or_create_from_cache" LIMIT_COUNT 1)
  if(tc_duckdb_has)
    set(tc_duckdb_system ON)
  endif()
endif()

if(NOT tc_duckdb_system)
  if(DEFINED ENV{TC_DEPS_DIR} AND NOT TC_DEPS_DIR)
    set(TC_DEPS_DIR "$ENV{TC_DEPS_DIR}")
  endif()
  if(NOT TC_DEPS_DIR)
    set(TC_DEPS_DIR "${CMAKE_SOURCE_DIR}/build/deps")
  endif()
  set(tc_duckdb_include "${TC_DEPS_DIR}/duckdb-${tc_duckdb_version}")
  set(tc_duckdb_library "${tc_duckdb_include}/libduckdb.so")
  if(NOT EXISTS "${tc_duckdb_library}" OR NOT EXISTS "${tc_duckdb_include}/duckdb.h")
    message(STATUS "DuckDB ${tc_duckdb_version}: fetching into ${tc_duckdb_include}")
    execute_process(COMMAND "${CMAKE_SOURCE_DIR}/tools/fetch_duckdb.sh" "${tc_duckdb_include}"
      RESULT_VARIABLE tc_duckdb_failed)
    if(tc_duckdb_failed)
      message(FATAL_ERROR "DuckDB could not be fetched; see above")
    endif()
  endif()
  # Where an installed program has it beside itself, one of the build has it too (warehouse/duckdb/load.c).
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/lib/tracecore")
  file(CREATE_LINK "${tc_duckdb_library}" "${CMAKE_BINARY_DIR}/lib/tracecore/libduckdb.so" SYMBOLIC)
  install(FILES "${tc_duckdb_library}" DESTINATION lib/tracecore
    PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  install(FILES "${tc_duckdb_include}/LICENSE" DESTINATION lib/tracecore RENAME LICENSE.duckdb)
endif()

add_library(tc_duckdb INTERFACE)
target_include_directories(tc_duckdb SYSTEM INTERFACE "${tc_duckdb_include}")
