# SPDX-License-Identifier: Apache-2.0
# Tests, corpus replays, fuzzers and benchmarks, found by their file names.
#
#   tests/unit/test_<room>_<unit>.c   unit.<room>_<unit>   cmocka, all rooms
#   tests/fault/test_<name>.c         fault.<name>         cmocka, all rooms
#   fuzz/fuzz_<target>.c              fuzz.<target>        replays fuzz/corpus/<target>
#   bench/bench_<subject>.c           built by tc_bench, run by ./dev bench
#   tests/extra.cmake                 anything more, with tc_add_test()
#
# Labels: a test labelled `gate` runs in the release build only (./dev test does both).

enable_testing()
set(DART_TESTING_TIMEOUT 300) # a hung test ends; nothing here measures time

# Programs that only the release build needs: ./dev test and ./dev bench build these two targets.
add_custom_target(tc_bench)
add_custom_target(tc_gates)

# tc_add_test(NAME <name> COMMAND <program> [args...] [LABELS <label>...])
# A test in the project's environment. It skips by exit status 77.
function(tc_add_test)
  cmake_parse_arguments(arg "" "NAME" "COMMAND;LABELS" ${ARGN})
  add_test(NAME "${arg_NAME}" COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set(environment
    "TC_SOURCE_DIR=${CMAKE_SOURCE_DIR}"
    "TC_BINARY=${CMAKE_BINARY_DIR}/tracecore"
    "TC_SAMPLES=${TC_SAMPLES}"
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1")
  if(TC_COVERAGE)
    list(APPEND environment "LLVM_PROFILE_FILE=${CMAKE_BINARY_DIR}/profraw/%p.profraw")
  endif()
  set_tests_properties("${arg_NAME}" PROPERTIES
    SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}" LABELS "${arg_LABELS}")
endfunction()

# Every file <folder>/test_<name>.c: a program <kind>_<name> and a test <kind>.<name>.
function(tc_cmocka_tests kind folder)
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/test_*.c")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM LAST_ONLY stem)
    string(REGEX REPLACE "^test_" "" name "${stem}")
    add_executable(${kind}_${name} "${file}")
    target_link_libraries(${kind}_${name} PRIVATE tc_testing)
    target_compile_options(${kind}_${name} PRIVATE -O0) # run once: not worth what -O1 takes to compile
    set_target_properties(${kind}_${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    if(kind STREQUAL "fault")
      # Our own calls of these go through the test first: it decides which one fails.
      target_link_options(${kind}_${name} PRIVATE
        -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=write)
    endif()
    tc_add_test(NAME ${kind}.${name} COMMAND ${kind}_${name} LABELS ${kind})
  endforeach()
endfunction()

if(TC_TESTS)
  pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)

  file(GLOB support CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/support/*.c")
  if(support)
    add_library(tc_testing STATIC ${support})
    target_include_directories(tc_testing PUBLIC "${CMAKE_SOURCE_DIR}/tests")
    target_link_libraries(tc_testing PUBLIC tc_rooms PkgConfig::cmocka)
  else()
    add_library(tc_testing INTERFACE)
    target_link_libraries(tc_testing INTERFACE tc_rooms PkgConfig::cmocka)
  endif()

  tc_cmocka_tests(unit tests/unit)
  tc_cmocka_tests(fault tests/fault)

  tc_add_test(NAME layers COMMAND Python3::Interpreter tools/check_layers.py)
  tc_add_test(NAME layers_selftest
    COMMAND Python3::Interpreter tools/check_layers.py --selftest)
  tc_add_test(NAME symbols COMMAND tools/check_symbols.sh "${CMAKE_BINARY_DIR}")
  tc_add_test(NAME symbols_selftest COMMAND tools/check_symbols.sh --selftest)
  tc_add_test(NAME spdx COMMAND tools/check_spdx.sh)

  # Every header of src/ compiles alone.
  file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/*/*.h")
  if(headers)
    tc_add_test(NAME headers COMMAND "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}"
      --target all_verify_interface_header_sets)
    set_tests_properties(headers PROPERTIES COST 100)
  endif()
endif()

add_custom_target(tc_fuzzers)
file(GLOB files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/fuzz/fuzz_*.c")
foreach(file IN LISTS files)
  cmake_path(GET file STEM LAST_ONLY program)
  string(REGEX REPLACE "^fuzz_" "" target "${program}")
  if(TC_FUZZ)
    add_executable(${program} EXCLUDE_FROM_ALL "${file}")
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    add_dependencies(tc_fuzzers ${program})
  elseif(TC_TESTS)
    add_executable(${program} "${file}" fuzz/replay_main.c)
    set_target_properties(${program} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
    set(corpus)
    if(IS_DIRECTORY "${CMAKE_SOURCE_DIR}/fuzz/corpus/${target}")
      set(corpus "${CMAKE_SOURCE_DIR}/fuzz/corpus/${target}")
    endif()
    tc_add_test(NAME fuzz.${target} COMMAND ${program} ${corpus} LABELS fuzz)
  else()
    continue()
  endif()
  target_link_libraries(${program} PRIVATE tc_rooms)
  # The entry point is declared by no header.
  target_compile_options(${program} PRIVATE "$<$<COMPILE_LANGUAGE:C>:-Wno-missing-prototypes>")
endforeach()

file(GLOB files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/bench_*.c")
foreach(file IN LISTS files)
  cmake_path(GET file STEM LAST_ONLY program)
  add_executable(${program} EXCLUDE_FROM_ALL "${file}")
  target_link_libraries(${program} PRIVATE tc_rooms)
  set_target_properties(${program} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  add_dependencies(tc_bench ${program})
endforeach()

# Both benchmark gates, proved by mutation; counts are only right in the release build.
tc_add_test(NAME gate.mutations COMMAND sh tests/gate/test_gates.sh LABELS gate)

include("${CMAKE_SOURCE_DIR}/tests/extra.cmake" OPTIONAL)
