/* region_ops.c - reads the nodes of higher-order operators by their rows.
 *
 * needs: a node whose values, symbols and graphs exist (program/verify.c).
 * gives: the node as data, see region_ops.h. */
#include "program/region_ops.h"

enum { MOST_ROLES = 8 };

typedef struct row {
  const char *target;
  fnzi_hop_kind kind;
  uint8_t roles[MOST_ROLES]; /* fnzi_hop_role, up to FNZI_HOP_END */
} row;

#define PRED             FNZI_HOP_PRED
#define GRAPH            FNZI_HOP_GRAPH
#define CARRIED          FNZI_HOP_CARRIED
#define XS               FNZI_HOP_XS
#define CAPTURED         FNZI_HOP_CAPTURED
#define REST             FNZI_HOP_REST
#define NOTHING          FNZI_HOP_NOTHING
#define SETTING          FNZI_HOP_SETTING
#define GRADIENTS        FNZI_HOP_GRADIENTS
#define AUTOCAST_DEVICE  FNZI_HOP_AUTOCAST_DEVICE
#define AUTOCAST_DTYPE   FNZI_HOP_AUTOCAST_DTYPE
#define AUTOCAST_ENABLED FNZI_HOP_AUTOCAST_ENABLED
#define TOKEN            FNZI_HOP_TOKEN
#define OPERATOR         FNZI_HOP_OPERATOR
static const row rows[] = {
#define HIGHER_ORDER(name, kind, ...) {"higher_order." name, FNZI_HOP_##kind, {__VA_ARGS__}},
#include "program/region_ops.def"
#undef HIGHER_ORDER
};
#undef PRED
#undef GRAPH
#undef CARRIED
#undef XS
#undef CAPTURED
#undef REST
#undef NOTHING
#undef SETTING
#undef GRADIENTS
#undef AUTOCAST_DEVICE
#undef AUTOCAST_DTYPE
#undef AUTOCAST_ENABLED
#undef TOKEN
#undef OPERATOR

static const row *find_row(const char *target) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].target, target) == 0)
      return &rows[i];
  return NULL;
}

const uint8_t *fnzi_hop_roles(const char *target) {
  const row *found = find_row(target);
  return found ? found->roles : NULL;
}

const char *fnzi_hop_target(fnzi_hop_kind kind) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].kind == kind)
      return rows[i].target;
  return NULL;
}

bool fnzi_is_hop(const fnzi_node *node) {
  static const char prefix[] = "higher_order.";
  return node->op == NULL && strncmp(fnzi_node_target(node), prefix, sizeof prefix - 1) == 0;
}

bool fnzi_hop_is_known(const fnzi_node *node) {
  return fnzi_is_hop(node) && find_row(fnzi_node_target(node)) != NULL;
}

/* --- Arguments -------------------------------------------------------------------------------- */

typedef struct reading {
  fnz_context *ctx;
  const fnz_program *p;
  const fnzi_node *node;
  uint32_t at, positional; /* next argument; number of positional arguments */
  fnzi_hop *out;
} reading;

static fnz_status bad_arg(const reading *r, const char *what) {
  return fnzi_fail(r->ctx, FNZ_CLASS_TYPE, "", "argument %u of %s must be %s", r->at,
                   fnzi_node_target(r->node), what);
}

static fnz_status read_list(const reading *r, const fnz_arg *arg, fnzi_operands *out) {
  if (arg->tag != FNZ_ARG_LIST)
    return bad_arg(r, "a list");
  *out = (fnzi_operands){arg->u.list, arg->count};
  return FNZ_OK;
}

static fnz_status read_operator(const reading *r, const fnz_arg *arg) {
  if (arg->tag != FNZ_ARG_OPERATOR)
    return bad_arg(r, "an operator");
  r->out->op = fnzi_op_find(r->p, arg->u.s);
  if (r->out->op != NULL)
    return FNZ_OK;
  return fnzi_fail(r->ctx, FNZ_CLASS_UNSUPPORTED, "",
                   "%s calls the operator %s, which is not known; declare it by its schema",
                   fnzi_node_target(r->node), arg->u.s);
}

static fnz_status read_autocast(const reading *r, const fnz_arg *arg, fnzi_hop_role role) {
  if (role == FNZI_HOP_AUTOCAST_DEVICE) {
    if (arg->tag != FNZ_ARG_STRING)
      return bad_arg(r, "the name of a device type");
    r->out->autocast.device = arg->u.s;
  } else if (role == FNZI_HOP_AUTOCAST_DTYPE) {
    bool is_dtype = arg->tag == FNZ_ARG_DTYPE && (uint64_t)arg->u.i < FNZ_DTYPE_COUNT;
    if (!is_dtype && arg->tag != FNZ_ARG_NONE)
      return bad_arg(r, "a dtype or None");
    r->out->autocast.dtype = is_dtype ? (fnz_dtype)arg->u.i : FNZ_DTYPE_COUNT;
  } else {
    if (arg->tag != FNZ_ARG_BOOL)
      return bad_arg(r, "a bool");
    r->out->autocast.enabled = arg->u.i != 0;
  }
  return FNZ_OK;
}

