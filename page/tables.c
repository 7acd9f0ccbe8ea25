/* tables.c - texts that a document has once: types, operators, source texts, modules. */
#include "page/page.h"
#include "program/formats/json.h"
#include "program/formats/text_print.h"

void fnzi_page_tables_init(fnzi_page_tables *t, fnz_context *ctx) {
  fnzi_page_table *all[] = {&t->types, &t->operators, &t->sources, &t->modules};
  memset(t, 0, sizeof *t);
  t->ctx = ctx;
  fnzi_arena_init(&t->arena, ctx);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    fnzi_map_init(&all[i]->by_address, ctx);
    fnzi_map_init(&all[i]->by_text, ctx);
  }
}

void fnzi_page_tables_free(fnzi_page_tables *t) {
  fnzi_page_table *all[] = {&t->types, &t->operators, &t->sources, &t->modules};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    fnzi_map_free(&all[i]->by_address);
    fnzi_map_free(&all[i]->by_text);
    FNZI_VEC_FREE(t->ctx, &all[i]->texts);
  }
  FNZI_VEC_FREE(t->ctx, &t->geometries);
  FNZI_VEC_FREE(t->ctx, &t->classes);
  fnzi_arena_free(&t->arena);
}

static bool is_known(const fnzi_page_table *table, const void *address, uint32_t *out) {
  uint64_t number;
  if (!address || !fnzi_map_get(&table->by_address, &address, sizeof address, &number))
    return false;
  *out = (uint32_t)number;
  return true;
}

static fnz_status remember(fnzi_page_tables *t, fnzi_page_table *table, const void *address,
                           uint32_t number) {
  const void **key;
  if (!address)
    return FNZ_OK;
  FNZI_NEW(&t->arena, 1, &key);
  *key = address;
  return fnzi_map_set(&table->by_address, key, sizeof *key, number);
}

fnz_status fnzi_page_text_number(fnzi_page_tables *t, fnzi_page_table *table, const void *address,
                                 const char *text, uint32_t *out) {
  uint64_t number;
  const char *kept;
  size_t size = strlen(text);
  if (is_known(table, address, out))
    return FNZ_OK;
  if (!fnzi_map_get(&table->by_text, text, size, &number)) {
    number = table->texts.count;
    FNZ_TRY(fnzi_arena_string(&t->arena, text, size, &kept));
    FNZI_PUSH(t->ctx, &table->texts, kept);
    FNZ_TRY(fnzi_map_set(&table->by_text, kept, size, number));
  }
  *out = (uint32_t)number;
  return remember(t, table, address, *out);
}

/* --- Types ------------------------------------------------------------------------------------ */
/* Prints "%x: f32[2]" behind "%x", whose end is where the type begins, but for the colon. */
static fnz_status type_number(fnzi_page_tables *t, fnzi_printer *w, const fnz_arg *value,
                              uint32_t *type) {
  const fnz_geometry *g = fnzi_value_at(w->p, w->graph, value->u.value)->geometry;
  size_t name = w->out->size;
  if (is_known(&t->types, g, type))
    return FNZ_OK;
  FNZ_TRY(fnzi_print_definition(w, value));
  const char *text = (const char *)w->out->data + 2 * name + strlen(": ");
  FNZ_TRY(fnzi_page_text_number(t, &t->types, g, text, type));
  w->out->size = name;
  w->out->data[name] = '\0';
  if (*type == t->geometries.count)
    FNZI_PUSH(t->ctx, &t->geometries, g);
  return FNZ_OK;
}

fnz_status fnzi_page_value(fnzi_page_tables *t, const fnz_program *p, uint32_t graph,
                           const fnz_arg *value, uint32_t *type, fnz_buffer *name) {
  fnzi_printer w = {.ctx = t->ctx, .p = p, .out = name, .graph = graph};
  name->size = 0;
  FNZ_TRY(fnzi_print_use(&w, value));
  return type_number(t, &w, value, type);
}

/* --- Modules ---------------------------------------------------------------------------------- */
/* A copy of [from, to) without the number of the call, "@1", that a module called again has. */
static fnz_status path_of(fnzi_page_tables *t, const char *from, const char *to, const char **out) {
  const char *at = to;
  while (at > from && at[-1] >= '0' && at[-1] <= '9')
    at--;
  if (at > from && at < to && at[-1] == '@')
    to = at - 1;
  return fnzi_arena_string(&t->arena, from, (size_t)(to - from), out);
}

/* The exporter has this in place of a module for nodes that it makes itself. */
static const char no_module[] = "_empty_nn_module_stack_from_metadata_hook";

/* "key,layers.0,torch.nn.modules.linear.Linear": path and the last word of the class. */
static fnz_status take_entry(fnzi_page_tables *t, const char *from, const char *to, uint32_t *out) {
  const char *first = memchr(from, ',', (size_t)(to - from)), *last = to, *class_name, *path;
  while (last > from && *last != ',')
    last--;
  if (!first || first == last || strncmp(from, no_module, sizeof no_module - 1) == 0)
    return FNZ_OK;
  FNZ_TRY(path_of(t, first + 1, last, &path));
  FNZ_TRY(fnzi_page_text_number(t, &t->modules, NULL, path, out));
  if (*out < t->classes.count)
    return FNZ_OK;
  for (from = to; from > last + 1 && from[-1] != '.';)
    from--;
  FNZ_TRY(fnzi_arena_string(&t->arena, from, (size_t)(to - from), &class_name));
  FNZI_PUSH(t->ctx, &t->classes, class_name);
  return FNZ_OK;
}

/* The modules of torch.export's nn_module_stack, outermost first; the last one called the node. */
static fnz_status take_stack(fnzi_page_tables *t, const char *stack, uint32_t *out) {
  for (const char *end; *stack; stack = end + (*end == ';')) {
    end = stack + strcspn(stack, ";");
    FNZ_TRY(take_entry(t, stack, end, out));
  }
  return FNZ_OK;
}

fnz_status fnzi_page_module(fnzi_page_tables *t, const fnzi_node *node, uint32_t *out) {
  const char *metadata = fnzi_node_metadata(node);
  fnzi_json_doc doc;
  *out = FNZI_PAGE_NONE;
  if (!metadata || is_known(&t->modules, metadata, out))
    return FNZ_OK;
  fnzi_arena arena;
  fnzi_arena_init(&arena, t->ctx);
  fnz_status status = fnzi_json_parse(&arena, "metadata", metadata, strlen(metadata), &doc);
  const fnzi_json *stack = status == FNZ_OK ? fnzi_json_find(doc.root, "nn_module_stack") : NULL;
  if (stack && stack->kind == FNZI_JSON_STRING)
    status = take_stack(t, stack->u.s, out);
  fnzi_arena_free(&arena);
  if (status != FNZ_OK)
    return fnzi_is_final(status) ? status : FNZ_OK; /* a text that says something else */
  return *out == FNZI_PAGE_NONE ? FNZ_OK : remember(t, &t->modules, metadata, *out);
}
