/* oracle.h - the part of the oracle that answers where sizes are expressions. */
#ifndef FNZI_ORACLE_H
#define FNZI_ORACLE_H

#include "views/views.h"

/* As fnzi_oracle_relate() and fnzi_oracle_relate_self(), at all sizes; FNZI_UNKNOWN where nothing
 * is proved. */
fnzi_relation fnzi_oracle_relate_sizes(fnzi_ints *s, const fnz_geometry *a, const fnz_geometry *b,
                                       const fnz_geometry *frame);
fnzi_relation fnzi_oracle_relate_self_sizes(fnzi_ints *s, const fnz_geometry *g);

#endif
