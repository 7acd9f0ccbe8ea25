/* explain.h - nodes with their lines, as explain and lint print them. */
#ifndef FNZ_CLI_EXPLAIN_H
#define FNZ_CLI_EXPLAIN_H

#include "cli/cli.h"

/* "  through     %s = slice.Tensor(%x, 0, 1, 3)      model.py:3", cut where it is too long. */
int cli_print_node(cli_call *call, const char *label, const fnz_program *program, size_t graph,
                   size_t node);
/* The same without its place, below a line that has it. */
int cli_print_node_here(cli_call *call, const char *label, const fnz_program *program, size_t graph,
                        size_t node);
/* The whole node with its types, in a line of its own. */
int cli_print_statement(cli_call *call, const fnz_program *program, size_t graph, size_t node);
/* The members of an object that say which node it is. */
void cli_json_node(fnzi_json_out *w, const fnz_program *program, size_t graph, size_t node);
/* Words one after the other, in new lines, `indent` deep, where they reach the end. `at`:
 * characters of this line that are used. */
enum { CLI_INDENT = 2 };
void cli_print_wrapped(const char *text, size_t at, size_t indent);
/* Words behind a label, in as many lines as they need; nothing for "". */
void cli_print_labelled(const char *label, const char *words);
/* The node that has a result of this name, with or without %; false when there is none. */
bool cli_find_result(const fnz_program *program, const char *name, size_t *graph, size_t *node);
/* The same, of the program as read; nothing for node SIZE_MAX. */
int cli_print_source(cli_call *call, const char *label, size_t graph, size_t node);
/* Prints the relation of the program as read to a node of the functional form, in lines below
 * it. */
int cli_explain_origin(cli_call *call, size_t graph, size_t node);

/* "  needed by   output 2, buffer_mutation of cache" */
void cli_print_output(const cli_call *call, const char *label, size_t output);
/* costs.c: the options of a plan that --inputs and --sizes give. */
int cli_plan_options(cli_call *call, fnz_plan_options *out);
/* costs.c: finds what a run of call->functional copies, as call->costs, or the reason that there is
 * no plan, as call->no_run. Also reads --min-bytes. */
int cli_costs_find(cli_call *call);
/* Nodes with this reason only move elements. */
bool cli_only_moves(fnz_reason reason);
bool cli_cost_is_shown(const cli_call *call, const fnz_cost *cost);
/* "1.8 kB" */
enum { CLI_BYTES = 32 };
void cli_bytes_text(uint64_t bytes, char out[CLI_BYTES]);
/* "24 copies of 1.8 kB", "one copy". */
enum { CLI_TIMES = 96 };
void cli_cost_times(const fnz_cost *c, char out[CLI_TIMES]);
/* Lines of an entry: the statement of the model, its modules, and when it is copied. */
void cli_print_cost_place(const fnz_cost *c);
/* Sums and all entries. */
int cli_print_costs(cli_call *call);
/* Members of a finding or an entry. */
void cli_json_cost(fnzi_json_out *w, const fnz_cost *c);
/* Members `run` and `costs`, or `no_run`. */
int cli_json_costs(cli_call *call, fnzi_json_out *w);

/* explain_input.c: the input of the program that has this name, in the graph or in the signature.
 */
bool cli_find_input(const fnz_program *p, const char *name, size_t *out);
int cli_explain_input(cli_call *call, size_t k);

/* explain_steps.c, if the functional form was decomposed: all operators with their steps; one node
 * of the decomposed form; the steps of one node of the functional form. */
int cli_explain_steps(cli_call *call);
int cli_explain_step(cli_call *call, size_t graph, size_t node);
int cli_explain_steps_of(cli_call *call, size_t graph, size_t node);

/* explain_json.c: nodes of the functional form, or of that taken apart, with their origins, as
 * JSON: those for which `wanted` says yes, NULL for all. */
typedef bool cli_explain_filter(const cli_call *call, size_t graph, size_t node, const void *user);
int cli_explain_json(cli_call *call, cli_explain_filter *wanted, const void *user);

#endif
