/* call_draws.c - random arguments for any operator. */
#include "tests/run/call_draws.h"

#include "kernels/core/core.h"

#include <stdio.h>
#include <stdlib.h>

/* --- Numbers ---------------------------------------------------------------------------------- */

static int64_t draw_int(choices *c) {
  static const int64_t odd[] = {INT64_MIN,
                                INT64_MAX,
                                INT64_MIN + 1,
                                (int64_t)1 << 62,
                                (int64_t)1 << 40,
                                -((int64_t)1 << 40),
                                INT32_MAX,
                                INT32_MIN,
                                100,
                                -100,
                                65,
                                1 << 20};
  if (perhaps(c, 4))
    return odd[choose(c, sizeof odd / sizeof *odd)];
  return perhaps(c, 25) ? choose_in(c, -3, 6) : choose_in(c, 0, 3);
}

static double draw_float(choices *c) {
  static const double odd[] = {1e300, -1e300, 1e-320, -0.0, 9.3e18, -9.3e18, 3e9};
  if (perhaps(c, 3))
    return strtod(choose(c, 2) ? "nan" : choose(c, 2) ? "inf" : "-inf", NULL);
  if (perhaps(c, 5))
    return odd[choose(c, sizeof odd / sizeof *odd)];
  return (double)choose_in(c, -8, 16) / 4;
}

static fnz_dtype draw_dtype(drawn_call *d) {
  static const fnz_dtype usual[] = {FNZ_F32, FNZ_F32,  FNZ_F32, FNZ_F64, FNZ_I64,
                                    FNZ_I64, FNZ_BOOL, FNZ_F16, FNZ_C64, FNZ_I32};
  if (perhaps(d->c, 35))
    return (fnz_dtype)choose(d->c, FNZ_DTYPE_COUNT);
  return usual[choose(d->c, sizeof usual / sizeof *usual)];
}

/* --- Memory ----------------------------------------------------------------------------------- */

static void fill_small(choices *c, drawn_base *b, size_t bytes) {
  const fnz_dtype_info *info = fnz_dtype_get_info(b->dtype);
  for (int64_t i = 0; i < b->count; i++) {
    fnz_arg number = {.tag = FNZ_ARG_INT, .u.i = choose_in(c, 0, 3)};
    if (info->category == 'f' || info->category == 'c')
      number = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = draw_float(c)};
    else if (info->category == 'i' && perhaps(c, 20))
      number.u.i = draw_int(c);
    else if (info->category == 'b')
      number.u.i &= 1;
    unsigned char cell[16] = {0};
    fnzi_krn_number_cell(&number, b->dtype, cell);
    memcpy(b->cells + (size_t)i * info->bytes, cell, info->bytes);
  }
  (void)bytes;
}

static void fill_wild(choices *c, drawn_base *b, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    b->cells[i] = b->dtype == FNZ_BOOL ? choices_byte(c) & 1 : choices_byte(c);
}

static uint8_t add_base(drawn_call *d, fnz_dtype dtype, int64_t count) {
  drawn_base *b = &d->bases[d->nbases];
  size_t bytes = (size_t)count * fnz_dtype_get_info(dtype)->bytes;
  b->dtype = dtype;
  b->count = count;
  if (perhaps(d->c, 5))
    fill_wild(d->c, b, bytes);
  else
    fill_small(d->c, b, bytes);
  return (uint8_t)d->nbases++;
}

/* --- Layouts ---------------------------------------------------------------------------------- */

static void row_major(drawn_tensor *t, int64_t step) {
  int64_t stride = step;
  for (uint32_t k = t->rank; k-- > 0;) {
    t->strides[k] = stride;
    if (t->sizes[k] > 0 && t->sizes[k] < DRAW_CELLS)
      stride *= t->sizes[k];
  }
}

static void column_major(drawn_tensor *t) {
  int64_t stride = 1;
  for (uint32_t k = 0; k < t->rank; k++) {
    t->strides[k] = stride;
    if (t->sizes[k] > 0 && t->sizes[k] < DRAW_CELLS)
      stride *= t->sizes[k];
  }
}

