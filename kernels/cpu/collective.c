/* collective.c - collectives: rows of memory that this process sends and receives, and the
 * functions of <fnz/collectives.h> in between, which are not called for a group of one.
 *
 * 16-bit floats are reduced in f32 and rounded once, bool by bits, complex numbers as pairs. */
#include "kernels/cpu/cpu.h"
#include "kernels/meta/collective.h"

#include <fnz/collectives.h>

#include <stdio.h>

#define HAS(c, function) ((c)->size > offsetof(fnz_collectives, function) && (c)->function != NULL)

typedef struct party {
  fnzi_krn_call *call;
  const fnz_collectives *c;
  fnz_group group;
  int64_t rank, count;
  char message[FNZ_COLLECTIVES_MESSAGE_BYTES];
} party;

/* --- The group -------------------------------------------------------------------------------- */
static fnz_status propagate(party *p, fnz_status status) {
  fnz_class kind = status == FNZ_BAD_INPUT     ? FNZ_CLASS_REF
                   : status == FNZ_UNSUPPORTED ? FNZ_CLASS_UNSUPPORTED
                   : status == FNZ_NO_MEMORY   ? FNZ_CLASS_NOMEM
                                               : FNZ_CLASS_IO;
  if (status == FNZ_OK)
    return FNZ_OK;
  p->message[sizeof p->message - 1] = 0;
  return fnzi_krn_call_refuse(p->call, kind, "%s",
                              p->message[0] ? p->message : "the other processes are not reached");
}

static fnz_status lacks(const party *p, const char *function) {
  return fnzi_krn_call_refuse(p->call, FNZ_CLASS_UNSUPPORTED, "the collectives \"%s\" have no %s",
                              p->c->name ? p->c->name : "", function);
}

#define NEED(p, function)                                                                          \
  do {                                                                                             \
    if (!HAS((p)->c, function))                                                                    \
      return lacks((p), #function);                                                                \
  } while (0)

static fnz_status open_group(fnzi_krn_call *call, party *p) {
  const fnz_arg *size = fnzi_krn_named(call, "group_size");
  const int64_t says = size ? fnzi_krn_number_int(size) : 0;
  *p = (party){.call = call, .c = call->ctx->collectives, .count = 1};
  /* The group as the program names it: a name, or a tag and ranks. */
  p->group.name = fnzi_krn_named_string(call, "group_name");
  p->group.tag = fnzi_krn_named_string(call, "tag");
  if (fnzi_krn_named(call, "ranks")) {
    FNZ_TRY(fnzi_krn_named_ints(call, "ranks", &p->group.ranks, &p->group.nranks));
    if (p->group.nranks != (size_t)says)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "it has %zu ranks and group_size %lld",
                                  p->group.nranks, (long long)says);
  }
  if (!p->c && says == 1)
    return FNZ_OK;
  if (!p->c) {
    char processes[48] = "processes, in a number that it does not say,";
    if (says)
      snprintf(processes, sizeof processes, "%lld processes", (long long)says);
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_UNSUPPORTED,
        "it is for %s of group \"%s\", and this one knows no others; say --collectives mpi under "
        "mpirun, or one where the program is for one process (fnz_context_set_collectives())",
        processes, p->group.name);
  }
  NEED(p, place);
  FNZ_TRY(propagate(p, p->c->place(p->c->self, &p->group, &p->rank, &p->count, p->message)));
  if (p->rank < 0 || p->rank >= p->count)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "there is no rank %lld among %lld",
                                (long long)p->rank, (long long)p->count);
  if (says == 0 || says == p->count)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                              "the program is for %lld processes in group \"%s\", which has %lld",
                              (long long)says, p->group.name, (long long)p->count);
}

static bool is_alone(const party *p) {
  return p->count == 1;
}

/* --- Elements --------------------------------------------------------------------------------- */
static size_t numel(const fnzi_krn_array *a) {
  return (size_t)fnz_geometry_numel(&a->geometry);
}

static fnz_dtype collective_dtype_of(const fnzi_krn_array *a) {
  return a->geometry.dtype;
}

static size_t collective_bytes_of(const fnzi_krn_array *a) {
  return numel(a) * fnzi_dtype(collective_dtype_of(a))->bytes;
}

