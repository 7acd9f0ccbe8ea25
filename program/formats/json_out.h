/* json_out.h - writing JSON that was read. */
#ifndef FNZI_JSON_OUT_H
#define FNZI_JSON_OUT_H

#include "base/json.h"
#include "program/formats/json.h"

/* A whole tree. */
fnz_status fnzi_json_out_tree(fnzi_json_out *w, const fnzi_json *node);

#endif
