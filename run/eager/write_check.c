/* write_check.c - writes that eager refuses, or whose result depends on an order that it does
 * not promise: memory that overlaps itself, an operand that partly overlaps what is written, sizes
 * that do not fit. */
#include "run/eager/eager.h"
#include "schema/aten_names.h"
#include "schema/facts/targets.h"

/* Every element gets the same number, so that order does not matter. */
static bool is_fill(const fnz_op *twin) {
  return strcmp(twin->base, "fill") == 0 || strcmp(twin->base, "zero") == 0;
}

static bool is_elementwise(const fnz_op *twin) {
  return fnzi_op_is_elementwise(twin) || strcmp(twin->base, "copy") == 0;
}

/* The tensor that is written, or another one with its very window, such as a detach() of it. With
 * lazy bits eager copies the other one. */
static bool is_target(const fnzi_eag_tensor *t, const fnzi_eag_tensor *target) {
  return t == target || (t != NULL && t->memory == target->memory && !t->g->is_conj &&
                         !t->g->is_neg && fnzi_geometry_equal(t->g, target->g));
}

/* The operator is idempotent and its only tensor is the target, so a place gets the same number
 * however many elements lie in it. */
static bool is_idempotent(const fnzi_eag_op *s, const fnz_op *twin, const fnz_arg *args,
                          const fnzi_eag_tensor *target) {
  static const char *const names[] = {
      "abs",   "ceil", "clamp", "clamp_max", "clamp_min", "floor",     "hardtanh",
      "relu6", "relu", "round", "sgn",       "sign",      "threshold", "trunc",
  };
  bool known = false, alone = args[0].tag == FNZ_ARG_VALUE;
  if (!alone || !is_target(fnzi_eag_tensor_of(s->in, args[0].u.value), target))
    return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    known = known || strcmp(fnzi_op_canonical(twin)->name, names[i]) == 0;
  for (size_t i = 1; i < twin->nparams; i++)
    known = known && args[i].tag != FNZ_ARG_VALUE;
  return known;
}

/* Eager reads the operand into memory of its own before it writes: it copies the whole result of
 * operators that it generates, and resolves lazy bits of the target with all that shares its
 * memory, but for copy_ and for conjugates in operators that take them. */
static bool is_copied_whole(const fnzi_eag_op *s, const fnz_geometry *target,
                            const fnz_geometry *operand) {
  if (s->op->kind == FNZI_KIND_OUT && fnz_op_has_tag(s->op, "generated"))
    return true;
  if (s->op == &fnzi_ops[FNZI_ATEN_copy_])
    return false;
  return target->is_neg || operand->is_neg ||
         ((target->is_conj || operand->is_conj) && !fnzi_takes_lazy(s->op));
}

/* The byte ranges of two tensors intersect. */
static bool may_meet(const fnz_geometry *a, const fnz_geometry *b) {
  int64_t a_low, a_high, b_low, b_high;
  int64_t a_item = (int64_t)fnzi_dtype(a->dtype)->bytes;
  int64_t b_item = (int64_t)fnzi_dtype(b->dtype)->bytes;
  if (!fnzi_extent(a, &a_low, &a_high) || !fnzi_extent(b, &b_low, &b_high))
    return true;
  return a_low * a_item < b_high * b_item && b_low * b_item < a_high * a_item;
}

/* The same places element by element, except for leading dimensions of size 1. Eager does see these
 * in dense tensors. */
static bool is_same_window(const fnz_geometry *a, const fnz_geometry *b) {
  const fnz_geometry *more = a->rank > b->rank ? a : b, *less = a->rank > b->rank ? b : a;
  uint32_t lead = more->rank - less->rank;
  bool same = fnzi_dtype(a->dtype)->bytes == fnzi_dtype(b->dtype)->bytes && a->offset == b->offset;
  for (uint32_t d = 0; same && d < more->rank; d++) {
    bool inner = d >= lead;
    same = more->sizes[d] == (inner ? less->sizes[d - lead] : 1) &&
           (more->sizes[d] == 1 || more->strides[d] == less->strides[d - lead]);
  }
  /* Eager compares strides also where a dimension has one element. */
  return same && (!fnzi_is_dense(a) || !fnzi_is_dense(b) ||
                  (a->rank == b->rank &&
                   memcmp(a->strides, b->strides, a->rank * sizeof *a->strides) == 0));
}

