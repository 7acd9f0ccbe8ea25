# No file of the folders that rewrite programs names an operator in a string: rows of tables do that
# (views/steps.h, views/*.def, mutations/*.def), and everything else follows from schemas.
cmake_minimum_required(VERSION 3.22)

set(names)
file(STRINGS ${ROOT}/schema/aten.tsv rows)
foreach(row IN LISTS rows)
  if(row MATCHES "^aten::([A-Za-z0-9_.]+)")
    set(is_operator_${CMAKE_MATCH_1} TRUE)
    list(APPEND names ${CMAKE_MATCH_1})
  endif()
endforeach()
list(LENGTH names count)
if(count LESS 3000)
  message(FATAL_ERROR "only ${count} operators were found in schema/aten.tsv: nothing was checked")
endif()

set(wrong)
set(strings 0)
set(seen 0)
foreach(folder views mutations functionalize)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${folder}/*.c)
  foreach(file IN LISTS files)
    math(EXPR seen "${seen} + 1")
    # A semicolon would end an item of a list; no operator has one.
    file(READ ${ROOT}/${file} text)
    string(REPLACE ";" " " text "${text}")
    # Names of arguments are looked up by schema and may be those of operators: named(r, "copy").
    string(REGEX REPLACE "(named|fnzi_op_param)\\([^\"()]*\"[a-z_]*\"\\)" "" text "${text}")
    if(file MATCHES "^functionalize/decompose/") # GIVEN("threshold"), and words that are arguments
      string(REGEX REPLACE "(GIVEN|GIVEN_[A-Z]+|AS_GIVEN|WORD|[a-z_]+)\\([^\"()]*\"[a-z_0-9]*\"" "" text "${text}")
      string(REGEX REPLACE "\\), \"tanh\"\\)" "" text "${text}") # a word that an argument is compared with
    endif()
    # How names are given stands in comments.
    string(REGEX REPLACE "/[*][^*]*([*][^/*][^*]*)*[*]/" "" text "${text}")
    string(REGEX MATCHALL "\"[A-Za-z0-9_.]+\"" literals "${text}")
    foreach(literal IN LISTS literals)
      math(EXPR strings "${strings} + 1")
      string(REPLACE "\"" "" literal "${literal}")
      if(is_operator_${literal})
        list(APPEND wrong "${file}: \"${literal}\"")
      endif()
    endforeach()
  endforeach()
endforeach()

if(wrong)
  list(JOIN wrong "\n  " text)
  message(FATAL_ERROR "these strings are names of operators; give them a row in a table:\n  ${text}")
endif()
if(seen LESS 20)
  message(FATAL_ERROR "only ${seen} files were found under ${ROOT}: nothing was checked")
endif()
message(STATUS "none of ${strings} strings in ${seen} files is the name of one of ${count} operators")
