# Runs the random programs of a build with a planted bug, in the test CASE or in all, until one of them finds it.
cmake_minimum_required(VERSION 3.22)

if(CASE)
  set(of_case CK_RUN_CASE=${CASE})
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E env CK_FORK=no ${of_case}
                        FNZ_PROGRAMS=${MOST} FNZ_SEED=1 FNZ_SHRINK=0 ${EXE}
                RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(result EQUAL 0)
  message(FATAL_ERROR "${MOST} random programs did not find the bug")
endif()
string(REGEX MATCH "program ([0-9]+): ([^\n]*)" said "${err}")
if(NOT said)
  message(FATAL_ERROR "the random programs ended otherwise than by finding a wrong one:\n${out}\n${err}")
endif()
message(STATUS "found by ${said}")