static void lay_out(choices *c, drawn_tensor *t) {
  t->offset = 0;
  row_major(t, 1);
  switch (choose(c, 12)) {
  case 7:
    column_major(t);
    break;
  case 8:
    row_major(t, 2);
    t->offset = choose_in(c, 0, 3);
    break;
  case 9: /* expanded */
    for (uint32_t k = 0; k < t->rank; k++)
      t->strides[k] = perhaps(c, 50) ? 0 : t->strides[k];
    break;
  case 10: /* whatever */
    for (uint32_t k = 0; k < t->rank; k++)
      t->strides[k] = choose_in(c, 0, 4);
    break;
  case 11: /* dimensions of one, along which no walk goes */
    for (uint32_t k = 0; k < t->rank; k++)
      if (t->sizes[k] == 1)
        t->strides[k] = perhaps(c, 50) ? INT64_MAX : 1 + (int64_t)choose(c, 200);
    break;
  default:
    break;
  }
}

/* Elements of memory that the window needs; more than DRAW_CELLS when that is too many. */
static int64_t need(const drawn_tensor *t) {
  int64_t last = t->offset, count = 1;
  for (uint32_t k = 0; k < t->rank; k++)
    if (t->sizes[k] == 0)
      return 0;
  for (uint32_t k = 0; k < t->rank; k++) {
    if (t->sizes[k] > DRAW_CELLS || (count *= t->sizes[k]) > DRAW_CELLS)
      return DRAW_CELLS + 1;
    if (t->sizes[k] > 1)
      last += (t->sizes[k] - 1) * t->strides[k];
    if (last >= DRAW_CELLS)
      return DRAW_CELLS + 1;
  }
  return last + 1;
}

/* --- Tensors ---------------------------------------------------------------------------------- */

static uint8_t add_tensor(drawn_call *d, const drawn_tensor *t) {
  if (d->ntensors == DRAW_TENSORS)
    return DRAW_TENSORS - 1;
  d->tensors[d->ntensors] = *t;
  return (uint8_t)d->ntensors++;
}

uint8_t draw_dense(drawn_call *d, fnz_dtype dtype, uint32_t rank, const int64_t *sizes) {
  drawn_tensor t = {.rank = rank};
  memcpy(t.sizes, sizes, rank * sizeof *sizes);
  row_major(&t, 1);
  int64_t count = need(&t);
  if (count > DRAW_CELLS || d->nbases == DRAW_TENSORS)
    return DRAW_NO_TENSOR;
  t.base = add_base(d, dtype, count);
  return add_tensor(d, &t);
}

static void odd_sizes(choices *c, drawn_tensor *t) {
  static const int64_t huge[] = {(int64_t)1 << 31, (int64_t)1 << 40, (int64_t)1 << 50};
  t->rank = choose(c, 5);
  if (perhaps(c, 10))
    t->rank = DRAW_RANK;
  for (uint32_t k = 0; k < t->rank; k++)
    t->sizes[k] = t->rank > 4 ? choose_in(c, 1, 2) : choose_in(c, 1, 4);
  if (t->rank && perhaps(c, 25))
    t->sizes[choose(c, t->rank)] = 0;
  if (t->rank > 1 && perhaps(c, 3)) { /* without an element, so that it can be */
    t->sizes[0] = 0;
    t->sizes[1] = huge[choose(c, sizeof huge / sizeof *huge)];
  }
}

static void theme_sizes(drawn_call *d, drawn_tensor *t) {
  t->rank = d->theme_rank;
  memcpy(t->sizes, d->theme, sizeof t->sizes);
  if (!perhaps(d->c, 25) || !t->rank)
    return;
  uint32_t drop = choose(d->c, t->rank); /* broadcasts */
  t->rank -= drop;
  memmove(t->sizes, t->sizes + drop, t->rank * sizeof *t->sizes);
  if (perhaps(d->c, 50))
    t->sizes[choose(d->c, t->rank)] = 1;
}

/* A window into memory that an earlier tensor has. */
static bool share(drawn_call *d, drawn_tensor *t) {
  uint8_t base = (uint8_t)choose(d->c, (uint32_t)d->nbases);
  int64_t capacity = d->nbases ? d->bases[base].count - need(t) : -1;
  if (capacity < 0 || d->bases[base].dtype != d->theme_dtype)
    return false;
  t->offset += perhaps(d->c, 50) ? choose_in(d->c, 0, capacity) : 0;
  t->base = base;
  return true;
}

