# Runs plans of random programs in a build with a planted bug until the checker or the run on bytes finds it.
cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND ${CMAKE_COMMAND} -E env CK_FORK=no FNZ_PROGRAMS=${MOST} FNZ_SEED=1 ${EXE}
                RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(result EQUAL 0)
  message(FATAL_ERROR "plans of ${MOST} random programs did not find the bug")
endif()
string(REGEX MATCH "program ([0-9]+): ([^\n]*)" said "${err}")
if(NOT said)
  message(FATAL_ERROR "the random programs ended otherwise than by finding a wrong one:\n${out}\n${err}")
endif()
message(STATUS "found by ${said}")
