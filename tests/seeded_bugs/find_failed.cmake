# Runs the tests of a build with a planted bug: some check must fail, or the program must end ill.
cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND ${EXE} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(result EQUAL 0 OR NOT out MATCHES "Failures: [1-9]|Errors: [1-9]")
  message(FATAL_ERROR "the tests did not find the bug:\n${out}\n${err}")
endif()
string(REGEX MATCH "[a-z_]+:[0-9]+:[^:\n]*\n? *[^\n]*" said "${out}")
message(STATUS "found by ${said}")
