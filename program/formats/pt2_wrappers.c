/* pt2_wrappers.c - calls of custom operators that PyTorch has wrapped to keep them functional.
 *
 * auto_functionalized(op, x=...) clones each tensor that op writes, calls op on the clones and
 * gives op's results, then the clones. auto_functionalized_v2(op, _all_bases=[...],
 * _x_base_index=...) clones each base once and calls op on views of the clones, which keywords
 * describe. Here both become just that: clones, views and the call of the operator that writes, so
 * that the rest of the library needs no rule for wrappers.
 *
 * A clone is the wrapper's result, so it takes that result's name. */
#include "program/formats/pt2.h"

#include <stdio.h>

typedef struct wrapper {
  fnzi_pt2_scope *s;
  const fnzi_json *json, *inputs, *outputs;
  fnzi_pt2_maker make; /* of the nodes that replace the wrapper */
  const fnz_op *op;
  fnzi_map keywords; /* name -> index into given */
  fnz_arg *given;
  const fnz_arg *bases; /* as given; replaced by the clones */
  fnz_arg *clones;
  uint32_t nbases;
} wrapper;

static fnz_status fail(const wrapper *w, fnz_class kind, const char *what, const char *name) {
  return fnzi_json_fail(&w->s->r->doc, kind, w->json, "the wrapped call of %s: `%s` %s",
                        w->op->name, name, what);
}

/* --- Keywords --------------------------------------------------------------------------------- */

/* NULL when it was not given. */
static const fnz_arg *keyword(const wrapper *w, const char *name) {
  uint64_t at;
  return fnzi_map_get(&w->keywords, name, strlen(name), &at) ? &w->given[at] : NULL;
}

/* The keyword that says `what` of a tensor: "_x_size", "_x_0_size". */
static const fnz_arg *detail(const wrapper *w, const char *tensor, const char *what) {
  char name[256];
  snprintf(name, sizeof name, "_%s_%s", tensor, what);
  return keyword(w, name);
}

static fnz_status find_operator(wrapper *w) {
  fnzi_pt2 *r = w->s->r;
  const char *name = w->inputs->count ? w->given[0].u.s : "";
  if (!w->inputs->count || w->given[0].tag != FNZ_ARG_OPERATOR)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_UNSUPPORTED, w->json,
                          "the first argument of this wrapper is no operator; only wrapped custom "
                          "operators are read");
  FNZ_TRY(fnzi_op_use(r->p, name, &w->op));
  if (w->op) {
    w->make.stem = w->op->base;
    return FNZ_OK;
  }
  fnz_buffer near = {NULL, 0, 0};
  fnz_status status = fnzi_op_put_near(r->p, name, &near);
  if (status == FNZ_OK)
    status = fnzi_json_fail(&r->doc, FNZ_CLASS_UNSUPPORTED, w->json,
                            "operator %s is not in the ATen table%s declare it with --ops by its "
                            "schema, which PyTorch has in its attribute _schema",
                            name, near.size ? near.data : ";");
  fnz_buffer_free(r->doc.ctx, &near);
  return status;
}

/* --- Clones ----------------------------------------------------------------------------------- */

/* The clone of a tensor has its strides and offset. */
static fnz_status clone(const wrapper *w, const fnz_arg *base, const char *stem,
                        const fnzi_json *result, fnz_arg *out) {
  if (base->tag != FNZ_ARG_VALUE)
    return fail(w, FNZ_CLASS_TYPE, "is written and no tensor", stem);
  const fnz_geometry *g = fnzi_value_at(w->s->r->p, w->s->graph, base->u.value)->geometry;
  if (g->symbols)
    return fail(w, FNZ_CLASS_UNSUPPORTED, "has symbolic sizes; export with fixed ones", stem);
  if (fnzi_is_dense(g) && !g->offset)
    return fnzi_pt2_make(&w->make, (fnzi_pt2_call){"clone", base, 1, g, stem}, result, out);
  /* A new tensor with gaps, and the elements copied into it. */
  fnz_arg args[3] = {*base}, copied;
  FNZ_TRY(fnzi_arg_ints(w->s->r->arena, g->sizes, g->rank, &args[1]));
  FNZ_TRY(fnzi_arg_ints(w->s->r->arena, g->strides, g->rank, &args[2]));
  FNZ_TRY(
      fnzi_pt2_make(&w->make, (fnzi_pt2_call){"new_empty_strided", args, 3, g, stem}, result, out));
  const fnz_arg copy[] = {*out, *base};
  return fnzi_pt2_make(&w->make, (fnzi_pt2_call){"copy_", copy, 2, g, stem}, NULL, &copied);
}

