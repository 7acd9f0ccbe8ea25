/* text_read.c - a program from text (docs/text-format.md).
 *
 * One pass over the tokens, without recursion; before it, a look at all lines that finds the names
 * of the regions, lines that are too long, and bytes that are not UTF-8. The verifier does the
 * rest. */
#include "program/formats/text_read.h"
#include "program/prims.h"

/* --- before the first token ------------------------------------------------------------------ */
static fnz_status add_region(fnzi_parser *r, fnzi_lexer *x) {
  const char *name;
  uint64_t there;
  FNZ_TRY(fnzi_lexer_next(x)); /* the word "graph" */
  FNZ_TRY(fnzi_lexer_next(x));
  FNZ_TRY(fnzi_intern(r->p, x->text, x->size, &name));
  r->nregions++;
  bool is_taken = fnzi_map_get(&r->regions, name, x->size, &there);
  return fnzi_map_set(&r->regions, name, x->size, is_taken ? 0 : r->nregions);
}

static fnz_status scan_lines(fnzi_parser *r, const char *text, size_t size) {
  size_t number = 1;
  for (const char *line = text, *end = text + size; line < end; number++) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    const char *stop = newline ? newline : end;
    r->x.line = number;
    r->x.token = r->x.line_start = line;
    if ((size_t)(stop - line) > r->ctx->limits.line)
      return fnzi_lexer_fail(&r->x, FNZ_CLASS_LIMIT, "a line of more than %zu bytes",
                             r->ctx->limits.line);
    if (!fnzi_is_utf8(line, (size_t)(stop - line)))
      return fnzi_lexer_fail(&r->x, FNZ_CLASS_ENCODING, "the line is not UTF-8");
    if (stop - line > 6 && memcmp(line, "graph ", 6) == 0) {
      fnzi_lexer x;
      fnzi_lexer_start(&x, r->ctx, line, (size_t)(stop - line));
      x.line = number;
      fnz_status status = add_region(r, &x);
      fnzi_lexer_end(&x);
      FNZ_TRY(status);
    }
    line = stop + 1;
  }
  return FNZ_OK;
}

/* --- declarations ---------------------------------------------------------------------------- */
static fnz_status parse_symbol(fnzi_parser *r) {
  const char *text;
  int64_t hint = 0;
  bool has_hint;
  uint32_t index;
  FNZ_TRY(fnzi_parse_name(r, &text));
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_PUNCT, "=", &has_hint));
  if (has_hint)
    FNZ_TRY(fnzi_parse_int(r, &hint));
  return fnzi_symbol_add(r->p, text, has_hint, hint, &index);
}

static fnz_status parse_range(fnzi_parser *r) {
  const char *symbol;
  int64_t min = INT64_MIN, max = INT64_MAX;
  FNZ_TRY(fnzi_parse_name(r, &symbol));
  if (r->x.kind == FNZI_TOKEN_INT)
    FNZ_TRY(fnzi_parse_int(r, &min));
  FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, ".."));
  if (r->x.kind == FNZI_TOKEN_INT)
    FNZ_TRY(fnzi_parse_int(r, &max));
  return fnzi_range_add(r->p, symbol, min, max);
}

static fnz_status parse_operator(fnzi_parser *r) {
  const char *schema;
  const fnz_op *op;
  FNZ_TRY(fnzi_parse_string(r, &schema));
  return fnzi_lexer_at(&r->x, fnzi_custom_op_add(r->p, schema, &op));
}

static fnz_status parse_weight(fnzi_parser *r) {
  const char *name;
  const fnz_geometry *geometry;
  FNZ_TRY(fnzi_parse_string(r, &name));
  FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, ":"));
  FNZ_TRY(fnzi_parse_tensor_type(r, &geometry));
  return fnzi_lexer_at(&r->x, fnzi_weight_add(r->p, name, NULL, geometry));
}

static fnz_status text_parse_source(fnzi_parser *r) {
  const char *text;
  int64_t number;
  if (r->x.kind == FNZI_TOKEN_INT && r->x.i != (int64_t)r->sources.count + 1)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_SYNTAX, "source %lld; they are numbered 1, 2, ...",
                           (long long)r->x.i);
  FNZ_TRY(fnzi_parse_int(r, &number));
  FNZ_TRY(fnzi_parse_string(r, &text));
  FNZI_PUSH(r->ctx, &r->sources, text);
  return FNZ_OK;
}

