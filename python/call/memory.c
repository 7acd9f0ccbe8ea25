/* memory.c - memory of results: a block comes back when nothing refers to it any more. */
#include "call.h"

#include <stdlib.h>

enum { ALIGNMENT = 64, MOST_KEPT = 2 };

/* Consumers end results in any thread, and a process may fork meanwhile, so that there is no lock
 * here. */
struct fnzi_py_pool {
  atomic_size_t users; /* the caller, while it lives, and each block that is out */
  atomic_bool is_left;
  _Atomic(fnzi_py_block *) kept[MOST_KEPT];
  size_t header; /* bytes before the data of a block */
};

static size_t round_up(size_t bytes) {
  return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

fnzi_py_pool *fnzi_py_pool_create(uint32_t rank) {
  fnzi_py_pool *pool = calloc(1, sizeof *pool);
  if (!pool)
    return NULL;
  atomic_init(&pool->users, 1);
  pool->header = round_up(sizeof(fnzi_py_block) + 2 * rank * sizeof(int64_t));
  return pool;
}

/* The last user frees blocks that came back, too. */
static void release(fnzi_py_pool *pool) {
  if (atomic_fetch_sub(&pool->users, 1) != 1)
    return;
  for (size_t k = 0; k < MOST_KEPT; k++)
    free(atomic_load(&pool->kept[k]));
  free(pool);
}

void fnzi_py_pool_leave(fnzi_py_pool *pool) {
  if (!pool)
    return;
  atomic_store(&pool->is_left, true);
  for (size_t k = 0; k < MOST_KEPT; k++)
    free(atomic_exchange(&pool->kept[k], NULL));
  release(pool);
}

static fnzi_py_block *allocate(fnzi_py_pool *pool, size_t bytes) {
  if (bytes > SIZE_MAX / 2)
    return NULL;
  fnzi_py_block *block = aligned_alloc(ALIGNMENT, pool->header + round_up(bytes ? bytes : 1));
  if (!block)
    return NULL;
  block->pool = pool;
  block->capacity = bytes;
  block->data = (unsigned char *)block + pool->header;
  return block;
}

fnzi_py_block *fnzi_py_block_take(fnzi_py_pool *pool, size_t bytes) {
  fnzi_py_block *block = NULL;
  for (size_t k = 0; k < MOST_KEPT && !block; k++) {
    block = atomic_exchange(&pool->kept[k], NULL);
    if (block && (block->capacity < bytes || block->capacity / 2 > bytes)) {
      free(block); /* sizes change from call to call, and this block is too small or too large */
      block = NULL;
    }
  }
  if (!block)
    block = allocate(pool, bytes);
  if (block)
    atomic_fetch_add(&pool->users, 1);
  return block;
}

void fnzi_py_block_give(fnzi_py_block *block) {
  if (!block)
    return;
  fnzi_py_pool *pool = block->pool;
  for (size_t k = 0; k < MOST_KEPT && block && !atomic_load(&pool->is_left); k++) {
    fnzi_py_block *none = NULL;
    if (atomic_compare_exchange_strong(&pool->kept[k], &none, block))
      block = NULL;
  }
  free(block);
  release(pool);
}

/* --- As an object of Python ------------------------------------------------------------------- */
typedef struct memory_object {
  PyObject ob_base;
  fnzi_py_block *block;
  size_t bytes;
} memory_object;

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
  memory_object *memory = (memory_object *)self;
  return PyBuffer_FillInfo(view, self, memory->block->data, (Py_ssize_t)memory->bytes, 0, flags);
}

static void memory_end(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  fnzi_py_block_give(((memory_object *)self)->block);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject *fnzi_py_memory_type(PyObject *module) {
  PyType_Slot slots[] = {{Py_bf_getbuffer, get_buffer}, {Py_tp_dealloc, memory_end}, {0, NULL}};
  PyType_Spec spec = {"fnz._call.Memory", sizeof(memory_object), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return PyType_FromModuleAndSpec(module, &spec, NULL);
}

PyObject *fnzi_py_memory_of(PyObject *type, fnzi_py_block *block, size_t bytes) {
  memory_object *memory = PyObject_New(memory_object, (PyTypeObject *)type);
  if (!memory)
    return NULL;
  memory->block = block;
  memory->bytes = bytes;
  return (PyObject *)memory;
}
