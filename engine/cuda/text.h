/* text.h - kernels for a GPU as text: a *group* is a program over the elements of one space, and
 * becomes one kernel; all kernels of a program are compiled together.
 *
 *   text.c             the description of groups, and the whole text
 *   text_flat.c        groups over elements, one or many of one program -> text
 *   text_transposed.c  the same, with an operand in another order of dimensions -> text
 *   text_scan.c        groups with running folds along rows -> text
 *   text_team.c        groups that reduce rows to numbers -> text; text_pass.c: their loops
 *   text_rows.c        the rows of point.def and of convert.def as text
 *   text_index.c       indexing by tensors -> text
 *   text_formula.c     formulas of single elements (formulas.def) -> text
 *   text_product.c     products and convolutions -> text (text_product.h)
 *   text_attention.c   attention -> text
 *   text_wide.c        how many elements are loaded at once
 *   text_parts.h       shared by the files above
 *   text_put.c         sizes and numbers -> text
 *   text_tables.c      finds sizes that can be constants in general texts
 *
 * The .cu files, and the headers of kernels/ that rows need, are arrays of lines (texts.cmake).
 *
 * A text is made by one thread, in an arena that must outlive it, and freed by
 * fnzi_cuda_text_end(). Strides are in bytes, sizes in elements. Functions fail with NOMEM, or with
 * INTERNAL for a group that has no text; fnzi_cuda_text_converts() and the like say beforehand
 * which have one. */
#ifndef FNZI_CUDA_TEXT_H
#define FNZI_CUDA_TEXT_H

#include "program/program.h"

/* An operand in memory. Its elements are strides[d] bytes apart along dimension d. */
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
  FNZI_CUDA_CHOOSE,  /* the second operand if the first is true, else the third */
  FNZI_CUDA_FOLD,    /* reduces a row to a number, by a row of folds.def */
  FNZI_CUDA_PICK,    /* reduces a row to its best element and its place. The optional second operand
                        has a place for each element */
  FNZI_CUDA_SCAN,    /* each element: the fold of the row up to it */
  FNZI_CUDA_RUNNING  /* each element: the best of the row up to it, and its place */
} fnzi_cuda_ins_kind;

enum { FNZI_CUDA_OPERANDS = 4 };

typedef struct fnzi_cuda_ins {
  uint8_t kind, arity;
  uint8_t compute;  /* ROW: the dtype that is computed */
  const char *row;  /* ROW: the name of its row of point.def */
  const char *fold; /* FOLD to RUNNING: the name of a row of folds.def */
  uint16_t index;   /* PICK, RUNNING: the slot of the place */
  uint16_t out, in[FNZI_CUDA_OPERANDS];
} fnzi_cuda_ins;

/* A row becomes a number. */
static inline bool fnzi_cuda_reduces(const fnzi_cuda_ins *ins) {
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
  uint32_t outer; /* with rows: how many dimensions come before a row's own */
  int64_t pieces; /* 0: rows are whole; else the pieces of each row, which give numbers each */
  int64_t piece;  /* elements of a piece; the last one may be shorter */
} fnzi_cuda_group;

/* Returns whether elements of several rows are adjacent, so that a block takes several rows, one
 * for each lane of its warps. */
bool fnzi_cuda_block_has_rows(const fnzi_cuda_group *group);

/* --- A program -------------------------------------------------------------------------------- */
/* The unit in which the work of a launch is counted. FLAT: elements, which threads share (FIRST and
 * STEP of prelude.cu). BLOCKS: blocks. If a grid cannot have that many, a block does the work of
 * several, gridDim.x apart. */
typedef enum fnzi_cuda_grid { FNZI_CUDA_GRID_FLAT, FNZI_CUDA_GRID_BLOCKS } fnzi_cuda_grid;

typedef struct fnzi_cuda_kernel {
  const char *body;
  uint32_t lanes;   /* operands: p.at[k] in the body */
  uint32_t threads; /* of a block */
  uint8_t grid;     /* fnzi_cuda_grid */
  uint32_t numbers; /* of its table: n.at[k] in the body; 0: it has none */
} fnzi_cuda_kernel;

/* Returns whether both have the same code. */
bool fnzi_cuda_kernel_is_same(const fnzi_cuda_kernel *a, const fnzi_cuda_kernel *b);

typedef struct fnzi_cuda_row fnzi_cuda_row;

/* The most numbers of a table. With the operands they fit the 4 KB of a launch's parameters. */
enum { FNZI_CUDA_NUMBERS = 256 };

/* The tables of kernels of all plans of one program, in the order of each plan's kernels. A number
 * that was equal in at least two plans, and never different, is a constant of the text
 * (text_tables.c). A plan always finds a kernel with its own constants, because kernels are found
 * by their text. */