enum { MOST_READ = 8 }; /* operands of an elementwise operator */

typedef struct checking {
  fnzi_eag_op *s;
  const fnz_op *twin;
  const fnzi_eag_tensor *target;
  const fnz_arg *number; /* the last argument */
  bool loops;            /* an operand may be read element after element */
  bool fits;             /* the target is not resized */
  bool reads_target;     /* it is an operand too */
  bool casts;            /* operands of several dtypes, to `common` */
  fnz_dtype common;
} checking;

/* Results are computed into a tensor of their own dtype, and copied. Comparisons write a bool
 * directly. */
static bool holds_back(const checking *c, const fnz_geometry *target) {
  bool as_is = target->dtype == c->common ||
               (target->dtype == FNZ_BOOL && c->twin->promotion == FNZI_PROMOTE_ALWAYS_BOOL);
  return c->casts && !as_is;
}

/* A cast operand is a copy, and so are cast results. */
static bool is_read_first(const checking *c, const fnz_geometry *target,
                          const fnz_geometry *operand) {
  if (is_copied_whole(c->s, target, operand))
    return true;
  return holds_back(c, target) || (c->casts && operand->dtype != c->common);
}

/* PyTorch's rule: two dense tensors of one memory whose ranges intersect must be the same window.
 * It accepts others, and its loop then decides what is read. */
static fnz_status find_order(fnzi_eag_op *s, const fnz_geometry *a, const fnz_geometry *b,
                             const checking *c, fnzi_eag_order *out) {
  bool meet = may_meet(a, b);
  *out = FNZI_EAG_ORDER_UNKNOWN;
  if (meet)
    FNZ_TRY(fnzi_eag_bytes_meet(s->ctx, a, b, &meet));
  if (!meet)
    *out = FNZI_EAG_ORDER_FREE;
  if (!meet || !c->loops || (fnzi_is_dense(a) && fnzi_is_dense(b)))
    return FNZ_OK;
  if (is_read_first(c, a, b)) {
    *out = FNZI_EAG_ORDER_FREE;
    return FNZ_OK;
  }
  return a->dtype == b->dtype ? fnzi_eag_find_order(s->ctx, a, b, out) : FNZ_OK;
}

/* The operand as the loop reads it: cast to the common dtype. */
static fnz_status seen_by_loop(const checking *c, const fnz_geometry *g, const fnz_geometry **out) {
  fnzi_eag_window *w;
  fnz_geometry *cast;
  *out = g;
  if (!c->casts || g->dtype == c->common)
    return FNZ_OK;
  FNZI_NEW(&c->s->in->run.scratch, 1, &w);
  FNZI_NEW(&c->s->in->run.scratch, 1, &cast);
  fnzi_eag_window_of(g, w);
  fnzi_eag_window_preserve(w);
  *cast = fnzi_eag_window_geometry(w);
  *out = cast;
  return FNZ_OK;
}

/* Results that are held back are copied from a row-major tensor. */
static fnz_status set_order(const checking *c, const fnz_arg *args) {
  const fnz_geometry *target = c->target->g, *operands[MOST_READ];
  int64_t rows[FNZ_MAX_RANK];
  fnz_geometry waiting = *target;
  uint32_t *order;
  size_t count = 0;
  fnzi_contiguous_strides(target->sizes, target->rank, rows);
  waiting.strides = rows;
  if (holds_back(c, target))
    operands[count++] = &waiting;
  for (size_t i = 0; !holds_back(c, target) && i < c->twin->nparams && count < MOST_READ; i++) {
    const fnzi_eag_tensor *t = fnzi_eag_arg_tensor(c->s->in, &args[i]);
    if (t != NULL)
      FNZ_TRY(seen_by_loop(c, t->g, &operands[count++]));
  }
  FNZI_NEW(&c->s->in->run.scratch, target->rank, &order);
  fnzi_eag_loop_order(target, operands, count, order);
  c->s->order = order;
  return FNZ_OK;
}

/* From this number of elements on eager may work in several threads. */
enum { IN_PARALLEL = 32768 };

/* A target with several elements in one place: all results are computed first when nothing is read
 * after it was written, else element by element. */
