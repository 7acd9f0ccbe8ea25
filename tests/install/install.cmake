# Installs a build into a fresh folder, builds the outside project against it and runs both programs;
# also the installed command must run.
cmake_minimum_required(VERSION 3.22)

set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${WORK})

function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nexit ${code}\n${text}")
  endif()
endfunction()

must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
must(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -DCMAKE_C_COMPILER=${CC})
must(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(program ${WORK}/build/outside_static ${WORK}/build/outside_shared)
  must(${program})
endforeach()
must(${prefix}/bin/fnz --version)
