# Two processes with a program each, as torch.export wrote it: both get what the layers in one piece give. Then what one
# of them does wrong ends both, and is said by its rank.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(ranks ${ROOT}/fixtures/collectives/ranks)
set(run ${MPIRUN} -n 2 ${FNZ} run ${ranks}/tp.%r.pt2 --collectives mpi)
set(inputs --inputs ${ranks}/tp.safetensors)

function(run_all wants_code wants_text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code MATCHES "^(${wants_code})$" OR NOT text MATCHES "${wants_text}")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nexit ${code}, wanted ${wants_code} and ${wants_text}\n${text}")
  endif()
endfunction()

file(STRINGS ${ranks}/tp.want want)
run_all(0 "output[.]0 +f32.2, 3.  ${want}\n.*output[.]0 +f32.2, 3.  ${want}\n" ${run} ${inputs})
run_all(0 "" ${run} ${inputs} --engine interpreter --outputs ${WORK}/out.%r.safetensors)
run_all(0 "" ${CMAKE_COMMAND} -E compare_files ${WORK}/out.0.safetensors ${WORK}/out.1.safetensors)

run_all(2 "knows no others; .* say --collectives mpi" ${MPIRUN} -n 2 ${FNZ} run ${ranks}/tp.0.pt2 ${inputs})
run_all(64 "each of 2 processes writes .*%r" ${run} ${inputs} --outputs ${WORK}/one.safetensors)
file(COPY_FILE ${ranks}/tp.safetensors ${WORK}/in.0.safetensors)
run_all(3 "rank 1 of 2: .*No such file" ${run} --inputs ${WORK}/in.%r.safetensors)
