/* tape.c - finds the rows that few nodes of a tape have: nodes without operator, lengths of lists.
 *
 * needs   a node that has the row; rows in the order of nodes, as recorder.c writes them
 * gives   the row, which stays the tape's */
#include "functionalize/recorder/tape.h"

/* The row of a node in `lists` or `others`, whose first field is the node; NULL for none. */
static const void *row_of(const void *rows, size_t count, size_t bytes, size_t node) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const size_t *row = (const size_t *)(const void *)((const char *)rows + middle * bytes);
    if (*row == node)
      return row;
    if (*row < node)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

const fnzi_rec_call *fnzi_rec_tape_call_of(const fnzi_rec_tape *tape,
                                           const fnzi_rec_tape_node *node) {
  const fnzi_rec_tape_other *o =
      row_of(tape->others.data, tape->others.count, sizeof *tape->others.data,
             fnzi_rec_tape_index_of(tape, node));
  return &o->call;
}

const fnzi_rec_tape_lists *fnzi_rec_tape_lists_of(const fnzi_rec_tape *tape,
                                                  const fnzi_rec_tape_node *node) {
  return row_of(tape->lists.data, tape->lists.count, sizeof *tape->lists.data,
                fnzi_rec_tape_index_of(tape, node));
}
