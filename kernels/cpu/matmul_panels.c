/* matmul_panels.c - products of F32 by panels: cut into tiles for threads, since where changes no
 * bit. */
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/cpu/sizes.h"

enum {
  ROWS_OF = 48,         /* a tile's are a multiple */
  TILES_EACH = 4,       /* of a thread: the last ones even out what others were kept from */
  LEAST_EACH = 2,       /* of a thread, before rows are cut: a tile brings its columns again */
  WORTH_TILES = 1 << 19 /* products */
};

static fnzi_row_panels describe(const fnzi_cpu_product *p) {
  fnzi_row_panels d = {.a = p->a.data, .b = p->b.data, .c = p->c};
  d.rows = p->m, d.columns = p->n, d.depth = p->k;
  d.a_row = p->a.row, d.a_step = p->a.col, d.b_step = p->b.row, d.b_column = p->b.col;
  d.a_kind = p->a.kind, d.b_kind = p->b.kind, d.c_row = p->c_row;
  d.alpha = (float)p->alpha, d.beta = (float)p->beta;
  d.added = p->added, d.packed = p->packed, d.packed_depth = p->packed_k;
  return d;
}

bool fnzi_cpu_product_packs(const fnzi_cpu_product *p) {
  const fnzi_row_panels d = describe(p);
  return p->order == FNZI_ORDER_PANELS && d.b_kind == FNZI_ROW_F32 &&
         !fnzi_row_panels_is_transposed(&d);
}

void fnzi_cpu_product_pack(const fnzi_cpu_product *p, float *to) {
  const fnzi_row_panels d = describe(p);
  fnzi_rows_best()->pack(&d, to);
}

fnz_status fnzi_cpu_product_scratch(fnzi_krn_call *call, fnzi_cpu_product *p) {
  size_t cells, lanes = (size_t)fnzi_cpu_lanes(call);
  void *room;
  p->room = NULL;
  if (p->order != FNZI_ORDER_PANELS)
    return FNZ_OK;
  const fnzi_row_panels d = describe(p);
  p->room_each = fnzi_row_panels_scratch(&d);
  if (!fnzi_mul_size((size_t)p->room_each, lanes, &cells))
    return fnzi_no_memory(call->ctx);
  FNZ_TRY(fnzi_arena_take(&call->scratch, cells, sizeof *p->room, &room));
  p->room = room;
  return FNZ_OK;
}

void fnzi_cpu_product_panels(const fnzi_cpu_product *p, int lane) {
  fnzi_row_panels d = describe(p);
  d.room = p->room + lane * p->room_each;
  fnzi_rows_best()->panels(&d);
}

static const void *panels_moved(const fnzi_cpu_matrix *x, int64_t elements) {
  return (const char *)x->data + elements * fnzi_row_kind_bytes(x->kind);
}

typedef struct tiles {
  const fnzi_cpu_product *product;
  int64_t rows, columns, across;
} tiles;

static void panels_run_tile(const void *user, int64_t at, int lane) {
  const tiles *t = user;
  const fnzi_cpu_product *p = t->product;
  int64_t i = at / t->across * t->rows, j = at % t->across * t->columns;
  fnzi_cpu_product one = *p;
  one.m = fnzi_cpu_least(t->rows, p->m - i), one.n = fnzi_cpu_least(t->columns, p->n - j);
  one.a.data = panels_moved(&p->a, i * p->a.row);
  one.b.data = panels_moved(&p->b, j * p->b.col);
  one.packed = p->packed ? p->packed + j * p->packed_k : NULL;
  one.added = p->added ? p->added + j : NULL;
  one.c = (float *)p->c + i * p->c_row + j;
  fnzi_cpu_product_panels(&one, lane);
}

/* By columns first: then each part of the second factor is brought by one thread alone. */
void fnzi_cpu_product_panels_tiled(const fnzi_cpu_product *p, fnzi_krn_team *team) {
  tiles t = {.product = p};
  int threads = fnzi_krn_team_lanes(team);
  int64_t wanted = (int64_t)threads * TILES_EACH;
  t.columns = fnzi_cpu_parts(fnzi_cpu_parts(p->n, wanted), FNZI_PANEL_COLUMNS) * FNZI_PANEL_COLUMNS;
  t.across = fnzi_cpu_parts(p->n, t.columns);
  const int64_t least = (int64_t)threads * LEAST_EACH,
                down = fnzi_cpu_parts(t.across < least ? wanted : 1, t.across);
  t.rows = fnzi_cpu_parts(fnzi_cpu_parts(p->m, down), ROWS_OF) * ROWS_OF;
  int64_t count = fnzi_cpu_parts(p->m, t.rows) * t.across;
  if (threads <= 1 || count == 1 || p->m * p->n < WORTH_TILES / (p->k + 1)) {
    fnzi_cpu_product_panels(p, 0);
    return;
  }
  fnzi_krn_share(team, count, panels_run_tile, &t);
}
