/* text.h - kernels for a GPU as text: a *group* is a program over the elements of one space, and
 * becomes one kernel; all kernels of a program are compiled together.
 *
 *   text.c       what groups are made of, and the whole
 *   text_flat.c  groups over elements, one or many of one program -> text
 *   text_turned.c  the same, where an operand lies across the others -> text
 *   text_scan.c  groups in which elements become what their rows give up to there -> text
 *   text_team.c  groups in which rows become numbers -> text; text_pass.c: their loops
 *   text_rows.c  the rows of point.def and of convert.def as text
 *   text_index.c    places that data say -> text
 *   text_formula.c  formulas of single elements (formulas.def) -> text
 *   text_product.c, text_attention.c  kernels of other kinds (text_product.h)
 *   text_wide.c  how many elements are brought at once
 *   text_parts.h, text_put.c  what those are written with, sizes above all
 *   text_met.c   sizes that are constants all the same
 *   The .cu files, and headers of kernels/ that rows stand on, are arrays of lines (texts.cmake) */
#ifndef FNZI_CUDA_TEXT_H
#define FNZI_CUDA_TEXT_H

#include "program/program.h"

/* An operand in memory, which has one address; elements strides[d] bytes apart along dimension d.
 */
typedef struct fnzi_cuda_lane {
  int64_t strides[FNZ_MAX_RANK];
  uint16_t slot;   /* its value: an element */
  bool stores;     /* after all has been read and computed; else it is read before */
  int64_t piece;   /* bytes from piece to piece of a row, where rows come in pieces */
  uint8_t aligned; /* bytes that its address is a multiple of, 16 at most; 0: not known */
} fnzi_cuda_lane;

typedef enum fnzi_cuda_ins_kind {
  FNZI_CUDA_ROW,     /* a row of point.def */
  FNZI_CUDA_CONVERT, /* as fnzi_krn_convert(), */
  FNZI_CUDA_KEEP,    /* fnzi_krn_convert_kept() */
  FNZI_CUDA_CAST,    /* and fnzi_krn_cast() do */
  FNZI_CUDA_CHOOSE,  /* where the first operand is true the second one, else the third */
  FNZI_CUDA_FOLD,    /* the elements of a row to a number, by a row of folds.def */
  FNZI_CUDA_PICK,    /* the same to the best element and its place, of which the second operand has
                        one for each element, if it is there */
  FNZI_CUDA_SCAN,    /* each element to the fold of those up to it */
  FNZI_CUDA_RUNNING  /* the same to the best element up to it, and its place */
} fnzi_cuda_ins_kind;

enum { FNZI_CUDA_OPERANDS = 4 };

typedef struct fnzi_cuda_ins {
  uint8_t kind, arity;
  uint8_t compute; /* ROW: the dtype that is computed */
  const char *row; /* ROW: its name; those of the others */
  uint16_t place;  /* PICK, RUNNING: the slot of the place */
  uint16_t out, in[FNZI_CUDA_OPERANDS];
} fnzi_cuda_ins;

/* A row becomes a number. */
static inline bool fnzi_cuda_gives_number(const fnzi_cuda_ins *ins) {
  return ins->kind == FNZI_CUDA_FOLD || ins->kind == FNZI_CUDA_PICK;
}

/* A value: a slot is read, computed, or a number. */
typedef struct fnzi_cuda_slot {
  uint8_t dtype;
  const unsigned char *number; /* NULL: no number */
  bool of_rows;                /* one for each row, not for each element */
} fnzi_cuda_slot;

typedef struct fnzi_cuda_group {
  uint32_t rank;
  const int64_t *sizes;
  fnzi_cuda_lane *lanes;
  fnzi_cuda_ins *ins; /* in order */
  fnzi_cuda_slot *slots;
  uint32_t nlanes, nins, nslots;
  uint32_t outer; /* where there are rows: the dimensions before those of a row */
  int64_t
      pieces; /* 0: rows are whole; else each comes in so many, which give numbers of their own; */
  int64_t piece; /* of so many elements, but for the last one */
} fnzi_cuda_group;

/* Rows lie beside each other so that a block takes several, one for each lane of its warps. */
bool fnzi_cuda_goes_across(const fnzi_cuda_group *group);

/* --- A program ----------------------------------------------------------------------------------
 */
