/* explain.h - nodes with their lines, as explain and lint print them. */
#ifndef FNZ_CLI_EXPLAIN_H
#define FNZ_CLI_EXPLAIN_H

#include "cli/cli.h"

/* "  through     %s = slice.Tensor(%x, 0, 1, 3)      model.py:3", cut where it is too long. */
int cli_print_node(cli_call *call, const char *label, const fnz_program *program, size_t graph,
                   size_t node);
/* The whole node with its types, in a line of its own. */
int cli_print_statement(cli_call *call, const fnz_program *program, size_t graph, size_t node);
/* The node that has a result of this name, with or without %; false when there is none. */
bool cli_find_result(const fnz_program *program, const char *name, size_t *graph, size_t *node);
/* The same, of the program as read; nothing for node SIZE_MAX. */
int cli_print_source(cli_call *call, const char *label, size_t graph, size_t node);
/* Prints the relation of the program as read to a node of the functional form, in lines below
 * it. */
int cli_explain_origin(cli_call *call, size_t graph, size_t node);

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
