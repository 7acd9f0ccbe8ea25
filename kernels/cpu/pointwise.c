/* pointwise.c - runs the rows of point.def over strided operands of any dtype: operands are brought
 * to the computing type chunk by chunk, results to theirs. */
#include "kernels/core/convert.h"
#include "kernels/core/float8.h"
#include "kernels/cpu/point.h"

#include <stdio.h>
#include <stdlib.h>

const fnzi_cpu_point *fnzi_cpu_point_rows(fnzi_krn_isa isa, fnz_dtype class_dtype) {
  static const fnzi_cpu_point *const i64[FNZI_ISAS] = {FNZI_ISA_TABLES(fnzi_cpu_points_i64)},
                                     *const f32[FNZI_ISAS] = {FNZI_ISA_TABLES(fnzi_cpu_points_f32)},
                                     *const f64[FNZI_ISAS] = {FNZI_ISA_TABLES(fnzi_cpu_points_f64)};
  return class_dtype == FNZ_I64    ? i64[isa]
         : class_dtype == FNZ_F32  ? f32[isa]
         : class_dtype == FNZ_F64  ? f64[isa]
         : class_dtype == FNZ_C64  ? fnzi_cpu_points_c64
         : class_dtype == FNZ_C128 ? fnzi_cpu_points_c128
                                   : NULL;
}

const fnzi_cpu_point *fnzi_cpu_point_find(fnz_dtype class_dtype, const char *name) {
  const fnzi_cpu_point *row = fnzi_cpu_point_rows(fnzi_krn_isa_best(), class_dtype);
  for (; row && row->name; row++)
    if (*row->name == *name && strcmp(row->name, name) == 0)
      return row;
  return NULL;
}

/* A row of integers or halves in as many bits as they have. NULL: there is none, or its bits would
 * differ, because what it computes on the way needs all 64. */
