/* tile.h - a group as a program over tiles: what is loaded, the loops that run over each tile in
 * order, what is stored.
 *
 *   make.c   nodes of a plan -> instructions over slots; operands.c: their operands
 *   chain.c  rows that follow one another -> chains
 *   room.c   slots -> registers, and the walk over the elements
 *   tile.c   runs it
 *   sets.c   several at once
 *
 * A *lane* is an operand in memory. A *slot* is where an instruction reads or writes a tile: memory
 * itself where a lane lies dense along the walk, a register of FNZI_POINT_CHUNK elements in the
 * first cache, or numbers.
 *
 * Where a node goes by rows, a tile is some rows, and some registers have a number for each of
 * them. Instructions over numbers are for all rows of a tile; those between two such are computed
 * row by row, and over pieces of FNZI_POINT_CHUNK elements but where they need a whole row. Short
 * rows are computed together. */
#ifndef FNZI_TILE_H
#define FNZI_TILE_H

#include "engine/steps/steps.h"
#include "kernels/core/convert.h"
#include "kernels/meta/point.h"
#include "kernels/meta/row.h"

enum {
  FNZI_TILE_LANES = 96,       /* of one program */
  FNZI_TILE_SLOTS = 720,      /* the same */
  FNZI_TILE_PIECE = 16384,    /* elements that one thread takes, whatever their number */
  FNZI_TILE_LEAST_ROW = 128,  /* shorter rows are gathered: several rows make a tile */
  FNZI_TILE_ROWS = 4096,      /* elements of rows that are a tile, where these are not longer */
  FNZI_TILE_TURNED = 131072,  /* the same, where an operand lies dense across the rows: at most */
  FNZI_TILE_TURNED_ROWS = 32, /* rows of such a tile, at most */
  FNZI_TILE_PANEL_ROWS = 32,  /* of a panel: lines of the cache are read whole, panels stay in the
                                second one */
  FNZI_TILE_NODE_INS = 2 + 3 * FNZI_POINT_OPERANDS, /* of a node at most: its loop, a conversion of
                                                      what that gives, two of each operand, which
                                                      may be spread over rows before */
  FNZI_TILE_CHAIN_SLOTS = 64,                       /* of one chain */
  FNZI_TILE_ALWAYS = INT32_MAX
};

/* A group loads its operands, some for elements and for rows, and may store each value; each lane
 * that loads has a slot, and each instruction writes one for each result or, where an operand is a
 * number, reads one of its own. */
_Static_assert(FNZI_PLN_GROUP_NODES + 2 * FNZI_PLN_GROUP_OPERANDS <= FNZI_TILE_LANES, "lanes");
_Static_assert(FNZI_PLN_GROUP_NODES *FNZI_TILE_NODE_INS + 2 * FNZI_PLN_GROUP_OPERANDS <=
                   FNZI_TILE_SLOTS,
               "slots");

typedef enum fnzi_tile_lane_kind {
  FNZI_TILE_LANE_LIES,   /* the slot is the memory */
  FNZI_TILE_LANE_TURNED, /* it lies dense across rows: some rows are brought to a panel at a time */
  FNZI_TILE_LANE_LOADS,  /* before a tile is computed, its elements are brought to the register */
  FNZI_TILE_LANE_STORES  /* and taken back after that */
} fnzi_tile_lane_kind;

typedef struct fnzi_tile_lane {
  const fnzi_krn_storage *storage;
  int64_t at; /* bytes, of the element with all indices 0 */
  const fnz_geometry *map;
  int64_t strides[FNZ_MAX_RANK]; /* bytes, along the walk */
  int64_t period;                /* elements after which it repeats along the walk */
  size_t panel;                  /* TURNED: where that is behind the registers */
  uint32_t cell;
  uint32_t aligned; /* dimensions that it broadcasts to: the first ones of the space */
  uint16_t slot;
  uint8_t kind;
  bool of_rows; /* it has an element for each row */
  bool fills;   /* LOADS: the same element for all of a tile */
  bool stores;
  bool turned;  /* LOADS: it lies dense across the rows of a tile */
  bool repeats; /* a tile may need what is there from the one before: nothing else gets its register
                 */
} fnzi_tile_lane;

typedef enum fnzi_tile_ins_kind {
  FNZI_TILE_INS_RUN,
  FNZI_TILE_INS_CONVERT,
  FNZI_TILE_INS_KEEP,   /* by fnzi_krn_convert_kept() */
  FNZI_TILE_INS_CAST,   /* by fnzi_krn_cast() */
  FNZI_TILE_INS_CHOOSE, /* where the first operand is true the second one, else the third */
  FNZI_TILE_INS_SPREAD, /* the numbers of rows to all elements of these */
  FNZI_TILE_INS_ROW     /* whole rows, one after the other */
} fnzi_tile_ins_kind;

typedef struct fnzi_tile_row {
  fnzi_meta_row_code code;
  uint8_t place[FNZI_ROW_OPERANDS]; /* of the operands of the instruction among those of the code */
  uint8_t results;
  uint16_t out[FNZI_ROW_RESULTS];
} fnzi_tile_row;