/* As they are, of the type that they have. */
static fnz_status copy(party *p, size_t k, const void *from, void *to) {
  const size_t bytes = collective_bytes_of(fnzi_meta_sent(p->call, k));
  if (bytes)
    memcpy(to, from, bytes);
  return FNZ_OK;
}

/* In which type elements are reduced; FNZ_DTYPE_COUNT where they are not. */
static fnz_dtype wide_of(fnz_dtype dtype) {
  switch (dtype) {
  case FNZ_BOOL:
    return FNZ_U8;
  case FNZ_F16:
  case FNZ_BF16:
    return FNZ_F32;
  case FNZ_U8:
  case FNZ_I8:
  case FNZ_I16:
  case FNZ_I32:
  case FNZ_I64:
  case FNZ_U16:
  case FNZ_U32:
  case FNZ_U64:
  case FNZ_F32:
  case FNZ_F64:
  case FNZ_C64:
  case FNZ_C128:
    return dtype;
  default:
    return FNZ_DTYPE_COUNT;
  }
}

/* --- Reductions ------------------------------------------------------------------------------- */
typedef struct reducing {
  fnz_reduction reduction;
  bool mean;
  fnz_dtype wide, part; /* of elements in memory, and as the functions see them */
  size_t parts;         /* of these in an element */
} reducing;

static const struct {
  const char *word;
  fnz_reduction reduction, truth; /* of numbers, of bool */
} words[] = {
    {"sum", FNZ_REDUCTION_SUM, FNZ_REDUCTION_BOR},
    {"avg", FNZ_REDUCTION_SUM, FNZ_REDUCTION_SUM},
    {"product", FNZ_REDUCTION_PRODUCT, FNZ_REDUCTION_BAND},
    {"min", FNZ_REDUCTION_MIN, FNZ_REDUCTION_BAND},
    {"max", FNZ_REDUCTION_MAX, FNZ_REDUCTION_BOR},
    {"band", FNZ_REDUCTION_BAND, FNZ_REDUCTION_BAND},
    {"bor", FNZ_REDUCTION_BOR, FNZ_REDUCTION_BOR},
    {"bxor", FNZ_REDUCTION_BXOR, FNZ_REDUCTION_BXOR},
};

static fnz_status collective_choose(const party *p, const char *word, fnz_dtype dtype,
                                    reducing *out) {
  const size_t count = sizeof words / sizeof *words;
  size_t k = 0;
  while (k < count && strcmp(word, words[k].word) != 0)
    k++;
  if (k == count)
    return fnzi_krn_call_refuse(p->call, FNZ_CLASS_UNSUPPORTED,
                                "\"%s\" is no reduction; there are sum, avg, product, min, max, "
                                "band, bor and bxor",
                                word);
  out->mean = strcmp(words[k].word, "avg") == 0;
  out->reduction = dtype == FNZ_BOOL ? words[k].truth : words[k].reduction;
  out->wide = out->part = wide_of(dtype);
  out->parts = 1;
  const bool is_bits = out->reduction >= FNZ_REDUCTION_BAND, is_complex = fnzi_is_complex(dtype);
  const bool is_real = out->wide != FNZ_DTYPE_COUNT && fnzi_dtype(out->wide)->category == 'f';
  if (out->wide == FNZ_DTYPE_COUNT || (out->mean && !is_real && !is_complex) ||
      (is_bits && is_real) || (out->reduction != FNZ_REDUCTION_SUM && is_complex))
    return fnzi_krn_call_refuse(p->call, FNZ_CLASS_TYPE, "%s is not reduced by \"%s\"",
                                fnzi_dtype(dtype)->name, word);
  if (is_complex) {
    out->part = dtype == FNZ_C64 ? FNZ_F32 : FNZ_F64;
    out->parts = 2;
  }
  return FNZ_OK;
}

static void collective_divide(fnz_dtype dtype, void *data, size_t count, int64_t by) {
  float *f = data;
  double *d = data;
  for (size_t i = 0; i < count && dtype == FNZ_F32; i++)
    f[i] /= (float)by;
  for (size_t i = 0; i < count && dtype == FNZ_F64; i++)
    d[i] /= (double)by;
}