static const fnzi_cpu_point *find_narrow(fnz_dtype dtype, const fnzi_cpu_point *row) {
#define TABLES(id, name)                                                                           \
  static const fnzi_cpu_point *const name[FNZI_ISAS] = {FNZI_ISA_TABLES(fnzi_cpu_points_##name)};
#define TABLE(id, name) dtype == FNZ_##id ? name[fnzi_krn_isa_best()]:
  FNZI_NARROW_ROWS(TABLES)
  const fnzi_cpu_point *found = FNZI_NARROW_ROWS(TABLE) NULL;
#undef TABLES
#undef TABLE
  if (row->check == FNZI_POINT_POWER || strcmp(row->name, "gcd") == 0 ||
      strcmp(row->name, "lcm") == 0)
    return NULL;
  for (; found && found->name; found++)
    if (*found->name == *row->name && strcmp(found->name, row->name) == 0)
      return found;
  return NULL;
}

static const fnzi_cpu_rest *find_rest(fnz_dtype compute, const char *name) {
  static const fnzi_cpu_rest *const f16[FNZI_ISAS] = {FNZI_ISA_TABLES(fnzi_cpu_rest_f16)},
                                    *const bf16[FNZI_ISAS] = {FNZI_ISA_TABLES(fnzi_cpu_rest_bf16)};
  const fnzi_cpu_rest *row = compute == FNZ_F16    ? f16[fnzi_krn_isa_best()]
                             : compute == FNZ_BF16 ? bf16[fnzi_krn_isa_best()]
                                                   : NULL;
  for (; row && row->name; row++)
    if (*row->name == *name && strcmp(row->name, name) == 0)
      return row;
  return NULL;
}

#define NARROW(row) #row,
static const char *const narrow_rows[] = {
#include "kernels/point.def"
};
#undef NARROW

#define WIDE(row) #row,
static const char *const wide_rows[] = {
#include "kernels/point.def"
};
#undef WIDE

/* Operands that bound what comes out, from below and from above; 0: there is none. */
typedef struct point_limits {
  const char *row;
  uint32_t least, greatest;
} point_limits;

static const point_limits *limits_of(const char *row) {
#define LIMITS(row, least, greatest) {#row, least, greatest},
  static const point_limits limits[] = {
#include "kernels/point.def"
  };
#undef LIMITS
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if (strcmp(limits[i].row, row) == 0)
      return &limits[i];
  return NULL;
}

static int compare_names(const void *key, const void *row) {
  return strcmp(key, *(const char *const *)row);
}

static bool pointwise_is_among(const char *row, const char *const *rows, size_t count) {
  return bsearch(row, rows, count, sizeof *rows, compare_names) != NULL;
}

#define IS_AMONG(row, rows) pointwise_is_among(row, rows, sizeof(rows) / sizeof *(rows))

/* --- Loops ------------------------------------------------------------------------------- */
typedef union number_room {
  unsigned char bytes[16];
  double aligned;
} number_room;

typedef struct point {
  fnzi_meta_point_choice what;
  fnz_dtype class_dtype; /* in which what.compute is computed */
  const fnzi_cpu_point *row;
  const fnzi_cpu_rest *rest;    /* NULL: as row */
  const fnzi_cpu_point *narrow; /* computes elements as they lie; NULL: none */
  fnz_dtype out;
  struct {
    fnz_dtype dtype;
    bool rounds; /* is made what is computed before it is computed in the class */
    number_room value;
  } in[FNZI_POINT_OPERANDS];
} point;

static void pointwise_convert(const point *p, const fnzi_krn_conversion *c, void *to,
                              const void *from, int64_t count) {
  if (p->row->keeps)
    fnzi_krn_convert_kept(c, to, from, count);
  else
    fnzi_krn_convert(c, to, from, count);
}

/* `to` has room for the widest class. Only i64 and f32 round, and leave its second half to the
 * computed values. */
static void load(const point *p, uint32_t k, double *to, const char *from, int64_t stride,
                 int64_t count) {
  int64_t cell = (int64_t)fnzi_dtype(p->class_dtype)->bytes;
  fnz_dtype dtype = p->in[k].dtype;
  if (p->in[k].rounds) {
    double *narrow = to + FNZI_POINT_CHUNK;
    int64_t step = (int64_t)fnzi_dtype(p->what.compute)->bytes;
    fnzi_krn_convert(&(fnzi_krn_conversion){p->what.compute, dtype, step, stride}, narrow, from,
                     count);
    fnzi_krn_convert(&(fnzi_krn_conversion){p->class_dtype, p->what.compute, cell, step}, to,
                     narrow, count);
    return;
  }
  pointwise_convert(p, &(fnzi_krn_conversion){p->class_dtype, dtype, cell, stride}, to, from,
                    count);
}

static bool is_direct(fnz_dtype have, fnz_dtype want, int64_t stride) {
  return have == want && stride == (int64_t)fnzi_dtype(want)->bytes;
}

static void compute(const point *p, void *out, const void *const *in, int64_t count) {
  fnzi_point_fn *run = p->rest ? p->rest->run : p->row->run;
  run(out, in, count);
}

/* Operands lie side by side in the narrow type, or are brought so into `room`. */
static void narrow_row(const point *p, char *const *data, const int64_t *strides, int64_t count) {
  double room[FNZI_POINT_OPERANDS + 1][FNZI_POINT_CHUNK];
  const void *in[FNZI_POINT_OPERANDS];
  fnz_dtype own = p->what.compute, out = p->narrow->out;
  int64_t cell = (int64_t)fnzi_dtype(own)->bytes;
  bool direct_out = is_direct(p->out, out, strides[0]);
  for (int64_t at = 0; at < count; at += FNZI_POINT_CHUNK) {
    int64_t n = count - at < FNZI_POINT_CHUNK ? count - at : FNZI_POINT_CHUNK;
    char *to = data[0] + at * strides[0];
    for (uint32_t k = 0; k < p->what.noperands; k++) {
      const char *from = data[k + 1] + at * strides[k + 1];
      const fnzi_krn_conversion c = {own, p->in[k].dtype, cell, strides[k + 1]};
      if (at > 0 && strides[k + 1] == 0)
        continue;
      in[k] = room[k];
      if (is_direct(p->in[k].dtype, own, strides[k + 1]))
        in[k] = from;
      else
        fnzi_krn_convert(&c, room[k], from, n);
    }
    p->narrow->run(direct_out ? (void *)to : room[FNZI_POINT_OPERANDS], in, n);
    if (!direct_out)
      fnzi_krn_convert(
          &(fnzi_krn_conversion){p->out, out, strides[0], (int64_t)fnzi_dtype(out)->bytes}, to,
          room[FNZI_POINT_OPERANDS], n);
  }
}

/* An operand that stays the same along the row is loaded once. */
static void point_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  const point *p = user;
  double room[FNZI_POINT_OPERANDS + 1][2 * FNZI_POINT_CHUNK];
  const void *in[FNZI_POINT_OPERANDS];
  bool direct_out = is_direct(p->out, p->row->out, strides[0]);
  if (p->narrow) {
    narrow_row(p, data, strides, count);
    return;
  }
  for (int64_t at = 0; at < count; at += FNZI_POINT_CHUNK) {
    int64_t n = count - at < FNZI_POINT_CHUNK ? count - at : FNZI_POINT_CHUNK;
    for (uint32_t k = 0; k < p->what.noperands; k++) {
      const char *from = data[k + 1] + at * strides[k + 1];
      in[k] = room[k];
      if (is_direct(p->in[k].dtype, p->class_dtype, strides[k + 1]))
        in[k] = from;
      else if (at == 0 || strides[k + 1] != 0)
        load(p, k, room[k], from, strides[k + 1], n);
    }
    char *to = data[0] + at * strides[0];
    compute(p, direct_out ? (void *)to : room[FNZI_POINT_OPERANDS], in, n);
    if (!direct_out)
      pointwise_convert(p,
                        &(fnzi_krn_conversion){p->out, p->row->out, strides[0],
                                               (int64_t)fnzi_dtype(p->row->out)->bytes},
                        to, room[FNZI_POINT_OPERANDS], n);
  }
}

/* Whether an operand's elements must be rounded on the way to the class: halves round elements of
 * wider types, integers wrap, and a number is true as a bool even if its integer part is 0. */
static bool rounds(const point *p, const fnz_arg *operand) {
  const fnzi_krn_array *a = fnzi_krn_arg_array(operand);
  const fnz_arg *own = p->what.extra; /* numbers of the row itself are as they are */
  fnz_dtype to = p->what.compute;
  if ((operand >= own && operand < own + FNZI_POINT_OPERANDS) || (a && a->window.dtype == to))
    return false;
  if (p->class_dtype == FNZ_I64)
    return to == FNZ_BOOL || (a ? a->window.rank == 0 : !limits_of(p->what.name));
  if (to != FNZ_F16 && to != FNZ_BF16)
    return false;
  if (!a)
    return IS_AMONG(p->what.name, narrow_rows);
  bool is_second = operand == p->what.operands[1];
  return a->window.rank ? a->window.dtype != FNZ_BOOL
                        : !is_second || !IS_AMONG(p->what.name, wide_rows);
}

/* A number in the class, converted by way of the computing type if that rounds. */
static void number_cell(const point *p, const fnz_arg *number, void *out) {
  number_room narrow;
  if (!rounds(p, number)) {
    fnzi_krn_number_cell(number, p->class_dtype, out);
    return;
  }
  fnzi_krn_number_cell(number, p->what.compute, narrow.bytes);
  fnzi_krn_convert_one(p->class_dtype, out, p->what.compute, narrow.bytes);
}

static fnz_status find_row(const fnzi_krn_call *call, point *p) {
  p->class_dtype = fnzi_meta_point_class(p->what.compute);
  p->row = fnzi_cpu_point_find(p->class_dtype, p->what.name);
  if (!p->row)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "there is no kernel for element type %s",
                                fnzi_dtype(p->what.compute)->name);
  FNZ_TRY(fnzi_meta_point_check_arity(call, &p->what, p->row->arity));
  p->what.noperands = p->row->arity;
  p->rest = find_rest(p->what.compute, p->what.name);
  return FNZ_OK;
}

