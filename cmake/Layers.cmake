# fr_layer(NAME BELOW...): the static library frugal_NAME of the sources in src/NAME, over the layers below it. A folder
# without sources gives an empty layer that only passes on what is below, so the tree builds while it grows.

set(FR_LAYERS "") # those that have sources, from the bottom

set(FR_AVX2_FLAGS -mavx2 -mfma -mf16c)
set(FR_AVX512_FLAGS -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c -mprefer-vector-width=512)

# Kernels for an instruction set are files of their own: *_avx2.c, *_avx512.c.
function(fr_isa_flags list_name)
  set(kept "")
  foreach(source ${${list_name}})
    if(source MATCHES "_avx(2|512)\\.c$")
      if(NOT FR_X86)
        continue()
      endif()
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${FR_AVX${CMAKE_MATCH_1}_FLAGS}")
    endif()
    list(APPEND kept ${source})
  endforeach()
  set(${list_name} ${kept} PARENT_SCOPE)
endfunction()

function(fr_layer name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.c ${PROJECT_SOURCE_DIR}/src/${name}/*/*.c)
  list(TRANSFORM ARGN PREPEND frugal_ OUTPUT_VARIABLE below)
  fr_isa_flags(sources)
  if(sources)
    add_library(frugal_${name} STATIC ${sources})
    # Objects do not wait for the libraries below.
    set_target_properties(frugal_${name} PROPERTIES OPTIMIZE_DEPENDENCIES ON)
    target_link_libraries(frugal_${name} PUBLIC ${below} fr_flags fr_dependencies)
    set(FR_LAYERS ${FR_LAYERS} ${name} PARENT_SCOPE)
  else()
    add_library(frugal_${name} INTERFACE)
    target_link_libraries(frugal_${name} INTERFACE ${below} fr_flags fr_dependencies)
  endif()
endfunction()
