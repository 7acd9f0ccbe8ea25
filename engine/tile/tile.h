/* tile.h - compiles a group of nodes to a tile program: load operands, run the loops of kernels in
 * order, store results.
 *
 *   build.c      nodes of a plan -> instructions over slots
 *   operands.c   their operands
 *   order.c      instructions of rows -> those on elements next to each other
 *   chain.c      consecutive table rows -> chains
 *   registers.c  slots -> registers, and the iteration order of elements
 *   tile.c       runs a tile program
 *   sets.c       runs tile programs of several operand sets at once
 *
 * A *tile* is the elements that a thread computes before it goes on to the next: at most
 * FNZI_POINT_CHUNK of them, or several whole rows. A *lane* is an operand or result in memory. A
 * *slot* is a virtual register of one tile. It is one of three things: the memory itself, if its
 * lane is contiguous in iteration order; a register in the first-level cache; scalars.
 *
 * If a node computes rows, a tile is several whole rows, and some registers have one scalar for
 * each row. An instruction over such scalars runs for all rows of a tile at once. The instructions
 * between two of these run row by row: over whole rows if a kernel needs that, else over chunks of
 * FNZI_POINT_CHUNK elements. Short rows are computed together.
 *
 * A tile program is in the arena of its binding and constant after fnzi_tile_registers(). Any
 * number of threads run it, each over pieces and registers of its own; a run cannot fail. Strides,
 * steps and offsets are in bytes, `count`, `chunk`, `piece` and `row` in elements. */
#ifndef FNZI_TILE_H
#define FNZI_TILE_H

#include "engine/steps/steps.h"
#include "kernels/core/convert.h"
#include "kernels/meta/point.h"
#include "kernels/meta/row.h"

enum {
  FNZI_TILE_LANES = 96,        /* most lanes of a tile program */
  FNZI_TILE_SLOTS = 720,       /* most slots of a tile program */
  FNZI_TILE_PIECE = 16384,     /* elements that a thread takes at a time */
  FNZI_TILE_REGISTER = 4096,   /* bytes of a register, unless FNZI_POINT_CHUNK elements are more */
  FNZI_TILE_REGISTERS = 16384, /* bytes of all registers: half of the first-level cache */
  FNZI_TILE_LEAST_ROW = 128,   /* elements; shorter rows are computed several at a time */
  FNZI_TILE_ROWS = 4096, /* target elements per tile of rows; one longer row is a tile by itself */
  FNZI_TILE_TRANSPOSED = 131072, /* most elements per tile if an operand is dense across the rows */
  FNZI_TILE_TRANSPOSED_ROWS = 32, /* most rows of such a tile */
  FNZI_TILE_PANEL_ROWS = 32,      /* rows of a panel: cache lines are read whole, and panels stay
                                    in the second-level cache */
  FNZI_TILE_NODE_INS = 2 + 3 * FNZI_POINT_OPERANDS, /* the most of a node: its loop, a conversion of
                                                      its result, and for each operand two
                                                      conversions and a spread over rows */
  FNZI_TILE_CHAIN_SLOTS = 64,                       /* most slots of one chain */
  FNZI_TILE_ALWAYS = INT32_MAX /* `last` of a slot whose register is used to the end of a tile */
};

/* A group loads its operands, some both for elements and for rows, and may store each value. Each
 * lane that loads has a slot. Each instruction writes a slot per result, and a scalar operand has a
 * slot of its own. */
_Static_assert(FNZI_PLN_GROUP_NODES + 2 * FNZI_PLN_GROUP_OPERANDS <= FNZI_TILE_LANES, "lanes");
_Static_assert(FNZI_PLN_GROUP_NODES *FNZI_TILE_NODE_INS + 2 * FNZI_PLN_GROUP_OPERANDS <=
                   FNZI_TILE_SLOTS,
               "slots");

typedef enum fnzi_tile_lane_kind {
  FNZI_TILE_LANE_DIRECT,     /* the slot is the memory itself */
  FNZI_TILE_LANE_TRANSPOSED, /* dense across rows: loaded to a panel of some rows at a time */
  FNZI_TILE_LANE_LOADS,      /* copied to the register before a tile is computed */
  FNZI_TILE_LANE_STORES      /* copied from the register after a tile is computed */
} fnzi_tile_lane_kind;