/* Rows one after another, block by block of elements, of which what one row gives the next one is
 * never in memory; of what else reads it there is a link that stores it. */
typedef struct fnzi_tile_chain {
  uint32_t count; /* instructions that it stands for */
  const fnzi_meta_chains *of;
  const fnzi_meta_link *links; /* `in`: places in `slots` */
  const uint16_t *slots;
  uint32_t nslots;
} fnzi_tile_chain;

typedef struct fnzi_tile_ins {
  fnzi_meta_point_fn *run;
  const fnzi_meta_links *links; /* RUN: as a link of a chain; NULL: it is none */
  const fnzi_tile_chain *chain; /* that begins here; NULL */
  const fnzi_tile_row *row;     /* ROW */
  const char *point;            /* RUN: the name of its row of point.def */
  uint8_t kind, to, from;       /* dtypes of a conversion; `from` of RUN: what is computed */
  uint8_t arity;
  bool of_rows; /* over the numbers of rows */
  uint16_t out, in[FNZI_POINT_OPERANDS];
} fnzi_tile_ins;

typedef struct fnzi_tile_slot_info {
  unsigned char *numbers; /* FNZI_POINT_CHUNK of them at most; NULL: none */
  uint32_t cell;
  uint8_t dtype;
  int32_t first, last; /* instructions that write it first, -1: before all, and use it last */
  bool lies;           /* in memory */
  bool of_rows;        /* it has an element for each row */
  bool is_whole;       /* an instruction needs whole rows of it */
  bool stays;          /* pieces of a row read the same elements */
  int64_t row_step;    /* bytes from row to row of a tile; 0: they follow one another in it */
  int64_t step;        /* bytes from element to element of a row; 0: `stays`, and numbers */
  size_t offset;       /* of the register */
} fnzi_tile_slot_info;

struct fnzi_tile_program {
  uint32_t rank; /* of the walk, at least 1 */
  int64_t sizes[FNZ_MAX_RANK];
  int64_t count;
  uint32_t dims, outer; /* of a row: the last ones of the space; those of the walk before a row */
  int64_t row;          /* elements of a row; 0: no instruction goes by rows */
  int64_t chunk;        /* elements of a tile, at most */
  int64_t piece;        /* that one thread takes at a time */
  bool by_rows; /* no tile has elements of two rows; where `row` is set, they are computed one after
                   the other, and all of a tile are along one dimension */
  bool turns;   /* it has TURNED lanes, across the dimension before the last */
  fnzi_tile_lane *lanes;
  fnzi_tile_ins *ins;
  fnzi_tile_slot_info *slots;
  uint32_t nlanes, nins, nslots;
  size_t room; /* bytes of the registers of one thread */
  int workers;
};

/* Elements of a register that all pieces of a row read: as many as a piece has at most. */
static inline int64_t fnzi_tile_shared(const fnzi_tile_program *t) {
  return t->row < FNZI_POINT_CHUNK ? t->row : FNZI_POINT_CHUNK;
}

/* Tiles of one program over several operand sets, which run at once. */
struct fnzi_tile_sets {
  uint32_t count;
  const fnzi_tile_program **tiles;
  int64_t *begins; /* per set, and behind the last one: its first piece among those of all */
  size_t room;     /* bytes of the registers of one thread */
  int workers;
};

/* What threads take: fixed parts of the elements, or panels. */
int64_t fnzi_tile_pieces(const fnzi_tile_program *tile);
void fnzi_tile_run_pieces(const fnzi_tile_program *tile, unsigned char *room, int64_t start,
                          int64_t end);

/* Which instructions are chains, once all of them are there. */
FNZ_MUST_CHECK fnz_status fnzi_tile_chains_make(fnzi_arena *arena, fnzi_tile_program *tile);
/* Registers for the slots, and how the elements are walked over; the strides of lanes are set. */
FNZ_MUST_CHECK fnz_status fnzi_tile_settle(fnz_context *ctx, fnzi_tile_program *tile,
                                           const fnz_geometry *space);

/* --- make.c, tile.c, sets.c: acts of a binding -------------------------------------------------
 */
/* Makes the tile program of a group, or of a call that may run as one; memory for registers. */
FNZ_MUST_CHECK fnz_status fnzi_tile_of_group(fnz_workspace *ws, fnzi_stp_binding *b,
                                             const fnzi_pln_step *step);
FNZ_MUST_CHECK fnz_status fnzi_tile_registers(fnzi_stp_binding *b);
/* Runs a tile program, with the registers of the binding. */
void fnzi_tile_run(const fnzi_tile_program *tile, unsigned char *registers);
/* Makes tables for the tile programs that run at once, after all acts; runs one of them. */
FNZ_MUST_CHECK fnz_status fnzi_tile_sets_make(fnz_workspace *ws, fnzi_stp_binding *b);
void fnzi_tile_sets_run(const fnzi_tile_sets *sets, unsigned char *registers);

#endif
