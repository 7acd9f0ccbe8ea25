/* casts.c - regions under autocast on the CPU, replayed without it: each operator on casts of its
 * arguments, so that nothing that it is made of is cast once more.
 *
 * needs   an expander, which takes operators apart; else the region stays one
 * keeps   a region with an operator whose casts inside autocast are not known
 * gives   the nodes of the body in place of the region, with casts as nodes */
#include "functionalize/pass/pass.h"
#include "program/region_ops.h"
#include "schema/aten_names.h"

/* --- regions ---------------------------------------------------------------------------------- */
typedef struct search {
  const fnzi_pass *p;
  bool *seen; /* per graph of the source */
  struct {
    uint32_t *data;
    size_t count, capacity;
  } todo;
} search;

static fnz_status look_at_node(search *x, const fnzi_node *node, bool *known) {
  fnzi_hop hop;
  /* einsum is products only: what autocast casts inside of it are its arguments */
  if (node->op)
    *known = *known && (fnzi_autocast_of(node->op) != FNZI_AUTOCAST_UNKNOWN ||
                        (node->noutputs && node->outputs[0].tag != FNZ_ARG_VALUE &&
                         node->outputs[0].tag != FNZ_ARG_LIST) ||
                        node->op == &fnzi_ops[FNZI_ATEN_einsum]);
  if (node->op || !fnzi_is_hop(node))
    return FNZ_OK;
  if (!fnzi_hop_is_known(node)) {
    *known = false;
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_hop_read(x->p->ctx, x->p->from, node, &hop));
  bool is_inlined = hop.nbodies == 1 && (hop.transparent || hop.autocast.device);
  *known = *known && is_inlined;
  if (is_inlined && !x->seen[hop.bodies[0]]) {
    x->seen[hop.bodies[0]] = true;
    FNZI_PUSH(x->p->ctx, &x->todo, hop.bodies[0]);
  }
  return FNZ_OK;
}

static bool is_on_cpu(const fnzi_hop *hop) {
  return hop->autocast.device && strcmp(hop->autocast.device, "cpu") == 0;
}

fnz_status fnzi_pass_casts_find(const fnzi_pass *p, const fnzi_hop *hop, bool *known) {
  search x = {.p = p};
  *known = p->has_casts; /* found for the region around it */
  if (p->has_casts || !p->all->expander || !p->all->expander->casts || p->autocast ||
      !is_on_cpu(hop) || !hop->autocast.enabled)
    return FNZ_OK;
  *known = true;
  FNZI_NEW(&p->wrapper->scratch, p->from->graphs.count, &x.seen);
  FNZI_PUSH(p->ctx, &x.todo, hop->bodies[0]);
  fnz_status status = FNZ_OK;
  while (*known && x.todo.count && status == FNZ_OK) {
    const fnzi_graph *g = fnzi_graph_at(p->from, x.todo.data[--x.todo.count]);
    for (uint32_t n = 0; *known && n < g->nodes.count && status == FNZ_OK; n++)
      status = look_at_node(&x, &g->nodes.data[n], known);
  }
  FNZI_VEC_FREE(p->ctx, &x.todo);
  return status;
}

void fnzi_pass_casts_begin(const fnzi_pass *p, const fnzi_hop *hop, fnzi_pass *body) {
  fnz_dtype dtype = hop->autocast.dtype == FNZ_DTYPE_COUNT ? FNZ_BF16 : hop->autocast.dtype;
  body->has_casts = p->has_casts;
  body->casts = p->casts;
  if (!is_on_cpu(hop) || !p->all->expander)
    return;
  body->has_casts = hop->autocast.enabled && (dtype == FNZ_BF16 || dtype == FNZ_F16);
  body->casts = dtype;
}