typedef struct fnzi_tile_lane {
  const fnzi_krn_storage *storage;
  int64_t offset; /* offset in bytes of the element with all indices 0 */
  const fnz_geometry *map;
  int64_t strides[FNZ_MAX_RANK]; /* bytes, in iteration order */
  int64_t period;                /* elements after which it repeats in iteration order */
  size_t panel;                  /* TRANSPOSED: offset of its panel after the registers */
  uint32_t cell;                 /* bytes of an element */
  uint32_t rank;                 /* dimensions that it broadcasts to: the first ones of the space */
  uint16_t slot;
  uint8_t kind;
  bool of_rows;    /* it has an element for each row */
  bool same;       /* DIRECT: it is one element, which is read where it is */
  bool fills;      /* LOADS: one element is repeated for the whole tile */
  bool stores;     /* it is a result */
  bool transposed; /* LOADS: dense across the rows of a tile */
  bool repeats; /* a tile may reuse the elements of the tile before: its register is not shared */
} fnzi_tile_lane;

typedef enum fnzi_tile_ins_kind {
  FNZI_TILE_INS_RUN,     /* a pointwise kernel */
  FNZI_TILE_INS_CONVERT, /* to another dtype */
  FNZI_TILE_INS_KEEP,    /* by fnzi_krn_convert_kept() */
  FNZI_TILE_INS_CAST,    /* by fnzi_krn_cast() */
  FNZI_TILE_INS_CHOOSE,  /* the second operand if the first one is true, else the third */
  FNZI_TILE_INS_SPREAD,  /* copies the scalar of each row to all its elements */
  FNZI_TILE_INS_ROW      /* whole rows, one after the other */
} fnzi_tile_ins_kind;

typedef struct fnzi_tile_row {
  fnzi_meta_row_code code;
  uint8_t code_operand[FNZI_ROW_OPERANDS]; /* per operand: its index in the code */
  uint8_t results;
  uint16_t out[FNZI_ROW_RESULTS];
} fnzi_tile_row;

/* A chain: consecutive table rows fused over a block of elements. Intermediates stay in vector
 * registers; a link stores one only if an instruction outside the chain reads it. */
typedef struct fnzi_tile_chain {
  uint32_t count; /* instructions that it replaces */
  const fnzi_meta_chains *chains;
  const fnzi_meta_link *links; /* `in`: indices into `slots` */
  const uint16_t *slots;
  uint32_t nslots;
} fnzi_tile_chain;

typedef struct fnzi_tile_ins {
  fnzi_meta_point_fn *run;
  fnzi_meta_same_fn *run_same;  /* RUN: with operands that are one element; NULL: there is none */
  const fnzi_meta_links *links; /* RUN: as a link of a chain; NULL: cannot be one */
  const fnzi_tile_chain *chain; /* the chain that starts with this instruction; NULL */
  const fnzi_tile_row *row;     /* ROW */
  const char *point;            /* RUN: the name of its row of point.def */
  uint8_t kind;
  uint8_t compute;  /* RUN: the dtype in which it computes */
  uint8_t to, from; /* conversions: dtypes */
  uint8_t arity;
  uint8_t same; /* RUN: bits of operands that are one element */
  bool of_rows; /* over the scalars of rows */
  uint16_t out, in[FNZI_POINT_OPERANDS];
} fnzi_tile_ins;

/* Returns how many elements of `cell` bytes a register has at most. */
static inline int64_t fnzi_tile_most_step(uint32_t cell) {
  return cell < 8 ? FNZI_TILE_REGISTER / (int64_t)cell : FNZI_POINT_CHUNK;
}

typedef struct fnzi_tile_slot_info {
  unsigned char *constants; /* at most fnzi_tile_most_step() copies of a scalar; NULL: none */
  uint32_t cell;            /* bytes of an element */
  uint8_t dtype;
  int32_t first, last; /* the instructions that write it first (-1: before all) and use it last */
  bool is_memory;      /* it is the memory of its lane, not a register */
  bool of_rows;        /* it has an element for each row */
  bool is_whole;       /* an instruction needs whole rows of it */
  bool is_shared;      /* chunks of a row read the same elements */
  int64_t row_step;    /* bytes from row to row of a tile; 0: one row at a time is stored */
  int64_t step;        /* bytes from element to element of a row; 0 with `stays`, and for scalars */
  size_t offset;       /* of the register */
} fnzi_tile_slot_info;

