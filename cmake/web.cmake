# SPDX-License-Identifier: Apache-2.0
# The dashboard: built from web/ by tools/build_web.sh into build/web, which all build trees share, and embedded in
# tc_server. Without npm, or with TC_WEB=OFF, the program says instead how to build it (src/server/api/ui_none.c).

find_program(tc_npm npm)
find_program(tc_node NAMES node nodejs)
if(tc_npm AND tc_node)
  set(tc_web_possible ON)
else()
  set(tc_web_possible OFF)
endif()
option(TC_WEB "Build the dashboard in (needs Node 18 or later, and npm)" ${tc_web_possible})

if(TC_WEB)
  set(tc_web_dir "${CMAKE_SOURCE_DIR}/build/web")
  file(GLOB_RECURSE tc_web_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/web/src/*"
    "${CMAKE_SOURCE_DIR}/web/public/*")
  add_custom_command(
    OUTPUT "${tc_web_dir}/ui_files.c" "${tc_web_dir}/ui.bin"
    COMMAND "${CMAKE_SOURCE_DIR}/tools/build_web.sh" "${tc_web_dir}"
    DEPENDS ${tc_web_sources} web/index.html web/vite.config.js web/package.json
            web/package-lock.json tools/build_web.sh tools/embed_web.mjs
    COMMENT "Building the dashboard"
    VERBATIM)
  target_sources(tc_server PRIVATE "${tc_web_dir}/ui_files.c")
  # .incbin is not seen by the compiler's own list of dependencies, nor by link-time optimisation.
  set_source_files_properties("${tc_web_dir}/ui_files.c" PROPERTIES
    OBJECT_DEPENDS "${tc_web_dir}/ui.bin"
    COMPILE_OPTIONS "-fno-lto;-Wa,-I${tc_web_dir}")
  set_source_files_properties(src/server/api/ui_none.c PROPERTIES COMPILE_DEFINITIONS TC_WEB)
endif()