static uint8_t draw_tensor(drawn_call *d) {
  drawn_tensor t = {.rank = 0};
  if (d->ntensors == DRAW_TENSORS || d->nbases == DRAW_TENSORS || (d->ntensors && perhaps(d->c, 5)))
    return d->ntensors ? (uint8_t)choose(d->c, (uint32_t)d->ntensors) : DRAW_NO_TENSOR;
  if (perhaps(d->c, 20))
    odd_sizes(d->c, &t);
  else
    theme_sizes(d, &t);
  lay_out(d->c, &t);
  int64_t count = need(&t);
  if (count > DRAW_CELLS) {
    t.offset = 0;
    row_major(&t, 1);
    count = need(&t);
  }
  if (count > DRAW_CELLS)
    t.rank = 0, count = 1;
  if (perhaps(d->c, 12) && share(d, &t))
    return add_tensor(d, &t);
  int64_t slack = choose_in(d->c, 0, 4);
  t.base = add_base(d, perhaps(d->c, 20) ? draw_dtype(d) : d->theme_dtype,
                    count + slack > DRAW_CELLS ? count : count + slack);
  return add_tensor(d, &t);
}

static void put_tensor(drawn_call *d, drawn_arg *a) {
  a->kind = DRAWN_TENSOR;
  a->tensors[0] = draw_tensor(d);
}

static void put_tensors(drawn_call *d, drawn_arg *a, bool may_lack) {
  a->kind = DRAWN_TENSORS;
  a->count = perhaps(d->c, 10) ? choose(d->c, DRAW_ITEMS) : 1 + choose(d->c, 3);
  for (size_t i = 0; i < a->count; i++)
    a->tensors[i] = perhaps(d->c, may_lack ? 30 : 1) ? DRAW_NO_TENSOR : draw_tensor(d);
}

/* --- What is no tensor ------------------------------------------------------------------------ */

static fnz_arg int_arg(int64_t value) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = value};
}

static fnz_arg text_arg(choices *c, fnz_tag tag) {
  static const char *const texts[] = {"mean",      "none",     "floor",  "trunc",  "sum",
                                      "ij",        "xy",       "linear", "",       "reflect",
                                      "replicate", "constant", "tanh",   "left",   "right",
                                      "amax",      "prod",     "cpu",    "cuda:0", "ij,jk->ik"};
  const char *text = texts[choose(c, sizeof texts / sizeof *texts)];
  return (fnz_arg){.tag = (uint8_t)tag, .count = (uint32_t)strlen(text), .u.s = text};
}

static fnz_arg float_arg(double value) {
  return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = value};
}

static void put_complex(choices *c, drawn_arg *a) {
  a->items[0] = float_arg(draw_float(c));
  a->items[1] = float_arg(draw_float(c));
  a->plain = (fnz_arg){.tag = FNZ_ARG_COMPLEX, .count = 2};
}

static void put_scalar(choices *c, drawn_arg *a) {
  uint32_t which = choose(c, 10);
  if (which < 5)
    a->plain = int_arg(draw_int(c));
  else if (which < 8)
    a->plain = float_arg(draw_float(c));
  else if (which == 8)
    a->plain = (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = choose(c, 2)};
  else
    put_complex(c, a);
}

static fnz_arg small_arg(choices *c, fnz_tag tag, int64_t count, int64_t odd) {
  return (fnz_arg){.tag = (uint8_t)tag, .u.i = perhaps(c, 2) ? odd : choose_in(c, 0, count - 1)};
}

