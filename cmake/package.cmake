# SPDX-License-Identifier: Apache-2.0
# What an installed tracecore has beside the program, and the Debian package (./dev package). Manual
# pages and completions are printed by the program itself when it is installed.

install(CODE "
  set(tc_program \"${CMAKE_BINARY_DIR}/tracecore\")
  set(tc_stage \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  execute_process(COMMAND \"${CMAKE_SOURCE_DIR}/tools/install_pages.sh\" \"\${tc_program}\" \"\${tc_stage}\"
    COMMAND_ERROR_IS_FATAL ANY)")
install(FILES packaging/prometheus/tracecore.rules.yaml DESTINATION share/tracecore/prometheus)
install(DIRECTORY packaging/grafana packaging/alerts DESTINATION share/tracecore)
install(PROGRAMS packaging/slurm/epilog.sh DESTINATION share/tracecore/slurm)
install(FILES packaging/systemd/tracecore.service DESTINATION lib/systemd/system)
install(FILES packaging/debian/tracecore.yaml DESTINATION /etc/tracecore)
install(FILES packaging/debian/copyright DESTINATION share/doc/tracecore)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tracecore)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "tracecore <tracecore@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "diagnosis and performance claims for AI clusters")
set(CPACK_PACKAGE_DESCRIPTION "Reads the telemetry a GPU cluster already produces, says what went wrong and
where to look first, and keeps the bytes that prove it. Turns benchmark runs
into comparisons and published numbers that anyone can check.")
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON) # /etc is not below /usr
set(CPACK_STRIP_FILES ON)
set(CPACK_OUTPUT_FILE_PREFIX "${CMAKE_BINARY_DIR}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What is loaded when it is needed is not found by dpkg-shlibdeps.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, init-system-helpers, ca-certificates, libcurl4, libarchive13")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libsystemd0")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "prometheus, prometheus-alertmanager")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  "${CMAKE_SOURCE_DIR}/packaging/debian/postinst" "${CMAKE_SOURCE_DIR}/packaging/debian/prerm"
  "${CMAKE_SOURCE_DIR}/packaging/debian/postrm" "${CMAKE_SOURCE_DIR}/packaging/debian/conffiles")
include(CPack)
