# What `fnz ops NAME` prints.
cmake_minimum_required(VERSION 3.22)

include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)

get_filename_component(folder ${WANT} DIRECTORY)
expect(${WANT} ${folder} ${FNZ} ops ${NAME})