typedef struct fnzi_cuda_tables {
  fnzi_arena *arena;
  struct {
    struct fnzi_cuda_table_log *data;
    size_t count, capacity;
  } kernels;
  size_t fresh; /* kernels that only one plan has so far */
} fnzi_cuda_tables;
void fnzi_cuda_tables_end(fnz_context *ctx, fnzi_cuda_tables *tables);
/* Returns whether texts have the number as a constant, because compilers optimize for it. */
bool fnzi_cuda_is_usual(fnz_dtype dtype, const unsigned char *number);
/* Fresh kernels are compiled without constants now, and stay so. */
void fnzi_cuda_tables_fix(fnzi_cuda_tables *tables);

typedef struct fnzi_cuda_text {
  fnzi_arena *arena;
  /* True: sizes and strides are numbers of a table that each launch passes, so the text fits other
   * sizes. False: they are constants of the text, and the compiler simplifies with them. */
  bool is_general;
  int64_t numbers[FNZI_CUDA_NUMBERS]; /* the table for a launch of the last kernel */
  bool of_slots[FNZI_CUDA_NUMBERS]; /* per number: it is the bits of a slot's number, not a size */
  uint32_t nnumbers;                /* of that table */
  uint32_t pending;                 /* count of the table that is being written */
  const char *table;                /* the table's name in the text; NULL: "n" */
  fnzi_cuda_tables *tables;         /* NULL: no number is a constant */
  bool only_compares; /* the plan never runs; its tables are only compared with other plans' */
  uint32_t ntables;   /* kernels with a table so far */
  struct {
    fnzi_cuda_kernel *data;
    size_t count, capacity;
  } kernels; /* kernel k is the function "k<k>" */
  struct {
    struct fnzi_cuda_used *data;
    size_t count, capacity;
  } rows; /* rows that the kernels call */
  struct {
    const char *const **data;
    size_t count, capacity;
  } helpers; /* files with their definitions, in this order, after the rows */
} fnzi_cuda_text;

/* Starts a text, whose strings are in `arena`. It is destroyed by fnzi_cuda_text_end(). */
void fnzi_cuda_text_begin(fnzi_arena *arena, fnzi_cuda_text *out);
void fnzi_cuda_text_end(fnz_context *ctx, fnzi_cuda_text *text);
/* Returns whether kernels can convert values of the dtype. Other dtypes are only moved. */
bool fnzi_cuda_text_converts(fnz_dtype dtype);
/* Adds the kernel of a group, or finds the kernel of another group with the same text; and returns
 * the count of its launch. Fails with INTERNAL for an unknown row. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_add(fnz_context *ctx, fnzi_cuda_text *text,
                                             const fnzi_cuda_group *group, uint32_t *kernel,
                                             int64_t *count);

/* The kernel of groups that run at once, each over its own operands (a *set*). Groups that differ
 * only in the size of their first dimension get the same kernel. Its only operand is a table of
 * 64-bit words in memory: the count of sets, the count of blocks; and per set, in order, the blocks
 * before it, its elements, and its operands' addresses. */
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
/* Adds a kernel of any other kind. `body` is the text of the function. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_kernel(fnz_context *ctx, fnzi_cuda_text *text,
                                                const fnz_buffer *body,
                                                const fnzi_cuda_kernel *shape, uint32_t *kernel);
/* Sets the numbers for the next launch, of a kernel that was added before. */
static inline void fnzi_cuda_text_numbers_set(fnzi_cuda_text *text, const int64_t *numbers,
                                              uint32_t count) {
  memcpy(text->numbers, numbers, count * sizeof *numbers);
  text->nnumbers = count;
}
/* Writes the text of a kernel whose table is `pending`, with the constants that text->tables has.
 */
FNZ_MUST_CHECK fnz_status fnzi_cuda_tables_apply(fnz_context *ctx, fnzi_cuda_text *text,
                                                 const fnz_buffer *body, fnz_buffer *out);
/* Adds a variant of a kernel with one more operand, a pointer to the flag. It does nothing if the
 * flag is set. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_guard(fnz_context *ctx, fnzi_cuda_text *text,
                                               uint32_t kernel, uint32_t *guarded);
/* Adds definitions that kernels need, NULL at the end. They are added once, however often this is
 * called. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_use(fnz_context *ctx, fnzi_cuda_text *text,
                                             const char *const *lines);
/* For kernels with a text of their own: writes the statements of a group without its lanes, over
 * slots s0, s1, ... Slots that are no number and no result of an instruction must be declared
 * before. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_statements(fnz_context *ctx, fnzi_cuda_text *text,
                                                    const fnzi_cuda_group *group, fnz_buffer *out);

/* --- Access by indices (text_index.c) -----------------------------------------------------------
 * Elements over one space are loaded from places, or stored to places. Operands: `to`, `from`, each
 * index, the flag. If places are sorted, two more follow: the positions of the index in order of
 * their places, and per run of one place its end, or 0 after its first position. A place out of
 * range sets the flag and is skipped. */