static fnz_status check_repeats(const checking *c, const fnz_arg *args) {
  fnzi_eag_op *s = c->s;
  const fnz_geometry *g = c->target->g;
  bool overlaps, first = true;
  FNZ_TRY(fnzi_eag_places_overlap(s->ctx, g, &overlaps));
  if (!overlaps)
    return FNZ_OK;
  for (size_t i = 0; first && i < c->twin->nparams; i++) {
    /* The argument reads nothing of the target that was written before. */
    const fnzi_eag_tensor *t = fnzi_eag_arg_tensor(c->s->in, &args[i]);
    bool only_written = t == c->target && strcmp(c->twin->base, "copy") == 0, meet = true;
    if (t != NULL && !only_written && t->memory == c->target->memory) {
      if (t != c->target)
        FNZ_TRY(fnzi_eag_bytes_meet(c->s->ctx, c->target->g, t->g, &meet));
      first = !meet || is_read_first(c, c->target->g, t->g);
    }
  }
  int64_t most = first ? IN_PARALLEL - 1 : FNZI_EAG_MOST_IN_LOOP;
  if (fnzi_eag_is_expanded(g) || !is_elementwise(c->twin) || !c->fits ||
      fnz_geometry_numel(g) > most)
    return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                     "%s writes a tensor with several elements in one place, so the result would "
                     "depend on the order; clone it before",
                     s->op->name);
  s->in_loop = !first;
  return set_order(c, args);
}

static fnz_status check_self(const checking *c, const fnz_arg *args) {
  fnzi_eag_op *s = c->s;
  int64_t sizes[FNZ_MAX_RANK];
  bool once = false, expanded = fnzi_eag_is_expanded(c->target->g);
  if (fnzi_op_is_flat(s->op) && !fnzi_is_dense(c->target->g))
    return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s walks over memory, and a tensor that it writes has gaps there, into which "
                     "it would write; give it a contiguous one and copy_() that back",
                     s->op->name);
  /* Eager copies a number that is a tensor to all elements, and checks the target first. */
  if (is_fill(c->twin) && !(expanded && c->twin->nparams > 1 && args[1].tag == FNZ_ARG_VALUE))
    return FNZ_OK;
  if (!expanded && is_idempotent(s, c->twin, args, c->target))
    return FNZ_OK;
  if (expanded)
    FNZ_TRY(fnzi_eag_chosen_alike(s, c->target->g, sizes, &once));
  return once ? FNZ_OK : check_repeats(c, args);
}

static fnz_status refuse_shared_operand(const fnzi_eag_op *s) {
  return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                   "an operand of %s shares some of its elements with the tensor that is written; "
                   "clone it before",
                   s->op->name);
}

static fnz_status check_operand(const checking *c, const fnzi_eag_tensor *operand) {
  fnzi_eag_op *s = c->s;
  const fnzi_eag_tensor *target = c->target;
  fnzi_eag_order order;
  if (operand->memory != target->memory ||
      (is_elementwise(c->twin) && is_same_window(target->g, operand->g)) ||
      is_copied_whole(s, target->g, operand->g))
    return FNZ_OK;
  FNZ_TRY(find_order(s, target->g, operand->g, c, &order));
  s->in_loop = s->in_loop || order == FNZI_EAG_ORDER_LOOP;
  return order != FNZI_EAG_ORDER_UNKNOWN ? FNZ_OK : refuse_shared_operand(s);
}

/* Eager reads the number of these before it writes. */
static bool is_read_as_number(const fnz_op *twin, const fnzi_eag_tensor *operand, bool is_last) {
  static const char *const bases[] = {"fill", "masked_fill", "index_fill"};
  for (size_t i = 0; is_last && operand->g->rank == 0 && i < sizeof bases / sizeof *bases; i++)
    if (strcmp(twin->base, bases[i]) == 0)
      return true;
  return false;
}

/* An out= argument that is not an operand. */
static bool may_take_any_sizes(const checking *c) {
  return is_elementwise(c->twin) && c->s->op->kind == FNZI_KIND_OUT && !c->reads_target;
}

