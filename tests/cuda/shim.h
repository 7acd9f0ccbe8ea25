/* shim.h - the prelude of kernels when a host compiler builds their text (standin_nvrtc.c): the
 * words that engine/cuda/prelude.cu leaves to NVRTC. Each access goes through the stand-in's check
 * of the memory; a device's address is no address of the host. */
#include <stddef.h>
#include <stdint.h>

#define __device__
#define INFINITY __builtin_inff()
#define NAN      __builtin_nanf("")
#define memcpy   __builtin_memcpy
#define memset   __builtin_memset

/* <math.h> takes longer to read than all of a text. */
extern "C" {
#define ONE(name)                                                                                  \
  double name(double);                                                                             \
  float name##f(float);
#define TWO(name)                                                                                  \
  double name(double, double);                                                                     \
  float name##f(float, float);
/* clang-format off */
ONE(acos) ONE(acosh) ONE(asin) ONE(asinh) ONE(atan) ONE(atanh) ONE(ceil) ONE(cos) ONE(cosh)
ONE(erf) ONE(erfc) ONE(exp) ONE(exp2) ONE(expm1) ONE(fabs) ONE(floor) ONE(lgamma) ONE(log)
ONE(log10) ONE(log1p) ONE(log2) ONE(rint) ONE(sin) ONE(sinh) ONE(sqrt) ONE(tan) ONE(tanh)
ONE(trunc) ONE(j0) ONE(j1) ONE(y0) ONE(y1) TWO(atan2) TWO(copysign) TWO(fmax) TWO(fmin) TWO(fmod) TWO(hypot) TWO(nextafter)
TWO(pow)
    /* clang-format on */
    double fma(double, double, double);
float fmaf(float, float, float);
double modf(double, double *);
}

/* A GPU has fast functions for these. */
static inline float __logf(float v) {
  return logf(v);
}
static inline float __expf(float v) {
  return expf(v);
}
static inline float __tanf(float v) {
  return tanf(v);
}
static inline void __sincosf(float v, float *sine, float *cosine) {
  *sine = sinf(v), *cosine = cosf(v);
}
static inline void sincospi(double v, double *sine, double *cosine) {
  *sine = sin(3.14159265358979323846 * v), *cosine = cos(3.14159265358979323846 * v);
}