/* Rows decide the computing element type; an operand may have another one. Eager promotes no float
 * of eight bits. */
static fnz_status check_conversion(const fnzi_krn_call *call, const point *p, fnz_dtype from) {
  if (fnzi_krn_can_convert(p->class_dtype, from) && !fnzi_krn_is_float8(from))
    return FNZ_OK;
  return fnzi_krn_refuse_conversion(call, p->class_dtype, from);
}

static fnz_status check_conversions(const fnzi_krn_call *call, const point *p) {
  for (uint32_t k = 0; k < p->what.noperands; k++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(p->what.operands[k]);
    if (a)
      FNZ_TRY(check_conversion(call, p, a->window.dtype));
  }
  return FNZ_OK;
}

/* A number fits the computing type; a bound that nothing reaches becomes the last number of it. */
static bool fits_narrow(point *p, uint32_t k) {
  fnz_dtype dtype = p->what.compute;
  int bits = 8 * (int)fnzi_dtype(dtype)->bytes;
  int64_t value, greatest = (INT64_C(1) << (bits - 1)) - 1, least = -greatest - 1;
  if (dtype == FNZ_U8 || dtype == FNZ_BOOL)
    greatest = dtype == FNZ_U8 ? UINT8_MAX : 1, least = 0;
  const point_limits *limits = limits_of(p->what.name);
  if (p->class_dtype != FNZ_I64)
    return true; /* halves take a number's bits */
  memcpy(&value, p->in[k].value.bytes, sizeof value);
  if (limits && k > 0 && k == limits->least && value < least)
    value = least;
  if (limits && k > 0 && k == limits->greatest && value > greatest)
    value = greatest;
  memcpy(p->in[k].value.bytes, &value, sizeof value);
  return value >= least && value <= greatest;
}

