/* isa.h - the instruction sets that loops are compiled for, each file once for every one of them.
 *
 * Such a file defines one table, named by FNZI_ISA_NAME; callers take the table of fnzi_krn_isa().
 * Bits are the same in all sets. */
#ifndef FNZI_ISA_H
#define FNZI_ISA_H

typedef enum fnzi_krn_isa {
  FNZI_ISA_BASE, /* whatever the library as a whole is compiled for */
  FNZI_ISA_V3,   /* AVX2, FMA and F16C */
  FNZI_ISA_V4,   /* AVX-512 F, BW, DQ and VL */
  FNZI_ISAS
} fnzi_krn_isa;

/* The widest that this processor has and this build was made for. */
fnzi_krn_isa fnzi_krn_isa_best(void);

/* FNZI_ISA is 3 or 4 where a file is compiled for that set, FNZI_ISA_MOST the widest of the build.
 */
#ifndef FNZI_ISA
#define FNZI_ISA 0
#endif
#ifndef FNZI_ISA_MOST
#define FNZI_ISA_MOST 0
#endif

#if FNZI_ISA == 4
#define FNZI_ISA_NAME(name) name##_v4
#elif FNZI_ISA == 3
#define FNZI_ISA_NAME(name) name##_v3
#else
#define FNZI_ISA_NAME(name) name
#endif

/* The tables of all sets, in their order; NULL where the build has none. */
#if FNZI_ISA_MOST >= 4
#define FNZI_ISA_TABLES(name) name, name##_v3, name##_v4
#elif FNZI_ISA_MOST >= 3
#define FNZI_ISA_TABLES(name) name, name##_v3, NULL
#else
#define FNZI_ISA_TABLES(name) name, NULL, NULL
#endif

#endif