static inline float __int_as_float(int bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
static inline double __longlong_as_double(long long bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* --- What the stand-in sets when it loads the library (standin_parts.h) ----------------------- */
struct standin_room {
  uint64_t low, size;
  unsigned char *data, *map;
};
struct standin_place {
  unsigned x, y, z;
};
struct standin_now_of {
  standin_place thread, block, threads, blocks;
  uint64_t serial;
  uint32_t epoch, warp_epoch;
};
extern "C" {
const standin_room *standin_memory;
void *(*standin_kernel_access)(const void *at, size_t bytes, int writes);
void (*standin_barrier)(int site);
void (*standin_exchange)(int site, unsigned mask, int from, const void *mine, void *out,
                         size_t bytes);
void (*standin_share)(size_t bytes);
void (*standin_wrong)(const char *what);
standin_now_of standin_now;
}
static int64_t standin_thread, standin_threads;

/* --- Device memory ---------------------------------------------------------------------------- */
/* So many bytes of the map at once; the bytes of a cell are aligned like the cell. */
template <int bytes> struct standin_marks {
  unsigned char each[bytes];
  inline bool are(unsigned char bits) const {
    for (int i = 0; i < bytes; i++)
      if ((each[i] & bits) != bits)
        return false;
    return true;
  }
};
template <> struct standin_marks<16> {
  uint64_t all[2];
  inline bool are(unsigned char bits) const {
    return (all[0] & all[1] & bits * 0x101010101010101u) == bits * 0x101010101010101u;
  }
};
template <> struct standin_marks<2> {
  uint16_t all;
  inline bool are(unsigned char bits) const {
    return (all & bits * 0x101u) == bits * 0x101u;
  }
};
template <> struct standin_marks<4> {
  uint32_t all;
  inline bool are(unsigned char bits) const {
    return (all & bits * 0x1010101u) == bits * 0x1010101u;
  }
};
template <> struct standin_marks<8> {
  uint64_t all;
  inline bool are(unsigned char bits) const {
    return (all & bits * 0x101010101010101u) == bits * 0x101010101010101u;
  }
};

/* The host's address, or NULL where the access is not plainly right. */
template <class Cell>
static inline unsigned char *standin_find(const void *at, unsigned char bits) {
  const standin_room *m = standin_memory;
  uint64_t start = (uint64_t)(uintptr_t)at - m->low;
  standin_marks<sizeof(Cell)> marks;
  const uint64_t bytes = sizeof(Cell) < 16 ? 16 : sizeof(Cell);
  if (start >= m->size - bytes || (uintptr_t)at % (sizeof(Cell) < 16 ? sizeof(Cell) : 16) != 0)
    return NULL;
  memcpy(&marks, m->map + start, sizeof marks);
  return marks.are(bits) ? m->data + start : NULL;
}

template <class Cell> static inline Cell standin_load(const void *at) {
  Cell cell = {};
  const void *from = standin_find<Cell>(at, 3);
  if (!from)
    from = standin_kernel_access(at, sizeof cell, 0);
  if (from)
    memcpy(&cell, from, sizeof cell);
  return cell;
}

template <class Cell> static inline void standin_store(void *at, Cell cell) {
  unsigned char *to = standin_find<Cell>(at, 3);
  if (!to)
    to = (unsigned char *)standin_kernel_access(at, sizeof cell, 1);
  if (to)
    memcpy(to, &cell, sizeof cell);
}

/* --- Shared memory ---------------------------------------------------------------------------- */
/* The last user of an element, and the number of barriers before that use. If a thread uses an
 * element that another one wrote, or writes one that another one used, a barrier must lie
 * between. */
struct standin_use {
  uint32_t writer, reader; /* threads and 1; 0: none, ~0: several of several warps */
  uint32_t wrote, read, warp_wrote, warp_read;
};

static inline bool standin_meets(uint32_t who, uint32_t epoch, uint32_t warp_epoch) {
  unsigned me = standin_now.thread.x;
  if (who == 0 || who == me + 1 || epoch != standin_now.epoch)
    return false;
  return who == ~0u || (who - 1) / 32 != me / 32 || warp_epoch == standin_now.warp_epoch;
}

template <class Cell> struct standin_place_of {
  Cell *cell;
  standin_use *use;
  operator Cell() const {
    unsigned me = standin_now.thread.x;
    bool others =
        use->reader && use->read == standin_now.epoch && (use->reader - 1) / 32 != me / 32;
    if (!use->writer)
      standin_wrong("a kernel reads shared memory that nothing has written");
    if (standin_meets(use->writer, use->wrote, use->warp_wrote))
      standin_wrong(
          "a thread reads shared memory that another one writes, with no barrier between");
    use->reader = others ? ~0u : me + 1;
    use->read = standin_now.epoch, use->warp_read = standin_now.warp_epoch;
    return *cell;
  }
  standin_place_of &operator=(Cell value) {
    if (standin_meets(use->writer, use->wrote, use->warp_wrote) ||
        standin_meets(use->reader, use->read, use->warp_read))
      standin_wrong("a thread writes shared memory that another one uses, with no barrier between");
    use->writer = standin_now.thread.x + 1;
    use->wrote = standin_now.epoch, use->warp_wrote = standin_now.warp_epoch;
    *cell = value;
    return *this;
  }
  standin_place_of &operator=(const standin_place_of &other) {
    return *this = (Cell)other;
  }
};

/* Each block begins with memory that nothing has written. */
template <class Cell, int count> struct standin_shared {
  uint64_t serial;
  Cell cells[count];
  standin_use uses[count];
  standin_place_of<Cell> operator[](int64_t at) {
    if (serial != standin_now.serial) {
      serial = standin_now.serial;
      memset((void *)cells, 0xa5, sizeof cells);
      memset(uses, 0, sizeof uses);
      standin_share(sizeof cells);
    }
    if (at < 0 || at >= count) {
      standin_wrong("a kernel leaves its shared memory");
      at = 0;
    }
    return {&cells[at], &uses[at]};
  }
};

/* --- Threads of a block ----------------------------------------------------------------------- */
template <class Value>
static inline Value standin_take(int site, unsigned mask, Value value, int from) {
  Value out = value;
  standin_exchange(site, mask, from, &value, &out, sizeof value);
  return out;
}

static inline unsigned standin_ballot(int site, unsigned mask, bool mine) {
  unsigned all = 0;
  for (int lane = 0; lane < 32; lane++)
    if (mask >> lane & 1)
      all |= (unsigned)standin_take(site, mask, (int)mine, lane) << lane;
  return all;
}

static inline int standin_lane() {
  return (int)(standin_now.thread.x % 32);
}

#define threadIdx                      standin_now.thread
#define blockIdx                       standin_now.block
#define blockDim                       standin_now.threads
#define gridDim                        standin_now.blocks
#define __syncthreads()                standin_barrier(__COUNTER__)
#define __syncwarp()                   standin_exchange(__COUNTER__, ~0u, 0, NULL, NULL, 0)
#define __shfl_sync(mask, value, lane) standin_take(__COUNTER__, mask, value, (lane) % 32)
#define __shfl_xor_sync(mask, value, by)                                                           \
  standin_take(__COUNTER__, mask, value, standin_lane() ^ (by))
#define __shfl_up_sync(mask, value, by)                                                            \
  standin_take(__COUNTER__, mask, value,                                                           \
               standin_lane() - (int)(by) < 0 ? standin_lane() : standin_lane() - (int)(by))
#define __shfl_down_sync(mask, value, by)                                                          \
  standin_take(__COUNTER__, mask, value,                                                           \
               standin_lane() + (int)(by) > 31 ? standin_lane() : standin_lane() + (int)(by))
#define __ballot_sync(mask, mine) standin_ballot(__COUNTER__, mask, mine)

/* --- Words of prelude.cu ---------------------------------------------------------------------- */
#define FIRST                           standin_thread
#define STEP                            standin_threads
#define LOAD(type, address)             standin_load<type>(address)
#define STORE(type, address, what)      standin_store<type>(address, what)
#define SHARED(type, name, count)       static standin_shared<type, count> name
#define SHARED_FIELD(type, name, count) standin_shared<type, count> &name
#define KERNEL(name, threads, ...)                                                                 \
  static void name##_body(__VA_ARGS__);                                                            \
  extern "C" const int name##_operands = standin_operands(name##_body),                            \
                       name##_numbers = standin_numbers(name##_body);                              \
  extern "C" void name(void **arguments, int64_t thread, int64_t of) {                             \
    standin_thread = thread;                                                                       \
    standin_threads = of;                                                                          \
    standin_call(name##_body, arguments);                                                          \
  }                                                                                                \
  static void name##_body(__VA_ARGS__)
#define BLOCKS(name, threads, ...)                                                                 \
  static void name##_body(__VA_ARGS__);                                                            \
  extern "C" const int name##_operands = standin_operands(name##_body),                            \
                       name##_numbers = standin_numbers(name##_body), name##_threads = threads;    \
  extern "C" void name(void **arguments) {                                                         \
    standin_call(name##_body, arguments);                                                          \
  }                                                                                                \
  static void name##_body(__VA_ARGS__)

/* A kernel has operands, and a table of numbers or none. */
template <class P> constexpr int standin_operands(void (*)(P)) {
  return sizeof(P) / 8;
}
template <class P, class N> constexpr int standin_operands(void (*)(P, N)) {
  return sizeof(P) / 8;
}
template <class P> constexpr int standin_numbers(void (*)(P)) {
  return 0;
}
template <class P, class N> constexpr int standin_numbers(void (*)(P, N)) {
  return sizeof(N) / 8;
}
template <class P> static inline void standin_call(void (*body)(P), void **arguments) {
  body(*(const P *)arguments[0]);
}
template <class P, class N> static inline void standin_call(void (*body)(P, N), void **arguments) {
  body(*(const P *)arguments[0], *(const N *)arguments[1]);
}
