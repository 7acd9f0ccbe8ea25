# Writes OUT: the text of each of FILES as an array of lines, PREFIX and its name, which HEADER declares; so the library
# has files in it. Lines that include others are left out: what kernels for a GPU need stands in front (text.c).
set(out "/* Made by base/texts.cmake. */\n#include \"${HEADER}\"\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${ROOT}/${file} text)
  string(REGEX REPLACE "#include [^\n]*\n" "" text "${text}")
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "??" "?\\?" text "${text}") # no trigraphs
  string(REPLACE "\n" "\\n\",\n    \"" text "${text}")
  string(APPEND out "\nconst char *const ${PREFIX}${name}[] = {\n    \"${text}\", NULL};\n")
endforeach()
file(WRITE ${OUT} "${out}")