/* --- nodes ------------------------------------------------------------------------------------ */
/* Finds the dtype that arguments are cast to; false for none. */
static bool find_cast(const fnzi_pass *p, const fnzi_wrap_request *r, fnz_dtype *to) {
  fnzi_autocast what = fnzi_autocast_of(r->op);
  const fnz_geometry *result = r->expected && r->nexpected ? r->expected[0] : NULL;
  bool any_single = false, any = false;
  FNZI_EACH_ARG(each, r->args, r->op->nparams)
    if (each.arg->tag == FNZ_ARG_VALUE) {
      fnz_dtype dtype = each.arg->u.tensor->alias->geometry.dtype;
      any_single = any_single || dtype == FNZ_F32;
      any = any || fnzi_autocast_casts(dtype);
    }
  if (what == FNZI_AUTOCAST_UNKNOWN && result && result->dtype == p->casts)
    what = FNZI_AUTOCAST_LOWER;
  *to = what == FNZI_AUTOCAST_LOWER ? p->casts : FNZ_F32;
  return any && what != FNZI_AUTOCAST_PLAIN && what != FNZI_AUTOCAST_UNKNOWN &&
         (what != FNZI_AUTOCAST_WIDEST || any_single);
}

/* The tensor in another dtype, with the strides of a copy. */
static fnz_status cast(fnzi_pass *p, fnz_tensor *t, fnz_dtype to, fnz_tensor **out) {
  const fnz_op *op = fnzi_emitted_op(FNZI_EMIT_TO_COPY);
  const fnz_geometry *expected;
  fnz_arg *args;
  FNZI_NEW(&p->wrapper->scratch, op->nparams, &args);
  FNZ_TRY(fnzi_copy_as(p->wrapper->ints, &p->wrapper->scratch, &t->alias->geometry, to, &expected));
  for (size_t i = 0; i < op->nparams; i++)
    args[i] = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.tensor = t};
  args[fnzi_op_param(op, "dtype")] = (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = (int64_t)to};
  fnzi_wrap_request r = {.op = op, .args = args, .expected = &expected, .nexpected = 1};
  fnzi_rec_expect(p->recorder, NULL, NULL, 0);
  fnz_status status = fnzi_wrap_dispatch(p->wrapper, &r);
  if (status == FNZ_OK) {
    *out = r.out.data[0];
    (*out)->refs++;
  }
  fnzi_wrap_request_end(&r);
  return status;
}

fnz_status fnzi_pass_args_cast(fnzi_pass *p, fnzi_wrap_request *r, fnzi_pass_cast_args *made) {
  fnz_dtype to;
  fnz_arg *args;
  *made = (fnzi_pass_cast_args){NULL, NULL, 0};
  if (!p->has_casts || !find_cast(p, r, &to))
    return FNZ_OK;
  size_t most = 0;
  FNZI_EACH_ARG(each, r->args, r->op->nparams)
    most++;
  FNZI_NEW(&p->wrapper->scratch, most, &made->data);
  FNZI_NEW(&p->wrapper->scratch, most, &made->of);
  FNZ_TRY(fnzi_args_clone(&p->wrapper->scratch, r->args, r->op->nparams, r->op->nparams, &args));
  r->args = args;
  FNZI_EACH_ARG(each, args, r->op->nparams) {
    fnz_arg *arg = fnzi_each_own(&each);
    size_t i = 0;
    if (arg->tag != FNZ_ARG_VALUE)
      continue;
    fnz_dtype dtype = arg->u.tensor->alias->geometry.dtype;
    if (!fnzi_autocast_casts(dtype) || dtype == to)
      continue;
    while (i < made->count && made->of[i] != arg->u.tensor)
      i++;
    if (i == made->count) {
      FNZ_TRY(cast(p, arg->u.tensor, to, &made->data[i]));
      made->of[made->count++] = arg->u.tensor;
    }
    arg->u.tensor = made->data[i];
  }
  return FNZ_OK;
}

void fnzi_pass_args_release(fnzi_pass_cast_args *made) {
  for (size_t i = 0; i < made->count; i++)
    fnz_tensor_release(made->data[i]);
}