enum { FNZI_CUDA_PICKS = 8 };

typedef struct fnzi_cuda_pick {
  uint8_t dtype;
  int64_t strides[FNZ_MAX_RANK]; /* bytes, over the space */
  int64_t size, stride;          /* a place is below `size`; bytes between places */
  bool wraps;
} fnzi_cuda_pick;

/* Statements (fnzi_cuda_text_statements) and the slot that they are for. */
typedef struct fnzi_cuda_statements {
  fnzi_cuda_group group;
  uint16_t result;
} fnzi_cuda_statements;

typedef struct fnzi_cuda_picking {
  uint32_t rank;
  const int64_t *sizes;
  int64_t to[FNZ_MAX_RANK], from[FNZ_MAX_RANK]; /* bytes */
  fnz_dtype stored, read;                       /* elements of `to` and of `from` */
  bool reads_number;                            /* `from` is a number of the pieces */
  fnzi_cuda_pick picks[FNZI_CUDA_PICKS];
  uint32_t npicks;
  bool into;             /* `to` is indexed, else `from` */
  uint32_t first, order; /* `order` dimensions from `first` on count positions of an index */
  bool joins;            /* elements of one place are joined, else the last one counts */
  bool starts_anew;      /* joins start with a number of `open`, not with the element of `to` */
  bool counts_self;
  fnzi_cuda_statements move; /* without joining: slot 0, an element of `from`, to one of `to` */
  fnzi_cuda_statements open; /* slot 0, an element of `to`, to the first value to join with */
  fnzi_cuda_statements join; /* slot 0, that value, and slot 1, an element of `from`, to the next */
  fnzi_cuda_statements
      close; /* slot 0, the last value, and slot 1, how many were joined, to `to` */
} fnzi_cuda_picking;
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_pick(fnz_context *ctx, fnzi_cuda_text *text,
                                              const fnzi_cuda_picking *picking, uint32_t *kernel);
/* The kernel that runs before it: checks that all places are within bounds, and orders them by
 * comparing each with all others of its lane. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_in_order(fnz_context *ctx, fnzi_cuda_text *text,
                                                  const fnzi_cuda_picking *picking,
                                                  uint32_t *kernel);
/* The same, but it writes a key for each place, to sort by, instead of the order. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_keys(fnz_context *ctx, fnzi_cuda_text *text,
                                              const fnzi_cuda_picking *picking, uint32_t *kernel);
/* Counts the positions of an index that are in sequence, and the lanes, which are independent. A
 * single position needs no order. */
void fnzi_cuda_picking_count(const fnzi_cuda_picking *picking, int64_t *positions, int64_t *lanes);

/* Elements that are each computed by a function formula_<name>(at, windows, integers, numbers) of
 * engine/cuda/, from the elements of its windows (text_formula.c). */
enum { FNZI_CUDA_FORMULA_WINDOWS = 7 }; /* windows at most, without the flag */
typedef struct fnzi_cuda_formula {
  const char *name;
  int64_t count; /* at is below it */
  const fnz_dtype *windows;
  uint32_t nwindows;
  const int64_t *integers;
  uint32_t nintegers;
  const double *numbers;
  uint32_t nnumbers;
  bool checks; /* the flag is one more operand */
  bool draws;  /* before it two more: seed and offset of a generator, no addresses */
} fnzi_cuda_formula;
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_formula(fnz_context *ctx, fnzi_cuda_text *text,
                                                 const fnzi_cuda_formula *formula,
                                                 uint32_t *kernel);
/* The whole, with a zero byte at its end. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_write(fnz_context *ctx, const fnzi_cuda_text *text,
                                               fnz_buffer *out);

/* --- Rows as text (text_rows.c) --------------------------------------------------------------- */
typedef enum fnzi_cuda_out {
  FNZI_CUDA_OUT_SAME,
  FNZI_CUDA_OUT_KEPT,
  FNZI_CUDA_OUT_BOOL,
  FNZI_CUDA_OUT_REAL
} fnzi_cuda_out;

struct fnzi_cuda_row {
  const char *name;
  uint8_t arity, out;
  const char *before, *function; /* NULL: the row maps nothing */
  const char *value;
};

/* Rows of one computing type share helper functions: a namespace of the text. */
typedef struct fnzi_cuda_section {
  const char *name;
  fnz_dtype dtype;                /* that is computed */
  const char *opens;              /* definitions that helpers and rows need */
  const char *const *helpers[5];  /* arrays of lines; NULL at the end */
  const fnzi_cuda_row *tables[2]; /* ends with a row without name; NULL: none */
} fnzi_cuda_section;

enum { FNZI_CUDA_SECTIONS = 7 };
extern const fnzi_cuda_section fnzi_cuda_sections[FNZI_CUDA_SECTIONS];

/* Finds the row for computing type `compute`; f16 and bf16 have rows of their own for some
 * formulas. NULL if there is none. */
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
