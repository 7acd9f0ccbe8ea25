/* variant_fixture.c - reads fixtures/variants and others of its format, and makes the arguments of
 * their calls. */
#include "tests/help/variant_fixture.h"

#include "kernels/core/core.h"

#include <math.h>
#include <stdio.h>

/* --- The files -------------------------------------------------------------------------------- */

static const char *path_of(const char *folder, const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/fixtures/%s/%s", FNZ_SOURCE_DIR, folder, name);
  return path;
}

static void parse(variants *v, const char *folder, const char *name, fnzi_json_doc *out) {
  const char *path = path_of(folder, name);
  fnz_buffer text = {0};
  OK(v->ctx, fnz_file_read(v->ctx, path, &text));
  OK(v->ctx, fnzi_json_parse(&v->arena, path, (const char *)text.data, text.size, out));
  fnz_buffer_free(v->ctx, &text);
}

items variants_items(variants *v, const fnzi_json *list) {
  items found = {NULL, list ? list->count : 0};
  if (!found.count)
    return found;
  void *capacity;
  OK(v->ctx, fnzi_arena_alloc(&v->arena, found.count, sizeof *found.at, &capacity));
  found.at = capacity;
  size_t i = 0;
  for (const fnzi_json *item = list->u.first; item; item = item->next)
    found.at[i++] = item;
  return found;
}

static void load(variants *v, const char *folder) {
  fnz_buffer bytes = {0};
  ck_assert_int_eq(fnz_context_create(NULL, &v->ctx), FNZ_OK);
  fnzi_arena_init(&v->arena, v->ctx);
  parse(v, folder, "calls.json", &v->calls);
  if (strcmp(folder, "variants") == 0 || strcmp(folder, "reference") == 0)
    parse(v, folder, "differences.json", &v->differences);
  OK(v->ctx, fnz_file_read(v->ctx, path_of(folder, "storages.safetensors"), &bytes));
  OK(v->ctx, fnz_arrays_read_safetensors(v->ctx, bytes.data, bytes.size, &v->pools));
  fnz_buffer_free(v->ctx, &bytes);
  v->blocks = variants_items(v, fnzi_json_find(v->calls.root, "blocks"));
  v->geometries = variants_items(v, fnzi_json_find(v->calls.root, "geometries"));
  v->inputs = variants_items(v, fnzi_json_find(v->calls.root, "inputs"));
}

fnz_status create_cpu(fnz_context *ctx, fnz_backend **out) {
  return fnz_cpu_backend_create(ctx, 1, out);
}

void scene_begin(scene *s, variants *v, const char *folder, create_fn *create) {
  load(v, folder);
  s->v = v;
  OK(v->ctx, create(v->ctx, &s->backend));
  OK(v->ctx, fnz_stack_create(v->ctx, s->backend, &s->stack));
  OK(v->ctx, fnz_stack_create(v->ctx, s->backend, &s->side));
}

void scene_end(scene *s) {
  variants *v = s->v;
  fnz_stack_destroy(s->side);
  fnz_stack_destroy(s->stack);
  fnz_backend_destroy(s->backend);
  fnz_arrays_destroy(v->pools);
  fnzi_arena_free(&v->arena);
  ck_assert_uint_eq(v->ctx->live_bytes, 0);
  fnz_context_destroy(v->ctx);
}

size_t block_bytes(block b) {
  return b.count * fnz_dtype_get_info(b.dtype)->bytes;
}

static fnz_dtype dtype_named(const char *name) {
  for (int d = 0; d < FNZ_DTYPE_COUNT; d++)
    if (strcmp(fnz_dtype_get_info((fnz_dtype)d)->name, name) == 0)
      return (fnz_dtype)d;
  ck_abort_msg("no dtype is called %s", name);
  return FNZ_DTYPE_COUNT;
}

block variants_block(const variants *v, size_t number) {
  ck_assert_uint_lt(number, v->blocks.count);
  const fnzi_json *row = v->blocks.at[number]->u.first;
  const fnz_array *pool = fnz_arrays_find(v->pools, row->u.s);
  ck_assert_ptr_nonnull(pool);
  size_t start = (size_t)row->next->u.i, count = (size_t)row->next->next->u.i;
  fnz_dtype dtype = dtype_named(row->u.s);
  size_t cell = fnz_dtype_get_info(dtype)->bytes;
  ck_assert_uint_le((start + count) * cell, pool->bytes);
  return (block){dtype, count, (const unsigned char *)pool->data + start * cell};
}

static void numbers(const fnzi_json *list, int64_t *out) {
  ck_assert_uint_le(list->count, SHAPE_RANK);
  size_t i = 0;
  for (const fnzi_json *item = list->u.first; item; item = item->next)
    out[i++] = item->u.i;
}

