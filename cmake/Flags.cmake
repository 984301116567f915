# Compiler flags that every target of the project gets through the interface library fr_flags.

add_library(fr_flags INTERFACE)
target_compile_definitions(fr_flags INTERFACE _GNU_SOURCE FR_VERSION="${PROJECT_VERSION}")
target_include_directories(fr_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
# Sums have a defined order and products are not contracted behind our back: "the same bits" depends on it.
target_compile_options(fr_flags INTERFACE -ffp-contract=off
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -Wformat=2 -Wundef -Wcast-qual -Wnull-dereference -Wdouble-promotion)
# gcc cannot know that a function whose last word is `return fr_fail(..)` never returns FR_OK, and takes outputs of
# failed calls for read. clang's -Wsometimes-uninitialized and the sanitizers watch instead.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(fr_flags INTERFACE -Wno-maybe-uninitialized
    -Wno-format-truncation) # snprintf is used because it truncates
endif()
if(FR_WERROR)
  target_compile_options(fr_flags INTERFACE -Werror)
endif()
if(FR_SANITIZE)
  target_compile_options(fr_flags INTERFACE -fsanitize=${FR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(fr_flags INTERFACE -fsanitize=${FR_SANITIZE})
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(FR_X86 ON)
  target_compile_definitions(fr_flags INTERFACE FR_X86=1)
else()
  target_compile_definitions(fr_flags INTERFACE FR_X86=0)
endif()
