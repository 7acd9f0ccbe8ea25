/* tables.c - texts that a document has once: types, operators, source texts, modules. */
#include "page/page.h"
#include "program/formats/module_stack.h"
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
fnz_status fnzi_page_value(fnzi_page_tables *t, const fnz_program *p, uint32_t graph,
                           const fnz_arg *value, uint32_t *type, fnz_buffer *name) {
  fnzi_printer w = {.ctx = t->ctx, .p = p, .out = name, .graph = graph};
  name->size = 0;
  FNZ_TRY(fnzi_print_use(&w, value));
  const fnz_geometry *g = fnzi_value_at(p, graph, value->u.value)->geometry;
  if (is_known(&t->types, g, type))
    return FNZ_OK;
  /* Prints "%x: f32[2]" behind "%x", whose end is where the type begins, but for the colon. */
  size_t end = name->size;
  FNZ_TRY(fnzi_print_definition(&w, value));
  const char *text = (const char *)name->data + 2 * end + strlen(": ");
  FNZ_TRY(fnzi_page_text_number(t, &t->types, g, text, type));
  name->size = end;
  name->data[end] = '\0';
  if (*type == t->geometries.count)
    FNZI_PUSH(t->ctx, &t->geometries, g);
  return FNZ_OK;
}

/* --- Modules ---------------------------------------------------------------------------------- */
/* The modules of torch.export's nn_module_stack, outermost first; the last one called the node. */
static fnz_status take_stack(fnzi_page_tables *t, const char *stack, uint32_t *out) {
  for (fnzi_module m; fnzi_module_next(&stack, &m);) {
    const char *path, *class_name;
    FNZ_TRY(fnzi_arena_string(&t->arena, m.path, m.path_size, &path));
    FNZ_TRY(fnzi_page_text_number(t, &t->modules, NULL, path, out));
    if (*out < t->classes.count)
      continue;
    FNZ_TRY(fnzi_arena_string(&t->arena, m.type, m.type_size, &class_name));
    FNZI_PUSH(t->ctx, &t->classes, class_name);
  }
  return FNZ_OK;
}

fnz_status fnzi_page_module(fnzi_page_tables *t, const fnzi_node *node, uint32_t *out) {
  const char *metadata = fnzi_node_metadata(node), *stack;
  *out = FNZI_PAGE_NONE;
  if (!metadata || is_known(&t->modules, metadata, out))
    return FNZ_OK;
  fnzi_arena arena;
  fnzi_arena_init(&arena, t->ctx);
  fnz_status status = fnzi_module_stack(&arena, metadata, &stack);
  if (status == FNZ_OK && stack)
    status = take_stack(t, stack, out);
  fnzi_arena_free(&arena);
  FNZ_TRY(status);
  return *out == FNZI_PAGE_NONE ? FNZ_OK : remember(t, &t->modules, metadata, *out);
}