void variants_shape(const variants *v, size_t number, shape *out) {
  ck_assert_uint_lt(number, v->geometries.count);
  const fnzi_json *dtype = v->geometries.at[number]->u.first, *sizes = dtype->next;
  const fnzi_json *offset = sizes->next->next;
  numbers(sizes, out->sizes);
  numbers(sizes->next, out->strides);
  int64_t bits = offset->next ? offset->next->u.i : 0;
  out->g = (fnz_geometry){.dtype = dtype_named(dtype->u.s),
                          .rank = sizes->count,
                          .is_conj = bits & 1,
                          .is_neg = bits >> 1 & 1,
                          .offset = offset->u.i,
                          .sizes = out->sizes,
                          .strides = out->strides};
}

/* --- Numbers -------------------------------------------------------------------------------- */

/* The tolerance, relative to the largest number in a result. */
static double tolerance_of(fnz_dtype dtype) {
  switch (dtype) {
  case FNZ_F16:
    return 4e-3;
  case FNZ_BF16:
    return 3e-2;
  case FNZ_F32:
  case FNZ_C64:
    return 1e-5;
  case FNZ_F64:
  case FNZ_C128:
    return 1e-11;
  default:
    return 0;
  }
}

/* Elements as doubles, complex ones as two. */
static size_t widen(fnz_dtype dtype, size_t count, const void *cells, double **out) {
  bool pairs = dtype == FNZ_C64 || dtype == FNZ_C128;
  fnz_dtype part = dtype == FNZ_C64 ? FNZ_F32 : dtype == FNZ_C128 ? FNZ_F64 : dtype;
  size_t cell = fnz_dtype_get_info(part)->bytes;
  count *= pairs ? 2 : 1;
  *out = malloc((count + 1) * sizeof **out);
  fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_F64, part, 8, (int64_t)cell}, *out, cells,
                   (int64_t)count);
  return count;
}

void block_compare(block want, const void *cells, size_t k, char *what, size_t capacity) {
  double *a, *b, most = 1e-3, tolerance = tolerance_of(want.dtype);
  size_t count = widen(want.dtype, want.count, want.cells, &a);
  (void)widen(want.dtype, want.count, cells, &b);
  for (size_t i = 0; i < count; i++)
    most = isfinite(a[i]) && fabs(a[i]) > most ? fabs(a[i]) : most;
  for (size_t i = 0; i < count && !what[0]; i++) {
    bool same = isnan(a[i])   ? isnan(b[i]) != 0
                : isinf(a[i]) ? a[i] == b[i]
                              : fabs(a[i] - b[i]) <= tolerance * most;
    if (!same)
      snprintf(what, capacity, "result %zu, element %zu: %.17g instead of %.17g", k, i, b[i], a[i]);
  }
  free(a);
  free(b);
}

/* --- Arguments -------------------------------------------------------------------------------- */

fnz_eager scene_window(scene *s, fnz_eager base, const fnz_geometry *g) {
  fnz_push_tensor(s->side, base);
  fnz_push_ints(s->side, g->sizes, g->rank);
  fnz_push_ints(s->side, g->strides, g->rank);
  fnz_push_int(s->side, g->offset);
  OK(s->v->ctx, fnz_call(s->v->ctx, fnz_op_find(NULL, "as_strided"), s->side));
  return fnz_pop_tensor(s->side);
}

static fnz_eager add_tensor(scene *s, const fnzi_json *place) {
  shape window;
  ck_assert_uint_lt(s->ntensors, SCENE_TENSORS);
  variants_shape(s->v, (size_t)place->u.first->next->u.i, &window);
  fnz_eager made = scene_window(s, s->bases[place->u.first->u.i], &window.g);
  s->tensors[s->ntensors++] = made;
  return made;
}

/* A tensor that is there already counts once more, but is released once. */
static fnz_eager same_tensor(scene *s, int64_t number) {
  ck_assert_uint_lt(s->ntensors, SCENE_TENSORS);
  fnz_eager tensor = s->tensors[number];
  s->tensors[s->ntensors++] = (fnz_eager){NULL, 0};
  return tensor;
}

static bool is_tensor(const fnzi_json *item, fnz_eager *out, scene *s) {
  const fnzi_json *place = fnzi_json_find(item, "t"), *again = fnzi_json_find(item, "again");
  if (!place && !again)
    return false;
  *out = place ? add_tensor(s, place) : same_tensor(s, again->u.i);
  return true;
}