/* All operands must have the computing type, and numbers fit it. */
static void choose_narrow(point *p) {
  p->narrow = p->rest ? NULL : find_narrow(p->what.compute, p->row);
  for (uint32_t k = 0; p->narrow && k < p->what.noperands; k++)
    if (fnzi_krn_arg_array(p->what.operands[k])
            ? p->in[k].dtype != p->what.compute || p->in[k].rounds
            : !fits_narrow(p, k))
      p->narrow = NULL;
}

static void run_point(fnzi_krn_call *call, point *p) {
  static const int64_t none[1] = {0};
  fnzi_krn_array *out = call->outputs[0];
  fnzi_krn_loop loop;
  p->out = out->window.dtype;
  fnzi_krn_loop_start(&loop, out->window.rank, out->window.sizes);
  fnzi_krn_loop_add_array(&loop, out);
  for (uint32_t k = 0; k < p->what.noperands; k++) {
    const fnz_arg *operand = p->what.operands[k];
    const fnzi_krn_array *a = fnzi_krn_arg_array(operand);
    p->in[k].dtype = a ? a->window.dtype : p->class_dtype;
    p->in[k].rounds = a && rounds(p, operand);
    if (a) {
      fnzi_krn_loop_add_array(&loop, a);
    } else {
      number_cell(p, operand, p->in[k].value.bytes);
      fnzi_krn_loop_add(&loop, p->in[k].value.bytes, 0, none, none, 1);
    }
  }
  choose_narrow(p);
  fnzi_krn_loop_run(&loop, point_row, p, call->team, false);
}

