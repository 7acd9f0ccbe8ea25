# The test of what is installed; of libfnz_core alone where that is all there is.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(FNZ_HARDEN AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(hardening -DPYTHON=${Python3_EXECUTABLE} -DHARDENING=${PROJECT_SOURCE_DIR}/tests/gates/hardening.py)
endif()
add_test(NAME install COMMAND ${CMAKE_COMMAND} ${hardening} -DBUILD=${PROJECT_BINARY_DIR} -DTYPE=${CMAKE_BUILD_TYPE}
         -DWORK=${PROJECT_BINARY_DIR}/tests/install -DLIBDIR=${CMAKE_INSTALL_LIBDIR} -DCC=${CMAKE_C_COMPILER}
         -DNUMBERS=${FNZ_NUMBERS} -P ${CMAKE_CURRENT_LIST_DIR}/install.cmake)
set_tests_properties(install PROPERTIES COST 40)