static fnz_status start_reducing(const party *p, size_t k, reducing *r) {
  const fnz_arg *word = &p->call->args[1];
  const fnz_dtype dtype = collective_dtype_of(fnzi_meta_sent(p->call, k));
  FNZ_TRY(collective_choose(p, word->tag == FNZ_ARG_STRING ? word->u.s : "", dtype, r));
  if (is_alone(p)) /* bits stay what they are */
    r->wide = dtype;
  return FNZ_OK;
}

static fnz_status collective_reduce(party *p, const reducing *r, void *data, size_t count) {
  NEED(p, all_reduce);
  return propagate(p, p->c->all_reduce(p->c->self, &p->group, r->reduction, r->part, data,
                                       count * r->parts, p->message));
}

static fnz_status all_reduce(party *p, size_t k) {
  const fnzi_krn_array *a = fnzi_meta_sent(p->call, k);
  const size_t count = numel(a);
  const void *from;
  reducing r;
  void *to;
  FNZ_TRY(start_reducing(p, k, &r));
  FNZ_TRY(fnzi_krn_dense_get_as(p->call, a, r.wide, &from));
  FNZ_TRY(fnzi_krn_result_get_as(p->call, k, r.wide, &to));
  if (count)
    memcpy(to, from, count * fnzi_dtype(r.wide)->bytes);
  if (is_alone(p))
    return FNZ_OK;
  FNZ_TRY(collective_reduce(p, &r, to, count));
  if (r.mean)
    collective_divide(r.part, to, count * r.parts, p->count);
  return FNZ_OK;
}

static fnz_status reduce_scatter(party *p, size_t k) {
  const size_t count = numel(p->call->outputs[k]);
  const void *from;
  reducing r;
  void *to;
  FNZ_TRY(start_reducing(p, k, &r));
  FNZ_TRY(fnzi_krn_dense_get_as(p->call, fnzi_meta_sent(p->call, k), r.wide, &from));
  FNZ_TRY(fnzi_krn_result_get_as(p->call, k, r.wide, &to));
  if (is_alone(p))
    return copy(p, k, from, to);
  if (HAS(p->c, reduce_scatter)) {
    FNZ_TRY(propagate(p, p->c->reduce_scatter(p->c->self, &p->group, r.reduction, r.part, from, to,
                                              count * r.parts, p->message)));
  } else { /* all of it is reduced, and a part taken */
    const size_t bytes = count * fnzi_dtype(r.wide)->bytes;
    void *all;
    FNZ_TRY(fnzi_arena_take(&p->call->scratch, bytes, (size_t)p->count, &all));
    if (bytes)
      memcpy(all, from, bytes * (size_t)p->count);
    FNZ_TRY(collective_reduce(p, &r, all, count * (size_t)p->count));
    if (bytes)
      memcpy(to, (char *)all + bytes * (size_t)p->rank, bytes);
  }
  if (r.mean)
    collective_divide(r.part, to, count * r.parts, p->count);
  return FNZ_OK;
}

/* --- Moves ------------------------------------------------------------------------------------ */
/* The memory to send, and memory of the same type to receive into. */
static fnz_status collective_open_rows(party *p, size_t k, const void **from, void **to) {
  const fnzi_krn_array *a = fnzi_meta_sent(p->call, k);
  FNZ_TRY(fnzi_krn_dense_get(p->call, a, from));
  return fnzi_krn_result_get_as(p->call, k, collective_dtype_of(a), to);
}

static fnz_status all_gather(party *p, size_t k) {
  const void *from;
  void *to;
  FNZ_TRY(collective_open_rows(p, k, &from, &to));
  if (is_alone(p))
    return copy(p, k, from, to);
  NEED(p, all_gather);
  return propagate(p, p->c->all_gather(p->c->self, &p->group, from,
                                       collective_bytes_of(fnzi_meta_sent(p->call, k)), to,
                                       p->message));
}

