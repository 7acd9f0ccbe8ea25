/* mlir_windows.c - windows along dimensions: unfold, convolutions and splits, by slices. */
#include "functionalize/decompose/ways.h"

/* --- unfold ----------------------------------------------------------------------------------- */
/* One window is a slice. IREE folds the dimension of extent 1 away, and then infers another extent
 * for the elements that no window covers (docs/iree/unit_extent.mlir). */
TAKE_APART(unfold_once) {
  fnzi_krn_array *self = GIVEN("self");
  uint32_t dim = fnzi_dec_given_dim(s, "dimension", self), rank = (uint32_t)RANK(self);
  int64_t size = GIVEN_INT("size"), step = GIVEN_INT("step");
  int64_t order[FNZ_MAX_RANK + 1];
  if (!rank || rank >= FNZ_MAX_RANK || step < 1 || (SIZE(self, dim) - size) / step != 0) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  fnzi_krn_array *window = STEP(unsqueeze, V(fnzi_part(s, self, dim, 0, size)), I(dim));
  for (uint32_t d = 0; d <= rank; d++) /* the window's own dimension comes last */
    order[d] = d <= dim ? d : d == rank ? dim + 1 : d + 1;
  GIVE(STEP(permute, V(window), fnzi_dec_ints(s, order, rank + 1)));
}

/* --- convolutions ----------------------------------------------------------------------------- */
/* One dimension of a convolution: the place of `numbers` that each list has for it. */
typedef struct window {
  int64_t size, kernel, stride, padding, dilation;
} window;

static int64_t span_of(const window *w) {
  return w->dilation * (w->kernel - 1) + 1;
}

/* A single step, behind which something is left over. */
static bool is_loose(const window *w) {
  enum { LARGE = 1 << 24 }; /* of no use, and no product of them overflows */
  if (w->kernel > LARGE || w->padding > LARGE || w->padding < 0 || w->dilation > LARGE ||
      w->stride > LARGE || w->size > LARGE)
    return false;
  int64_t left = w->size + 2 * w->padding - span_of(w);
  return w->stride > 1 && left > 0 && left < w->stride;
}

static int64_t number_of(fnzi_dec_steps *s, const char *name, size_t i) {
  const int64_t *numbers;
  size_t count = 0;
  if (s->status == FNZ_OK)
    fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, name, &numbers, &count));
  if (s->status != FNZ_OK || !count)
    return 1;
  return numbers[i < count ? i : 0];
}

/* Cuts x to the elements that the windows cover: pads dimension i in front, and cuts or pads it at
 * the end. */
static fnzi_krn_array *tightened(fnzi_dec_steps *s, fnzi_krn_array *x, const window *w, size_t dims,
                                 size_t i) {
  int64_t behind = span_of(w) - w->size - w->padding;
  int64_t pads[2 * FNZ_MAX_RANK] = {0}; /* of the last dimension first */
  if (behind < 0)
    x = fnzi_part(s, x, (int64_t)i + 2, 0, w->size + behind);
  pads[2 * (dims - 1 - i)] = w->padding;
  pads[2 * (dims - 1 - i) + 1] = behind > 0 ? behind : 0;
  bool pads_any = w->padding || behind > 0;
  return pads_any ? STEP(constant_pad_nd, V(x), fnzi_dec_ints(s, pads, 2 * dims), I(0)) : x;
}

static void tighten(fnzi_dec_steps *s, size_t op, size_t dims) {
  fnzi_krn_array *x = GIVEN("input"), *weight = GIVEN("weight");
  int64_t strides[3], paddings[3], dilations[3];
  bool loose = false;
  if ((size_t)RANK(x) != dims + 2) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  for (size_t i = 0; i < dims; i++) {
    const window w = {SIZE(x, (int64_t)i + 2), SIZE(weight, (int64_t)i + 2),
                      number_of(s, "stride", i), number_of(s, "padding", i),
                      number_of(s, "dilation", i)};
    bool is = is_loose(&w);
    x = is ? tightened(s, x, &w, dims, i) : x;
    strides[i] = is ? 1 : w.stride;
    paddings[i] = is ? 0 : w.padding;
    dilations[i] = w.dilation;
    loose = loose || is;
  }
  if (!loose)
    fnzi_dcm_nothing_to_mend(s);
  const fnz_arg args[] = {V(x),
                          V(weight),
                          V(GIVEN("bias")),
                          fnzi_dec_ints(s, strides, dims),
                          fnzi_dec_ints(s, paddings, dims),
                          fnzi_dec_ints(s, dilations, dims),
                          I(GIVEN_INT("groups"))};
  GIVE(fnzi_dec_step(s, op, args, sizeof args / sizeof *args));
}

TAKE_APART(tight_conv1d) {
  tighten(s, FNZI_ATEN_conv1d, 1);
}

TAKE_APART(tight_conv2d) {
  tighten(s, FNZI_ATEN_conv2d, 2);
}

TAKE_APART(tight_conv3d) {
  tighten(s, FNZI_ATEN_conv3d, 3);
}

/* --- pieces ----------------------------------------------------------------------------------- */
/* Slices: a split by a size that is symbolic is refused. */
TAKE_APART(split_slices) {
  fnzi_krn_array *self = GIVEN("self");
  uint32_t dim = fnzi_dec_given_dim(s, "dim", self);
  int64_t size = GIVEN_INT("split_size"), whole = SIZE(self, dim);
  if (size < 1) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  for (int64_t at = 0; at < whole || at == 0; at += size)
    GIVE(fnzi_part(s, self, dim, at, whole - at < size ? whole - at : size));
}