/* --- Views of clones -------------------------------------------------------------------------- */

static bool to_ints(const fnz_arg *list, int64_t out[FNZ_MAX_RANK]) {
  if (!list || list->tag != FNZ_ARG_LIST || list->count > FNZ_MAX_RANK)
    return false;
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->u.list[i].tag != FNZ_ARG_INT)
      return false;
    out[i] = list->u.list[i].u.i;
  }
  return true;
}

static fnz_status strided_view(const wrapper *w, const char *tensor, fnz_arg base, fnz_arg *out) {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  const fnz_arg *size = detail(w, tensor, "size"), *stride = detail(w, tensor, "stride");
  const fnz_arg *offset = detail(w, tensor, "storage_offset");
  fnz_geometry g = *fnzi_value_at(w->s->r->p, w->s->graph, base.u.value)->geometry;
  if (!to_ints(size, sizes) || !to_ints(stride, strides) || size->count != stride->count ||
      !offset || offset->tag != FNZ_ARG_INT)
    return fail(w, FNZ_CLASS_UNSUPPORTED,
                "is a view without fixed size, stride and storage_offset; export with fixed sizes",
                tensor);
  g.rank = size->count;
  g.sizes = sizes;
  g.strides = strides;
  g.offset = offset->u.i;
  const fnz_arg args[] = {base, *size, *stride, *offset};
  return fnzi_pt2_make(&w->make, (fnzi_pt2_call){"as_strided", args, 4, &g, tensor}, NULL, out);
}

static int64_t clamp(int64_t at, int64_t size) {
  if (at < 0)
    at = at < -size ? 0 : at + size;
  return at > size ? size : at;
}

static fnz_status slice_view(const wrapper *w, const char *tensor, fnz_arg base, fnz_arg *out) {
  int64_t sizes[FNZ_MAX_RANK];
  const fnz_arg *dim = detail(w, tensor, "slice_dim"), *start = detail(w, tensor, "slice_start");
  const fnz_arg *end = detail(w, tensor, "slice_end");
  fnz_geometry g = *fnzi_value_at(w->s->r->p, w->s->graph, base.u.value)->geometry;
  bool known = dim->tag == FNZ_ARG_INT && start && start->tag == FNZ_ARG_INT && end &&
               end->tag == FNZ_ARG_INT && dim->u.i >= 0 && dim->u.i < (int64_t)g.rank;
  if (!known)
    return fail(w, FNZ_CLASS_UNSUPPORTED,
                "is a slice without fixed dim, start and end; export with fixed sizes", tensor);
  memcpy(sizes, g.sizes, g.rank * sizeof *sizes);
  int64_t skipped, *size = &sizes[dim->u.i], from = clamp(start->u.i, *size),
                   to = clamp(end->u.i, *size);
  *size = to > from ? to - from : 0;
  if (!fnzi_mul_i64(from, g.strides[dim->u.i], &skipped) ||
      !fnzi_add_i64(g.offset, skipped, &g.offset))
    return fail(w, FNZ_CLASS_OVERFLOW, "begins beyond 63 bits", tensor);
  g.sizes = sizes;
  const fnz_arg args[] = {base, *dim, *start, *end};
  return fnzi_pt2_make(&w->make, (fnzi_pt2_call){"slice.Tensor", args, 4, &g, tensor}, NULL, out);
}

/* An operator that overwrites all of its out arguments gets their types, and no base. */
static fnz_status fresh_out(const wrapper *w, const char *tensor, fnz_arg *out) {
  const fnz_op *op = fnzi_ops_find("empty_strided");
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  const fnz_arg *size = detail(w, tensor, "size"), *stride = detail(w, tensor, "stride");
  const fnz_arg *dtype = detail(w, tensor, "dtype"), *device = detail(w, tensor, "device");
  fnz_geometry g = {.sizes = sizes, .strides = strides};
  fnz_arg args[8] = {{0}};
  if (!to_ints(size, sizes) || !to_ints(stride, strides) || size->count != stride->count ||
      dtype->tag != FNZ_ARG_DTYPE || !w->op->nreturns)
    return fail(w, FNZ_CLASS_UNSUPPORTED,
                "is an out argument without fixed size, stride and dtype, or that is not returned; "
                "export with fixed sizes",
                tensor);
  g.rank = size->count;
  g.dtype = (fnz_dtype)dtype->u.i;
  args[0] = *size;
  args[1] = *stride;
  args[fnzi_op_param(op, "dtype")] = *dtype;
  if (device)
    args[fnzi_op_param(op, "device")] = *device;
  return fnzi_pt2_make(&w->make, (fnzi_pt2_call){op->name, args, op->nparams, &g, tensor}, NULL,
                       out);
}

