# libfrugal.a and libfrugal.so of all layers, the program `frugal`, and their installation.

set(fr_objects "")
foreach(layer ${FR_LAYERS})
  list(APPEND fr_objects $<TARGET_OBJECTS:frugal_${layer}>)
endforeach()

add_library(frugal_static STATIC ${fr_objects})
add_library(frugal_shared SHARED ${fr_objects})
foreach(target frugal_static frugal_shared)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME frugal LINKER_LANGUAGE C)
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
endforeach()
target_link_libraries(frugal_static PUBLIC $<BUILD_INTERFACE:fr_dependencies>)
target_link_libraries(frugal_shared PRIVATE $<BUILD_INTERFACE:fr_flags> $<BUILD_INTERFACE:fr_dependencies>)
set_target_properties(frugal_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)

file(GLOB fr_cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
if(fr_cli_sources)
  add_executable(frugal ${fr_cli_sources})
  target_link_libraries(frugal PRIVATE frugal_gnn frugal_lm)
  install(TARGETS frugal RUNTIME)
  add_custom_command(TARGET frugal POST_BUILD
    COMMAND frugal help --man > ${CMAKE_BINARY_DIR}/frugal.1
    COMMAND frugal completion bash > ${CMAKE_BINARY_DIR}/frugal.bash
    COMMAND frugal completion zsh > ${CMAKE_BINARY_DIR}/_frugal
    COMMAND frugal completion fish > ${CMAKE_BINARY_DIR}/frugal.fish
    VERBATIM)
  install(FILES ${CMAKE_BINARY_DIR}/frugal.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/frugal.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME frugal)
  install(FILES ${CMAKE_BINARY_DIR}/_frugal DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${CMAKE_BINARY_DIR}/frugal.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

install(TARGETS frugal_static frugal_shared ARCHIVE LIBRARY)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/frugal DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

configure_file(${CMAKE_SOURCE_DIR}/cmake/frugal.pc.in ${CMAKE_BINARY_DIR}/frugal.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/frugal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
include(CMakePackageConfigHelpers)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/FrugalConfig.cmake.in ${CMAKE_BINARY_DIR}/FrugalConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Frugal
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/FrugalConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/FrugalConfig.cmake ${CMAKE_BINARY_DIR}/FrugalConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Frugal)
