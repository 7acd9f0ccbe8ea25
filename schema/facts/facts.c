/* facts.c - the rows of facts.def. */
#include "schema/facts/facts.h"

#define OP(name_, ...)   {.name = name_, __VA_ARGS__},
#define PROMOTES(kind_)  .promotes = {true, FNZI_PROMOTE_##kind_}
#define OUT(own_, rule_) .own = FNZI_OWN_##own_, .out_rule = FNZI_OUT_##rule_
#define EXACT            .exact = true
#define CASTS            .casts = true
#define RIGID            .rigid = true
#define QUIET            .quiet = true
#define SIZING           .sizing = true
#define NUMBERS(...)     .numbers = {__VA_ARGS__}
#define OWN(param)                                                                                 \
  { param, FNZI_NUMBER_OWN }
#define OPPOSITE(param)                                                                            \
  { param, FNZI_NUMBER_OPPOSITE }
#define OPMATH(param)                                                                              \
  { param, FNZI_NUMBER_OPMATH }
#define NARROW(param)                                                                              \
  { param, FNZI_NUMBER_NARROW }
#define WIDE(param)                                                                                \
  { param, FNZI_NUMBER_WIDE }
#define FLOAT(param)                                                                               \
  { param, FNZI_NUMBER_FLOAT }
#define COUNT(param)                                                                               \
  { param, FNZI_NUMBER_COUNT }
#define RANGE(param)                                                                               \
  { param, FNZI_NUMBER_RANGE }
#define LOWER(param)                                                                               \
  { param, FNZI_NUMBER_LOWER }
#define UPPER(param)                                                                               \
  { param, FNZI_NUMBER_UPPER }
#define UNCAST(...)           .uncast = {__VA_ARGS__}
#define NOT_BOOL(...)         .not_bool = {__VA_ARGS__}
#define FLOATS(...)           .floats = {__VA_ARGS__}
#define OWN_INPUT(param)      .own_input = param
#define APART                 .apart = true
#define LAZY                  .lazy = true
#define REPEATED(param_, by_) .chosen = {param_, FNZI_CHOOSER_##by_}
#define AUTOCAST(cast_)       .autocast = FNZI_AUTOCAST_##cast_
#define AUTOCAST_ELSEWHERE    .autocast_elsewhere = true

const fnzi_fact fnzi_facts[] = {
    {.name = NULL},
#include "schema/facts/facts.def"
};

const size_t fnzi_facts_count = sizeof fnzi_facts / sizeof *fnzi_facts;
