# `fnz fuzz` of a build with a planted bug: it ends with 5, and what it prints is a small program that
# verify refuses to call equal. With one job it is the first one: of others, fuzz sees what verify does not look at, such as
# the window of a tensor without elements.
cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND ${FNZ} fuzz --count 20000 --jobs 1 OUTPUT_FILE ${OUT} ERROR_VARIABLE err
                RESULT_VARIABLE result)
if(NOT result EQUAL 5 OR NOT err MATCHES "^fnz: DIFFERENT: fuzz: seed 1, program [0-9]+: ")
  message(FATAL_ERROR "fnz fuzz ended with ${result}: ${err}")
endif()
execute_process(COMMAND ${FNZ} verify ${OUT} OUTPUT_VARIABLE out ERROR_VARIABLE err
                RESULT_VARIABLE result)
if(NOT result EQUAL 1 OR NOT err MATCHES "^fnz: DIFFERENT: ")
  message(FATAL_ERROR "fnz verify of what was found ended with ${result}: ${out}${err}")
endif()
file(STRINGS ${OUT} nodes REGEX " at \"model.py:")
list(LENGTH nodes count)
if(count GREATER 3)
  message(FATAL_ERROR "what was found still has ${count} nodes")
endif()