/* What the grid of a launch goes by: `count` elements of a flat kernel, of which each thread takes
 * some (FIRST, STEP of prelude.cu), or `count` blocks, up to what a grid has at most: then blocks
 * take several, gridDim.x apart. */
typedef enum fnzi_cuda_grid { FNZI_CUDA_GRID_FLAT, FNZI_CUDA_GRID_BLOCKS } fnzi_cuda_grid;

typedef struct fnzi_cuda_kernel {
  const char *body;
  uint32_t lanes;   /* operands: p.at[k] in the body */
  uint32_t threads; /* of a block */
  uint8_t grid;     /* fnzi_cuda_grid */
  uint32_t numbers; /* of its table: n.at[k] in the body; 0: it has none */
} fnzi_cuda_kernel;

/* The same code: whatever has one has the other. */
bool fnzi_cuda_kernel_is_same(const fnzi_cuda_kernel *a, const fnzi_cuda_kernel *b);

typedef struct fnzi_cuda_row fnzi_cuda_row;

/* Of a table at most: with the operands it fits the 4 KB that a launch may have. */
enum { FNZI_CUDA_NUMBERS = 256 };

/* Tables of the kernels that plans of one program have asked for, each in its order. A number that
 * was the same in all of them, two at least, is a constant of a kernel's text (text_met.c): the
 * right one for this plan, whatever others have, for kernels are found by their text. */
typedef struct fnzi_cuda_met {
  fnzi_arena *arena;
  struct {
    struct fnzi_cuda_met_kernel *data;
    size_t count, capacity;
  } kernels;
  size_t fresh; /* of those: only one plan has asked for them so far */
} fnzi_cuda_met;
void fnzi_cuda_met_end(fnz_context *ctx, fnzi_cuda_met *met);
/* A number that texts have as it is, for compilers make much of it. */
bool fnzi_cuda_is_usual(fnz_dtype dtype, const unsigned char *number);
/* Those that are fresh are compiled as they are, and have no constants later either. */
void fnzi_cuda_met_settle(fnzi_cuda_met *met);

typedef struct fnzi_cuda_text {
  fnzi_arena *arena;
  /* Sizes and what follows from them are numbers of a table that goes with each launch, so that
   * the text is the same for other sizes. False: they are constants, which compilers use. */
  bool is_general;
  int64_t numbers[FNZI_CUDA_NUMBERS]; /* of the kernel that was asked for last, */
  bool of_slots[FNZI_CUDA_NUMBERS];   /* those that are numbers of a group, by their bits, */
  uint32_t nnumbers;                  /* for its launch; */
  uint32_t pending;                   /* and of the one that is being written */
  const char *table;                  /* their name there; NULL: "n" */
  fnzi_cuda_met *met;                 /* NULL: no number is a constant */
  bool only_meets; /* of a plan that does not run: what is fresh is compared with its tables */
  uint32_t asked;  /* kernels with a table */
  struct {
    fnzi_cuda_kernel *data;
    size_t count, capacity;
  } kernels; /* kernel k is the function "k<k>" */
  struct {
    struct fnzi_cuda_used *data;
    size_t count, capacity;
  } rows; /* that they call */
  struct {
    const char *const **data;
    size_t count, capacity;
  } helpers; /* files that they stand on, in this order, after the rows */
} fnzi_cuda_text;

/* Texts lie in `arena`. Ends with fnzi_cuda_text_end(). */
void fnzi_cuda_text_begin(fnzi_arena *arena, fnzi_cuda_text *out);
void fnzi_cuda_text_end(fnz_context *ctx, fnzi_cuda_text *text);
/* Whether values of the dtype can be converted in a kernel; all others only move. */
bool fnzi_cuda_text_converts(fnz_dtype dtype);
/* The kernel of a group: one that is there, when another group has the same text; and the count of
 * its launch. INTERNAL for a row that there is not. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_add(fnz_context *ctx, fnzi_cuda_text *text,
                                             const fnzi_cuda_group *group, uint32_t *kernel,
                                             int64_t *count);

/* The kernel of groups that run at once, each over operands of its own (a *set*); it is the same
 * one for all that differ in nothing but the size of their first dimension. Its only operand is a
 * table in memory, of 64-bit words: how many sets there are, how many blocks; and of each set, in
 * order, the blocks before it, its elements, and its operands' addresses. */
