# libfrugal.a and libfrugal.so of all layers, the program `frugal`, and their installation.

set(fr_objects "")
foreach(layer ${FR_LAYERS})
  list(APPEND fr_objects $<TARGET_OBJECTS:frugal_${layer}>)
endforeach()

if(fr_objects)
  add_library(frugal_static STATIC ${fr_objects})
  add_library(frugal_shared SHARED ${fr_objects})
  foreach(target frugal_static frugal_shared)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME frugal LINKER_LANGUAGE C)
    target_include_directories(${target} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
  set_target_properties(frugal_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 EXPORT_NAME frugal)
  add_library(Frugal::frugal ALIAS frugal_shared)
  target_link_libraries(frugal_static PUBLIC $<BUILD_INTERFACE:fr_dependencies>)
  target_link_libraries(frugal_shared PRIVATE $<BUILD_INTERFACE:fr_flags> $<BUILD_INTERFACE:fr_dependencies>)
  # Nothing of a static library below us becomes ours, and nothing is left for the program to supply.
  target_link_options(frugal_shared PRIVATE -Wl,--exclude-libs,ALL)
  if(NOT FR_SANITIZE)
    target_link_options(frugal_shared PRIVATE -Wl,-z,defs)
  endif()
  install(TARGETS frugal_static ARCHIVE)
  install(TARGETS frugal_shared EXPORT Frugal LIBRARY)
  install(EXPORT Frugal NAMESPACE Frugal:: FILE FrugalTargets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Frugal)
endif()

file(GLOB fr_cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.c ${PROJECT_SOURCE_DIR}/src/cli/*/*.c)
if(fr_cli_sources)
  add_executable(frugal ${fr_cli_sources})
  target_link_libraries(frugal PRIVATE frugal_gnn frugal_lm)
  install(TARGETS frugal RUNTIME)
endif()

# The manual page and the completions of shells, printed by the program itself.
if(TARGET frugal AND NOT CMAKE_CROSSCOMPILING)
  set(fr_printed ${PROJECT_BINARY_DIR}/printed)
  add_custom_command(OUTPUT ${fr_printed}/done
    COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/print-docs.sh $<TARGET_FILE:frugal> ${fr_printed}
    DEPENDS frugal ${PROJECT_SOURCE_DIR}/cmake/print-docs.sh VERBATIM)
  add_custom_target(frugal_docs ALL DEPENDS ${fr_printed}/done)
  install(FILES ${fr_printed}/frugal.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  install(FILES ${fr_printed}/frugal.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME frugal OPTIONAL)
  install(FILES ${fr_printed}/frugal.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _frugal OPTIONAL)
  install(FILES ${fr_printed}/frugal.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/frugal DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# frugal.pc finds its prefix from where it lies, so it is right whatever prefix `cmake --install` is told.
set(fr_pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH fr_pkgconfig_up /${fr_pkgconfig_folder} /)
string(REGEX REPLACE "/$" "" fr_pkgconfig_up ${fr_pkgconfig_up})
string(JOIN " " fr_openmp_libraries ${OpenMP_C_LIB_NAMES})
string(REGEX REPLACE "([a-z0-9_]+)" "-l\\1" fr_openmp_libraries "${fr_openmp_libraries}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/frugal.pc.in ${PROJECT_BINARY_DIR}/frugal.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/frugal.pc DESTINATION ${fr_pkgconfig_folder})

include(CMakePackageConfigHelpers)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/FrugalConfig.cmake.in ${PROJECT_BINARY_DIR}/FrugalConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Frugal)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/FrugalConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/FrugalConfig.cmake ${PROJECT_BINARY_DIR}/FrugalConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Frugal)
