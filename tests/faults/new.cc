/* new.cc - C++ asks for memory here: simdjson and oneDNN are under the sweep too. */
#include "tests/faults/sweep.h"

#include <cstddef>
#include <cstdlib>
#include <new>

/* Past the counting of memory_sweep.c: the linker's names. */
extern "C" void *__real_malloc(std::size_t size);
extern "C" void __real_free(void *p);

static void *allocate(std::size_t size, std::size_t alignment) {
  if (sweep_fails())
    return nullptr;
  if (alignment <= alignof(std::max_align_t))
    return __real_malloc(size ? size : 1);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void *must_allocate(std::size_t size, std::size_t alignment) {
  void *p = allocate(size, alignment);
  if (!p)
    throw std::bad_alloc();
  return p;
}

#define PLAIN   alignof(std::max_align_t)
#define ALIGNED static_cast<std::size_t>(alignment)

/* clang-format off */
void *operator new(std::size_t n) { return must_allocate(n, PLAIN); }
void *operator new[](std::size_t n) { return must_allocate(n, PLAIN); }
void *operator new(std::size_t n, std::align_val_t alignment) { return must_allocate(n, ALIGNED); }
void *operator new[](std::size_t n, std::align_val_t alignment) { return must_allocate(n, ALIGNED); }
void *operator new(std::size_t n, const std::nothrow_t &) noexcept { return allocate(n, PLAIN); }
void *operator new[](std::size_t n, const std::nothrow_t &) noexcept { return allocate(n, PLAIN); }
void operator delete(void *p) noexcept { __real_free(p); }
void operator delete[](void *p) noexcept { __real_free(p); }
void operator delete(void *p, std::size_t) noexcept { __real_free(p); }
void operator delete[](void *p, std::size_t) noexcept { __real_free(p); }
void operator delete(void *p, std::align_val_t) noexcept { __real_free(p); }
void operator delete[](void *p, std::align_val_t) noexcept { __real_free(p); }
void operator delete(void *p, std::size_t, std::align_val_t) noexcept { __real_free(p); }
void operator delete[](void *p, std::size_t, std::align_val_t) noexcept { __real_free(p); }
void operator delete(void *p, const std::nothrow_t &) noexcept { __real_free(p); }
void operator delete[](void *p, const std::nothrow_t &) noexcept { __real_free(p); }
/* clang-format on */
