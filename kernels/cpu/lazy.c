/* lazy.c - what a lazily negated or conjugated tensor shows: its cells with other signs. Nothing is
 * computed, so that what is negated there and back has the bits it had, also where it is no number.
 */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/point.h"
#include "kernels/meta/point.h"

/* A complex cell has two parts, others one. */
typedef struct signs {
  size_t bytes, parts; /* bytes of a part */
  bool negated[2];
} signs;

static void copy_part(char *to, const char *from, size_t bytes, bool negated) {
#define PART(type)                                                                                 \
  case sizeof(type): {                                                                             \
    type bits;                                                                                     \
    memcpy(&bits, from, sizeof bits);                                                              \
    bits = (type)(bits ^ (type)((type)negated << (8 * sizeof bits - 1)));                          \
    memcpy(to, &bits, sizeof bits);                                                                \
    break;                                                                                         \
  }
  switch (bytes) {
    PART(uint8_t)
    PART(uint16_t)
    PART(uint32_t)
    PART(uint64_t)
  }
#undef PART
}

/* Parts side by side, with the signs of the first and of the second one of each pair. */
#define NEGATE(type)                                                                               \
  {                                                                                                \
    const type one = 1, first = (type)(s->negated[0] ? one << (8 * sizeof one - 1) : 0);           \
    const type second = (type)(s->negated[1] ? one << (8 * sizeof one - 1) : 0);                   \
    type *restrict to = (void *)data[0];                                                           \
    const type *restrict from = (const void *)data[1];                                             \
    for (int64_t i = 0; s->parts == 1 && i < count; i++)                                           \
      to[i] = from[i] ^ first;                                                                     \
    for (int64_t i = 0; s->parts == 2 && i < 2 * count; i += 2) {                                  \
      to[i] = from[i] ^ first;                                                                     \
      to[i + 1] = from[i + 1] ^ second;                                                            \
    }                                                                                              \
    return;                                                                                        \
  }

static void lazy_copy_row(const void *user, char *const *data, const int64_t *strides,
                          int64_t count) {
  const signs *s = user;
  const int64_t cell = (int64_t)(s->bytes * s->parts);
  const bool is_dense = strides[0] == cell && strides[1] == cell;
  if (is_dense && s->bytes == sizeof(uint32_t))
    NEGATE(uint32_t)
  if (is_dense && s->bytes == sizeof(uint64_t))
    NEGATE(uint64_t)
  for (int64_t i = 0; i < count; i++)
    for (size_t k = 0; k < s->parts; k++)
      copy_part(data[0] + i * strides[0] + k * s->bytes, data[1] + i * strides[1] + k * s->bytes,
                s->bytes, s->negated[k]);
}

static fnz_status with_signs(fnzi_krn_call *call, bool first, bool second) {
  const fnzi_krn_array *out = call->outputs[0], *in = fnzi_krn_call_input(call, 0);
  size_t parts = fnzi_is_complex(in->window.dtype) ? 2 : 1;
  const signs s = {in->cell / parts, parts, {first, second}};
  fnzi_krn_loop loop;
  fnzi_krn_loop_start(&loop, out->window.rank, out->window.sizes);
  fnzi_krn_loop_add_array(&loop, out);
  fnzi_krn_loop_add_array(&loop, in);
  fnzi_krn_loop_run(&loop, lazy_copy_row, &s, call->team, false);
  return FNZ_OK;
}

/* Elements go where they belong, and get their signs there by a row of point.def; NULL: they have
 * them. */
static fnz_status record_signs(fnzi_krn_call *call, const char *name) {
  fnzi_krn_window to, from;
  fnzi_krn_window_of(call->outputs[0], &to);
  fnzi_krn_window_of(fnzi_krn_call_input(call, 0), &from);
  FNZ_TRY(call->record->move(call->record->user, &to, &from, false));
  if (!name)
    return FNZ_OK;
  fnz_dtype class_dtype = fnzi_meta_point_class(to.dtype);
  const fnzi_cpu_point *row = fnzi_cpu_point_find(class_dtype, name);
  if (!row)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "no kernel turns signs of %s",
                                fnzi_dtype(to.dtype)->name);
  const fnzi_krn_combination c = {.row = row->name,
                                  .compute = to.dtype,
                                  .class_dtype = class_dtype,
                                  .out = row->out,
                                  .keeps = row->keeps,
                                  .to = &to};
  return call->record->combine(call->record->user, &c);
}

/* Integers have no sign bit to turn. */
fnz_status fnzi_kernel_negated(fnzi_krn_call *call) {
  fnz_dtype dtype = fnzi_krn_call_input(call, 0)->window.dtype;
  if (call->record)
    return record_signs(call, "neg");
  bool has_signs = fnzi_is_complex(dtype) || (fnzi_is_float(dtype) && fnzi_dtype(dtype)->bytes > 1);
  return has_signs ? with_signs(call, true, true) : fnzi_kernel_point(call);
}

fnz_status fnzi_kernel_conjugated(fnzi_krn_call *call) {
  bool is_complex = fnzi_is_complex(fnzi_krn_call_input(call, 0)->window.dtype);
  if (call->record)
    return record_signs(call, is_complex ? "conj_physical" : NULL);
  return with_signs(call, false, is_complex);
}