/* A setting holds no tensor and no graph. */
static fnz_status check_setting(const reading *r, const fnz_arg *arg) {
  bool fits = !fnzi_is_reference(arg) && arg->tag != FNZ_ARG_GRAPH && arg->tag != FNZ_ARG_OPERATOR;
  return fits ? FNZ_OK : bad_arg(r, "a setting, neither a value nor a graph");
}

static fnz_status read_role(reading *r, const fnz_arg *arg, fnzi_hop_role role) {
  switch (role) {
  case FNZI_HOP_PRED:
    if (arg->tag != FNZ_ARG_VALUE && arg->tag != FNZ_ARG_SYMBOL && arg->tag != FNZ_ARG_BOOL &&
        arg->tag != FNZI_ARG_TRUTH)
      return bad_arg(r, "a tensor, a symbol or a bool");
    r->out->pred = arg;
    return FNZ_OK;
  case FNZI_HOP_GRAPH:
    if (arg->tag != FNZ_ARG_GRAPH)
      return bad_arg(r, "a graph");
    r->out->bodies[r->out->nbodies++] = (uint32_t)arg->u.i;
    return FNZ_OK;
  case FNZI_HOP_CARRIED:
    return read_list(r, arg, &r->out->carried);
  case FNZI_HOP_XS:
    return read_list(r, arg, &r->out->xs);
  case FNZI_HOP_CAPTURED:
    return read_list(r, arg, &r->out->captured);
  case FNZI_HOP_NOTHING:
    return arg->tag == FNZ_ARG_LIST && arg->count == 0 ? FNZ_OK : bad_arg(r, "empty");
  case FNZI_HOP_TOKEN:
    r->out->token = arg;
    return arg->tag == FNZ_ARG_TOKEN ? FNZ_OK : bad_arg(r, "a token");
  case FNZI_HOP_OPERATOR:
    return read_operator(r, arg);
  case FNZI_HOP_AUTOCAST_DEVICE:
  case FNZI_HOP_AUTOCAST_DTYPE:
  case FNZI_HOP_AUTOCAST_ENABLED:
    return read_autocast(r, arg, role);
  case FNZI_HOP_GRADIENTS:
    r->out->transparent = true;
    return check_setting(r, arg);
  default:
    return check_setting(r, arg);
  }
}

static fnz_status refuse_count(const reading *r) {
  return fnzi_fail(r->ctx, FNZ_CLASS_TYPE, "", "%s has %u arguments, which is not what it takes",
                   fnzi_node_target(r->node), r->node->nargs);
}

static fnz_status read_roles(reading *r, const uint8_t *roles) {
  for (size_t i = 0; i < MOST_ROLES && roles[i] != FNZI_HOP_END; i++) {
    if (roles[i] == FNZI_HOP_REST) {
      const fnz_arg *arg = &r->node->args[r->at];
      uint32_t left = r->node->nargs - r->at;
      if (r->out->kind != FNZI_HOP_EFFECT)
        left = r->positional - r->at;
      if (left == 1 && arg->tag == FNZ_ARG_LIST && r->out->kind != FNZI_HOP_EFFECT)
        r->out->captured = (fnzi_operands){arg->u.list, arg->count};
      else
        r->out->captured = (fnzi_operands){arg, left};
      r->at += left;
      continue;
    }
    /* Old files leave out an empty list at the end. */
    if (r->at >= r->positional && roles[i] == FNZI_HOP_CAPTURED)
      continue;
    if (r->at >= r->positional)
      return refuse_count(r);
    FNZ_TRY(read_role(r, &r->node->args[r->at], (fnzi_hop_role)roles[i]));
    r->at++;
  }
  /* Keywords are settings too: inputs of a body are positional. */
  for (; r->at < r->node->nargs; r->at++) {
    if (fnzi_node_arg_name(r->node, r->at)[0] == '\0')
      return refuse_count(r);
    FNZ_TRY(check_setting(r, &r->node->args[r->at]));
  }
  return FNZ_OK;
}

