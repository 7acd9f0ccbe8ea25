/* text_put.c - elements of memory as types of sums, in the text of a kernel. */
#include "engine/cuda/text_put.h"

const char *fnzi_cuda_sum_type(fnz_dtype sum) {
  return sum == FNZ_F32   ? "float"
         : sum == FNZ_F64 ? "double"
         : sum == FNZ_I64 ? "uint64_t"
         : sum == FNZ_C64 ? "cell_C64"
                          : "cell_C128";
}

fnz_status fnzi_cuda_put_read(const fnzi_cuda_writer *w, fnz_dtype sum, fnz_dtype dtype) {
  const char *name =
      fnzi_is_complex(dtype) ? fnzi_cuda_sum_type(sum) + 5 : fnzi_cuda_cells[dtype].name;
  if (fnzi_is_complex(dtype))
    PUT(w, "    return LOAD(cell_%s, at);\n", name);
  else
    PUT(w, "    const cell_%s v = LOAD(cell_%s, at);\n    return (sum)read_%s(&v);\n", name, name,
        name);
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_store(const fnzi_cuda_writer *w, fnz_dtype sum, fnz_dtype dtype) {
  const char *name =
      fnzi_is_complex(dtype) ? fnzi_cuda_sum_type(sum) + 5 : fnzi_cuda_cells[dtype].name;
  if (fnzi_is_complex(dtype))
    PUT(w, "    STORE(cell_%s, at, v);\n", name);
  else if (sum == FNZ_I64)
    PUT(w, "    STORE(cell_%s, at, int64_t_to_%s((int64_t)v));\n", name, name);
  else
    PUT(w, "    STORE(cell_%s, at, double_to_%s((double)v));\n", name, name);
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_step(const fnzi_cuda_writer *w, const char *index, int64_t stride,
                              fnz_dtype dtype) {
  int64_t bytes;
  if (!fnzi_mul_i64(stride, (int64_t)fnzi_dtype(dtype)->bytes, &bytes))
    return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "a stride leaves 64 bits");
  if (bytes != 0)
    PUT(w, " + %s * %lld", index, (long long)bytes);
  return FNZ_OK;
}
