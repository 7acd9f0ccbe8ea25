# Writes OUT: NAME as a number, a digest of all FILES below ROOT. Libraries that are compiled with the same files have the
# same number.
set(all)
foreach(file IN LISTS FILES)
  file(SHA256 ${ROOT}/${file} digest)
  string(APPEND all "${file} ${digest}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 8 digest)
file(WRITE ${OUT} "/* Made by base/abi.cmake. */\n#define ${NAME} 0x${digest}u\n")
