# One golden file: its first line, `# run: WORDS`, says that `fnz WORDS FILE` is run, in the file's
# folder; what must come out stands in the .want beside it.
cmake_minimum_required(VERSION 3.22)

include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)

file(STRINGS ${INPUT} first LIMIT_COUNT 1)
if(NOT first MATCHES "^# run: (.+)$")
  message(FATAL_ERROR "${NAME}: the first line must be `# run: WORDS`, such as `# run: show`")
endif()
separate_arguments(words UNIX_COMMAND "${CMAKE_MATCH_1}")
get_filename_component(folder ${INPUT} DIRECTORY)
get_filename_component(file ${INPUT} NAME)
string(REGEX REPLACE "\\.fnz$" ".want" want ${INPUT})
expect(${want} ${folder} ${FNZ} ${words} ${file})
