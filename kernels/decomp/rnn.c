/* rnn.c - recurrent networks from linear layers and gates: lstm, gru, rnn_tanh, rnn_relu over whole
 * and over packed sequences, and their cells.
 *
 * A sequence is rows, with the rows of one time step side by side: as many in each step for a whole
 * sequence, ever fewer for a packed one, whose shorter rows end earlier. */
#include "kernels/decomp/decomp.h"

typedef struct weights {
  fnzi_krn_array *ih, *hh, *bias_ih, *bias_hh;
  fnzi_krn_array *hr; /* LSTM's projection of h; NULL for none */
} weights;

/* c is LSTM's only. */
typedef struct state {
  fnzi_krn_array *h, *c;
} state;

/* One step: the contribution of the input, already multiplied by its weights, and the state. */
typedef state cell_fn(fnzi_dec_steps *s, fnzi_krn_array *from_input, state old, const weights *w);

/* Gate i of n, side by side in the columns. */
static fnzi_krn_array *gate(fnzi_dec_steps *s, fnzi_krn_array *all, int64_t i, int64_t n) {
  int64_t width = fnzi_dec_array_size(all, 1) / n;
  return fnzi_part(s, all, 1, i * width, width);
}

static fnzi_krn_array *linear(fnzi_dec_steps *s, fnzi_krn_array *x, fnzi_krn_array *weight,
                              fnzi_krn_array *bias) {
  return STEP(linear, V(x), V(weight), V(bias));
}

/* The gates of LSTM and GRU, which eager opens in place. */
static fnzi_krn_array *opened(fnzi_dec_steps *s, fnzi_krn_array *gate) {
  return fnzi_dec_written_over(s, gate, STEP(sigmoid, V(gate)));
}

/* --- Cells ------------------------------------------------------------------------------- */
static state lstm(fnzi_dec_steps *s, fnzi_krn_array *from_input, state old, const weights *w) {
  fnzi_krn_array *gates = ADD(linear(s, old.h, w->hh, w->bias_hh), from_input);
  fnzi_krn_array *in = opened(s, gate(s, gates, 0, 4));
  fnzi_krn_array *forget = opened(s, gate(s, gates, 1, 4));
  fnzi_krn_array *fresh = STEP(tanh, V(gate(s, gates, 2, 4)));
  fnzi_krn_array *out = opened(s, gate(s, gates, 3, 4));
  state now = {.c = ADD(MUL(forget, old.c), MUL(in, fresh))};
  now.h = MUL(out, STEP(tanh, V(now.c)));
  if (w->hr)
    now.h = linear(s, now.h, w->hr, NULL);
  return now;
}

static state gru(fnzi_dec_steps *s, fnzi_krn_array *from_input, state old, const weights *w) {
  fnzi_krn_array *from_h = linear(s, old.h, w->hh, w->bias_hh);
  fnzi_krn_array *reset = opened(s, ADD(gate(s, from_h, 0, 3), gate(s, from_input, 0, 3)));
  fnzi_krn_array *keep = opened(s, ADD(gate(s, from_h, 1, 3), gate(s, from_input, 1, 3)));
  fnzi_krn_array *fresh =
      STEP(tanh, V(ADD(gate(s, from_input, 2, 3), MUL(gate(s, from_h, 2, 3), reset))));
  return (state){.h = ADD(MUL(SUB(old.h, fresh), keep), fresh)};
}

static state rnn_tanh(fnzi_dec_steps *s, fnzi_krn_array *from_input, state old, const weights *w) {
  return (state){.h = STEP(tanh, V(ADD(linear(s, old.h, w->hh, w->bias_hh), from_input)))};
}

static state rnn_relu(fnzi_dec_steps *s, fnzi_krn_array *from_input, state old, const weights *w) {
  return (state){.h = STEP(relu, V(ADD(linear(s, old.h, w->hh, w->bias_hh), from_input)))};
}

static void check_state(fnzi_dec_steps *s, const fnzi_krn_array *h, const fnzi_krn_array *hh) {
  if (fnzi_dec_array_size(h, -1) != fnzi_dec_array_size(hh, 1))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "the state has %lld features, its weights %lld columns; both need as many",
                    (long long)fnzi_dec_array_size(h, -1), (long long)fnzi_dec_array_size(hh, 1));
}