static void put_plain(drawn_call *d, fnzi_type type, drawn_arg *a) {
  choices *c = d->c;
  switch (type) {
  case FNZI_TYPE_TENSOR:
    put_tensor(d, a);
    break;
  case FNZI_TYPE_INT:
  case FNZI_TYPE_SYM_INT:
  case FNZI_TYPE_DEVICE_INDEX:
  case FNZI_TYPE_DIM_VECTOR:
    a->plain = int_arg(draw_int(c));
    break;
  case FNZI_TYPE_FLOAT:
    a->plain = float_arg(draw_float(c));
    break;
  case FNZI_TYPE_BOOL:
  case FNZI_TYPE_SYM_BOOL:
    a->plain = (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = choose(c, 2)};
    break;
  case FNZI_TYPE_SCALAR:
    put_scalar(c, a);
    break;
  case FNZI_TYPE_STRING:
    a->plain = text_arg(c, FNZ_ARG_STRING);
    break;
  case FNZI_TYPE_DTYPE:
    a->plain = (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = (int64_t)draw_dtype(d)};
    if (perhaps(c, 2))
      a->plain.u.i = draw_int(c);
    break;
  case FNZI_TYPE_LAYOUT:
    a->plain = perhaps(c, 10) ? small_arg(c, FNZ_ARG_LAYOUT, 10, -1)
                              : (fnz_arg){.tag = FNZ_ARG_LAYOUT, .u.i = 7};
    break;
  case FNZI_TYPE_DEVICE:
    a->plain = text_arg(c, FNZ_ARG_DEVICE);
    if (perhaps(c, 80))
      a->plain = (fnz_arg){.tag = FNZ_ARG_DEVICE, .count = 3, .u.s = "cpu"};
    break;
  case FNZI_TYPE_MEMORY_FORMAT:
    a->plain = small_arg(c, FNZ_ARG_MEMORY_FORMAT, 6, INT64_MIN);
    break;
  default: /* what only PyTorch can make */
    a->plain = (fnz_arg){.tag = perhaps(c, 20) ? FNZ_ARG_OBJECT : FNZ_ARG_NONE};
  }
}

static void put_list(drawn_call *d, const fnzi_param *p, drawn_arg *a) {
  uint32_t count = p->list_size ? (uint32_t)p->list_size : choose(d->c, DRAW_ITEMS);
  if (!p->list_size && perhaps(d->c, 50))
    count = d->theme_rank;
  if (perhaps(d->c, 8))
    count = choose(d->c, DRAW_ITEMS + 1);
  count = count > DRAW_ITEMS ? DRAW_ITEMS : count;
  for (uint32_t i = 0; i < count; i++) {
    drawn_arg item = {.kind = DRAWN_PLAIN};
    put_plain(d, p->type, &item);
    a->items[i] =
        item.kind == DRAWN_PLAIN && item.plain.tag != FNZ_ARG_COMPLEX ? item.plain : int_arg(1);
    if (p->item_optional && perhaps(d->c, 20))
      a->items[i].tag = FNZ_ARG_NONE;
  }
  a->plain = (fnz_arg){.tag = FNZ_ARG_LIST, .count = count};
}

/* --- Arguments -------------------------------------------------------------------------------- */

static void put_wrong(drawn_call *d, drawn_arg *a) {
  static const fnz_tag tags[] = {FNZ_ARG_DEFAULT, FNZ_ARG_NONE,   FNZ_ARG_INT,
                                 FNZ_ARG_BOOL,    FNZ_ARG_OBJECT, FNZ_ARG_GRAPH,
                                 FNZ_ARG_SYMBOL,  FNZ_ARG_TOKEN,  FNZ_ARG_DTYPE};
  const fnzi_param list = {.type = FNZI_TYPE_INT, .is_list = true};
  uint32_t which = choose(d->c, 6);
  if (which == 0)
    put_tensor(d, a);
  else if (which == 1)
    put_tensors(d, a, true);
  else if (which == 2)
    put_list(d, &list, a);
  else if (which == 3)
    put_plain(d, (fnzi_type)choose(d->c, FNZI_TYPE_COUNT), a);
  else
    a->plain = (fnz_arg){.tag = (uint8_t)tags[choose(d->c, sizeof tags / sizeof *tags)],
                         .u.i = draw_int(d->c)};
}

static void put_arg(drawn_call *d, const fnzi_param *p, drawn_arg *a) {
  a->kind = DRAWN_PLAIN;
  a->name = NULL;
  if (!d->is_tame && perhaps(d->c, 12))
    put_wrong(d, a);
  else if (p->has_default && perhaps(d->c, 40))
    a->plain = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
  else if (p->optional && perhaps(d->c, 40))
    a->plain = (fnz_arg){.tag = FNZ_ARG_NONE};
  else if (p->is_list && p->type == FNZI_TYPE_TENSOR)
    put_tensors(d, a, p->item_optional);
  else if (p->is_list || p->type == FNZI_TYPE_DIM_VECTOR)
    put_list(d, p, a);
  else
    put_plain(d, p->type, a);
}