static fnz_status parse_declarations(fnzi_parser *r) {
  static const struct {
    const char *word;
    fnz_status (*parse)(fnzi_parser *r);
  } rows[] = {{"symbol", parse_symbol}, {"range", parse_range},      {"operator", parse_operator},
              {"weight", parse_weight}, {"guard", fnzi_parse_guard}, {"source", text_parse_source}};
  bool found = true;
  while (found) {
    found = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !found; i++) {
      FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, rows[i].word, &found));
      if (found)
        FNZ_TRY(rows[i].parse(r));
    }
  }
  return FNZ_OK;
}

/* "8.20" is two numbers, not a fraction. */
static fnz_status parse_schema_version(fnzi_parser *r) {
  int *parts[] = {&r->p->schema_major, &r->p->schema_minor}, part = 0;
  if (r->x.kind != FNZI_TOKEN_FLOAT || r->x.size > 9)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_SYNTAX, "expected a schema version such as 8.20");
  for (size_t i = 0; i < r->x.size; i++) {
    if (r->x.text[i] == '.')
      part = 1;
    else if (r->x.text[i] >= '0' && r->x.text[i] <= '9')
      *parts[part] = *parts[part] * 10 + (r->x.text[i] - '0');
    else
      return fnzi_lexer_fail(&r->x, FNZ_CLASS_SYNTAX, "expected a schema version such as 8.20");
    if (*parts[part] > FNZI_MOST_SCHEMA)
      return fnzi_lexer_fail(&r->x, FNZ_CLASS_VERSION,
                             "the parts of a schema version are at most %d", FNZI_MOST_SCHEMA);
  }
  return fnzi_lexer_next(&r->x);
}

/* --- nodes ----------------------------------------------------------------------------------- */
static fnz_status parse_results(fnzi_parser *r) {
  bool is_word = r->x.kind == FNZI_TOKEN_WORD || r->x.kind == FNZI_TOKEN_STRING;
  bool more = !is_word || fnzi_lexer_is(&r->x, FNZI_TOKEN_WORD, "None");
  r->args.count = 0;
  if (!more)
    return FNZ_OK;
  while (more) {
    fnz_arg result;
    FNZ_TRY(fnzi_parse_tree(r, fnzi_parse_result, &result));
    FNZI_PUSH(r->ctx, &r->args, result);
    FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_PUNCT, ",", &more));
  }
  return fnzi_expect(r, FNZI_TOKEN_PUNCT, "=");
}

/* The names of the arguments, when there is one. */
static fnz_status keep_names(fnzi_parser *r, fnzi_node_other *other) {
  const char **names;
  bool is_named = false;
  for (size_t i = 0; i < r->names.count; i++)
    is_named = is_named || r->names.data[i][0];
  if (!is_named)
    return FNZ_OK;
  FNZI_NEW(&r->p->arena, r->names.count, &names);
  memcpy(names, r->names.data, r->names.count * sizeof *names);
  other->arg_names = names;
  return FNZ_OK;
}

static fnz_status parse_place(fnzi_parser *r, fnzi_node *node) {
  int64_t number;
  if (r->x.kind == FNZI_TOKEN_STRING)
    return fnzi_parse_string(r, &node->source);
  if (r->x.kind == FNZI_TOKEN_INT && (r->x.i < 1 || r->x.i > (int64_t)r->sources.count))
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_REF, "there is no source %lld", (long long)r->x.i);
  FNZ_TRY(fnzi_parse_int(r, &number));
  node->source = r->sources.data[number - 1];
  return FNZ_OK;
}

/* Which a file is not likely to define later on. */
static fnz_status text_name_between(void *user, const char *suffix, const char **out) {
  fnzi_parser *r = user;
  uint64_t taken;
  uint32_t k = 0;
  do
    FNZ_TRY(fnzi_arena_format(&r->p->arena, out, "prims_%s_%u", suffix, k++));
  while (fnzi_value_find(r->p, r->graph, *out, strlen(*out), &taken));
  return FNZ_OK;
}