/* An operand of a pointwise operator broadcasts to the target, unless the target can be resized. */
static fnz_status check_sizes(const checking *c, const fnzi_eag_tensor *operand) {
  const fnzi_eag_op *s = c->s;
  const fnz_geometry *a = c->target->g, *b = operand->g;
  if (!is_elementwise(c->twin) || may_take_any_sizes(c))
    return FNZ_OK;
  for (uint32_t d = 0; d < b->rank; d++) {
    int64_t size = b->sizes[b->rank - 1 - d];
    if (size == 1 && d < a->rank)
      continue;
    if (d >= a->rank || size != a->sizes[a->rank - 1 - d])
      return fnzi_fail(s->ctx, FNZ_CLASS_BOUNDS, "",
                       "%s: an operand has size %lld where the tensor that is written has %lld",
                       s->op->name, (long long)size,
                       (long long)(d < a->rank ? a->sizes[a->rank - 1 - d] : 1));
  }
  return FNZ_OK;
}

/* Eager's masked_scatter_ reads on in a contiguous source while it writes, unless it writes one
 * element at most. Another source it copies first. */
static fnz_status check_source(fnzi_eag_op *s, const fnzi_eag_tensor *target, const fnz_arg *arg) {
  fnzi_eag_tensor *source;
  bool meet;
  FNZ_TRY(fnzi_eag_op_tensor(s, arg, &source));
  if (source->memory != target->memory || fnz_geometry_numel(target->g) <= 1 ||
      !fnzi_is_contiguous(source->g) || !may_meet(source->g, target->g) ||
      is_copied_whole(s, target->g, source->g))
    return FNZ_OK;
  FNZ_TRY(fnzi_eag_places_meet(s->ctx, target->g, source->g, &meet));
  if (!meet && source->g->dtype == target->g->dtype)
    return FNZ_OK;
  return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                   "%s reads from the tensor that it writes, so the result would depend on the "
                   "order; clone the source before",
                   s->op->name);
}

/* `loops`: the operator may read its operands element after element. */
static checking checking_of(fnzi_eag_op *s, const fnz_op *twin, const fnz_arg *args,
                            const fnzi_eag_tensor *target, bool loops) {
  checking c = {.s = s,
                .twin = twin,
                .target = target,
                .number = &args[twin->nparams - 1],
                .loops = is_elementwise(twin) && loops,
                .fits = loops};
  for (size_t i = 0; i < twin->nparams; i++)
    c.reads_target = c.reads_target || (args[i].tag == FNZ_ARG_VALUE &&
                                        fnzi_eag_tensor_of(s->in, args[i].u.value) == target);
  c.casts = c.loops &&
            fnzi_op_common_dtype(twin, args, twin->nparams, fnzi_eag_op_geometry, s, &c.common);
  return c;
}

bool fnzi_eag_reads_first(fnzi_eag_op *s, const fnz_op *twin, const fnz_arg *args,
                          const fnzi_eag_tensor *target, const fnzi_eag_tensor *operand) {
  const checking c = checking_of(s, twin, args, target, true);
  return is_read_first(&c, target->g, operand->g);
}

/* An operator that is not elementwise reads places of a target that it has written, if the target
 * is an operand more often than eager expects. */
static fnz_status check_reads(fnzi_eag_op *s, const fnz_op *twin, const fnz_arg *args,
                              const fnzi_eag_tensor *target, bool resized) {
  const fnzi_param *written = NULL; /* the parameter of the target */
  for (size_t i = 0; i < s->op->nparams && !written; i++)
    if (s->op->params[i].is_write && s->args[i].tag == FNZ_ARG_VALUE &&
        fnzi_eag_tensor_of(s->in, s->args[i].u.value) == target)
      written = &s->op->params[i];
  const fnz_arg *last = &args[twin->nparams - 1];
  size_t reads = 0;
  if (is_elementwise(twin) || is_fill(twin) || written == NULL ||
      fnz_geometry_numel(target->g) == 0 ||
      (s->op->kind == FNZI_KIND_OUT && fnz_op_has_tag(s->op, "generated")))
    return FNZ_OK;
  int own = fnzi_own_input(s->op, written);
  bool provided = own >= 0 && s->args[own].tag == FNZ_ARG_VALUE && !(written->is_out && resized) &&
                  is_target(fnzi_eag_tensor_of(s->in, s->args[own].u.value), target);
  FNZI_EACH_ARG(each, args, twin->nparams)
    if (each.arg != last || !is_read_as_number(twin, target, true))
      reads += each.arg->tag == FNZ_ARG_VALUE &&
               is_target(fnzi_eag_tensor_of(s->in, each.arg->u.value), target);
  if (reads <= (provided ? 1 : 0))
    return FNZ_OK;
  return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                   "%s reads the tensor that it writes, so the result would depend on the order; "
                   "clone it before",
                   s->op->name);
}