enum { FNZI_CUDA_SET_WORDS = 2, FNZI_CUDA_SET_THREADS = 256 };
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_sets(fnz_context *ctx, fnzi_cuda_text *text,
                                              const fnzi_cuda_group *group, uint32_t *kernel,
                                              int64_t *count, int64_t *blocks);
/* The kernel of a group with rows, and the count of its launch. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_team(fnz_context *ctx, fnzi_cuda_text *text,
                                              const fnzi_cuda_group *group, uint32_t *kernel,
                                              int64_t *count);
/* The same of a group with a scan, the last instruction that is no conversion. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_scan(fnz_context *ctx, fnzi_cuda_text *text,
                                              const fnzi_cuda_group *group, uint32_t *kernel,
                                              int64_t *count);
/* One of another shape: `body` is the text of the function. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_kernel(fnz_context *ctx, fnzi_cuda_text *text,
                                                const fnz_buffer *body,
                                                const fnzi_cuda_kernel *shape, uint32_t *kernel);
/* The next launch is of a kernel that was asked for before, with these numbers. */
static inline void fnzi_cuda_text_numbers_set(fnzi_cuda_text *text, const int64_t *numbers,
                                              uint32_t count) {
  memcpy(text->numbers, numbers, count * sizeof *numbers);
  text->nnumbers = count;
}
/* The text of a kernel whose table is `pending`, with what `met` says of it. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_met_apply(fnz_context *ctx, fnzi_cuda_text *text,
                                              const fnz_buffer *body, fnz_buffer *out);
/* The same kernel, which does nothing where the flag is set that one operand more points at. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_guard(fnz_context *ctx, fnzi_cuda_text *text,
                                               uint32_t kernel, uint32_t *guarded);
/* Kernels stand on the definitions of these lines, NULL at the end; once, whoever asks. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_use(fnz_context *ctx, fnzi_cuda_text *text,
                                             const char *const *lines);
/* For kernels with a text of their own: the statements of a group without its lanes, over slots
 * s0, s1, ... of which those that neither an instruction makes nor a number is are there already.
 */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_statements(fnz_context *ctx, fnzi_cuda_text *text,
                                                    const fnzi_cuda_group *group, fnz_buffer *out);

/* --- Places that data say (text_index.c) --------------------------------------------------------
 * Elements over one space that come from places, or go to places. Operands: `to`, `from`, one of
 * each index, the flag; and of places in order which number of the index stands there, and where
 * those of the same place end, or 0 behind the first of these. A place out of range sets the flag
 * and is left alone. */
enum { FNZI_CUDA_PICKS = 8 };

typedef struct fnzi_cuda_pick {
  uint8_t dtype;
  int64_t strides[FNZ_MAX_RANK]; /* bytes, over the space */
  int64_t size, stride;          /* places below it; bytes of what is indexed */
  bool wraps;
} fnzi_cuda_pick;

/* Statements (fnzi_cuda_text_statements) and the slot that they are for. */
typedef struct fnzi_cuda_piece {
  fnzi_cuda_group group;
  uint16_t made;
} fnzi_cuda_piece;

typedef struct fnzi_cuda_picking {
  uint32_t rank;
  const int64_t *sizes;
  int64_t to[FNZ_MAX_RANK], from[FNZ_MAX_RANK]; /* bytes */
  fnz_dtype stored, read;                       /* elements of `to` and of `from` */
  bool reads_number;                            /* `from` is a number of the pieces */
  fnzi_cuda_pick picks[FNZI_CUDA_PICKS];
  uint32_t npicks;
  bool into;             /* `to` is indexed, else `from` */
  uint32_t first, order; /* dimensions in whose order elements come to a place: `order` of them */
  bool joins;            /* they are joined, else the last one counts */
  bool starts_anew;      /* not from what is there, but a number of `open` */
  bool counts_self;
  fnzi_cuda_piece move;  /* without joining: slot 0, an element of `from`, to one of `to` */
  fnzi_cuda_piece open;  /* slot 0, an element of `to`, to what is joined; */
  fnzi_cuda_piece join;  /* slot 0, that, and slot 1, an element of `from`, to that; */
  fnzi_cuda_piece close; /* slot 0, that, and slot 1, how many there were, to an element of `to` */
} fnzi_cuda_picking;
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_pick(fnz_context *ctx, fnzi_cuda_text *text,
                                              const fnzi_cuda_picking *picking, uint32_t *kernel);
