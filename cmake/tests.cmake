# SPDX-License-Identifier: Apache-2.0
# Tests, corpus replays, fuzzers and benchmarks, found by their file names.
#
#   tests/unit/<room>/test_<unit>.c   unit.<room>_<unit>   cmocka; one program per room
#   tests/fault/test_<name>.c         fault.<name>         cmocka; one program
#   fuzz/fuzz_<target>.c              fuzz.<target>        replays fuzz/corpus/<target>; one program
#   bench/bench_<subject>.c           built by tc_bench_programs, run by ./dev bench
#   tests/extra.cmake                 anything more, with tc_add_test()
#
# Labels: a test labelled `gate` runs in the release build only (./dev test does both).

enable_testing()
set(DART_TESTING_TIMEOUT 300) # a hung test ends; nothing here measures time

# Programs that only the release build needs: ./dev test and ./dev bench build these two targets.
add_custom_target(tc_bench_programs)
add_custom_target(tc_gates)

# The threshold: shadow of up to 1 MiB is cleared by writing to it, not by mapping it anew, which
# takes three system calls and the page faults of each large allocation.
# The signal: undefined behaviour is a trap (TC_UBSAN_WORDS).
# The context: a report of a leak names who called malloc, and no callers of it: to walk the stack of
# each allocation takes a quarter of the time of tests with DuckDB. ASAN_OPTIONS of a run by hand may
# ask for malloc_context_size=30.
string(JOIN ":" tc_asan_options detect_stack_use_after_return=1 strict_string_checks=1
  clear_shadow_mmap_threshold=1048576 handle_sigill=1 malloc_context_size=2)

