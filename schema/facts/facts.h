/* facts.h - what eager does with the arguments and results of an operator that neither its schema
 * nor the row of its kernel says: the rows of facts.def. Which ones an operator has is found when
 * the operators are generated; all of its forms have them, and so have its aliases. */
#ifndef FNZI_FACTS_H
#define FNZI_FACTS_H

#include "schema/schema.h"

/* The dtype of the result while no dtype= says another. */
typedef enum fnzi_own {
  FNZI_OWN_UNKNOWN,
  FNZI_OWN_SELF,     /* that of the first tensor */
  FNZI_OWN_JOINED,   /* that to which all tensors promote */
  FNZI_OWN_COUNT,    /* of bool and integers i64, else that of the first tensor */
  FNZI_OWN_AS_FLOAT, /* of bool and integers the default float, else that of the first tensor */
  FNZI_OWN_REAL,     /* that of the first tensor, or of its parts */
  FNZI_OWN_NUMBERS,  /* i64 when all numbers are integers, else the default float */
  FNZI_OWN_VALUE,    /* that of the number */
  FNZI_OWN_FLOAT,    /* the default float, or complex where a number is */
  FNZI_OWN_LONG      /* i64 */
} fnzi_own;

/* How eager handles an out= tensor of another dtype. */
typedef enum fnzi_out_rule {
  FNZI_OUT_EXACT,   /* refuses it: no row says otherwise */
  FNZI_OUT_DTYPE,   /* computes in that dtype, as if dtype= said it */
  FNZI_OUT_CAST,    /* computes in its own dtype and casts the result */
  FNZI_OUT_OPERAND, /* casts the operand and computes in that dtype */
  FNZI_OUT_MIXED    /* computes a part in each: no functional operator does that */
} fnzi_out_rule;

/* The element type that a number becomes, and that must hold it. */
typedef enum fnzi_number_kind {
  FNZI_NUMBER_OWN,      /* the dtype that is computed */
  FNZI_NUMBER_OPPOSITE, /* the same, with the other sign, which is what eager multiplies by */
  FNZI_NUMBER_OPMATH,   /* the same as OWN, but f16 and bf16 are computed as f32, which holds it */
  FNZI_NUMBER_NARROW,   /* OWN of integers, f16 and bf16; wider floats take any */
  FNZI_NUMBER_WIDE,     /* OWN of integers and f32; f16, bf16 and f64 take any */
  FNZI_NUMBER_FLOAT,    /* f32 where it is a float, whatever is computed; else 64 bits */
  FNZI_NUMBER_COUNT,    /* any, and it is not below 0 */
  FNZI_NUMBER_RANGE,    /* OWN, and not below 0 */
  FNZI_NUMBER_LOWER,    /* a bound: OWN of floats, and not above the largest integer */
  FNZI_NUMBER_UPPER     /* a bound: OWN of floats, and not below the smallest integer */
} fnzi_number_kind;

/* Argument that chooses the places that get a number. */
typedef enum fnzi_chooser {
  FNZI_CHOOSER_NONE,
  FNZI_CHOOSER_MASK,    /* a mask */
  FNZI_CHOOSER_DIM,     /* some along this dimension */
  FNZI_CHOOSER_INDICES, /* of a list, each along the next dimensions, unless it accumulates */
  FNZI_CHOOSER_PLACES   /* places, and none that eager knows to be shown twice */
} fnzi_chooser;

enum { FNZI_FACT_PARAMS = 3 };

/* A row. Parameters are by name; lists end with the first NULL. */
typedef struct fnzi_fact {
  const char *name;
  struct {
    bool is_known;
    fnzi_promotion_kind kind;
  } promotes;
  fnzi_own own;
  fnzi_out_rule out_rule;
  struct {
    const char *param;
    fnzi_number_kind kind;
  } numbers[FNZI_FACT_PARAMS];
  const char *uncast[FNZI_FACT_PARAMS], *not_bool[FNZI_FACT_PARAMS], *floats[FNZI_FACT_PARAMS];
  const char *own_input;
  struct {
    const char *param;
    fnzi_chooser by;
  } chosen;
  bool exact, apart, casts, rigid, quiet, lazy, sizing;
  fnzi_autocast autocast;  /* UNKNOWN: the row does not say */
  bool autocast_elsewhere; /* on other devices than the CPU */
} fnzi_fact;

/* Row 0 says nothing. */
extern const fnzi_fact fnzi_facts[];
extern const size_t fnzi_facts_count;

/* By place in the operator table, generated: the operator's own row, and that of all overloads of
 * its base name. */
enum { FNZI_FACT_ROWS = 2 };
extern const uint16_t fnzi_fact_rows[][FNZI_FACT_ROWS];

/* Row k of the operator, below FNZI_FACT_ROWS. */
static inline const fnzi_fact *fnzi_fact_of(const fnz_op *op, size_t k) {
  const uint16_t place = fnzi_op_place(op);
  return &fnzi_facts[place == FNZI_NO_OP ? 0 : fnzi_fact_rows[place][k]];
}

/* Bit i where parameter i of the operator, which is no alias, is named. */
uint32_t fnzi_fact_bits(const fnz_op *op, const char *const params[FNZI_FACT_PARAMS]);

/* One of the rows has the fact. */
#define FNZI_FACT_HOLDS(op, fact) (fnzi_fact_of(op, 0)->fact || fnzi_fact_of(op, 1)->fact)

#endif
