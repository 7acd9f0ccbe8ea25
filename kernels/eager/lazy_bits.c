/* lazy_bits.c - lazy bits: a tensor that is the conjugate or the negative of the elements in its
 * memory. Kernels get its computed elements. */
#include "kernels/eager/eager.h"

static bool has_bits(const fnz_arg *arg) {
  const fnzi_krn_array *a = fnzi_krn_arg_array(arg);
  return a && (a->geometry.is_conj || a->geometry.is_neg);
}

/* The operator that computes the elements of a lazy bit: the copying twin of its view. */
static const fnz_op *bit_op(const char *view) {
  const fnz_op *op = fnzi_ops_find(view);
  return op ? fnzi_op_by_index(op->view_copy) : NULL;
}

fnz_status fnzi_mem_job_resolve(const fnzi_mem_job *job, fnzi_krn_array *array,
                                fnzi_krn_array **out) {
  fnz_geometry g = array->geometry;
  fnzi_krn_array *plain, *half;
  bool is_conj = g.is_conj, is_neg = g.is_neg;
  g.is_conj = g.is_neg = false;
  FNZ_TRY(fnzi_mem_array_window(job->m, job->ctx, array->storage, &g, &plain));
  fnz_status status =
      fnzi_mem_job_part_on(job, bit_op(is_conj ? "_conj" : "_neg_view"), plain, out);
  fnzi_krn_array_release(job->ctx, plain);
  if (status != FNZ_OK || !is_conj || !is_neg)
    return status;
  half = *out;
  status = fnzi_mem_job_part_on(job, bit_op("_neg_view"), half, out);
  fnzi_krn_array_release(job->ctx, half);
  return status;
}

void fnzi_mem_job_drop(const fnzi_mem_job *job, fnzi_krn_array **temporaries, size_t count) {
  for (size_t i = 0; i < count; i++)
    fnzi_krn_array_release(job->ctx, temporaries[i]);
}

static fnz_status replace_bits(const fnzi_mem_job *job, fnz_arg *args, size_t nargs,
                               fnzi_krn_array **temporaries, size_t *count) {
  FNZI_EACH_ARG(each, args, nargs) {
    fnz_arg *item = fnzi_each_own(&each);
    if (has_bits(item)) {
      FNZ_TRY(fnzi_mem_job_resolve(job, fnzi_krn_arg_array(item), &temporaries[*count]));
      item->u.value = fnzi_krn_array_handle(temporaries[(*count)++]);
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_mem_job_plain_args(const fnzi_mem_job *job, const fnz_op *op, const fnz_arg *args,
                                   const fnz_arg **out, fnzi_krn_array ***temporaries,
                                   size_t *count) {
  size_t bits = 0;
  FNZI_EACH_ARG(each, args, op->nparams)
    bits += has_bits(each.arg);
  fnz_arg *copy;
  *out = args;
  *count = 0;
  *temporaries = NULL;
  if (!bits)
    return FNZ_OK;
  FNZ_TRY(fnzi_args_clone(job->scratch, args, op->nparams, op->nparams, &copy));
  FNZI_NEW(job->scratch, bits, temporaries);
  *out = copy;
  fnz_status status = replace_bits(job, copy, op->nparams, *temporaries, count);
  if (status != FNZ_OK) {
    fnzi_mem_job_drop(job, *temporaries, *count);
    *count = 0;
  }
  return status;
}

fnz_status fnzi_mem_machine_resolve(fnzi_krn_machine *m, fnz_context *ctx, fnzi_krn_array *array,
                                    fnzi_krn_array **out) {
  fnzi_arena scratch;
  fnzi_arena_init(&scratch, ctx);
  const fnzi_mem_job job = {.m = m, .ctx = ctx, .op = bit_op("_conj"), .scratch = &scratch};
  fnz_status status = fnzi_mem_job_resolve(&job, array, out);
  fnzi_arena_free(&scratch);
  return status;
}
