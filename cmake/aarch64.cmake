# Builds for 64-bit ARM with Debian's cross compiler. Libraries and headers come from a folder of unpacked arm64
# packages, COREWISE_ARM64_ROOT (in the environment or as a cache variable); tests/emulated/arm64_root makes it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES COREWISE_ARM64_ROOT)
if(NOT COREWISE_ARM64_ROOT)
  set(COREWISE_ARM64_ROOT "$ENV{COREWISE_ARM64_ROOT}" CACHE PATH "Unpacked arm64 packages")
endif()
if(NOT IS_DIRECTORY "${COREWISE_ARM64_ROOT}/usr/include")
  message(FATAL_ERROR "COREWISE_ARM64_ROOT is '${COREWISE_ARM64_ROOT}', which has no usr/include; "
    "set it to the folder that tests/emulated/arm64_root prints")
endif()

set(CMAKE_FIND_ROOT_PATH ${COREWISE_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${COREWISE_ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${COREWISE_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${COREWISE_ARM64_ROOT}/usr/share/pkgconfig)

set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${COREWISE_ARM64_ROOT}/usr/include/aarch64-linux-gnu)
# Libraries that the linked libraries need in turn.
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "-Wl,-rpath-link,${COREWISE_ARM64_ROOT}/usr/lib/aarch64-linux-gnu:${COREWISE_ARM64_ROOT}/lib/aarch64-linux-gnu")

# The built programs run under QEMU, where that is installed (qemu-user).
find_program(COREWISE_QEMU_AARCH64 qemu-aarch64)
if(COREWISE_QEMU_AARCH64)
  cmake_path(SET in_turns NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../tests/emulated/in_turns)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${in_turns} ${COREWISE_ARM64_ROOT})
endif()
