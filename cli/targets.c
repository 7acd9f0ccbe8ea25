/* targets.c - what the consumer that --for names does not take: findings of lint, each with the
 * nearest form that would do. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static bool has_op(const fnz_program *p, const fnz_op *op) {
  for (size_t g = 0; g < fnz_graph_count(p); g++)
    for (size_t n = 0; n < fnz_node_count(p, g); n++)
      if (fnz_program_node(p, g, n).op == op)
        return true;
  return false;
}

/* "amax, _foreach_pow": operators that the target does not take, of what taking one apart leaves
 * nevertheless; "" where it has no steps. */
static void put_rest(cli_call *call, const fnz_decompose_options *o, char *out, size_t size) {
  fnz_program *made;
  size_t used = 0;
  out[0] = 0;
  if (fnz_decompose(call->ctx, call->functional, o, &made) != FNZ_OK)
    return;
  for (size_t g = 0; g < fnz_graph_count(made); g++)
    for (size_t n = 0; n < fnz_node_count(made, g); n++) {
      const fnz_op *op = fnz_program_node(made, g, n).op;
      const char *name = op ? fnz_op_name(op) : "";
      if (op && !fnz_decomposition_keeps(o->set, op) && !has_op(call->functional, op) &&
          !strstr(out, name) && used < size)
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", name);
    }
  fnz_program_destroy(made);
}

static void put_remedy(cli_call *call, const fnz_target *target, const fnz_op *op, char *out,
                       size_t size) {
  char words[256];
  const char *name = fnz_op_name(op);
  const bool has_overload = strchr(name, '.');
  char exact[128];
  snprintf(exact, sizeof exact, "%s%s", name, has_overload ? "" : ".default");
  const char *const named[] = {exact};
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  o.set = target->set;
  o.views = target->views;
  o.decompose = named;
  o.ndecompose = 1;
  /* "add.Tensor, mul.Tensor": operators of one name that the target takes. */
  size_t base = strcspn(name, "."), used = 0;
  words[0] = 0;
  for (size_t i = 0; i < fnz_op_count(); i++) {
    const fnz_op *other = fnz_op_at(i);
    const char *word = fnz_op_name(other);
    if (strncmp(word, name, base) == 0 && (word[base] == '.' || !word[base]) &&
        used < sizeof words && !fnz_op_is_mutating(other) &&
        fnz_decomposition_keeps(target->set, other))
      used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", used ? ", " : "", word);
  }
  if (*words)
    snprintf(out, size, "it takes %s: write the program with that", words);
  else if (put_rest(call, &o, words, sizeof words), *words)
    snprintf(out, size, "--decompose %s takes it apart nevertheless; %s would be left", exact,
             words);
  else
    snprintf(out, size, "write it with operators that %s takes, or give that a function for it",
             target->name);
}

/* --- beside operators ------------------------------------------------------------------------- */
static void refuse_form(cli_call *call, size_t graph, size_t node, const char *where,
                        const char *what, const char *remedy) {
  const size_t had = call->nrefusals;
  cli_refuse_node(call, graph, node, FNZ_CLASS_UNSUPPORTED, where, what);
  if (had < call->nrefusals)
    snprintf(call->refusals[had].remedy, sizeof call->refusals[had].remedy, "%s", remedy);
}

/* A loop or a choice that is left. */
static void refuse_region(cli_call *call, const fnz_target *target, size_t graph, size_t node) {
  char where[192], what[512];
  const char *name = fnz_program_node(call->functional, graph, node).target;
  if (!fnz_target_lacks(target, name))
    return;
  const bool is_choice = strcmp(name, "higher_order.cond") == 0;
  snprintf(where, sizeof where, "node %zu (%s)", node, name);
  snprintf(what, sizeof what, "%s does not take %s (%s)", target->name, name,
           fnz_target_read_from(target));
  refuse_form(call, graph, node, where, what,
              is_choice ? "write it without branches, or with branches that only compute"
                        : "write it without the loop, as steps one after another");
}

static void refuse_inputs(cli_call *call, const fnz_program *p, const fnz_target *target) {
  char where[192], what[512];
  size_t count = 0;
  const fnz_arg *inputs = fnz_graph_inputs(p, 0, &count);
  for (size_t k = 0; fnz_target_wants_rows(target) && k < count; k++) {
    const fnz_geometry *g =
        inputs[k].tag == FNZ_ARG_VALUE ? fnz_value_geometry(p, 0, inputs[k].u.value) : NULL;
    bool falls = true;
    for (uint32_t d = 1; g && d < g->rank; d++)
      falls = falls && g->strides[d - 1] >= g->strides[d];
    if (falls || fnz_program_input(p, k).kind != FNZ_INPUT_USER)
      continue;
    snprintf(where, sizeof where, "input %zu (%s)", k, fnz_value_name(p, 0, inputs[k].u.value));
    snprintf(what, sizeof what, "%s takes inputs in row-major order, and this one is not",
             target->name);
    refuse_form(call, 0, SIZE_MAX, where, what, "export the program with x.contiguous() for it");
  }
}

/* --- all -------------------------------------------------------------------------------------- */
static void refuse_for(cli_call *call, const fnz_target *target, size_t graph, size_t node) {
  char where[192], what[512];
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  const fnz_node_info info = fnz_program_node(call->functional, graph, node);
  size_t had = call->nrefusals;
  o.set = target->set;
  if (!info.op) {
    refuse_region(call, target, graph, node);
    return;
  }
  const char *why = fnz_decomposition_why_left(&o, info.op);
  if (!why)
    return;
  snprintf(where, sizeof where, "node %zu (%s)", node, fnz_op_name(info.op));
  snprintf(what, sizeof what, "%s does not take %s (%s): %s", target->name, fnz_op_name(info.op),
           fnz_target_read_from(target), why);
  cli_refuse_node(call, graph, node, FNZ_CLASS_UNSUPPORTED, where, what);
  for (size_t i = 0; i < had; i++)
    if (strcmp(call->refusals[i].what, what) == 0) {
      memcpy(call->refusals[had].remedy, call->refusals[i].remedy, sizeof call->refusals[i].remedy);
      return;
    }
  if (had < call->nrefusals)
    put_remedy(call, target, info.op, call->refusals[had].remedy,
               sizeof call->refusals[had].remedy);
}

int cli_target_check(cli_call *call, const fnz_target *target, const char *path) {
  fnz_functionalize_options functional = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  if (target->format == FNZ_FORMAT_MLIR)
    return cli_mlir_check(call, target->set, path);
  CLI_TRY(cli_functionalize_options(call, &functional));
  if (fnz_functionalize(call->ctx, call->program, &functional, &call->functional) != FNZ_OK)
    return CLI_DONE; /* the findings say why */
  const fnz_decompose_options o = cli_decompose_options(call);
  fnz_program *made;
  CLI_TRY(cli_check(call, fnz_decompose(call->ctx, call->functional, &o, &made), path));
  fnz_program_destroy(call->functional);
  call->functional = made;
  for (size_t g = 0; g < fnz_graph_count(made); g++)
    for (size_t n = 0; n < fnz_node_count(made, g); n++)
      refuse_for(call, target, g, n);
  refuse_inputs(call, made, target);
  CLI_TRY(cli_pt2_check_made(call, path));
  return cli_refusals_finish(call, path);
}