/* The kernel before it, which looks at all places: whether all are within bounds, and their order.
 * Each one is compared with all beside it. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_in_order(fnz_context *ctx, fnzi_cuda_text *text,
                                                  const fnzi_cuda_picking *picking,
                                                  uint32_t *kernel);
/* The same, with a key of each place, by which it is sorted, in place of the order. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_keys(fnz_context *ctx, fnzi_cuda_text *text,
                                              const fnzi_cuda_picking *picking, uint32_t *kernel);
/* How many places come one after the other, and how often that is side by side. Of one place no
 * order is needed. */
void fnzi_cuda_picking_count(const fnzi_cuda_picking *picking, int64_t *places, int64_t *lanes);

/* Elements that each are computed by a function formula_<name>(at, windows, integers, numbers) of
 * engine/cuda/, out of those of a kernel (text_formula.c). */
enum { FNZI_CUDA_FORMULA_WINDOWS = 7 }; /* and the flag */
typedef struct fnzi_cuda_formula {
  const char *name;
  int64_t count; /* at is below it */
  const fnz_dtype *windows;
  uint32_t nwindows;
  const int64_t *integers;
  uint32_t nintegers;
  const double *numbers;
  uint32_t nnumbers;
  bool checks; /* one operand more: the flag */
  bool draws;  /* before it two more: seed and offset of a generator, no addresses */
} fnzi_cuda_formula;
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_formula(fnz_context *ctx, fnzi_cuda_text *text,
                                                 const fnzi_cuda_formula *formula,
                                                 uint32_t *kernel);
/* The whole, with a zero byte at its end. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_write(fnz_context *ctx, const fnzi_cuda_text *text,
                                               fnz_buffer *out);

/* --- Rows as text (text_rows.c) -----------------------------------------------------------------
 */
typedef enum fnzi_cuda_out {
  FNZI_CUDA_OUT_SAME,
  FNZI_CUDA_OUT_KEPT,
  FNZI_CUDA_OUT_BOOL,
  FNZI_CUDA_OUT_REAL
} fnzi_cuda_out;

struct fnzi_cuda_row {
  const char *name;
  uint8_t arity, out;
  const char *before, *function; /* NULL: of a row that maps nothing */
  const char *value;
};

/* Rows of one computing type stand on the same helper functions: a namespace of the text. */
typedef struct fnzi_cuda_section {
  const char *name;
  fnz_dtype dtype;                /* that is computed */
  const char *opens;              /* definitions that helpers and rows stand on */
  const char *const *helpers[5];  /* arrays of lines; NULL at the end */
  const fnzi_cuda_row *tables[2]; /* ends with a row without name; NULL: none */
} fnzi_cuda_section;

enum { FNZI_CUDA_SECTIONS = 7 };
extern const fnzi_cuda_section fnzi_cuda_sections[FNZI_CUDA_SECTIONS];

/* The row that computes `compute`: its own formula of f16 and bf16 where it has one. NULL: none. */
const fnzi_cuda_row *fnzi_cuda_row_find(fnz_dtype compute, const char *name, uint8_t *section);

/* Names of types and how they are converted; NULL name for dtypes that only move. */
typedef struct fnzi_cuda_cell {
  const char *name, *type, *read, *wide, *from_integer, *from_double;
} fnzi_cuda_cell;
extern const fnzi_cuda_cell fnzi_cuda_cells[FNZ_DTYPE_COUNT];

/* Files as lines, NULL at the end. */
extern const char *const fnzi_cuda_text_prelude[];
extern const char *const fnzi_cuda_text_complex[];
extern const char *const fnzi_cuda_text_product[];
extern const char *const fnzi_cuda_text_attend[];
extern const char *const fnzi_cuda_text_conv_source[];
extern const char *const fnzi_cuda_text_half[];
extern const char *const fnzi_cuda_text_point_scalar[];
extern const char *const fnzi_cuda_text_point_i64_values[];
extern const char *const fnzi_cuda_text_point_float_values[];
extern const char *const fnzi_cuda_text_point_special_values[];
extern const char *const fnzi_cuda_text_point_either_values[];
extern const char *const fnzi_cuda_text_point_complex_values[];
extern const char *const fnzi_cuda_text_point_rest_values[];
extern const char *const fnzi_cuda_text_running_values[];
extern const char *const fnzi_cuda_text_fold[];
extern const char *const fnzi_cuda_text_folds[];
extern const char *const fnzi_cuda_text_join[];

#endif