/* A cell as an operator of its own: one step. */
static void rnn_single(fnzi_dec_steps *s, cell_fn *cell, state old) {
  weights w = (weights){.ih = fnzi_dec_given_array(s, "w_ih"),
                        .hh = fnzi_dec_given_array(s, "w_hh"),
                        .bias_ih = fnzi_dec_given_array(s, "b_ih"),
                        .bias_hh = fnzi_dec_given_array(s, "b_hh")};
  check_state(s, old.h, w.hh);
  state now = cell(s, linear(s, fnzi_dec_given_array(s, "input"), w.ih, w.bias_ih), old, &w);
  fnzi_dec_result_give(s, now.h);
  if (old.c)
    fnzi_dec_result_give(s, now.c);
}

DECOMP(lstm_cell) {
  if (fnzi_dec_given_count(s, "hx") != 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "hx has %zu tensors; it needs 2",
                    fnzi_dec_given_count(s, "hx"));
  rnn_single(s, lstm, (state){fnzi_dec_given_item(s, "hx", 0), fnzi_dec_given_item(s, "hx", 1)});
}

DECOMP(gru_cell) {
  rnn_single(s, gru, (state){fnzi_dec_given_array(s, "hx"), NULL});
}

DECOMP(rnn_tanh_cell) {
  rnn_single(s, rnn_tanh, (state){fnzi_dec_given_array(s, "hx"), NULL});
}

DECOMP(rnn_relu_cell) {
  rnn_single(s, rnn_relu, (state){fnzi_dec_given_array(s, "hx"), NULL});
}

/* --- Sequences --------------------------------------------------------------------------- */
typedef struct sequence {
  int64_t steps;
  int64_t batch;           /* of the first step: of all states */
  const int64_t *per_step; /* rows of each step, never more than in the one before; NULL: batch */
} sequence;

static fnzi_krn_array *first_rows(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t count) {
  return !a || fnzi_dec_array_size(a, 0) == count ? a : fnzi_part(s, a, 0, 0, count);
}

/* `with` put under `a`, whose rows take the first places. */
static fnzi_krn_array *extended(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *with,
                                int64_t count) {
  int64_t has = fnzi_dec_array_size(a, 0);
  if (!a || has == count)
    return a;
  fnzi_krn_array *const both[] = {a, fnzi_part(s, with, 0, has, count - has)};
  return fnzi_dec_cat(s, both, 2, 0);
}

/* The direction in hand. */
typedef struct direction {
  cell_fn *cell;
  weights w;
  bool reversed;
  state first, last; /* of all rows */
} direction;

/* The state with which a step begins: the state after the step before, with `count` rows. Rows that
 * end are kept in `ended`; rows that a reversed sequence begins with come from the first state. */
static state state_for(fnzi_dec_steps *s, const direction *d, state now, int64_t count,
                       state *ended) {
  int64_t has = fnzi_dec_array_size(now.h, 0);
  if (has > count) {
    ended->h = extended(s, now.h, ended->h, fnzi_dec_array_size(ended->h, 0));
    ended->c = extended(s, now.c, ended->c, fnzi_dec_array_size(ended->c, 0));
    return (state){first_rows(s, now.h, count), first_rows(s, now.c, count)};
  }
  return (state){extended(s, now.h, d->first.h, count), extended(s, now.c, d->first.c, count)};
}

/* The outputs of all steps one below the other; d->last is set. */
static fnzi_krn_array *walk(fnzi_dec_steps *s, const sequence *q, fnzi_krn_array *data,
                            direction *d) {
  size_t mark = s->made.count;
  fnzi_krn_array *from_input = linear(s, data, d->w.ih, d->w.bias_ih);
  fnzi_krn_array **outputs = fnzi_dec_arrays_room(s, (size_t)q->steps);
  int64_t at = d->reversed ? fnzi_dec_array_size(data, 0) : 0;
  state ended = d->first, now = d->first;
  check_state(s, d->first.h, d->w.hh);
  for (int64_t i = 0; s->status == FNZ_OK && i < q->steps; i++) {
    int64_t step = d->reversed ? q->steps - 1 - i : i,
            count = q->per_step ? q->per_step[step] : q->batch;
    size_t before = s->made.count;
    at -= d->reversed ? count : 0;
    if (i == 0)
      now = (state){first_rows(s, now.h, count), first_rows(s, now.c, count)};
    now = state_for(s, d, now, count, &ended);
    now = d->cell(s, fnzi_part(s, from_input, 0, at, count), now, &d->w);
    at += d->reversed ? 0 : count;
    outputs[step] = now.h;
    fnzi_dec_arrays_release(s, before, (fnzi_krn_array *const[]){now.h, now.c, ended.h, ended.c},
                            4);
  }
  d->last.h = extended(s, now.h, ended.h, q->batch);
  d->last.c = extended(s, now.c, ended.c, q->batch);
  fnzi_krn_array *all = outputs ? fnzi_dec_cat(s, outputs, (size_t)q->steps, 0) : NULL;
  fnzi_dec_arrays_release(s, mark, (fnzi_krn_array *const[]){all, d->last.h, d->last.c}, 3);
  return all;
}

