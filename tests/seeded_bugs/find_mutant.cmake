# Runs changed files through a build with a planted bug until one of them ends the process, or breaks
# a promise, which ends it too.
cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND ${CMAKE_COMMAND} -E env CK_FORK=no CK_RUN_CASE=mutants_keep_the_promises
                        FNZ_PROGRAMS=${MOST} ${EXE}
                RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(result EQUAL 0)
  message(FATAL_ERROR "${MOST} changed files did not find the bug")
endif()
message(STATUS "found: ${result}: ${err}")
