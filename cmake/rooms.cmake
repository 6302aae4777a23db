# SPDX-License-Identifier: Apache-2.0
# The rooms of src/, lowest first, and what each may use. This is the one table: it is the link
# order here, and tools/check_layers.py reads these very lines to check the #include lines.

set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

# Makes calls of the functions of base/banned.h compile errors in the C sources of a target.
function(tc_ban_functions target)
  if(EXISTS "${CMAKE_SOURCE_DIR}/src/base/banned.h")
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:C>:SHELL:-include base/banned.h>")
  endif()
endfunction()

# The static library tc_<room> of src/<room>/, which may use the rooms listed after it. A room that
# does not exist yet is left out; one with headers only becomes an interface library.
function(tc_room room)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${room}/*.c")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${room}/*.h")
  if(room STREQUAL "base" AND EXISTS "${CMAKE_SOURCE_DIR}/src/base/json/json.cpp")
    list(APPEND sources "${CMAKE_SOURCE_DIR}/src/base/json/json.cpp")
  endif()
  list(REMOVE_ITEM sources "${CMAKE_SOURCE_DIR}/src/${room}/main.c")
  if(NOT sources AND NOT headers)
    return()
  endif()
  if(sources)
    set(scope PUBLIC)
    add_library(tc_${room} STATIC ${sources})
    tc_ban_functions(tc_${room})
  else()
    set(scope INTERFACE)
    add_library(tc_${room} INTERFACE)
  endif()
  target_include_directories(tc_${room} ${scope} "${CMAKE_SOURCE_DIR}/src")
  foreach(lower IN LISTS ARGN)
    if(TARGET tc_${lower})
      target_link_libraries(tc_${room} ${scope} tc_${lower})
    endif()
  endforeach()
  if(headers)
    set_source_files_properties(${headers} PROPERTIES LANGUAGE C)
    target_sources(tc_${room} ${scope} FILE_SET HEADERS
      BASE_DIRS "${CMAKE_SOURCE_DIR}/src" FILES ${headers})
  endif()
  target_link_libraries(tc_rooms INTERFACE tc_${room})
endfunction()

# Third-party libraries of a room. Their headers reach no other room: check_layers.py sees to that.
function(tc_room_uses room)
  if(TARGET tc_${room})
    get_target_property(type tc_${room} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      target_link_libraries(tc_${room} INTERFACE ${ARGN})
    else()
      target_link_libraries(tc_${room} PRIVATE ${ARGN})
    endif()
  endif()
endfunction()

# Every room there is: what the program, the tests and the benchmarks link.
add_library(tc_rooms INTERFACE)

tc_room(base)
tc_room(stats base)
tc_room(event base)
tc_room(codec event base)
tc_room(directory event base)
tc_room(detect directory event base)
tc_room(verdict event base)
tc_room(alert event base)
tc_room(engine detect directory event base)
tc_room(offender event base)
tc_room(story offender directory event base)
tc_room(live story offender engine directory event base)
tc_room(sim base)
tc_room(score event base)
tc_room(evidence base)
tc_room(http_client base)
tc_room(object_store http_client evidence base)
tc_room(warehouse http_client base)
tc_room(telemetry warehouse codec event base)
tc_room(hot telemetry codec base)
tc_room(compare stats warehouse base)
tc_room(diagnose compare stats warehouse base)
tc_room(contract base)
tc_room(probe base)
tc_room(result warehouse codec base)
tc_room(run result contract telemetry warehouse evidence codec base)
tc_room(publish compare run stats warehouse evidence base)
tc_room(report publish diagnose compare warehouse base)
tc_room(answers report publish diagnose compare run contract warehouse object_store evidence live directory verdict event base)
tc_room(mcp answers base)
tc_room(intake codec detect event base)
tc_room(stored intake live engine evidence codec event base)
tc_room(offline stored intake story engine directory event base)
tc_room(observe detect event base)
tc_room(source http_client observe codec event base)
tc_room(net observe base)
tc_room(config alert warehouse object_store evidence engine detect event base)
tc_room(outbox alert http_client observe live verdict base)
tc_room(server mcp answers outbox config source http_client net observe offline stored hot telemetry warehouse object_store evidence live verdict detect codec event base)
tc_room(cli mcp answers report publish server outbox config observe offline stored http_client run result probe contract diagnose compare warehouse object_store evidence intake score sim story offender engine verdict detect codec alert event base)
tc_room(bench stats cli observe telemetry evidence engine verdict detect codec event base)

tc_room_uses(base PkgConfig::simdjson PkgConfig::crypto PkgConfig::xxhash PkgConfig::fyaml ${CMAKE_DL_LIBS})
tc_room_uses(evidence PkgConfig::zstd PkgConfig::lz4 PkgConfig::xxhash PkgConfig::crypto)
tc_room_uses(http_client PkgConfig::zlib)
tc_room_uses(net PkgConfig::event PkgConfig::nghttp2 PkgConfig::zstd PkgConfig::zlib PkgConfig::ssl
             tc_http_parser)
tc_room_uses(server PkgConfig::event)

# Loaded when first needed and not linked. Where they are not where compilers look, the headers of
# the room, compiled alone, need to be told.
target_link_libraries(tc_warehouse PUBLIC tc_duckdb)
target_include_directories(tc_http_client SYSTEM PUBLIC ${curl_INCLUDE_DIRS})
target_include_directories(tc_intake SYSTEM PUBLIC ${archive_INCLUDE_DIRS})

# The only C++ file. simdjson reports by error code when it is told there are no exceptions.
set_source_files_properties("${CMAKE_SOURCE_DIR}/src/base/json/json.cpp" PROPERTIES
  COMPILE_DEFINITIONS SIMDJSON_EXCEPTIONS=0 COMPILE_OPTIONS -fno-exceptions)

# With a static simdjson the C++ runtime goes static too, and the program starts without loading
# either. Debian 12 has only the shared one, which brings the shared runtime with it.
find_library(tc_simdjson_archive NAMES libsimdjson.a)
if(tc_simdjson_archive AND NOT TC_SANITIZE)
  set_target_properties(PkgConfig::simdjson PROPERTIES
    INTERFACE_LINK_LIBRARIES "${tc_simdjson_archive}")
  target_link_options(tc_rooms INTERFACE -static-libstdc++ -static-libgcc)
endif()

foreach(room answers bench cli config mcp net observe outbox server)
  if(TARGET tc_${room})
    get_target_property(tc_room_type tc_${room} TYPE)
    if(tc_room_type STREQUAL "STATIC_LIBRARY")
      tc_define_version(tc_${room})
    endif()
  endif()
endforeach()

# With sanitizers, optimising takes half as long again as compiling. It is not worth that in rooms where
# no test spends its time.
if(TC_SANITIZE AND NOT TC_FUZZ)
  foreach(room IN ITEMS alert answers bench cli config contract diagnose http_client mcp net object_store
      observe offline outbox probe publish report result run score server source verdict warehouse)
    target_compile_options(tc_${room} PRIVATE -O0)
  endforeach()
endif()

# Optimises rooms across their files, once, into one object that every program links in place of their
# libraries. To optimise each of two programs as a whole took twice the processor time or more for
# code that is hardly faster (docs/performance.md), and tracecore-bench measures the very code that ships.
# -fPIE: code for a shared library could not put a function of one file into another.
set(tc_together)
function(tc_optimise_together)
  set(object "${CMAKE_BINARY_DIR}/together.o")
  separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_RELEASE}")
  set(objects)
  foreach(room IN LISTS ARGN)
    set_target_properties(tc_${room} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
    list(APPEND objects "$<TARGET_OBJECTS:tc_${room}>")
  endforeach()
  # In one piece: pieces are written to files and read again, a fifth of what the link costs.
  add_custom_command(OUTPUT "${object}"
    COMMAND "${CMAKE_C_COMPILER}" ${flags} -fPIE -flto -flto-partition=none
      -r -flinker-output=nolto-rel -o "${object}" ${objects}
    DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Optimising rooms together")
  add_custom_target(tc_together_object DEPENDS "${object}")
  target_link_libraries(tc_rooms INTERFACE "${object}")
  set(tc_together "${object}" PARENT_SCOPE)
endfunction()

# Everything that a record passes between the body of a request and a verdict.
if(tc_lto_together)
  tc_optimise_together(base event codec directory detect verdict engine story live evidence telemetry hot
                       intake stored observe)
endif()