/* --- Layers ------------------------------------------------------------------------------ */
typedef struct network {
  cell_fn *cell;
  fnzi_krn_array *h, *c;              /* all first states */
  size_t layers, directions, tensors; /* tensors of weights per layer and direction */
  bool has_biases, projects;
  double dropout; /* between layers */
} network;

static weights weights_of(fnzi_dec_steps *s, const network *n, size_t at) {
  size_t k = at * n->tensors, after = k + (n->has_biases ? 4 : 2);
  weights w = {fnzi_dec_given_item(s, "params", k), fnzi_dec_given_item(s, "params", k + 1), NULL,
               NULL, NULL};
  if (n->has_biases) {
    w.bias_ih = fnzi_dec_given_item(s, "params", k + 2);
    w.bias_hh = fnzi_dec_given_item(s, "params", k + 3);
  }
  if (n->projects)
    w.hr = fnzi_dec_given_item(s, "params", after);
  return w;
}

static fnzi_krn_array *at_place(fnzi_dec_steps *s, fnzi_krn_array *a, size_t i) {
  return a ? STEP(select__int, V(a), I(0), I((int64_t)i)) : NULL;
}

static void open_network(fnzi_dec_steps *s, cell_fn *cell, network *n) {
  bool is_lstm = cell == lstm;
  *n = (network){.cell = cell,
                 .h = is_lstm ? fnzi_dec_given_item(s, "hx", 0) : fnzi_dec_given_array(s, "hx"),
                 .c = is_lstm ? fnzi_dec_given_item(s, "hx", 1) : NULL,
                 .layers = (size_t)fnzi_krn_named_int(s->call, "num_layers", 1),
                 .directions = fnzi_krn_named_bool(s->call, "bidirectional", false) ? 2 : 1,
                 .has_biases = fnzi_krn_named_bool(s->call, "has_biases", true)};
  if (fnzi_krn_named_bool(s->call, "train", false))
    n->dropout = fnzi_krn_named_float(s->call, "dropout", 0);
  n->projects = is_lstm && fnzi_dec_array_size(n->h, 2) != fnzi_dec_array_size(n->c, 2);
  n->tensors = (n->has_biases ? 4u : 2u) + n->projects;
  size_t all = n->layers * n->directions, given = fnzi_dec_given_count(s, "params");
  if (is_lstm && fnzi_dec_given_count(s, "hx") != 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "hx has %zu tensors; it needs 2",
                    fnzi_dec_given_count(s, "hx"));
  if (n->layers > given || given != all * n->tensors)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "params has %zu tensors; %zu layers in %zu directions need %zu", given,
                    n->layers, n->directions, all * n->tensors);
  if (fnzi_dec_array_rank(n->h) != 3 || fnzi_dec_array_size(n->h, 0) != (int64_t)all ||
      (is_lstm && (fnzi_dec_array_rank(n->c) != 3 || fnzi_dec_array_size(n->c, 0) != (int64_t)all)))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "a state must have 3 dimensions, the first of size %zu",
                    all);
}

