# Runs a gate that must fail and say SAYS: a gate that lets what was planted through checks nothing.
cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND ${COMMAND} RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(result EQUAL 0 OR NOT said MATCHES "${SAYS}")
  message(FATAL_ERROR "exit ${result}; it must fail and say \"${SAYS}\":\n${said}")
endif()
message(STATUS "fails as it must")
