/* shortcut.c - small pointwise calls: a call by the row leaves a shortcut, and the next call
 * with the same dtypes and numbers on contiguous tensors of one shape uses it.
 *
 * Results equal the full route bit for bit: it is the same loop over the same chunks. */
#include "kernels/eager/eager.h"
#include "kernels/meta/point.h"

enum {
  MOST_ARGS = 6,
  MOST_SHORTCUTS = 4,     /* kept for each operator */
  MOST_ELEMENTS = 1 << 14 /* more are worth several threads */
};

/* One call, as it is repeated. */
typedef struct shortcut {
  fnzi_meta_point_code code; /* of operands that all have the dtype that is computed */
  fnz_dtype out;
  bool has_dims; /* tensors with dimensions; others are promoted in another way */
  int8_t target; /* the argument that is written, -1 for a new tensor */
  uint8_t nargs; /* of the operator */
  fnz_arg args[MOST_ARGS];
} shortcut;

struct fnzi_mem_shortcuts {
  uint32_t count, next;
  shortcut kept[MOST_SHORTCUTS];
};

/* --- Comparing -------------------------------------------------------------------------------- */
/* The request has the arguments of the shortcut, except for the tensors' elements and sizes. `like`
 * is the first tensor. */
static bool matches(const shortcut *s, const fnz_request *request, const fnzi_krn_array **like) {
  *like = NULL;
  for (size_t i = 0; i < s->nargs; i++) {
    const fnz_arg *have = &request->args[i], *want = &s->args[i];
    if (have->tag != want->tag)
      return false;
    if (have->tag != FNZ_ARG_VALUE) {
      if (have->tag != FNZ_ARG_NONE && have->u.i != want->u.i)
        return false;
      continue;
    }
    const fnzi_krn_array *a = fnzi_krn_array_of(have->u.value);
    if (!a || !a->eager || a->geometry.dtype != ((int)i == s->target ? s->out : s->code.compute))
      return false;
    if (!*like)
      *like = a;
    if (a != *like && !fnzi_same_sizes(&a->geometry, &(*like)->geometry))
      return false;
    if (!fnzi_is_contiguous(&a->geometry) || a->geometry.is_conj || a->geometry.is_neg)
      return false;
  }
  return *like && ((*like)->geometry.rank > 0) == s->has_dims;
}

static const shortcut *find_shortcut(const fnzi_mem_shortcuts *all, const fnz_request *request,
                                     const fnzi_krn_array **like) {
  for (uint32_t k = 0; k < all->count; k++)
    if (matches(&all->kept[k], request, like))
      return &all->kept[k];
  return NULL;
}

/* --- Learning --------------------------------------------------------------------------------- */
/* Numbers and tensors of one dtype and shape, and nothing else. */
static bool shortcut_take_args(const fnzi_mem_job *job, const fnz_geometry *like, shortcut *s) {
  for (size_t i = 0; i < job->op->nparams; i++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(&job->args[i]);
    bool is_target = job->op->params[i].is_write;
    s->args[i] = job->args[i];
    if (is_target)
      s->target = (int8_t)i;
    if (!a && job->args[i].tag != FNZ_ARG_NONE && job->args[i].tag != FNZ_ARG_INT &&
        job->args[i].tag != FNZ_ARG_FLOAT && job->args[i].tag != FNZ_ARG_BOOL)
      return false;
    if (a && (!fnzi_is_contiguous(&a->geometry) || a->geometry.is_conj || a->geometry.is_neg ||
              !fnzi_same_sizes(&a->geometry, like) ||
              (!is_target && a->geometry.dtype != s->code.compute)))
      return false;
    if (is_target && (!a || a->geometry.dtype != s->out))
      return false;
  }
  for (uint32_t k = 0; k < s->code.arity; k++) {
    int8_t arg = s->code.in[k].arg;
    if (arg >= 0 && fnzi_krn_arg_array(&job->args[arg])->window.dtype != s->code.compute)
      return false;
  }
  return true;
}

void fnzi_mem_shortcut_learn(fnzi_mem_job *job, const fnzi_krn_call *call) {
  fnzi_mem_route *route = job->m->routes ? fnzi_mem_route_known(job->m, job->op) : NULL;
  shortcut s = {.target = -1, .nargs = (uint8_t)job->op->nparams};
  void *room;
  if (!job->m->kernels->code || !route || route != job->route ||
      route->row->run != FNZI_RUN_point || !route->same_args || job->op->nparams > MOST_ARGS ||
      call->noutputs != 1 || !call->outputs[0])
    return;
  const fnz_geometry *g = &call->outputs[0]->geometry;
  s.out = g->dtype;
  s.has_dims = g->rank > 0;
  fnz_error kept = job->ctx->error; /* the search for a shortcut is no failure of the call */
  bool found = job->m->kernels->code(call, &s.code) && shortcut_take_args(job, g, &s);
  job->ctx->error = kept;
  const fnz_request same = {job->op, job->args, job->op->nparams, NULL, ""};
  const fnzi_krn_array *like;
  if (!found || (route->shortcuts && find_shortcut(route->shortcuts, &same, &like)))
    return;
  if (!route->shortcuts &&
      fnzi_arena_alloc(&job->m->lasting, 1, sizeof(fnzi_mem_shortcuts), &room) == FNZ_OK)
    route->shortcuts = room;
  fnzi_mem_shortcuts *all = route->shortcuts;
  if (all)
    all->kept[all->count < MOST_SHORTCUTS ? all->count++ : all->next++ % MOST_SHORTCUTS] = s;
}

