/* checks: 1
 * values_random_test.c - random calls, right and wrong ones, on the CUDA backend and on the CPU's:
 * both accept them or both refuse them, and the results and all memory are the same, or close by
 * where numbers are joined in another order. FNZ_CALLS=FIRST:COUNT draws other calls. */
#include "kernels/core/core.h"
#include "tests/run/call_draws.h"
#include "tests/cuda/values_help.h"

#include <math.h>

enum { USUAL_CALLS = 60, MOST_FINDINGS = 20 };

typedef struct drawn_side {
  side s;
  fnz_eager bases[DRAW_TENSORS];
  fnz_status status;
  char message[300];
} drawn_side;

static void make_memory(drawn_side *d, const drawn_call *c) {
  for (size_t i = 0; i < c->nbases; i++) {
    const drawn_base *b = &c->bases[i];
    const int64_t one = 1;
    fnz_geometry g = {.dtype = b->dtype, .rank = 1, .sizes = &b->count, .strides = &one};
    d->bases[i].backend = d->s.backend;
    OK(d->s.ctx,
       d->s.backend->upload(d->s.backend->self, d->s.ctx, &g, b->cells, &d->bases[i].handle));
  }
  for (size_t i = 0; i < c->ntensors; i++) {
    const drawn_tensor *t = &c->tensors[i];
    fnz_push_tensor(d->s.stack, d->bases[t->base]);
    fnz_push_ints(d->s.stack, t->sizes, t->rank);
    fnz_push_ints(d->s.stack, t->strides, t->rank);
    fnz_push_int(d->s.stack, t->offset);
    OK(d->s.ctx, fnz_call(d->s.ctx, fnz_op_find(NULL, "as_strided"), d->s.stack));
    d->s.tensors[d->s.count++] = fnz_pop_tensor(d->s.stack);
  }
}

static void push_drawn(side *s, const drawn_arg *a) {
  fnz_eager tensors[DRAW_ITEMS];
  fnz_arg plain = a->plain;
  size_t count = a->kind == DRAWN_TENSOR ? 1 : a->kind == DRAWN_TENSORS ? a->count : 0;
  for (size_t k = 0; k < count; k++)
    tensors[k] = a->tensors[k] == DRAW_NO_TENSOR ? (fnz_eager){NULL, 0} : s->tensors[a->tensors[k]];
  if (plain.tag == FNZ_ARG_LIST || plain.tag == FNZ_ARG_COMPLEX)
    plain.u.list = a->items;
  if (a->kind == DRAWN_TENSORS)
    fnz_push_tensors(s->stack, tensors, count);
  else if (a->kind == DRAWN_TENSOR)
    fnz_push_tensor(s->stack, tensors[0]);
  else
    fnz_push_arg(s->stack, &plain);
  if (a->name)
    fnz_push_name(s->stack, a->name);
}

static void invoke(drawn_side *d, const drawn_call *c) {
  make_memory(d, c);
  for (size_t i = 0; i < c->nargs; i++)
    push_drawn(&d->s, &c->args[i]);
  d->status = fnz_call(d->s.ctx, c->op, d->s.stack);
  snprintf(d->message, sizeof d->message, "%s",
           d->status ? fnz_last_error(d->s.ctx)->message : "accepts");
  if (d->status == FNZ_OK)
    keep_results(&d->s);
  fnz_stack_clear(d->s.stack);
  for (size_t i = 0; i < c->nbases && d->s.count < TENSORS; i++)
    d->s.tensors[d->s.count++] = d->bases[i];
}

static void end_memory(drawn_side *d) {
  while (d->s.count)
    fnz_eager_release(d->s.tensors[--d->s.count]);
}

static double number_at(fnz_dtype dtype, const unsigned char *cell) {
  double value = 0;
  fnzi_krn_convert_one(FNZ_F64, &value, dtype, cell);
  return value;
}