static fnz_status collective_broadcast(party *p, size_t k) {
  const int64_t source = fnzi_krn_named_int(p->call, "src", 0);
  const void *from;
  void *to;
  FNZ_TRY(collective_open_rows(p, k, &from, &to));
  FNZ_TRY(copy(p, k, from, to));
  if (source < 0 || source >= p->count)
    return fnzi_krn_call_refuse(p->call, FNZ_CLASS_BOUNDS,
                                "src %lld is no rank of group \"%s\", which has %lld",
                                (long long)source, p->group.name, (long long)p->count);
  if (is_alone(p))
    return FNZ_OK;
  NEED(p, broadcast);
  return propagate(p, p->c->broadcast(p->c->self, &p->group, source, to,
                                      collective_bytes_of(fnzi_meta_sent(p->call, k)), p->message));
}

/* Bytes for each process, of rows that are dealt out as the sizes of this name say, or evenly. */
static fnz_status collective_split(const party *p, const char *name, const fnzi_krn_array *a,
                                   size_t **out) {
  const int64_t rows = a->geometry.sizes[0], count = p->count;
  const size_t row = rows ? collective_bytes_of(a) / (size_t)rows : 0;
  const int64_t *sizes;
  int64_t sum = 0;
  size_t given;
  const bool even = fnzi_krn_named(p->call, name)->tag != FNZ_ARG_LIST;
  FNZ_TRY(fnzi_krn_named_ints(p->call, name, &sizes, &given));
  FNZI_NEW(&p->call->scratch, count, out);
  if (even ? rows % count != 0 : given != (size_t)count)
    return fnzi_krn_call_refuse(p->call, FNZ_CLASS_BOUNDS,
                                "%s has %zu numbers for %lld processes and %lld rows", name, given,
                                (long long)count, (long long)rows);
  for (int64_t k = 0; k < count; k++) {
    const int64_t size = even ? rows / count : sizes[k];
    if (size < 0 || size > rows - sum)
      return fnzi_krn_call_refuse(p->call, FNZ_CLASS_BOUNDS,
                                  "%s asks for %lld rows where %lld are left", name,
                                  (long long)size, (long long)(rows - sum));
    sum += size;
    (*out)[k] = (size_t)size * row;
  }
  if (sum == rows)
    return FNZ_OK;
  return fnzi_krn_call_refuse(p->call, FNZ_CLASS_BOUNDS, "%s takes %lld of %lld rows", name,
                              (long long)sum, (long long)rows);
}

static fnz_status all_to_all(party *p, size_t k) {
  const void *from;
  void *to;
  size_t *sent, *got;
  FNZ_TRY(collective_open_rows(p, k, &from, &to));
  FNZ_TRY(collective_split(p, "input_split_sizes", fnzi_meta_sent(p->call, k), &sent));
  FNZ_TRY(collective_split(p, "output_split_sizes", p->call->outputs[k], &got));
  if (is_alone(p))
    return sent[0] == got[0] ? copy(p, k, from, to)
                             : fnzi_krn_call_refuse(p->call, FNZ_CLASS_BOUNDS,
                                                    "one process sends other sizes than it gets");
  NEED(p, all_to_all);
  return propagate(p, p->c->all_to_all(p->c->self, &p->group, from, sent, to, got, p->message));
}

/* --- The kernels ------------------------------------------------------------------------------ */
/* Tensors of a list one after the other. */
static fnz_status each(fnzi_krn_call *call, fnz_status (*one)(party *p, size_t k)) {
  party p;
  FNZ_TRY(open_group(call, &p));
  for (size_t k = 0; k < fnzi_meta_sent_count(call); k++)
    FNZ_TRY(one(&p, k));
  return FNZ_OK;
}

fnz_status fnzi_kernel_all_gather(fnzi_krn_call *call) {
  return each(call, all_gather);
}

fnz_status fnzi_kernel_all_reduce(fnzi_krn_call *call) {
  return each(call, all_reduce);
}

fnz_status fnzi_kernel_all_to_all(fnzi_krn_call *call) {
  return each(call, all_to_all);
}

fnz_status fnzi_kernel_broadcast(fnzi_krn_call *call) {
  return each(call, collective_broadcast);
}

fnz_status fnzi_kernel_reduce_scatter(fnzi_krn_call *call) {
  return each(call, reduce_scatter);
}
