# SPDX-License-Identifier: Apache-2.0
# Properties, and replays: tests/replay/<pattern>/<case>/about.md is the test replay.<pattern>.<case>.

if(NOT TARGET tracecore)
  return()
endif()

set(replay "${CMAKE_SOURCE_DIR}/tests/replay")

# Random worlds, and floods that fill the memory of a detector: with sanitizers some of them, which
# find what is wrong with memory; all of them in the release build, in a quarter of the time.
if(NOT TC_TESTS)
  set(support "${CMAKE_SOURCE_DIR}/tests/support")
  add_library(tc_testing STATIC EXCLUDE_FROM_ALL
    ${support}/essence.c ${support}/order.c ${support}/replay_case.c)
  target_include_directories(tc_testing PUBLIC "${CMAKE_SOURCE_DIR}/tests")
  target_link_libraries(tc_testing PUBLIC tc_rooms)
endif()

# tc_replaying_program(<folder> <name> <what else to build it with>)
function(tc_replaying_program folder name)
  add_executable(${name} ${ARGN} tests/${folder}/${name}.c)
  target_link_libraries(${name} PRIVATE tc_testing)
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
endfunction()

file(GLOB scripts CONFIGURE_DEPENDS "${replay}/*/make.py")
set(patterns)
foreach(file IN LISTS scripts)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET folder FILENAME pattern)
  list(APPEND patterns ${pattern})
endforeach()

# The order of events does not matter. No sender blinds a detector for the others: blind.<pattern>, with
# as many events as fill its memory.
set(small_windows checkpoint_stall dataloader_hang host_oom network_link_fault pod_evicted)
if(TC_TESTS)
  tc_replaying_program(order order_worlds)
  tc_replaying_program(live live_blind)
  foreach(pattern IN LISTS small_windows)
    tc_add_test(NAME blind.${pattern} COMMAND live_blind 10000 ${pattern} LABELS live)
  endforeach()
  tc_add_test(NAME order_worlds COMMAND order_worlds 0 250 ties LABELS order)
  tc_add_test(NAME order_worlds_lagging COMMAND order_worlds 0 300 lagging LABELS order)
else()
  tc_replaying_program(order order_worlds EXCLUDE_FROM_ALL)
  tc_replaying_program(live live_blind EXCLUDE_FROM_ALL)
  add_dependencies(tc_gates order_worlds live_blind)
  foreach(pattern IN LISTS patterns)
    if(NOT pattern IN_LIST small_windows AND NOT pattern STREQUAL story)
      tc_add_test(NAME blind.${pattern} COMMAND live_blind 36000 ${pattern} LABELS gate)
    endif()
  endforeach()
  tc_add_test(NAME order_worlds COMMAND order_worlds 0 2000 ties LABELS gate)
  return()
endif()

# order.<pattern> shuffles the events of its cases. A daemon says of them what detect says, restarted
# or not: live.<pattern>.
tc_replaying_program(order order_replay)
tc_replaying_program(live live_replay)
foreach(pattern IN LISTS patterns)
  tc_add_test(NAME order.${pattern} COMMAND order_replay ${pattern} LABELS order)
  tc_add_test(NAME live.${pattern} COMMAND live_replay ${pattern} LABELS live)
endforeach()

# A test never writes into the source tree, not even compiled Python.
set(python "${tc_python}" -B)

file(GLOB cases CONFIGURE_DEPENDS "${replay}/*/*/about.md")
foreach(file IN LISTS cases)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${replay}" OUTPUT_VARIABLE name)
  string(REPLACE "/" "." name "${name}")
  # -S: without the packages of the site, which take a third of Python's start.
  tc_add_test(NAME replay.${name}
    COMMAND ${python} -S "${replay}/replay.py" "${folder}" LABELS replay)
endforeach()

tc_add_test(NAME replay_catalogue COMMAND ${python} "${replay}/replay.py" --catalogue LABELS replay)
tc_add_test(NAME replay_selftest COMMAND ${python} "${replay}/replay.py" --selftest LABELS replay)

# One severity scale for all patterns: docs/patterns/README.md has the table.
tc_add_test(NAME severity COMMAND ${python} "${CMAKE_SOURCE_DIR}/tests/severity.py" LABELS replay)
tc_add_test(NAME severity_selftest COMMAND ${python} "${CMAKE_SOURCE_DIR}/tests/severity.py" --selftest
            LABELS replay)

# The inputs are what their scripts write.
file(GLOB scripts CONFIGURE_DEPENDS "${replay}/*/make.py")
foreach(file IN LISTS scripts)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET folder FILENAME pattern)
  tc_add_test(NAME replay_inputs.${pattern} COMMAND ${python} "${file}" --check LABELS replay)
endforeach()
tc_add_test(NAME replay_inputs.example COMMAND ${python} "${replay}/example.py" --check LABELS replay)
foreach(script IN ITEMS example nightly)
  tc_add_test(NAME results.${script} COMMAND ${python}
              "${CMAKE_SOURCE_DIR}/tests/results/${script}.py" --check LABELS results)
