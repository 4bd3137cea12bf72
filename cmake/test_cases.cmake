# Run after a doctest program was built: writes OUTPUT, which tells ctest of each test case of PROGRAM.
# (doctest's own script takes a semicolon in a name for the end of it.) EMULATOR comes before PROGRAM where
# PROGRAM cannot run by itself.
execute_process(COMMAND ${EMULATOR} ${PROGRAM} --list-test-cases --no-colors --no-version
  OUTPUT_VARIABLE listed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} does not list its test cases: ${status}\n${listed}")
endif()

# Semicolons and brackets mean something in CMake's lists; these stand for them meanwhile.
string(REPLACE ";" "<semicolon>" listed "${listed}")
string(REPLACE "[" "<open>" listed "${listed}")
string(REPLACE "]" "<close>" listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")

set(command "")
foreach(word IN LISTS EMULATOR PROGRAM)
  string(APPEND command " [==[${word}]==]")
endforeach()
set(script "")
foreach(line IN LISTS lines)
  if(line STREQUAL "" OR line MATCHES "^(<open>doctest<close> |=====)")
    continue()
  endif()
  string(REPLACE "<semicolon>" ";" line "${line}")
  string(REPLACE "<open>" "[" line "${line}")
  string(REPLACE "<close>" "]" line "${line}")
  string(REPLACE "," "\\," pattern "${line}") # a comma separates patterns
  # A name that does not select its test case would pass without having run anything.
  string(APPEND script
    "add_test([==[${NAME}: ${line}]==]${command} [==[--test-case=${pattern}]==])\n"
    "set_tests_properties([==[${NAME}: ${line}]==] PROPERTIES\n"
    "  TIMEOUT ${SECONDS} RUN_SERIAL ${ALONE}\n"
    "  FAIL_REGULAR_EXPRESSION [==[test cases: +0 ]==]\n"
    "  SKIP_REGULAR_EXPRESSION [==[MESSAGE: skipped: .*SUCCESS!]==])\n")
endforeach()
file(WRITE ${OUTPUT} "${script}")
