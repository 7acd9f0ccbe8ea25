/* devices.c - compares on which devices the outputs of two programs are.
 *
 * needs   two programs
 * gives   equal, if no output is on one device in the original and on another here, as far as nodes
 *         name devices. An input may be on any device, and so may values computed from it alone; a
 *         result without tensors among its arguments is on the CPU unless its node names a device
 */
#include "run/run.h"
#include "run/verify/verify.h"
#include "schema/aten_names.h"

static const char cpu[] = "cpu";

/* The device that the node names; NULL for none. "cpu:0" is "cpu". */
static const char *named_device(const fnzi_node *node) {
  int at = fnzi_op_param(node->op, "device");
  if (at < 0 || (uint32_t)at >= node->nargs || node->args[at].tag != FNZ_ARG_DEVICE)
    return NULL;
  return strcmp(node->args[at].u.s, "cpu:0") == 0 ? cpu : node->args[at].u.s;
}

/* A number on the CPU may be used together with tensors of another device. */
static const char *device_of_operands(const fnzi_node *node, const char *const *devices) {
  bool like_second =
      node->op == &fnzi_ops[FNZI_ATEN_to__other] || node->op == &fnzi_ops[FNZI_ATEN_type_as];
  const char *found = cpu;
  fnzi_walk walk;
  fnzi_walk_start(&walk, node->args + like_second, node->nargs - (node->nargs > 0 && like_second));
  for (fnzi_step step; found != NULL && (step = fnzi_walk_next(&walk)) != FNZI_STEP_END;)
    if (step == FNZI_STEP_ITEM && walk.arg->tag == FNZ_ARG_VALUE &&
        (devices[walk.arg->u.value] == NULL || strcmp(devices[walk.arg->u.value], cpu) != 0))
      found = devices[walk.arg->u.value];
  return found;
}

/* The device of each value of graph 0, NULL if no node names it. */
static fnz_status find_devices(fnzi_arena *arena, const fnz_program *p, const char ***out) {
  const fnzi_graph *g = fnzi_graph_main(p);
  FNZI_NEW(arena, g->values.count, out);
  for (size_t n = 0; n < g->nodes.count; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    const char *device = NULL;
    fnzi_walk walk;
    if (node->op != NULL && !fnzi_op_is_custom(node->op))
      device = named_device(node) ? named_device(node) : device_of_operands(node, *out);
    fnzi_walk_start(&walk, node->outputs, node->noutputs);
    for (fnzi_step step; (step = fnzi_walk_next(&walk)) != FNZI_STEP_END;)
      if (step == FNZI_STEP_ITEM && walk.arg->tag == FNZ_ARG_VALUE)
        (*out)[walk.arg->u.value] = device;
  }
  return FNZ_OK;
}

/* The next output.K from graph output *at on; NULL when there are no more. */
static const fnz_arg *next_result(const fnz_program *p, size_t *at) {
  const fnzi_graph *g = fnzi_graph_main(p);
  while (*at < g->noutputs && !fnzi_output_is_result(&p->outputs[*at]))
    ++*at;
  return *at < g->noutputs ? &g->outputs[(*at)++] : NULL;
}

static fnz_status devices_compare(fnzi_arena *arena, const fnz_program *a, const fnz_program *b) {
  const char **first, **second;
  const fnz_arg *x, *y;
  size_t i = 0, k = 0;
  FNZ_TRY(find_devices(arena, a, &first));
  FNZ_TRY(find_devices(arena, b, &second));
  for (size_t number = 0; (x = next_result(a, &i)) != NULL && (y = next_result(b, &k)) != NULL;
       number++) {
    const char *was = x->tag == FNZ_ARG_VALUE ? first[x->u.value] : NULL;
    const char *is = y->tag == FNZ_ARG_VALUE ? second[y->u.value] : NULL;
    if (was != NULL && is != NULL && strcmp(was, is) != 0)
      return fnzi_fail(arena->ctx, FNZ_CLASS_DIFFERENT, "",
                       "output.%zu is on %.40s in the original and on %.40s here", number, was, is);
  }
  return FNZ_OK;
}

fnz_status fnzi_ver_devices(fnz_context *ctx, const fnz_program *original,
                            const fnz_program *functional) {
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  fnz_status status = devices_compare(&arena, original, functional);
  fnzi_arena_free(&arena);
  return status;
}