struct fnzi_tile_program {
  uint32_t rank; /* of the iteration order, at least 1 */
  int64_t sizes[FNZ_MAX_RANK];
  int64_t count;
  uint32_t dims, outer; /* dimensions of a row, the last of the space; dimensions before a row */
  int64_t row;          /* elements of a row; 0: no instruction computes rows */
  int64_t chunk;        /* elements of a tile, at most */
  int64_t step;  /* without rows: elements of it that all instructions take before the next */
  int64_t piece; /* elements that a thread takes at a time */
  bool by_rows;  /* without `row`: a tile is part of one row. With it: a tile computes several rows,
                    one after the other */
  bool direct_rows; /* all lanes are memory, row by row, and a step is a whole row */
  bool by_panels;   /* it has TRANSPOSED lanes, across the dimension before the last */
  fnzi_tile_lane *lanes;
  fnzi_tile_ins *ins;
  fnzi_tile_slot_info *slots;
  uint32_t nlanes, nins, nslots;
  size_t thread_bytes; /* of the registers of one thread */
  fnzi_krn_team *team; /* NULL: it is not worth more than one thread */
};

/* Returns the elements of a register that all chunks of a row read: at most a chunk. */
static inline int64_t fnzi_tile_shared(const fnzi_tile_program *t) {
  return t->row < FNZI_POINT_CHUNK ? t->row : FNZI_POINT_CHUNK;
}

/* A tile program over several operand sets, which run at once. */
struct fnzi_tile_sets {
  uint32_t count;
  const fnzi_tile_program **tiles;
  int64_t
      *begins; /* per set: index of its first piece among the pieces of all sets; then the count */
  size_t thread_bytes; /* of the registers of one thread */
  fnzi_krn_team *team;
};

/* Returns the number of pieces that threads take: fixed parts of the elements, or panels. */
int64_t fnzi_tile_pieces(const fnzi_tile_program *tile);
/* Computes pieces `start` to `end` - 1. */
void fnzi_tile_run_pieces(const fnzi_tile_program *tile, unsigned char *registers, int64_t start,
                          int64_t end);

/* Writes down at an instruction's slots that it writes or reads them. Call in order. */
void fnzi_tile_ins_note(fnzi_tile_program *tile, uint32_t i);
/* Orders the instructions of a group with rows. Call after all instructions were added. */
FNZ_MUST_CHECK fnz_status fnzi_tile_order(fnzi_arena *scratch, fnzi_tile_program *tile);
/* Finds chains. Call after the instructions are in order. */
FNZ_MUST_CHECK fnz_status fnzi_tile_chains_make(fnzi_arena *arena, fnzi_tile_program *tile);
/* Chooses the iteration order of `space` and allocates registers. Call after the strides of lanes
 * are set. */
FNZ_MUST_CHECK fnz_status fnzi_tile_arrange(fnz_context *ctx, fnzi_tile_program *tile,
                                            const fnz_geometry *space);

/* --- build.c, tile.c, sets.c: used by bindings ------------------------------------------------ */
/* Compiles a group, or a call that may run as one, to a tile program. */
FNZ_MUST_CHECK fnz_status fnzi_tile_of_group(fnz_workspace *ws, fnzi_stp_binding *b,
                                             const fnzi_pln_step *step);
/* Allocates the registers of all tile programs of the binding. */
FNZ_MUST_CHECK fnz_status fnzi_tile_registers(fnzi_stp_binding *b);
/* Runs a tile program, with the registers of the binding. */
void fnzi_tile_run(const fnzi_tile_program *tile, unsigned char *registers);
/* Collects the tile programs that run at once. Call after all steps of the binding are made. */
FNZ_MUST_CHECK fnz_status fnzi_tile_sets_make(fnz_workspace *ws, fnzi_stp_binding *b);
/* Runs the tile programs of a set, with the registers of the binding. */
void fnzi_tile_sets_run(const fnzi_tile_sets *sets, unsigned char *registers);

#endif