/* Bits, or close by: sums in another order, functions of CUDA. */
static bool is_close(const fnz_geometry *g, const unsigned char *x, const unsigned char *y,
                     size_t bytes) {
  fnz_dtype d = g->dtype;
  size_t cell = fnz_dtype_get_info(d)->bytes;
  if (memcmp(x, y, bytes) == 0)
    return true;
  if (fnzi_is_complex(d) || !fnzi_is_float(d))
    return fnzi_is_complex(d);
  double near = d == FNZ_F64 ? 1e-9 : d == FNZ_F32 ? 1e-4 : d == FNZ_F16 ? 4e-3 : 3e-2;
  for (size_t i = 0; i < bytes; i += cell) {
    double a = number_at(d, x + i), b = number_at(d, y + i);
    double size = fabs(a) > 1 ? fabs(a) : 1;
    if (!(isnan(a) && isnan(b)) && a != b && !(fabs(a - b) <= near * size))
      return false;
  }
  return true;
}

static const char *compare(drawn_side *a, drawn_side *b) {
  unsigned char x[CELLS], y[CELLS];
  size_t n, m;
  if (a->status == FNZ_NO_MEMORY || b->status == FNZ_NO_MEMORY)
    return NULL;
  if (!a->status != !b->status)
    return "one refuses";
  if (a->s.count != b->s.count)
    return "other results";
  for (size_t i = 0; i < a->s.count; i++) {
    fnz_eager t = a->s.tensors[i], u = b->s.tensors[i];
    if (!t.handle || !u.handle) {
      if (t.handle != u.handle)
        return "a result is undefined";
      continue;
    }
    if (!look_alike(fnz_eager_geometry(t), fnz_eager_geometry(u)))
      return "a tensor looks different";
    size_t numel = (size_t)fnz_geometry_numel(fnz_eager_geometry(t));
    if (numel * fnz_dtype_get_info(fnz_eager_geometry(t)->dtype)->bytes > CELLS)
      continue;
    OK(a->s.ctx, cells_of(a->s.ctx, t, x, &n));
    OK(b->s.ctx, cells_of(b->s.ctx, u, y, &m));
    if (!is_close(fnz_eager_geometry(t), x, y, n))
      return "a tensor differs";
  }
  return NULL;
}

static bool is_drawn(const fnz_op *op) {
  static const char *const left[] = {"empty", "resize", "new_empty", "set_", NULL};
  for (size_t i = 0; left[i]; i++) /* their elements are any */
    if (strncmp(op->base, left[i], strlen(left[i])) == 0)
      return false;
  return !(op->tags & FNZI_TAG_RANDOM);
}

START_TEST(random_calls_give_what_the_cpu_gives) {
  static drawn_side cpu, gpu;
  static drawn_call drawn;
  unsigned long long first = 0, count = USUAL_CALLS, made = 0, accepted = 0, findings = 0;
  if (getenv("FNZ_CALLS"))
    (void)sscanf(getenv("FNZ_CALLS"), "%llu:%llu", &first, &count);
  fnz_context *ctx = open_context();
  OK(ctx, open_side(&cpu.s, ctx, false));
  OK(ctx, open_side(&gpu.s, ctx, true));
  for (unsigned long long i = first; made < count; i++) {
    static choices c;
    choices_start(&c, 7, i);
    const fnz_op *op = fnz_op_at((size_t)((i * 7919) % fnz_op_count()));
    fnz_kernel_facts facts;
    OK(ctx, fnz_backend_get_kernel(ctx, cpu.s.backend, op, &facts));
    if (!facts.way || !is_drawn(op))
      continue;
    draw_call(&c, op, &drawn);
    made++;
    invoke(&cpu, &drawn);
    if (cpu.status != FNZ_OK && made % 4) { /* most calls that are refused say little */
      end_memory(&cpu);
      made--;
      continue;
    }
    invoke(&gpu, &drawn);
    accepted += cpu.status == FNZ_OK;
    const char *what = compare(&cpu, &gpu);
    if (what && findings++ < MOST_FINDINGS) {
      char text[600];
      draw_text(&drawn, text, sizeof text);
      fprintf(stderr, "call %llu: %s: %s\n  cpu: %s\n  gpu: %s\n", i, what, text, cpu.message,
              gpu.message);
    }
    end_memory(&cpu);
    end_memory(&gpu);
  }
  printf("%llu calls, %llu accepted\n", made, accepted);
  ck_assert_uint_eq(findings, 0);
  close_side(&cpu.s);
  close_side(&gpu.s);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

int main(void) {
  TCase *c = tcase_create("values_random");
  tcase_set_timeout(c, 3600);
  tcase_add_test(c, random_calls_give_what_the_cpu_gives);
  return run_one_case("values_random", c);
}
