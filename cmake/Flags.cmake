# Compiler flags as interface libraries: fr_warnings for all C of the project, fr_flags for what is part of the engine.

add_library(fr_warnings INTERFACE)
target_compile_options(fr_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -Wformat=2 -Wundef -Wcast-qual -Wnull-dereference -Wdouble-promotion)
# gcc cannot know that a function whose last word is `return fr_fail(..)` never returns FR_OK, and takes outputs of
# failed calls for read. clang's -Wsometimes-uninitialized and the sanitizers watch instead.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(fr_warnings INTERFACE -Wno-maybe-uninitialized
    -Wno-format-truncation) # snprintf is used because it truncates
endif()
if(FR_WERROR)
  target_compile_options(fr_warnings INTERFACE -Werror)
endif()
if(FR_SANITIZE)
  target_compile_options(fr_warnings INTERFACE -fsanitize=${FR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(fr_warnings INTERFACE -fsanitize=${FR_SANITIZE})
endif()

add_library(fr_flags INTERFACE)
target_link_libraries(fr_flags INTERFACE fr_warnings)
target_compile_definitions(fr_flags INTERFACE _GNU_SOURCE FR_VERSION="${PROJECT_VERSION}")
target_include_directories(fr_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
# Sums have a defined order and products are not contracted behind our back: "the same bits" depends on it.
target_compile_options(fr_flags INTERFACE -ffp-contract=off)
# Always defined, so that -Wundef watches over a misspelt `#if FR_X86`.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(FR_X86 1)
else()
  set(FR_X86 0)
endif()
target_compile_definitions(fr_flags INTERFACE FR_X86=${FR_X86})
