# The parts that `cmake --install` adds to the layers: the target corewise::corewise, find_package's files and
# pkg-config's.
include(CMakePackageConfigHelpers)

add_library(corewise INTERFACE)
add_library(corewise::corewise ALIAS corewise)
target_link_libraries(corewise INTERFACE corewise_engine)
install(TARGETS corewise EXPORT corewise)

set(corewise_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/corewise)
install(EXPORT corewise NAMESPACE corewise:: FILE corewise-targets.cmake DESTINATION ${corewise_package_folder})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/corewise-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/corewise-config.cmake INSTALL_DESTINATION ${corewise_package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/corewise-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/corewise-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/corewise-config-version.cmake
  DESTINATION ${corewise_package_folder})

# The file finds the prefix from its own place, so that the installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE libdir)
cmake_path(SET to_prefix NORMALIZE ${libdir}/pkgconfig)
string(REGEX REPLACE "[^/]+" ".." to_prefix ${to_prefix})
# Archives need the libraries below them, with and without `pkg-config --static`; a shared library brings them along. They are
# named here, and not required as packages: these would add what only their own archives need, such as hwloc's libudev.
list(JOIN hwloc_LDFLAGS " " corewise_pc_needs)
foreach(flag IN LISTS numa_LDFLAGS ITEMS -lyaml-cpp -lfmt)
  string(APPEND corewise_pc_needs " ${flag}")
endforeach()
if(BUILD_SHARED_LIBS)
  set(corewise_pc_libs "")
  set(corewise_pc_libs_private ${corewise_pc_needs})
else()
  set(corewise_pc_libs "${corewise_pc_needs} ")
  set(corewise_pc_libs_private "")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/corewise.pc.in ${CMAKE_CURRENT_BINARY_DIR}/corewise.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/corewise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(corewise_pc_asio Boost.Asio)
set(corewise_pc_asio_flags "")
if(COREWISE_STANDALONE_ASIO)
  set(corewise_pc_asio Asio)
  set(corewise_pc_asio_flags "-DCOREWISE_STANDALONE_ASIO -DASIO_STANDALONE")
endif()
foreach(component io admin)
  if(TARGET corewise_${component})
    set(file corewise-${component}.pc)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${file}.in ${CMAKE_CURRENT_BINARY_DIR}/${file} @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/gdb/corewise.py DESTINATION ${CMAKE_INSTALL_DATADIR}/corewise/gdb)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/corewise/configs)