static void add_window(point *p, fnzi_krn_loop *loop, const fnzi_krn_window *w) {
  p->in[p->what.noperands++].dtype = w->dtype;
  fnzi_krn_loop_add_window(loop, w);
}

fnz_status fnzi_cpu_window_combine(fnzi_krn_call *call, const char *row, const fnzi_krn_window *to,
                                   const fnzi_krn_window *from, const fnz_arg *extra) {
  point p = {.what = {.name = row, .compute = to->dtype, .noperands = extra ? 3 : 2},
             .out = to->dtype};
  fnzi_krn_window number;
  unsigned char room[16];
  fnzi_krn_loop loop;
  FNZ_TRY(find_row(call, &p));
  FNZ_TRY(check_conversion(call, &p, from->dtype));
  if (extra)
    fnzi_krn_window_number(extra, to->dtype, room, &number);
  if (call->record) {
    const fnzi_krn_combination c = {p.row->name,  to->dtype, p.class_dtype, p.row->out,
                                    p.row->keeps, to,        from,          extra ? &number : NULL};
    return call->record->combine(call->record->user, &c);
  }
  p.what.noperands = 0;
  fnzi_krn_loop_start(&loop, to->rank, to->sizes);
  fnzi_krn_loop_add_window(&loop, to);
  add_window(&p, &loop, to);
  add_window(&p, &loop, from);
  if (extra)
    add_window(&p, &loop, &number);
  fnzi_krn_loop_run(&loop, point_row, &p, call->team, false);
  return FNZ_OK;
}

/* --- What eager refuses ------------------------------------------------------------------ */
static bool has_zero(const void *data, size_t cell, int64_t count) {
#define HAS_ZERO(type)                                                                             \
  for (int64_t i = 0; i < count; i++)                                                              \
    found |= ((const type *)data)[i] == 0;
  int found = 0;
  if (cell == 1)
    HAS_ZERO(uint8_t)
  else if (cell == 2)
    HAS_ZERO(uint16_t)
  else if (cell == 4)
    HAS_ZERO(uint32_t)
  else
    HAS_ZERO(uint64_t)
#undef HAS_ZERO
  return found;
}

static fnz_status refuse_zero(fnzi_krn_call *call, const point *p) {
  const fnzi_krn_array *a = fnzi_krn_arg_array(p->what.operands[1]);
  number_room room;
  const void *dense = room.bytes;
  int64_t count = a ? fnzi_krn_array_numel(a) : 1,
          cell = (int64_t)fnzi_dtype(p->what.compute)->bytes;
  if (a)
    FNZ_TRY(fnzi_krn_dense_get_as(call, a, p->what.compute, &dense));
  else
    fnzi_krn_number_cell(p->what.operands[1], p->what.compute, room.bytes);
  if (!has_zero(dense, (size_t)cell, count))
    return FNZ_OK;
  for (int64_t at = 0; at < count; at += FNZI_POINT_CHUNK) {
    int64_t values[FNZI_POINT_CHUNK],
        n = count - at < FNZI_POINT_CHUNK ? count - at : FNZI_POINT_CHUNK;
    fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_I64, p->what.compute, sizeof *values, cell}, values,
                     (const char *)dense + at * cell, n);
    for (int64_t i = 0; i < n; i++)
      if (values[i] == 0)
        return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                    "integer division by zero at element %lld",
                                    (long long)(at + i));
  }
  return FNZ_OK;
}