/* The arrays are made here, in the arena, so the node takes them as they are. */
static fnz_status parse_node(fnzi_parser *r) {
  fnzi_node node = {0};
  fnzi_node_other other = {.target = ""};
  uint32_t index;
  size_t unsaid = fnzi_graph_at(r->p, r->graph)->unsaid.count;
  FNZ_TRY(parse_results(r));
  FNZ_TRY(fnzi_keep_args(r, &node.outputs, &node.noutputs));
  FNZ_TRY(fnzi_parse_target(r, &other.target, &node.op));
  /* The operator of a view determines its strides; new memory has the strides that are written. */
  if (!node.op || (!node.op->is_view && !fnz_op_is_mutating(node.op)))
    fnzi_graph_at(r->p, r->graph)->unsaid.count = unsaid;
  FNZ_TRY(fnzi_parse_args(r, node.op));
  FNZ_TRY(fnzi_keep_args(r, &node.args, &node.nargs));
  FNZ_TRY(keep_names(r, &other));
  bool found;
  node.source = "";
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "at", &found));
  if (found)
    FNZ_TRY(parse_place(r, &node));
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "meta", &found));
  if (found)
    FNZ_TRY(fnzi_parse_string(r, &other.metadata));
  FNZ_TRY(fnzi_node_keep(r->p, &node, &other));
  if (node.op && fnzi_builtin_prim(node.op)) {
    /* An operator that becomes others. */
    const fnzi_prim_call call = {r->p, &r->p->arena, r->graph, &node, r, text_name_between};
    FNZ_TRY(fnzi_lexer_at(&r->x, fnzi_prim_read(&call)));
    while (r->tags.count < fnzi_graph_at(r->p, r->graph)->values.count)
      FNZI_PUSH(r->ctx, &r->tags, FNZ_ARG_VALUE);
    return FNZ_OK;
  }
  return fnzi_node_append(r->p, r->graph, &node, &index);
}

/* --- graphs ---------------------------------------------------------------------------------- */

/* One of the words of a table of kinds; 0, "user", when there is none. */
static fnz_status parse_kind(fnzi_parser *r, const char *const *names, int count, int *out) {
  bool found = false;
  *out = 0;
  for (int i = 0; i < count && !found; i++) {
    FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, names[i], &found));
    if (found)
      *out = i;
  }
  return FNZ_OK;
}

static fnz_status parse_input(fnzi_parser *r) {
  fnz_arg arg;
  int kind;
  FNZ_TRY(fnzi_parse_tree(r, fnzi_parse_input, &arg));
  FNZI_PUSH(r->ctx, &r->args, arg);
  if (r->graph)
    return FNZ_OK;
  fnz_input_spec spec = {
      .target = fnzi_is_reference(&arg) ? fnzi_value_at(r->p, r->graph, arg.u.value)->name : ""};
  FNZ_TRY(parse_kind(r, fnzi_input_kind_names, FNZ_INPUT_KIND_COUNT, &kind));
  spec.kind = (fnz_input_kind)kind;
  if (r->x.kind == FNZI_TOKEN_STRING)
    FNZ_TRY(fnzi_parse_string(r, &spec.target));
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "persistent", &spec.persistent));
  FNZ_TRY(fnzi_parse_input_sharing(r, &spec));
  FNZI_PUSH(r->ctx, &r->inputs, spec);
  return FNZ_OK;
}

static fnz_status parse_output(fnzi_parser *r) {
  fnz_arg arg;
  int kind;
  FNZ_TRY(fnzi_parse_tree(r, fnzi_parse_use, &arg));
  FNZI_PUSH(r->ctx, &r->args, arg);
  if (r->graph)
    return FNZ_OK;
  fnz_output_spec spec = {0};
  FNZ_TRY(parse_kind(r, fnzi_output_kind_names, FNZ_OUTPUT_KIND_COUNT, &kind));
  spec.kind = (fnz_output_kind)kind;
  if (r->x.kind == FNZI_TOKEN_STRING)
    FNZ_TRY(fnzi_parse_string(r, &spec.target));
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "metadata", &spec.metadata));
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "set", &spec.set));
  FNZ_TRY(fnzi_parse_output_sharing(r, &spec));
  FNZI_PUSH(r->ctx, &r->outputs, spec);
  return FNZ_OK;
}

/* Items with commas up to `close`; they are left in r->args. */
static fnz_status parse_series(fnzi_parser *r, const char *close,
                               fnz_status (*item)(fnzi_parser *r)) {
  bool more = !fnzi_lexer_is(&r->x, FNZI_TOKEN_PUNCT, close);
  r->args.count = 0;
  while (more) {
    FNZ_TRY(item(r));
    FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_PUNCT, ",", &more));
  }
  return fnzi_expect(r, FNZI_TOKEN_PUNCT, close);
}