/* No operand is a list, a graph or the like. */
static fnz_status check_operands(const reading *r, fnzi_operands operands, const char *what) {
  for (uint32_t i = 0; i < operands.count; i++) {
    uint8_t tag = operands.args[i].tag;
    bool fits = tag == FNZ_ARG_VALUE || tag == FNZ_ARG_SYMBOL || tag == FNZ_ARG_INT ||
                tag == FNZ_ARG_FLOAT || tag == FNZ_ARG_BOOL || tag == FNZ_ARG_NONE ||
                tag == FNZ_ARG_TOKEN || tag == FNZ_ARG_OBJECT ||
                fnzi_arg_is_expr(&operands.args[i]);
    if (!fits)
      return fnzi_fail(r->ctx, FNZ_CLASS_TYPE, "", "%s %u of %s is neither a value nor a number",
                       what, i, fnzi_node_target(r->node));
  }
  return FNZ_OK;
}

fnz_status fnzi_hop_read(fnz_context *ctx, const fnz_program *p, const fnzi_node *node,
                         fnzi_hop *out) {
  const row *found = find_row(fnzi_node_target(node));
  *out = (fnzi_hop){.node = node, .results = {node->outputs, node->noutputs}};
  if (found == NULL)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "there is no rule for %s; export the program without it",
                     fnzi_node_target(node));
  reading r = {.ctx = ctx, .p = p, .node = node, .out = out};
  uint32_t n = 0;
  while (n < node->nargs && fnzi_node_arg_name(node, n)[0] == '\0')
    n++;
  r.positional = n;
  out->kind = found->kind;
  out->autocast.dtype = FNZ_DTYPE_COUNT;
  if (node->noutputs == 1 && node->outputs[0].tag == FNZ_ARG_LIST)
    out->results = (fnzi_operands){node->outputs[0].u.list, node->outputs[0].count};
  FNZ_TRY(read_roles(&r, found->roles));
  out->transparent |= out->autocast.device && !out->autocast.enabled;
  const fnzi_hop *hop = r.out;
  if (hop->kind == FNZI_HOP_EFFECT)
    return FNZ_OK;
  FNZ_TRY(check_operands(&r, hop->carried, "carried operand"));
  FNZ_TRY(check_operands(&r, hop->xs, "scanned operand"));
  FNZ_TRY(check_operands(&r, hop->captured, "operand"));
  for (uint32_t i = 0; i < hop->xs.count; i++)
    if (hop->xs.args[i].tag != FNZ_ARG_VALUE)
      return fnzi_fail(r.ctx, FNZ_CLASS_TYPE, "", "scanned operand %u of %s is no tensor", i,
                       fnzi_node_target(r.node));
  return FNZ_OK;
}

bool fnzi_hop_is_inlined(const fnzi_hop *hop, bool autocast) {
  return hop->transparent && !(autocast && hop->autocast.device);
}

bool fnzi_hop_is_plain_effect(const fnzi_hop *hop) {
  bool lists = false;
  for (uint32_t j = 0; j < hop->results.count; j++)
    lists |= hop->results.args[j].tag == FNZ_ARG_LIST;
  return !lists && !fnz_op_is_mutating(hop->op) && !fnz_op_is_view(hop->op);
}

/* --- Operands and the inputs of bodies -------------------------------------------------------- */

uint32_t fnzi_hop_input_count(const fnzi_hop *hop) {
  uint32_t slices = hop->kind == FNZI_HOP_ASSOCIATIVE_SCAN ? 2 * hop->xs.count : hop->xs.count;
  return hop->carried.count + slices + hop->captured.count;
}

const fnz_arg *fnzi_hop_operand(const fnzi_hop *hop, uint32_t k, bool *sliced) {
  uint32_t sides = hop->kind == FNZI_HOP_ASSOCIATIVE_SCAN ? 2 : 1;
  *sliced = false;
  if (k < hop->carried.count)
    return &hop->carried.args[k];
  k -= hop->carried.count;
  if (k < sides * hop->xs.count) {
    *sliced = true;
    return &hop->xs.args[k % hop->xs.count];
  }
  k -= sides * hop->xs.count;
  return k < hop->captured.count ? &hop->captured.args[k] : NULL;
}

fnz_arg fnzi_hop_call_arg(const fnzi_hop *hop, uint32_t k) {
  uint32_t first = (uint32_t)(hop->captured.args - hop->node->args);
  const char *wanted = hop->op->params[k].name;
  for (uint32_t i = 0; i < hop->captured.count; i++) {
    const char *name = fnzi_node_arg_name(hop->node, first + i);
    if (name[0] == '\0' ? i == k : strcmp(name, wanted) == 0)
      return hop->captured.args[i];
  }
  return (fnz_arg){.tag = FNZ_ARG_DEFAULT};
}
