# One example program: what it prints must be what its .want holds.
cmake_minimum_required(VERSION 3.22)

include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)
get_filename_component(folder ${WANT} DIRECTORY)
expect(${WANT} ${folder} ${EXE} ${ARGUMENT})
