# The settings that all targets of the project share.
include(GNUInstallDirs)

# corewise_compile_options(TARGET): the language and the warnings.
function(corewise_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  # GCC 12 sees overlaps in `"text" + std::to_string(n)` that are not there: https://gcc.gnu.org/PR105651.
  # Clang blames the caller for a deprecated use in libstdc++'s stable_sort itself; GCC warns of the
  # deprecated uses of this project.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
    $<$<BOOL:${COREWISE_WERROR}>:-Werror>)
endfunction()

# Sources are compiled in batches, in a third of the time, most of which goes to headers.
option(COREWISE_UNITY "Compile several sources at once" ON)

# corewise_in_batches(TARGET [SIZE]): so many of the target's sources, 12 unless told, may be compiled together, so names in
# their anonymous namespaces differ. A source that clashes on purpose has the property SKIP_UNITY_BUILD_INCLUSION.
function(corewise_in_batches target)
  set(size 12)
  if(ARGC GREATER 1)
    set(size ${ARGV1})
  endif()
  if(COREWISE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    # A name in another source may be shadowed, and types of an included source be in others; where each is compiled by
    # itself (clang-tidy's analyzer; ./test --long), the compiler warns of both.
    target_compile_options(${target} PRIVATE -Wno-shadow
      $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local -Wno-subobject-linkage>)
  endif()
endfunction()

# corewise_under_sanitizers(LEVEL): with sanitizers, what this folder builds is optimized to this level. Optimizing takes half of
# the time of such a build, so only what tests run for long is optimized.
function(corewise_under_sanitizers level)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    add_compile_options(${level})
  endif()
endfunction()

# corewise_layer(NAME): the include roots of the library corewise_NAME, and its place in the package. Each layer has its
# own public root, so that an include against the arrow does not compile.
function(corewise_layer name)
  set(target corewise_${name})
  add_library(corewise::${name} ALIAS ${target})
  corewise_compile_options(${target})
  corewise_in_batches(${target})
  # Otherwise a module of `dlopen` with these archives in it is never unloaded.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
    DEFINE_SYMBOL "" VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH "\$ORIGIN")
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  install(TARGETS ${target} EXPORT corewise
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()