fnz_status fnzi_eag_check_write(fnzi_eag_op *s, const fnz_op *twin, const fnz_arg *args,
                                const fnzi_eag_tensor *target, const fnz_geometry *recorded) {
  bool resized = recorded != NULL && !fnzi_same_sizes(recorded, target->g);
  checking c = checking_of(s, twin, args, target, !resized);
  FNZ_TRY(check_self(&c, args));
  if (strcmp(twin->name, "masked_scatter") == 0) {
    /* Its mask is read element after element, where something is written. */
    fnzi_eag_tensor *mask;
    FNZ_TRY(fnzi_eag_op_tensor(c.s, &args[1], &mask));
    bool in_place = is_same_window(c.target->g, mask->g) || fnz_geometry_numel(c.target->g) <= 1;
    if (!in_place)
      FNZ_TRY(check_operand(&c, mask));
    return check_source(s, target, &args[2]);
  }
  FNZ_TRY(check_reads(s, twin, args, target, resized));
  FNZI_EACH_ARG(each, args, twin->nparams) {
    const fnzi_eag_tensor *operand = fnzi_eag_arg_tensor(c.s->in, each.arg);
    if (operand != NULL && !is_target(operand, c.target)) {
      if (!is_read_as_number(c.twin, operand, each.arg == c.number))
        FNZ_TRY(check_operand(&c, operand));
      FNZ_TRY(check_sizes(&c, operand));
    }
  }
  if (s->in_loop && s->order == NULL)
    FNZ_TRY(set_order(&c, args));
  if (!may_take_any_sizes(&c))
    return FNZ_OK;
  /* The operands of a pointwise operator whose out= argument may take any sizes broadcast. */
  uint32_t rank = 0;
  int64_t sizes[FNZ_MAX_RANK];
  FNZI_EACH_ARG(each, args, c.twin->nparams) {
    const fnzi_eag_tensor *t = fnzi_eag_arg_tensor(c.s->in, each.arg);
    if (t)
      FNZ_TRY(fnzi_eag_op_broadcast_sizes(c.s, t->g, sizes, &rank));
  }
  return FNZ_OK;
}

/* A resized out= argument against the other arguments. An elementwise operator that also reads it
 * has other sizes only where the program records wrong ones. */
static fnz_status check_grown(fnzi_eag_op *s, const fnzi_eag_tensor *target, bool is_written,
                              const fnz_arg *arg) {
  const fnzi_eag_tensor *t = fnzi_eag_arg_tensor(s->in, arg);
  bool own = t == target && (is_written || is_elementwise(s->twin)), meet;
  if (t == NULL || own || t->memory != target->memory ||
      (!is_written && is_copied_whole(s, target->g, t->g)) || !may_meet(target->g, t->g))
    return FNZ_OK;
  FNZ_TRY(fnzi_eag_bytes_meet(s->ctx, target->g, t->g, &meet));
  if (!meet)
    return FNZ_OK;
  return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                   "%s resizes a tensor that it writes, which then lies over another argument; "
                   "clone that one before, or write into a tensor of the result's sizes",
                   s->op->name);
}

fnz_status fnzi_eag_check_resized(fnzi_eag_op *s, const fnzi_eag_tensor *target) {
  for (size_t i = 0; i < s->op->nparams; i++)
    FNZI_EACH_ARG(each, &s->args[i], 1)
      FNZ_TRY(check_grown(s, target, s->op->params[i].is_write, each.arg));
  return FNZ_OK;
}

fnz_status fnzi_eag_check_apart(fnzi_eag_op *s, const fnzi_eag_tensor *target) {
  FNZI_EACH_ARG(each, s->args + 1, s->op->nparams - 1u) {
    const fnzi_eag_tensor *t = fnzi_eag_arg_tensor(s->in, each.arg);
    bool meet = t != NULL && t->memory == target->memory && t->g->rank > 0;
    if (meet)
      FNZ_TRY(fnzi_eag_bytes_meet(s->ctx, target->g, t->g, &meet));
    if (meet)
      return refuse_shared_operand(s);
  }
  return FNZ_OK;
}