static fnz_arg number_of(const fnzi_json *item) {
  if (item->kind == FNZI_JSON_FLOAT)
    return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = item->u.f};
  ck_assert(item->kind == FNZI_JSON_INT || item->kind == FNZI_JSON_BOOL);
  return (fnz_arg){.tag = item->kind == FNZI_JSON_INT ? FNZ_ARG_INT : FNZ_ARG_BOOL,
                   .u.i = item->u.i};
}

static bool has_tensors(const fnzi_json *list) {
  for (const fnzi_json *item = list->u.first; item; item = item->next)
    if (item->kind == FNZI_JSON_OBJECT)
      return true;
  return false;
}

static void push_list(scene *s, const fnzi_json *list) {
  fnz_eager tensors[SCENE_TENSORS] = {{NULL, 0}};
  fnz_arg args[SCENE_TENSORS];
  ck_assert_uint_le(list->count, SCENE_TENSORS);
  bool of_tensors = has_tensors(list);
  size_t i = 0;
  for (const fnzi_json *item = list->u.first; item; item = item->next, i++)
    if (!of_tensors)
      args[i] = number_of(item);
    else if (item->kind != FNZI_JSON_NULL)
      ck_assert(is_tensor(item, &tensors[i], s));
  if (of_tensors)
    fnz_push_tensors(s->stack, tensors, list->count);
  else
    fnz_push_arg(s->stack, &(fnz_arg){.tag = FNZ_ARG_LIST, .count = list->count, .u.list = args});
}

static void push_object(scene *s, const fnzi_json *item) {
  fnz_eager tensor;
  const fnzi_json *value = item->u.first;
  if (is_tensor(item, &tensor, s))
    fnz_push_tensor(s->stack, tensor);
  else if (strcmp(value->key, "default") == 0)
    fnz_push_default(s->stack);
  else if (strcmp(value->key, "complex") == 0)
    fnz_push_complex(s->stack, value->u.first->u.f, value->u.first->next->u.f);
  else if (strcmp(value->key, "dtype") == 0)
    fnz_push_dtype(s->stack, dtype_named(value->u.s));
  else if (strcmp(value->key, "device") == 0)
    fnz_push_arg(s->stack,
                 &(fnz_arg){.tag = FNZ_ARG_DEVICE, .count = value->count, .u.s = value->u.s});
  else if (strcmp(value->key, "memory_format") == 0)
    fnz_push_arg(s->stack, &(fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = value->u.i});
  else
    ck_abort_msg("an argument of kind %s", value->key);
}

static void push_value(scene *s, const fnzi_json *item) {
  fnz_arg number;
  switch (item->kind) {
  case FNZI_JSON_NULL:
    fnz_push_none(s->stack);
    return;
  case FNZI_JSON_STRING:
    fnz_push_string(s->stack, item->u.s);
    return;
  case FNZI_JSON_ARRAY:
    push_list(s, item);
    return;
  case FNZI_JSON_OBJECT:
    push_object(s, item);
    return;
  case FNZI_JSON_BOOL:
  case FNZI_JSON_INT:
  case FNZI_JSON_FLOAT:
    number = number_of(item);
    fnz_push_arg(s->stack, &number);
  }
}

static void add_base(scene *s, size_t number) {
  block b = variants_block(s->v, number);
  int64_t size = (int64_t)b.count, stride = 1;
  fnz_geometry g = {.dtype = b.dtype, .rank = 1, .sizes = &size, .strides = &stride};
  fnz_eager base = {s->backend, 0};
  ck_assert_uint_lt(s->nbases, SCENE_TENSORS);
  OK(s->v->ctx, s->backend->upload(s->backend->self, s->v->ctx, &g, b.cells, &base.handle));
  s->before[s->nbases] = b;
  s->bases[s->nbases++] = base;
}

void scene_open(scene *s, const fnzi_json *input) {
  const fnzi_json *storages = fnzi_json_find(input, "storages");
  const fnzi_json *args = fnzi_json_find(input, "args"), *named = fnzi_json_find(input, "named");
  s->nbases = s->ntensors = 0;
  for (const fnzi_json *number = storages->u.first; number; number = number->next)
    add_base(s, (size_t)number->u.i);
  for (const fnzi_json *item = args->u.first; item; item = item->next)
    push_value(s, item);
  for (const fnzi_json *item = named ? named->u.first : NULL; item; item = item->next) {
    push_value(s, item->u.first->next);
    fnz_push_name(s->stack, item->u.first->u.s);
  }
}

void scene_close(scene *s) {
  fnz_stack_clear(s->stack);
  for (size_t i = 0; i < s->ntensors; i++)
    fnz_eager_release(s->tensors[i]);
  for (size_t i = 0; i < s->nbases; i++)
    fnz_eager_release(s->bases[i]);
}