static fnz_status parse_graph(fnzi_parser *r, const char *name) {
  bool is_end;
  FNZ_TRY(fnzi_graph_add(r->p, name, &r->graph));
  r->tags.count = 0;
  FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, "("));
  FNZ_TRY(parse_series(r, ")", parse_input));
  FNZ_TRY(fnzi_graph_set_inputs(r->p, r->graph, r->args.count));
  if (r->args.count) {
    memcpy(fnzi_graph_at(r->p, r->graph)->inputs, r->args.data, r->args.count * sizeof(fnz_arg));
    if (!r->graph)
      memcpy(r->p->inputs, r->inputs.data, r->inputs.count * sizeof *r->inputs.data);
  }
  FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, "{"));
  for (;;) {
    FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "return", &is_end));
    if (fnzi_lexer_is(&r->x, FNZI_TOKEN_PUNCT, "}") && !is_end)
      return fnzi_lexer_fail(&r->x, FNZ_CLASS_SYNTAX,
                             "a graph ends without return; add it before }");
    if (is_end) {
      FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "single",
                          &fnzi_graph_at(r->p, r->graph)->returns_single));
      FNZ_TRY(parse_series(r, "}", parse_output));
      FNZ_TRY(fnzi_graph_set_outputs(r->p, r->graph, r->args.count));
      if (!r->args.count)
        return FNZ_OK;
      memcpy(fnzi_graph_at(r->p, r->graph)->outputs, r->args.data, r->args.count * sizeof(fnz_arg));
      if (!r->graph)
        memcpy(r->p->outputs, r->outputs.data, r->outputs.count * sizeof *r->outputs.data);
      return FNZ_OK;
    }
    FNZ_TRY(parse_node(r));
  }
}

static fnz_status parse_text(fnzi_parser *r, const char *text, size_t size) {
  if (size > r->ctx->limits.program_bytes)
    return fnzi_fail(r->ctx, FNZ_CLASS_LIMIT, NULL, "%zu bytes of text; at most %zu are read", size,
                     r->ctx->limits.program_bytes);
  FNZ_TRY(scan_lines(r, text, size));
  fnzi_lexer_start(&r->x, r->ctx, text, size);
  FNZ_TRY(fnzi_lexer_next(&r->x));
  int64_t version;
  bool found;
  FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_WORD, "fnz"));
  FNZ_TRY(fnzi_parse_int(r, &version));
  if (version != FNZI_TEXT_VERSION)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_VERSION,
                           "text form %lld; this release reads %d, a newer one may read both",
                           (long long)version, FNZI_TEXT_VERSION);
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "torch", &found));
  if (found)
    FNZ_TRY(fnzi_parse_string(r, &r->p->torch_version));
  FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_WORD, "schema", &found));
  if (found)
    FNZ_TRY(parse_schema_version(r));
  FNZ_TRY(parse_declarations(r));
  FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_WORD, "program"));
  FNZ_TRY(parse_graph(r, ""));
  const char *name;
  while (r->x.kind != FNZI_TOKEN_END) {
    FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_WORD, "graph"));
    FNZ_TRY(fnzi_parse_name(r, &name));
    FNZ_TRY(parse_graph(r, name));
  }
  return FNZ_OK;
}

fnz_status fnzi_read_text(fnz_context *ctx, const char *bytes, size_t size, fnz_program *out) {
  fnzi_parser r = {.ctx = ctx, .p = out};
  fnzi_map_init(&r.regions, ctx);
  fnzi_lexer_start(&r.x, ctx, bytes, size);
  fnz_status status = parse_text(&r, bytes, size);
  fnzi_lexer_end(&r.x);
  fnzi_map_free(&r.regions);
  fnz_buffer_free(ctx, &r.name);
  FNZI_VEC_FREE(ctx, &r.tags);
  FNZI_VEC_FREE(ctx, &r.items);
  FNZI_VEC_FREE(ctx, &r.args);
  FNZI_VEC_FREE(ctx, &r.names);
  FNZI_VEC_FREE(ctx, &r.sources);
  FNZI_VEC_FREE(ctx, &r.inputs);
  FNZI_VEC_FREE(ctx, &r.outputs);
  return status;
}
