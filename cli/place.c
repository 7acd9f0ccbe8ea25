/* place.c - places in source text, for people and for programs. */
#include "cli/explain.h"

#include <string.h>

void cli_put_clean(FILE *to, const char *text, size_t size) {
  for (size_t i = 0; i < size; i++)
    fputc((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i], to);
}

void cli_print_place(FILE *to, const char *source) {
  const fnz_place place = fnz_source_place(source);
  cli_put_clean(to, place.path, place.path_size);
  if (place.line)
    fprintf(to, ":%ld", place.line);
}

void cli_json_place(fnzi_json_out *w, const char *source) {
  const fnz_place place = fnz_source_place(source);
  fnzi_json_key(w, "source_file");
  fnzi_json_out_string(w, place.path, place.path_size);
  fnzi_json_out_number(w, "source_line", place.line);
}

/* --- nodes ------------------------------------------------------------------------------------ */
static int write_node(cli_call *call, const fnz_program *program, size_t graph, size_t node,
                      bool types) {
  fnz_buffer_free(call->ctx, &call->out);
  return cli_check(call, fnz_node_write(call->ctx, program, graph, node, types, &call->out), NULL);
}

/* Text that is too long is cut at its end; of a list of results only the first one stays. `out` has
 * room for more than `room` bytes. */
static void cut(const char *text, size_t size, size_t capacity, char *out) {
  const char *list = size > capacity && *text == '[' ? strstr(text, "] = ") : NULL;
  const char *first = list ? memchr(text, ',', (size_t)(list - text)) : NULL;
  size_t used = 0;
  if (first && (size_t)(first - text) < capacity) {
    used = (size_t)snprintf(out, capacity + 1, "%.*s, ...", (int)(first - text), text);
    used = used < capacity ? used : capacity;
    size -= (size_t)(list - text);
    text = list;
  }
  bool fits = used + size <= capacity;
  size_t shown = fits ? size : capacity > used + 3 ? capacity - used - 3 : 0;
  memcpy(out + used, text, shown);
  strcpy(out + used + shown, fits ? "" : "...");
}

static int put_node(cli_call *call, const char *label, const fnz_program *program, size_t graph,
                    size_t node, const char **text) {
  /* The node in one line. Many nodes are about the same long one, an operator on a list, which is
   * written once; short ones are none the faster for being kept. */
  cli_line *line = &call->lines[node % CLI_LINES];
  *text = line->text;
  if (line->program != program || line->graph != graph || line->node != node) {
    CLI_TRY(write_node(call, program, graph, node, false));
    if (call->out.size < CLI_LONG)
      *text = (line = &call->lines[CLI_LINES])->text;
    *line = (cli_line){program, graph, node, ""};
    cut(call->out.data, call->out.size, CLI_STATEMENT, line->text);
  }
  printf("  %-*s", CLI_LABEL, label);
  cli_put_clean(stdout, *text, strlen(*text));
  return CLI_DONE;
}

int cli_print_node_here(cli_call *call, const char *label, const fnz_program *program, size_t graph,
                        size_t node) {
  const char *text;
  CLI_TRY(put_node(call, label, program, graph, node, &text));
  putchar('\n');
  return CLI_DONE;
}

int cli_print_node(cli_call *call, const char *label, const fnz_program *program, size_t graph,
                   size_t node) {
  const fnz_node_info info = fnz_program_node(program, graph, node);
  const char *text;
  CLI_TRY(put_node(call, label, program, graph, node, &text));
  for (size_t used = strlen(text); *info.source && used < CLI_STATEMENT + 2; used++)
    putchar(' ');
  /* The end of a path says more than its beginning. */
  const fnz_place place = fnz_source_place(info.source);
  char number[24] = "";
  if (place.line)
    snprintf(number, sizeof number, ":%ld", place.line);
  size_t capacity = CLI_PLACE - strlen(number);
  bool is_long = place.path_size > capacity;
  size_t shown = is_long ? capacity - 3 : place.path_size;
  fputs(is_long ? "..." : "", stdout);
  cli_put_clean(stdout, place.path + place.path_size - shown, shown);
  fputs(number, stdout);
  putchar('\n');
  return CLI_DONE;
}

int cli_print_statement(cli_call *call, const fnz_program *program, size_t graph, size_t node) {
  char text[CLI_WIDTH + 4];
  CLI_TRY(write_node(call, program, graph, node, true));
  if (call->out.size > CLI_WIDTH)
    CLI_TRY(write_node(call, program, graph, node, false));
  cut(call->out.data, call->out.size, CLI_WIDTH, text);
  cli_put_clean(stdout, text, strlen(text));
  putchar('\n');
  return CLI_DONE;
}

/* Results are values, or lists of values. */
static bool has_result(const fnz_program *program, size_t graph, size_t node, const char *name) {
  const fnz_node_info info = fnz_program_node(program, graph, node);
  for (size_t i = 0; i < info.noutputs; i++) {
    const fnz_arg *output = &info.outputs[i];
    bool is_list = output->tag == FNZ_ARG_LIST;
    for (size_t k = 0; k < (is_list ? output->count : 1); k++) {
      const fnz_arg *arg = is_list ? &output->u.list[k] : output;
      if (arg->tag >= FNZ_ARG_VALUE && arg->tag <= FNZ_ARG_OBJECT &&
          strcmp(fnz_value_name(program, graph, arg->u.value), name) == 0)
        return true;
    }
  }
  return false;
}

bool cli_find_result(const fnz_program *program, const char *name, size_t *graph, size_t *node) {
  name += *name == '%';
  for (*graph = 0; *graph < fnz_graph_count(program); ++*graph)
    for (*node = 0; *node < fnz_node_count(program, *graph); ++*node)
      if (has_result(program, *graph, *node, name))
        return true;
  return false;
}

/* --- JSON ------------------------------------------------------------------------------------- */
void cli_json_node(fnzi_json_out *w, const fnz_program *program, size_t graph, size_t node) {
  const fnz_node_info info = fnz_program_node(program, graph, node);
  const fnz_arg *first = info.noutputs ? info.outputs : NULL;
  if (first && first->tag == FNZ_ARG_LIST)
    first = first->count ? first->u.list : NULL;
  bool is_value = first && first->tag >= FNZ_ARG_VALUE && first->tag <= FNZ_ARG_OBJECT;
  fnzi_json_out_count(w, "graph", graph);
  fnzi_json_out_count(w, "node", node);
  fnzi_json_out_text(w, "result", is_value ? fnz_value_name(program, graph, first->u.value) : "");
  fnzi_json_out_text(w, "operator", info.target);
  cli_json_place(w, info.source);
}

/* --- words ------------------------------------------------------------------------------------ */
void cli_print_wrapped(const char *text, size_t at, size_t indent) {
  while (*text) {
    size_t length = strcspn(text, " ");
    if (at + 1 + length > CLI_WIDTH) {
      printf("\n%*s", (int)indent, "");
      at = indent;
    } else if (at > indent) {
      putchar(' ');
      at++;
    }
    cli_put_clean(stdout, text, length);
    at += length;
    text += length;
    text += strspn(text, " ");
  }
  putchar('\n');
}

void cli_print_labelled(const char *label, const char *words) {
  if (!*words)
    return;
  printf("  %-*s", CLI_LABEL, label);
  cli_print_wrapped(words, CLI_INDENT + CLI_LABEL, CLI_INDENT + CLI_LABEL);
}