/* All layers over the rows; the last states of all, joined. */
static fnzi_krn_array *run_layers(fnzi_dec_steps *s, const network *n, const sequence *q,
                                  fnzi_krn_array *data, state *last) {
  size_t all = n->layers * n->directions;
  fnzi_krn_array **h = fnzi_dec_arrays_room(s, all), **c = fnzi_dec_arrays_room(s, all);
  for (size_t layer = 0; s->status == FNZ_OK && layer < n->layers; layer++) {
    fnzi_krn_array *both[2];
    for (size_t k = 0; k < n->directions; k++) {
      size_t at = layer * n->directions + k;
      direction d = {.cell = n->cell,
                     .w = weights_of(s, n, at),
                     .reversed = k == 1,
                     .first = {at_place(s, n->h, at), at_place(s, n->c, at)}};
      both[k] = walk(s, q, data, &d);
      h[at] = d.last.h;
      c[at] = d.last.c;
    }
    data = n->directions == 1 ? both[0] : fnzi_dec_cat(s, both, 2, 1);
    if (n->dropout != 0 && layer + 1 < n->layers)
      data = STEP(dropout, V(data), F(n->dropout), B(true));
  }
  last->h = h && s->status == FNZ_OK ? STEP(stack, fnzi_dec_values(s, h, all), I(0)) : NULL;
  last->c = n->c && s->status == FNZ_OK ? STEP(stack, fnzi_dec_values(s, c, all), I(0)) : NULL;
  return data;
}

static void give_all(fnzi_dec_steps *s, const network *n, fnzi_krn_array *out, state last) {
  fnzi_dec_result_give(s, out);
  fnzi_dec_result_give(s, last.h);
  if (n->c)
    fnzi_dec_result_give(s, last.c);
}

static void check_batch(fnzi_dec_steps *s, const network *n, const sequence *q) {
  if (q->steps < 1)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "the sequence is empty; it needs a time step");
  if (fnzi_dec_array_size(n->h, 1) != q->batch ||
      (n->c && fnzi_dec_array_size(n->c, 1) != q->batch))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "the input has batch size %lld, the state has %lld; both must be the same",
                    (long long)q->batch, (long long)fnzi_dec_array_size(n->h, 1));
}

static void rnn_whole(fnzi_dec_steps *s, cell_fn *cell) {
  network n;
  state last = {NULL, NULL};
  fnzi_krn_array *input = fnzi_dec_given_array(s, "input");
  bool batch_first = fnzi_krn_named_bool(s->call, "batch_first", false);
  open_network(s, cell, &n);
  if (fnzi_dec_array_rank(input) != 3)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "input has %u dimensions; it needs 3",
                    fnzi_dec_array_rank(input));
  if (batch_first)
    input = STEP(transpose__int, V(input), I(0), I(1));
  const sequence q = {.steps = fnzi_dec_array_size(input, 0),
                      .batch = fnzi_dec_array_size(input, 1)};
  check_batch(s, &n, &q);
  fnzi_krn_array *rows = RESHAPED(input, q.steps * q.batch, fnzi_dec_array_size(input, 2));
  fnzi_krn_array *out = run_layers(s, &n, &q, rows, &last);
  out = RESHAPED(out, q.steps, q.batch, fnzi_dec_array_size(out, 1));
  give_all(s, &n, batch_first ? STEP(transpose__int, V(out), I(0), I(1)) : out, last);
}

/* --- Packed sequences -------------------------------------------------------------------- */
static void read_sequence(fnzi_dec_steps *s, fnzi_krn_array *data, sequence *q) {
  fnzi_krn_array *sizes = fnzi_dec_given_array(s, "batch_sizes");
  int64_t sum = 0;
  const void *cells = NULL;
  if (s->status == FNZ_OK)
    s->status = fnzi_krn_dense_get_as(s->call, sizes, FNZ_I64, &cells);
  if (s->status != FNZ_OK)
    return;
  q->steps = fnzi_dec_array_numel(sizes);
  q->per_step = cells;
  q->batch = q->steps ? q->per_step[0] : 0;
  for (int64_t i = 0; i < q->steps; i++) {
    bool fits = q->per_step[i] > 0 && (!i || q->per_step[i] <= q->per_step[i - 1]) &&
                fnzi_add_i64(sum, q->per_step[i], &sum) && sum <= fnzi_dec_array_size(data, 0);
    if (!fits)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                      "item %lld of batch_sizes is %lld; they must fall and add up to %lld",
                      (long long)i, (long long)q->per_step[i],
                      (long long)fnzi_dec_array_size(data, 0));
  }
  if (sum != fnzi_dec_array_size(data, 0))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "batch_sizes add up to %lld, data has %lld rows",
                    (long long)sum, (long long)fnzi_dec_array_size(data, 0));
}