endforeach()

# Inputs that the authors of the readers did not write.
set(formats "${CMAKE_SOURCE_DIR}/tests/formats")
foreach(format IN ITEMS kernel kubectl nccl_log nvidia slurm train_log)
  tc_add_test(NAME variants.${format}
    COMMAND ${python} "${formats}/variants.py" "$<TARGET_FILE:tracecore>" ${format} LABELS variants)
endforeach()
tc_add_test(NAME real_samples
  COMMAND ${python} "${formats}/real.py" "$<TARGET_FILE:tracecore>" "${TC_SAMPLES}" LABELS variants)

# Incidents in real formats, by pattern.
set(field "${CMAKE_SOURCE_DIR}/tests/field/run.py")
foreach(pattern IN ITEMS
    checkpoint_stall dataloader_hang gpu_fault hbm_ecc host_oom nccl_hang network_link_fault
    nvlink_degraded pcie_aer pod_evicted rank_crash straggler thermal_throttle xid_correlation)
  tc_add_test(NAME field.${pattern} COMMAND ${python} "${field}" --pattern ${pattern} LABELS field)
endforeach()
tc_add_test(NAME field_selftest COMMAND ${python} "${field}" --selftest LABELS field)

# Clusters told in other words and with other timing than the simulator's.
set(scenario "${CMAKE_SOURCE_DIR}/tests/scenario/run.py")
foreach(name IN ITEMS other_timing other_wordings)
  tc_add_test(NAME scenario.${name} COMMAND ${python} "${scenario}" ${name} LABELS scenario)
endforeach()

# Slices of telemetry files, beside a reading of the same files that shares nothing with ours.
add_executable(print_slices tests/results/print_slices.c)
target_link_libraries(print_slices PRIVATE tc_rooms)
set_target_properties(print_slices PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
tc_add_test(NAME results.slices COMMAND ${python} "${CMAKE_SOURCE_DIR}/tests/results/read_slices.py"
  "${CMAKE_BINARY_DIR}/tests/print_slices" LABELS results)

# Requests of result files, the same way.
add_executable(print_requests tests/results/print_requests.c)
target_link_libraries(print_requests PRIVATE tc_rooms)
set_target_properties(print_requests PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
tc_add_test(NAME results.requests COMMAND ${python}
  "${CMAKE_SOURCE_DIR}/tests/results/read_requests.py" "${CMAKE_BINARY_DIR}/tests/print_requests"
  LABELS results)

# Result files, beside readings of the same files that share nothing with ours.
set(results "${CMAKE_SOURCE_DIR}/tests/results")
tc_add_test(NAME results.samples COMMAND ${python} "${results}/compare.py" --samples LABELS results)
tc_add_test(NAME results.selftest COMMAND ${python} "${results}/compare.py" --selftest LABELS results)
tc_add_test(NAME results.variants COMMAND ${python} "${results}/variants.py" LABELS results)
tc_add_test(NAME results.variants_training COMMAND ${python} "${results}/variants_training.py"
            LABELS results)

# Inputs that are meant to hurt.
tc_add_test(NAME hostile COMMAND ${python} "${CMAKE_SOURCE_DIR}/tests/hostile/hostile.py" LABELS hostile)
# Canonical JSON against Node's own numbers, strings and order of names.
add_executable(canonical_filter tests/canonical/canonical_filter.c)
target_link_libraries(canonical_filter PRIVATE tc_base)
set_target_properties(canonical_filter PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
find_program(tc_node NAMES node REQUIRED)
tc_add_test(NAME canonical_oracle
  COMMAND "${tc_node}" tests/canonical/oracle.mjs "$<TARGET_FILE:canonical_filter>" LABELS unit)

# The run contract against an oracle of its own, on contracts that are broken on purpose.
tc_add_test(NAME oracle.contract
  COMMAND ${python} "${CMAKE_SOURCE_DIR}/tests/oracle/contract_mutants.py" LABELS oracle)

# Statistics beside scipy, and beside definitions written out: by hand, by counting, by linear programs.
add_executable(stats_cases tests/oracle/stats_cases.c)
target_link_libraries(stats_cases PRIVATE tc_stats)
set_target_properties(stats_cases PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
tc_add_test(NAME oracle.stats COMMAND ${python} "${CMAKE_SOURCE_DIR}/tests/oracle/stats_oracle.py"
  "${CMAKE_BINARY_DIR}/tests/stats_cases" LABELS oracle)

# Rows for end-to-end tests, past all commands.
add_executable(put_rows tests/warehouse/put_rows.c)
target_link_libraries(put_rows PRIVATE tc_rooms)
set_target_properties(put_rows PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")

# The longest begin first: none runs alone at the end. Only the order of these numbers counts.
set_tests_properties(hostile PROPERTIES COST 90)
set_tests_properties(canonical_oracle fault.run_add fault.warehouse live.story
  oracle.contract order.story order_worlds order_worlds_lagging unit.story_scale unit.warehouse_query
  PROPERTIES COST 50)