/* From a random place on arguments have names, perhaps another's. */
static void name_args(drawn_call *d) {
  size_t first = choose(d->c, (uint32_t)d->op->nparams + 1);
  bool is_wrong = perhaps(d->c, 10);
  for (size_t i = first; i < d->nargs && i < d->op->nparams; i++)
    d->args[i].name = is_wrong && perhaps(d->c, 30)
                          ? d->op->params[choose(d->c, d->op->nparams)].name
                          : d->op->params[i].name;
}

void draw_call(choices *c, const fnz_op *op, drawn_call *d) {
  d->op = op;
  d->c = c;
  d->nbases = d->ntensors = d->nargs = 0;
  d->is_tame = !perhaps(c, 30);
  d->theme_rank = choose(c, 5);
  for (uint32_t k = 0; k < DRAW_RANK; k++)
    d->theme[k] = choose_in(c, 1, 3);
  d->theme_dtype = draw_dtype(d);
  for (; d->nargs < op->nparams && d->nargs < DRAW_ARGS; d->nargs++)
    put_arg(d, &op->params[d->nargs], &d->args[d->nargs]);
  if (d->is_tame)
    return;
  if (perhaps(c, 10))
    d->nargs = choose(c, (uint32_t)d->nargs + 1);
  else if (perhaps(c, 5) && op->nparams && d->nargs < DRAW_ARGS)
    put_arg(d, &op->params[0], &d->args[d->nargs++]);
  if (perhaps(c, 20))
    name_args(d);
}

/* --- For people ------------------------------------------------------------------------------- */

typedef struct text {
  char *out;
  size_t at, capacity;
} text;

static void say(text *t, const char *words) {
  size_t size = strlen(words);
  if (t->at + size + 1 > t->capacity)
    return;
  memcpy(t->out + t->at, words, size + 1);
  t->at += size;
}

static void say_int(text *t, const char *before, int64_t value) {
  char number[32];
  (void)snprintf(number, sizeof number, "%lld", (long long)value);
  say(t, before);
  say(t, number);
}

static void say_tensor(text *t, const drawn_call *d, uint8_t which) {
  if (which == DRAW_NO_TENSOR) {
    say(t, " none");
    return;
  }
  const drawn_tensor *one = &d->tensors[which];
  say(t, " ");
  say(t, fnz_dtype_get_info(d->bases[one->base].dtype)->name);
  for (uint32_t k = 0; k < one->rank; k++)
    say_int(t, k ? "," : "[", one->sizes[k]);
  for (uint32_t k = 0; k < one->rank; k++)
    say_int(t, k ? "," : "]@", one->strides[k]);
  say_int(t, "+", one->offset);
  say_int(t, "%", one->base);
}

static void say_plain(text *t, const fnz_arg *a, const fnz_arg *items) {
  char number[48];
  if (a->tag == FNZ_ARG_LIST || a->tag == FNZ_ARG_COMPLEX) {
    say(t, a->tag == FNZ_ARG_LIST ? " [" : " complex[");
    for (uint32_t i = 0; i < a->count; i++)
      say_int(t, i ? "," : "",
              items[i].tag == FNZ_ARG_FLOAT ? (int64_t)(items[i].u.f > 0) : items[i].u.i);
    say(t, "]");
  } else if (a->tag == FNZ_ARG_FLOAT) {
    (void)snprintf(number, sizeof number, " %g.", a->u.f);
    say(t, number);
  } else if (a->tag == FNZ_ARG_STRING || a->tag == FNZ_ARG_DEVICE) {
    say(t, " '");
    say(t, a->u.s);
    say(t, "'");
  } else {
    say_int(t, " tag", a->tag);
    say_int(t, ":", a->u.i);
  }
}

void draw_text(const drawn_call *d, char *out, size_t capacity) {
  text t = {out, 0, capacity};
  say(&t, d->op->name);
  for (size_t i = 0; i < d->nargs; i++) {
    const drawn_arg *a = &d->args[i];
    if (a->name) {
      say(&t, " ");
      say(&t, a->name);
      say(&t, "=");
    }
    if (a->kind == DRAWN_TENSOR)
      say_tensor(&t, d, a->tensors[0]);
    else if (a->kind == DRAWN_PLAIN)
      say_plain(&t, &a->plain, a->items);
    for (size_t k = 0; a->kind == DRAWN_TENSORS && k < a->count; k++)
      say_tensor(&t, d, a->tensors[k]);
  }
}