/* The view that replaces a written tensor called "x" or "xs_0". */
static fnz_status written_view(const wrapper *w, const char *tensor, fnz_arg *out) {
  const fnz_arg *index = detail(w, tensor, "base_index");
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  if (index && index->tag == FNZ_ARG_NONE)
    return FNZ_OK;
  if (!index && detail(w, tensor, "dtype"))
    return fresh_out(w, tensor, out);
  if (!index || index->tag != FNZ_ARG_INT || index->u.i < 0 || index->u.i >= (int64_t)w->nbases)
    return fail(w, FNZ_CLASS_REF, "has no base_index that names one of _all_bases", tensor);
  fnz_arg base = *out = w->clones[index->u.i];
  if (detail(w, tensor, "slice_dim"))
    return slice_view(w, tensor, base, out);
  if (detail(w, tensor, "size"))
    return strided_view(w, tensor, base, out);
  if (!detail(w, tensor, "alias"))
    return FNZ_OK;
  const fnz_geometry *g = fnzi_value_at(w->s->r->p, w->s->graph, base.u.value)->geometry;
  return fnzi_pt2_make(&w->make, (fnzi_pt2_call){"alias", &base, 1, g, tensor}, NULL, out);
}

static fnz_status written_views(const wrapper *w, const fnzi_param *p, fnz_arg *out) {
  const fnz_arg *length = detail(w, p->name, "length");
  fnz_arg *items;
  char name[224];
  if (!p->is_list || !length)
    return written_view(w, p->name, out);
  if (length->tag != FNZ_ARG_INT || length->u.i < 0 ||
      (uint64_t)length->u.i > w->s->r->p->ctx->limits.args)
    return fail(w, FNZ_CLASS_LIMIT, "is a list of unknown or too great a length", p->name);
  FNZI_NEW(w->s->r->arena, length->u.i, &items);
  for (int64_t i = 0; i < length->u.i; i++) {
    snprintf(name, sizeof name, "%.200s_%lld", p->name, (long long)i);
    FNZ_TRY(written_view(w, name, &items[i]));
  }
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)length->u.i, .u.list = items};
  return FNZ_OK;
}

/* --- Both kinds ------------------------------------------------------------------------------- */

/* The `k`-th of the results that follow the operator's own; NULL when there is none. An operator
 * without results has None in their place. */
static const fnzi_json *wrappers_new_value(const wrapper *w, size_t k) {
  const fnzi_json *at = w->outputs->u.first;
  for (k += w->op->nreturns ? w->op->nreturns : 1; at && k; k--)
    at = at->next;
  return at;
}

static fnz_status clone_list(const wrapper *w, const fnzi_param *p, const fnz_arg *list,
                             const fnzi_json *result, fnz_arg *out) {
  /* The results of a list of clones are a list as well. */
  const fnzi_json *results = result && result->kind == FNZI_JSON_OBJECT ? result->u.first : NULL;
  const fnzi_json *item = results && results->kind == FNZI_JSON_ARRAY ? results->u.first : NULL;
  fnz_arg *items;
  FNZI_NEW(w->s->r->arena, list->count, &items);
  for (uint32_t i = 0; i < list->count; i++) {
    /* {"name": "x"} as the union that define_arg reads. */
    static const char key[] = "as_tensor";
    fnzi_json tensor, one = {.kind = FNZI_JSON_OBJECT, .count = 1, .u.first = &tensor};
    if (item) {
      tensor = *item;
      tensor.key = key;
      tensor.key_size = sizeof key - 1;
      tensor.next = NULL;
      one.parent = result->parent;
      item = item->next;
    }
    bool is_known = item || one.parent;
    FNZ_TRY(clone(w, &list->u.list[i], p->name, is_known ? &one : NULL, &items[i]));
  }
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .count = list->count, .u.list = items};
  return FNZ_OK;
}