/* --- Kernels ----------------------------------------------------------------------------- */
fnz_status fnzi_kernel_point(fnzi_krn_call *call) {
  point p = {.row = NULL};
  fnzi_meta_point_choose(call, &p.what);
  FNZ_TRY(find_row(call, &p));
  FNZ_TRY(fnzi_meta_point_check_types(call, &p.what, (fnzi_meta_point_check)p.row->check));
  FNZ_TRY(check_conversions(call, &p));
  if (p.row->check == FNZI_POINT_DIVIDES && fnzi_krn_array_numel(call->outputs[0]) > 0)
    FNZ_TRY(refuse_zero(call, &p));
  if (p.row->check == FNZI_POINT_POWER && !fnzi_krn_arg_array(p.what.operands[1]) &&
      fnzi_krn_number_int(p.what.operands[1]) < 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "integers to negative integer powers are not allowed");
  run_point(call, &p);
  return FNZ_OK;
}

/* Numbers of such a code have the narrow type, too. */
static void narrow_code(const fnzi_krn_call *call, point *p, fnzi_meta_point_code *code) {
  for (uint32_t k = 0; k < p->row->arity; k++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(p->what.operands[k]);
    p->in[k].rounds = code->in[k].rounds;
    p->in[k].dtype = a ? a->window.dtype : p->class_dtype;
    if (!a)
      memcpy(p->in[k].value.bytes, code->in[k].number, sizeof p->in[k].value.bytes);
  }
  p->out = call->outputs[0]->window.dtype;
  choose_narrow(p);
  if (!p->narrow)
    return;
  code->run = p->narrow->run;
  code->run_same = p->narrow->run_same;
  code->links = p->narrow->links;
  code->class_dtype = p->what.compute;
  code->out = p->narrow->out;
  for (uint32_t k = 0; k < p->row->arity; k++)
    if (!fnzi_krn_arg_array(p->what.operands[k]))
      fnzi_krn_convert_one(p->what.compute, code->in[k].number, p->class_dtype,
                           p->in[k].value.bytes);
}

bool fnzi_cpu_point_code(const fnzi_krn_call *call, fnzi_meta_point_code *out) {
  point p = {.row = NULL};
  fnzi_meta_point_choose(call, &p.what);
  if (find_row(call, &p) != FNZ_OK || check_conversions(call, &p) != FNZ_OK ||
      p.row->check == FNZI_POINT_DIVIDES)
    return false;
  *out = (fnzi_meta_point_code){.run = p.rest ? p.rest->run : p.row->run,
                                .run_same = p.rest ? NULL : p.row->run_same,
                                .row = p.row->name,
                                .compute = p.what.compute,
                                .class_dtype = p.class_dtype,
                                .out = p.row->out,
                                .keeps = p.row->keeps,
                                .links = p.rest ? NULL : p.row->links,
                                .arity = p.row->arity};
  for (uint32_t k = 0; k < p.row->arity; k++) {
    const fnz_arg *operand = p.what.operands[k];
    const fnzi_krn_array *a = fnzi_krn_arg_array(operand);
    if (a && !(operand >= call->args && operand < call->args + call->op->nparams))
      return false;
    out->in[k].arg = a ? (int8_t)(operand - call->args) : -1;
    out->in[k].rounds = a && rounds(&p, operand);
    if (!a)
      number_cell(&p, operand, out->in[k].number);
  }
  if (!call->by_data)
    narrow_code(call, &p, out);
  return true;
}

fnz_status fnzi_kernel_mvlgamma(fnzi_krn_call *call) {
  fnzi_krn_window to, degree;
  unsigned char room[16];
  int64_t p = fnzi_krn_named_int(call, "p", 0);
  if (p < 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "p is %lld, it must be at least 1",
                                (long long)p);
  if (!call->record)
    return fnzi_kernel_point(call);
  /* The elements in the result's place, and then what they become. */
  FNZ_TRY(fnzi_krn_array_assign(call, call->outputs[0], fnzi_krn_call_input(call, 0)));
  fnzi_krn_window_of(call->outputs[0], &to);
  fnzi_krn_window_number(fnzi_krn_named(call, "p"), to.dtype, room, &degree);
  return fnzi_cpu_window_combine(call, "mvlgamma", &to, &degree, NULL);
}