static void packed(fnzi_dec_steps *s, cell_fn *cell) {
  network n;
  sequence q = {0};
  state last = {NULL, NULL};
  fnzi_krn_array *data = fnzi_dec_given_array(s, "data");
  open_network(s, cell, &n);
  if (fnzi_dec_array_rank(data) != 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "data has %u dimensions; it needs 2",
                    fnzi_dec_array_rank(data));
  if (!fnzi_dec_can_look(s)) {
    /* Sizes do not depend on what batch_sizes holds. */
    int64_t width = fnzi_dec_array_size(n.h, 2) * (int64_t)n.directions;
    fnzi_krn_array *all = STEP(new_empty, V(data), INTS(fnzi_dec_array_size(data, 0), width));
    last = (state){n.h, n.c};
    give_all(s, &n, all, last);
    return;
  }
  read_sequence(s, data, &q);
  check_batch(s, &n, &q);
  fnzi_krn_array *out = run_layers(s, &n, &q, data, &last);
  give_all(s, &n, out, last);
}

DECOMP(lstm_input) {
  rnn_whole(s, lstm);
}
DECOMP(gru_input) {
  rnn_whole(s, gru);
}
DECOMP(rnn_tanh_input) {
  rnn_whole(s, rnn_tanh);
}
DECOMP(rnn_relu_input) {
  rnn_whole(s, rnn_relu);
}
DECOMP(lstm_data) {
  packed(s, lstm);
}
DECOMP(gru_data) {
  packed(s, gru);
}
DECOMP(rnn_tanh_data) {
  packed(s, rnn_tanh);
}
DECOMP(rnn_relu_data) {
  packed(s, rnn_relu);
}

/* --- One layer in one direction ---------------------------------------------------------- */
/* The operator to which PyTorch decomposes an LSTM on a CPU; the last result is memory for its
 * backward. */
DECOMP(rnn_layer) {
  enum { LSTM = 2 };
  fnzi_krn_array *input = fnzi_dec_given_array(s, "input");
  if (fnzi_krn_named_int(s->call, "mode", LSTM) != LSTM ||
      fnzi_krn_named_bool(s->call, "train", false) ||
      fnzi_krn_named_int(s->call, "num_layers", 1) != 1 ||
      fnzi_krn_named_bool(s->call, "bidirectional", false))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "only one layer of an LSTM in evaluation is computed");
  if (fnzi_dec_array_rank(input) != 3)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "input has %u dimensions; it needs 3",
                    fnzi_dec_array_rank(input));
  bool biased = fnzi_krn_named_bool(s->call, "has_biases", true);
  direction d = {.cell = lstm,
                 .reversed = fnzi_krn_named_bool(s->call, "reverse", false),
                 .w = {.ih = fnzi_dec_given_array(s, "weight0"),
                       .hh = fnzi_dec_given_array(s, "weight1"),
                       .bias_ih = biased ? fnzi_dec_given_array(s, "weight2") : NULL,
                       .bias_hh = biased ? fnzi_dec_given_array(s, "weight3") : NULL},
                 .first = {at_place(s, fnzi_dec_given_array(s, "hx_"), 0),
                           at_place(s, fnzi_dec_given_array(s, "cx_"), 0)}};
  const sequence q = {.steps = fnzi_dec_array_size(input, 0),
                      .batch = fnzi_dec_array_size(input, 1)};
  const network n = {.h = fnzi_dec_given_array(s, "hx_"), .c = fnzi_dec_given_array(s, "cx_")};
  check_batch(s, &n, &q);
  fnzi_krn_array *rows = RESHAPED(input, q.steps * q.batch, fnzi_dec_array_size(input, 2));
  fnzi_krn_array *out = walk(s, &q, rows, &d);
  fnzi_dec_result_give(s, RESHAPED(out, q.steps, q.batch, fnzi_dec_array_size(out, 1)));
  fnzi_dec_result_give(s, STEP(unsqueeze, V(d.last.h), I(0)));
  fnzi_dec_result_give(s, STEP(unsqueeze, V(d.last.c), I(0)));
  fnzi_dec_result_give(s, STEP(new_empty, V(input), INTS(0), DTYPE(FNZ_U8)));
}
