# SPDX-License-Identifier: Apache-2.0
# Compiler and linker flags, for gcc 12 and clang 14. Nothing is vendored, so they hold for the
# whole tree; headers of dependencies come in as SYSTEM through their imported targets.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Sanitizers describe every global by pointers: in a program that may lie anywhere that is 340,000
# relocations at each start, and the tests start some 3,000 programs.
if(TC_SANITIZE MATCHES "address")
  add_link_options(-no-pie)
  add_compile_options(-fno-pie) # Debian's compilers make it by themselves
else()
  include(CheckPIESupported)
  check_pie_supported()
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()

set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_C_FLAGS_DEBUG "-g")
set(CMAKE_CXX_FLAGS_DEBUG "-g")

# What C and C++ share, then what only C has. The one C++ file includes our C headers, whose compound
# literals are an extension there: it goes without -Wpedantic.
add_compile_options(
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wwrite-strings
  -Wformat=2 -Wundef -Wvla -Wimplicit-fallthrough -Wdouble-promotion
  -fno-common -fno-strict-aliasing -fstack-protector-strong
  "$<$<COMPILE_LANGUAGE:C>:-Wpedantic;-Wstrict-prototypes;-Wmissing-prototypes>"
  "$<$<COMPILE_LANG_AND_ID:C,GNU>:-Wlogical-op;-Wduplicated-cond;-Wformat-signedness>")
# A header of macros alone, compiled alone, is an empty translation unit; that is no fault.
set(tc_is_header_alone "$<BOOL:$<FILTER:$<TARGET_PROPERTY:NAME>,INCLUDE,_verify_interface_header_sets$>>")
add_compile_options("$<${tc_is_header_alone}:-Wno-pedantic>")
add_compile_definitions("$<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE>")
if(TC_WERROR)
  add_compile_options(-Werror)
endif()

# Only what a program really uses is loaded: start-up time is part of the interface.
add_link_options(-Wl,--as-needed)

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  add_link_options(-Wl,-z,relro,-z,now)
  # gcc zeroes structs of a few hundred bytes with "rep stos", which takes 30 cycles to start:
  # 3 % of what a detector does.
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    add_compile_options(-mmemset-strategy=unrolled_loop:768:noalign,libcall:-1:noalign)
  endif()
endif()

# gcc optimises the rooms that every record passes as one: tc_optimise_together() in rooms.cmake. Other
# compilers do it for each program, and all of it.
set(tc_lto_together OFF)
if(TC_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT tc_lto_works LANGUAGES C CXX)
  if(tc_lto_works AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(tc_lto_together ON)
  else()
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ${tc_lto_works})
  endif()
endif()

if(TC_SANITIZE)
  set(tc_sanitize -fsanitize=${TC_SANITIZE})
  add_compile_options(-O1 ${tc_sanitize} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(${tc_sanitize})
  # In the program itself: from a library, each function with a checked frame pays for two calls that
  # find the thread's own variables, and each start for the relocations.
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND TC_SANITIZE MATCHES "address")
    add_link_options(-static-libasan -static-libubsan)
    # It looks for __cxa_throw at the start, and DuckDB, which throws, is loaded later.
    add_link_options(LINKER:--push-state,--no-as-needed -lstdc++ LINKER:--pop-state)
  endif()
  # There is no code in a header that could run.
  add_compile_options("$<${tc_is_header_alone}:SHELL:-O0 -g0 -fno-sanitize=all>")
  # A function stays the size it was written: code with checks takes more than its share of time when
  # it is long.
  add_compile_options("$<$<C_COMPILER_ID:GNU>:-fno-inline-functions-called-once>")
  # Undefined behaviour ends in a trap, which AddressSanitizer reports with a stack. The words of the
  # other way stand in 10 MB of data that every program reads when it starts and when it ends.
  if(NOT TC_UBSAN_WORDS AND TC_SANITIZE MATCHES "address.*undefined" AND NOT TC_FUZZ)
    add_compile_options("$<$<C_COMPILER_ID:GNU>:-fsanitize-undefined-trap-on-error>")
  endif()
  # Reports name functions and lines; some 200 programs are linked, each with all rooms.
  set(CMAKE_C_FLAGS_DEBUG "-g1")
  set(CMAKE_CXX_FLAGS_DEBUG "-g1")
  find_program(tc_lld NAMES ld.lld)
  if(tc_lld)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

if(TC_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TC_FUZZ needs clang: libFuzzer is part of it")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(TC_COVERAGE)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TC_COVERAGE needs clang: the report is llvm-cov's")
  endif()
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
