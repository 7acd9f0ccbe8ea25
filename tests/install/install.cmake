# Installs a build into a fresh folder, builds the outside project against it and runs its programs; also the installed
# command must run, and so must the program in the README, with libfnz and with libfnz_core. NUMBERS: there is more than
# libfnz_core.
cmake_minimum_required(VERSION 3.22)

set(most_bytes 4520000) # of the program in the README with libfnz_core within, stripped
set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${WORK})

function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nexit ${code}\n${text}")
  endif()
  set(said "${text}" PARENT_SCOPE)
endfunction()

# The function between ```c and ``` in the README, and a main() for it.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../../README.md readme)
string(FIND "${readme}" "```c\n" from)
math(EXPR from "${from} + 5")
string(SUBSTRING "${readme}" ${from} -1 readme)
string(FIND "${readme}" "```" size)
string(SUBSTRING "${readme}" 0 ${size} program)
string(APPEND program [=[
#include <stdio.h>

int main(int argc, char **argv) {
  fnz_context *ctx;
  if (argc != 3 || fnz_context_create(NULL, &ctx) != FNZ_OK)
    return 64;
  fnz_status status = convert(ctx, argv[1], argv[2]);
  if (status != FNZ_OK)
    fprintf(stderr, "%s: %s\n", fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  fnz_context_destroy(ctx);
  return status != FNZ_OK;
}
]=])
file(WRITE ${WORK}/program.c "${program}")

must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
must(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -DCMAKE_C_COMPILER=${CC}
     -DCMAKE_PREFIX_PATH=${prefix} -DNUMBERS=${NUMBERS} -DPROGRAM=${WORK}/program.c)
must(${CMAKE_COMMAND} --build ${WORK}/build)
set(programs core_shared core_static)
set(libraries libfnz_core.so)
if(NUMBERS)
  list(APPEND programs outside_static outside_shared native_static native_shared cmake_static cmake_shared together)
  list(APPEND libraries libfnz.so libfnz_native.so libfnz_cuda.so)
  must(${prefix}/bin/fnz --version)
endif()
foreach(program IN LISTS programs)
  must(${WORK}/build/${program})
endforeach()
foreach(text doc/fnz/LICENSE doc/fnz/NOTICE doc/fnz/README.md doc/fnz/docs/for-compilers.md doc/fnz/examples/walk.c
        fnz/fnz.cddl fnz/fnz-json.schema.json fnz/fnz.spdx.json)
  if(NOT EXISTS ${prefix}/share/${text})
    message(FATAL_ERROR "${text} is not installed")
  endif()
endforeach()
# What is installed, not what lies in the build tree: installing changes paths in it.
if(HARDENING)
  list(TRANSFORM libraries PREPEND ${prefix}/${LIBDIR}/)
  if(NUMBERS)
    list(APPEND libraries ${prefix}/bin/fnz)
  endif()
  must(${PYTHON} ${HARDENING} ${libraries})
endif()

# A plan for a kind of GPU needs libfnz_cuda, which libfnz finds beside it, and no GPU. An archive has it only where it is linked.
if(NUMBERS)
  foreach(program gpu_shared gpu_static gpu_cmake)
    must(${WORK}/build/${program})
    if(NOT said MATCHES "for sm_90: ")
      message(FATAL_ERROR "${program} prints no plan for a GPU:\n${said}")
    endif()
  endforeach()
  execute_process(COMMAND ${WORK}/build/gpu_without RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(code EQUAL 0 OR NOT said MATCHES "link libfnz_cuda.a where libfnz.a is linked")
    message(FATAL_ERROR "with libfnz.a alone there is a plan for a GPU:\n${said}")
  endif()
endif()

# The program in the README, built as it says: it functionalizes, verifies and writes.
find_program(PKG_CONFIG pkg-config REQUIRED)
set(ENV{LD_LIBRARY_PATH} ${prefix}/${LIBDIR})
set(input ${CMAKE_CURRENT_LIST_DIR}/../../fixtures/cli/slice_write.fnz)
function(try_program exe)
  file(REMOVE ${WORK}/out.cbor)
  must(${exe} ${input} ${WORK}/out.cbor)
  if(NUMBERS)
    must(${prefix}/bin/fnz verify ${input} ${WORK}/out.cbor)
  elseif(NOT EXISTS ${WORK}/out.cbor)
    message(FATAL_ERROR "${exe} wrote nothing")
  endif()
endfunction()
set(names fnz_core)
if(NUMBERS)
  list(APPEND names fnz)
endif()
foreach(name IN LISTS names)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ${name} OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  must(${CC} -std=c99 -Wall -Wextra -Werror -o ${WORK}/program_${name} ${WORK}/program.c ${flags})
  try_program(${WORK}/program_${name})
  must(ldd ${WORK}/program_${name})
  set(needed_${name} "${said}")
endforeach()
set(numbers "openblas|dnnl|sleef|gomp|omp[.]so")
if(needed_fnz_core MATCHES "${numbers}")
  message(FATAL_ERROR "libfnz_core needs what computes numbers:\n${needed_fnz_core}")
elseif(NUMBERS AND NOT needed_fnz MATCHES "${numbers}")
  message(FATAL_ERROR "libfnz needs nothing that computes numbers, so what libfnz_core needs was not looked at:\n${needed_fnz}")
endif()

# With the archive it is small.
try_program(${WORK}/build/small)
file(SIZE ${WORK}/build/small bytes)
if(TYPE MATCHES "^Rel" AND bytes GREATER most_bytes)
  message(FATAL_ERROR "${bytes} bytes are more than ${most_bytes}: what does libfnz_core have that it had not before?")
endif()
message(STATUS "${bytes} bytes")

# Uninstalling leaves files that fnz has not installed, and none that it has.
file(WRITE ${prefix}/share/fnz/mine "")
must(${CMAKE_COMMAND} --build ${BUILD} --target uninstall)
file(GLOB_RECURSE left LIST_DIRECTORIES false RELATIVE ${prefix} ${prefix}/*)
file(GLOB folders LIST_DIRECTORIES true RELATIVE ${prefix} ${prefix}/include/* ${prefix}/share/doc/* ${prefix}/${LIBDIR}/cmake/*)
if(NOT left STREQUAL "share/fnz/mine" OR folders)
  message(FATAL_ERROR "after `--target uninstall` there are: ${left} ${folders}")
endif()