/* auto_functionalized: each written tensor has a clone of its own. */
static fnz_status clone_written(const wrapper *w, const fnzi_param *p, size_t *place,
                                fnz_arg *out) {
  const fnz_arg *given = keyword(w, p->name);
  const fnzi_json *result = wrappers_new_value(w, (*place)++);
  *out = given ? *given : (fnz_arg){.tag = FNZ_ARG_DEFAULT};
  if (!given || given->tag == FNZ_ARG_NONE)
    return FNZ_OK;
  if (given->tag == FNZ_ARG_LIST)
    return clone_list(w, p, given, result, out);
  return clone(w, given, p->name, result, out);
}

static fnz_status make_args(wrapper *w, bool has_bases, fnz_arg *args) {
  size_t place = 0;
  if (has_bases) {
    const fnz_arg *bases = keyword(w, "_all_bases");
    if (!bases || bases->tag != FNZ_ARG_LIST)
      return fail(w, FNZ_CLASS_REF, "is missing", "_all_bases");
    w->bases = bases->u.list;
    w->nbases = bases->count;
    FNZI_NEW(w->s->r->arena, w->nbases, &w->clones);
    for (uint32_t i = 0; i < w->nbases; i++)
      FNZ_TRY(clone(w, &w->bases[i], "base", wrappers_new_value(w, i), &w->clones[i]));
  }
  for (size_t i = 0; i < w->op->nparams; i++) {
    const fnzi_param *p = &w->op->params[i];
    const fnz_arg *given = keyword(w, p->name);
    if (p->is_write)
      FNZ_TRY(has_bases ? written_views(w, p, &args[i]) : clone_written(w, p, &place, &args[i]));
    else if (given)
      args[i] = *given;
    if (args[i].tag == FNZ_ARG_DEFAULT && !p->has_default)
      return fail(w, FNZ_CLASS_TYPE, "is missing", p->name);
  }
  return FNZ_OK;
}

bool fnzi_pt2_is_wrapper(const char *target) {
  return strcmp(target, "higher_order.auto_functionalized") == 0 ||
         strcmp(target, "higher_order.auto_functionalized_v2") == 0;
}

static fnz_status read_wrapper(wrapper *w) {
  bool has_bases =
      strcmp(fnzi_node_target(w->make.like), "higher_order.auto_functionalized_v2") == 0;
  fnz_arg *args;
  fnzi_pt2_next_node(&w->make);
  fnzi_pt2 *r = w->s->r;
  size_t n = 0;
  FNZI_NEW(r->arena, w->inputs->count, &w->given);
  w->s->op = NULL;
  for (const fnzi_json *input = w->inputs->u.first; input; input = input->next, n++) {
    const fnzi_json *arg;
    const char *name = "";
    FNZ_TRY(fnzi_json_need_text(&r->doc, input, "name", &name));
    FNZ_TRY(fnzi_json_need(&r->doc, input, "arg", FNZI_JSON_OBJECT, &arg));
    FNZ_TRY(fnzi_map_set(&w->keywords, name, strlen(name), n));
    FNZ_TRY(fnzi_pt2_read_arg(w->s, arg, &w->given[n]));
  }
  if (w->s->batch.nlevels)
    FNZ_TRY(fnzi_pt2_vmap_none(w->s, w->json, w->make.like, w->given, w->inputs->count));
  FNZ_TRY(find_operator(w));
  FNZI_NEW(r->arena, w->op->nparams, &args);
  FNZ_TRY(make_args(w, has_bases, args));
  /* The call itself, with the first of the wrapper's results. */
  const fnzi_json *output = w->outputs->u.first;
  fnz_arg *results;
  FNZI_NEW(r->arena, w->op->nreturns, &results);
  fnzi_pt2_next_node(&w->make);
  for (size_t i = 0; i < w->op->nreturns; i++, output = output ? output->next : NULL) {
    if (!output)
      return fail(w, FNZ_CLASS_TYPE, "has fewer results than the schema", w->op->name);
    FNZ_TRY(fnzi_pt2_define_arg(w->s, output, &results[i]));
  }
  return fnzi_pt2_put_node(&w->make, w->op, args, w->op->nparams, results, w->op->nreturns);
}

fnz_status fnzi_pt2_read_wrapper(fnzi_pt2_scope *s, const fnzi_json *json, const fnzi_json *inputs,
                                 const fnzi_json *outputs, const fnzi_node *node) {
  wrapper w = {.s = s,
               .json = json,
               .inputs = inputs,
               .outputs = outputs,
               .make = {.s = s, .json = json, .like = node}};
  fnzi_map_init(&w.keywords, s->r->doc.ctx);
  fnz_status status = read_wrapper(&w);
  fnzi_map_free(&w.keywords);
  return status;
}