# tc_add_test(NAME <name> COMMAND <program> [args...] [LABELS <label>...])
# A test in the project's environment. It skips by exit status 77.
function(tc_add_test)
  cmake_parse_arguments(arg "" "NAME" "COMMAND;LABELS" ${ARGN})
  add_test(NAME "${arg_NAME}" COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set(environment
    "TC_SOURCE_DIR=${CMAKE_SOURCE_DIR}"
    "TC_BINARY=${CMAKE_BINARY_DIR}/tracecore"
    "TC_SAMPLES=${TC_SAMPLES}"
    "ASAN_OPTIONS=${tc_asan_options}"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1")
  if(TC_COVERAGE)
    list(APPEND environment "LLVM_PROFILE_FILE=${CMAKE_BINARY_DIR}/profraw/%p.profraw")
  endif()
  set_tests_properties("${arg_NAME}" PROPERTIES
    SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}" LABELS "${arg_LABELS}")
endfunction()

# Whether a file stands in for functions of a room, and so cannot share a program with others.
function(tc_stands_in file out)
  file(STRINGS "${file}" found REGEX "support/(conn_fake|h2_peer)\\.h" LIMIT_COUNT 1)
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Every file <folder>/test_<name>.c: a test <prefix><name>, all of them in one program, whose first
# argument is the name. Linking is most of what a small program costs.
function(tc_cmocka_tests program folder prefix label)
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/test_*.c")
  set(together)
  set(units)
  foreach(file IN LISTS files)
    cmake_path(GET file STEM LAST_ONLY stem)
    string(REGEX REPLACE "^test_" "" name "${stem}")
    set_source_files_properties("${file}" PROPERTIES COMPILE_DEFINITIONS "main=unit_${name}")
    tc_stands_in("${file}" alone)
    if(alone)
      tc_cmocka_program(${program}_${name} "${file}" "UNIT(${name})")
      tc_add_test(NAME ${prefix}${name} COMMAND ${program}_${name} ${name} LABELS ${label})
    else()
      list(APPEND together "${file}")
      string(APPEND units "UNIT(${name}) ")
      tc_add_test(NAME ${prefix}${name} COMMAND ${program} ${name} LABELS ${label})
    endif()
  endforeach()
  tc_cmocka_program(${program} "${together}" "${units}")
endfunction()

function(tc_cmocka_program program files units)
  add_executable(${program} ${files} tests/support/many_main.c)
  target_compile_definitions(${program} PRIVATE "TC_UNITS=${units}")
  target_link_libraries(${program} PRIVATE tc_testing)
  # Run once: not worth what -O1 takes to compile. No header declares the renamed mains.
  target_compile_options(${program} PRIVATE -O0 -Wno-missing-prototypes)
  set_target_properties(${program} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
endfunction()

# The same for corpora: replays of fuzz targets.
function(tc_fuzz_program program files units)
  add_executable(${program} ${files} fuzz/replay_main.c fuzz/leaks.c)
  target_compile_definitions(${program} PRIVATE "TC_UNITS=${units}")
  target_compile_options(${program} PRIVATE -Wno-missing-prototypes)
  target_link_libraries(${program} PRIVATE tc_rooms)
  set_target_properties(${program} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
endfunction()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
# The interpreter itself: a shim of pyenv in front of it costs a shell for each test.
execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys.executable)"
  OUTPUT_VARIABLE tc_python OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

if(TC_TESTS)
  pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)

  file(GLOB support CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/support/*.c")
  if(support)
    list(REMOVE_ITEM support "${CMAKE_SOURCE_DIR}/tests/support/many_main.c")
    add_library(tc_testing STATIC ${support})
    target_include_directories(tc_testing PUBLIC "${CMAKE_SOURCE_DIR}/tests")
    target_link_libraries(tc_testing PUBLIC tc_rooms PkgConfig::cmocka)
  else()
    add_library(tc_testing INTERFACE)
    target_link_libraries(tc_testing INTERFACE tc_rooms PkgConfig::cmocka)
  endif()

  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true "${CMAKE_SOURCE_DIR}/tests/unit/*")
  foreach(folder IN LISTS folders)
    cmake_path(GET folder FILENAME room)
    tc_cmocka_tests(unit_${room} tests/unit/${room} unit.${room}_ unit)
  endforeach()
  tc_cmocka_tests(fault tests/fault fault. fault)
  # Our own calls of these go through the test first: it decides which one fails.
  target_link_options(fault PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=write,--wrap=sysconf)

  tc_add_test(NAME layers COMMAND "${tc_python}" tools/check_layers.py)
  tc_add_test(NAME layers_selftest
    COMMAND "${tc_python}" tools/check_layers.py --selftest)
  tc_add_test(NAME formats COMMAND "${tc_python}" tools/check_formats.py)
  tc_add_test(NAME formats_selftest
    COMMAND "${tc_python}" tools/check_formats.py --selftest)
  tc_add_test(NAME symbols COMMAND tools/check_symbols.sh "${CMAKE_BINARY_DIR}")
  tc_add_test(NAME symbols_selftest COMMAND tools/check_symbols.sh --selftest)
  tc_add_test(NAME unused COMMAND "${tc_python}" -B tools/check_unused.py
    "${CMAKE_BINARY_DIR}")
  tc_add_test(NAME unused_selftest
    COMMAND "${tc_python}" -B tools/check_unused.py --selftest)
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
set(together)
set(units)
foreach(file IN LISTS files)
  cmake_path(GET file STEM LAST_ONLY program)
  string(REGEX REPLACE "^fuzz_" "" target "${program}")
  if(TC_FUZZ)
    add_executable(${program} EXCLUDE_FROM_ALL "${file}" fuzz/leaks.c)
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${program} PRIVATE tc_rooms)
    # The entry point is declared by no header.
    target_compile_options(${program} PRIVATE "$<$<COMPILE_LANGUAGE:C>:-Wno-missing-prototypes>")
    add_dependencies(tc_fuzzers ${program})
  elseif(TC_TESTS)
    set_source_files_properties("${file}" PROPERTIES
      COMPILE_DEFINITIONS "LLVMFuzzerTestOneInput=${program}")
    set(corpus)
    if(IS_DIRECTORY "${CMAKE_SOURCE_DIR}/fuzz/corpus/${target}")
      set(corpus "${CMAKE_SOURCE_DIR}/fuzz/corpus/${target}")
    endif()
    tc_stands_in("${file}" alone)
    if(alone)
      tc_fuzz_program(${program} "${file}" "UNIT(${target})")
      tc_add_test(NAME fuzz.${target} COMMAND ${program} ${target} ${corpus} LABELS fuzz)
    else()
      list(APPEND together "${file}")
      string(APPEND units "UNIT(${target}) ")
      tc_add_test(NAME fuzz.${target} COMMAND fuzz_replay ${target} ${corpus} LABELS fuzz)
    endif()
  endif()
endforeach()
if(together)
  tc_fuzz_program(fuzz_replay "${together}" "${units}")
endif()

file(GLOB files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/bench_*.c")
foreach(file IN LISTS files)
  cmake_path(GET file STEM LAST_ONLY program)
  add_executable(${program} EXCLUDE_FROM_ALL "${file}")
  target_link_libraries(${program} PRIVATE tc_rooms)
  set_target_properties(${program} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  add_dependencies(tc_bench_programs ${program})
endforeach()

# Hundreds of starts of the program: of the one that starts fast.
tc_add_test(NAME tickets COMMAND "${tc_python}" -B tests/tickets/run.py LABELS gate)
tc_add_test(NAME tickets_selftest COMMAND "${tc_python}" -B tests/tickets/run.py --selftest LABELS gate)

# Both benchmark gates, proved by mutation; counts are only right in the release build.
tc_add_test(NAME gate.mutations COMMAND "${tc_python}" -B tests/gate/test_gates.py LABELS gate)
# That a turned knob is noticed says nothing of memory: scenario.other_timing does that, with
# sanitizers, in an eighth of the time.
tc_add_test(NAME scenario_selftest
  COMMAND "${tc_python}" -B tests/scenario/run.py --selftest LABELS gate)

include("${CMAKE_SOURCE_DIR}/tests/extra.cmake" OPTIONAL)