/* --- Taking ----------------------------------------------------------------------------------- */
/* Eager compares strides also where a dimension has one element. */
static bool has_strides_of(const fnz_geometry *a, const fnz_geometry *b) {
  return a->rank == b->rank &&
         (a->rank == 0 || memcmp(a->strides, b->strides, a->rank * sizeof *a->strides) == 0);
}

/* No operand shares memory with the target, unless at the very same places. */
static bool is_apart(const shortcut *s, const fnz_request *request, const fnzi_krn_array *target) {
  for (size_t i = 0; i < s->nargs; i++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(&request->args[i]);
    if (a && a->storage == target->storage &&
        (a->geometry.dtype != target->geometry.dtype ||
         a->geometry.offset != target->geometry.offset ||
         !has_strides_of(&a->geometry, &target->geometry)))
      return false;
  }
  return true;
}

static void convert(const fnzi_meta_point_code *code, fnz_dtype to, void *dst, fnz_dtype from,
                    const void *src, int64_t count) {
  const fnzi_krn_conversion c = {to, from, (int64_t)fnzi_dtype(to)->bytes,
                                 (int64_t)fnzi_dtype(from)->bytes};
  if (code->keeps)
    fnzi_krn_convert_kept(&c, dst, src, count);
  else
    fnzi_krn_convert(&c, dst, src, count);
}

/* `count` elements of a tensor, as the computing type: where they lie, else brought to `room`. */
static const void *load(const fnzi_meta_point_code *code, const unsigned char *from, int64_t count,
                        void *room) {
  if (code->compute == code->class_dtype)
    return from;
  convert(code, code->class_dtype, room, code->compute, from, count);
  return room;
}

static void shortcut_compute(const fnzi_meta_point_code *code, const void *const *in,
                             fnz_dtype dtype, void *to, int64_t count) {
  double room[2 * FNZI_POINT_CHUNK]; /* c128 has 16 bytes */
  if (code->out == dtype) {
    code->run(to, in, count);
    return;
  }
  code->run(room, in, count);
  convert(code, dtype, to, code->out, room, count);
}

static void run(const fnzi_meta_point_code *code, const fnz_request *request,
                const fnzi_krn_array *out) {
  double room[FNZI_POINT_OPERANDS][2 * FNZI_POINT_CHUNK];
  const void *in[FNZI_POINT_OPERANDS];
  int64_t count = fnzi_krn_array_numel(out);
  size_t cell = fnzi_dtype(code->compute)->bytes, wide = fnzi_dtype(code->class_dtype)->bytes;
  for (uint32_t k = 0; k < code->arity; k++) /* a number is repeated for a chunk */
    for (int64_t i = 0; code->in[k].arg < 0 && i < count && i < FNZI_POINT_CHUNK; i++)
      memcpy((char *)room[k] + (size_t)i * wide, code->in[k].number, wide);
  for (int64_t at = 0; at < count; at += FNZI_POINT_CHUNK) {
    int64_t n = count - at < FNZI_POINT_CHUNK ? count - at : FNZI_POINT_CHUNK;
    for (uint32_t k = 0; k < code->arity; k++) {
      const fnzi_krn_array *a =
          code->in[k].arg < 0 ? NULL : fnzi_krn_arg_array(&request->args[code->in[k].arg]);
      in[k] = a ? load(code, fnzi_krn_array_data(a) + (size_t)at * cell, n, room[k]) : room[k];
    }
    shortcut_compute(code, in, out->geometry.dtype,
                     fnzi_krn_array_data(out) + (size_t)at * out->cell, n);
  }
}

bool fnzi_mem_shortcut_call(fnzi_krn_machine *m, fnz_context *ctx, const fnzi_mem_route *route,
                            const fnz_request *request, fnz_handle *output) {
  const fnzi_krn_array *like;
  fnzi_krn_array *out;
  if (request->nargs != request->op->nparams)
    return false;
  const shortcut *s = find_shortcut(route->shortcuts, request, &like);
  if (!s || fnzi_krn_array_numel(like) > MOST_ELEMENTS)
    return false;
  if (s->target >= 0) {
    out = fnzi_krn_array_of(request->args[s->target].u.value);
    if (!is_apart(s, request, out))
      return false;
    out->refs++;
  } else {
    fnz_geometry g = like->geometry;
    int64_t strides[FNZ_MAX_RANK];
    g.dtype = s->out;
    g.offset = 0;
    g.strides = strides;
    fnzi_contiguous_strides(g.sizes, g.rank, strides);
    if (fnzi_mem_array_create(m, ctx, &g, &out) != FNZ_OK)
      return false;
  }
  run(&s->code, request, out);
  *output = fnzi_krn_array_handle(out);
  return true;
}
