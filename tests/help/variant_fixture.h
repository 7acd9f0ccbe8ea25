/* variant_fixture.h - the calls of fixtures/variants and fixtures/made: their arguments on memory
 * of a backend. The README beside the former describes the files. */
#ifndef FNZ_TESTS_HELP_VARIANT_FIXTURE_H
#define FNZ_TESTS_HELP_VARIANT_FIXTURE_H

#include "program/formats/json.h"
#include "tests/help/test.h"

#include <fnz/fnz.h>

enum { SCENE_TENSORS = 32, SHAPE_RANK = 8 };

/* A table of the document, by number. */
typedef struct items {
  const fnzi_json **at;
  size_t count;
} items;

typedef struct variants {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_json_doc calls, differences;
  fnz_arrays *pools;
  items blocks, geometries, inputs;
} variants;

/* Elements of one dtype, one after the other. */
typedef struct block {
  fnz_dtype dtype;
  size_t count;
  const unsigned char *cells;
} block;

/* A geometry that has its own numbers; must not be copied. */
typedef struct shape {
  fnz_geometry g;
  int64_t sizes[SHAPE_RANK], strides[SHAPE_RANK];
} shape;

/* Items of an array, members of an object; NULL is an empty one. */
items variants_items(variants *v, const fnzi_json *list);
block variants_block(const variants *v, size_t number);
void variants_shape(const variants *v, size_t number, shape *out);
size_t block_bytes(block b);
/* Says in `what`, which is "" before, where the elements of result k differ by more than a few
 * roundings of the largest of them. */
void block_compare(block want, const void *cells, size_t k, char *what, size_t capacity);

/* The memory of one call, and the tensors that look at it. bases[i] is all of memory i. */
typedef struct scene {
  variants *v;
  fnz_backend *backend;
  fnz_stack *stack, *side; /* the call's, and one for everything else */
  size_t nbases, ntensors;
  fnz_eager bases[SCENE_TENSORS], tensors[SCENE_TENSORS];
  block before[SCENE_TENSORS];
} scene;

typedef fnz_status create_fn(fnz_context *ctx, fnz_backend **out);
/* The CPU backend, with one thread. */
create_fn create_cpu;

/* Loads fixtures/<folder> for calls on a backend that `create` makes; differences.json is there
 * only in variants. */
void scene_begin(scene *s, variants *v, const char *folder, create_fn *create);
void scene_end(scene *s);
/* Makes the memory of an input and pushes its arguments. */
void scene_open(scene *s, const fnzi_json *input);
void scene_close(scene *s);
/* Another tensor on the memory of `base`. */
fnz_eager scene_window(scene *s, fnz_eager base, const fnz_geometry *g);

#endif
