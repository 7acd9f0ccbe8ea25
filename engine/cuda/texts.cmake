# Writes OUT: the text of each of FILES as an array of lines, so that kernels for a GPU can be made of it. Lines that
# include others are left out: what is needed stands in front (text.c).
set(out "/* Made by engine/cuda/texts.cmake. */\n#include \"engine/cuda/text.h\"\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${ROOT}/${file} text)
  string(REGEX REPLACE "#include [^\n]*\n" "" text "${text}")
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\",\n    \"" text "${text}")
  string(APPEND out "\nconst char *const fnzi_cuda_text_${name}[] = {\n    \"${text}\", NULL};\n")
endforeach()
file(WRITE ${OUT} "${out}")
