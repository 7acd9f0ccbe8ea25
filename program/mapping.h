/* mapping.h - a file in memory: pages of it, which another process may change. */
#ifndef FNZI_MAPPING_H
#define FNZI_MAPPING_H

#include "base/base.h"

typedef struct fnzi_mapping fnzi_mapping;
struct stat;

/* Maps `size` bytes of the file, with a zero byte behind them, and keeps `fd`, also after a failure
 * to map, which leaves *out NULL: the file must be read. */
FNZ_MUST_CHECK fnz_status fnzi_mapping_open(fnz_context *ctx, int fd, const char *path,
                                            const struct stat *seen, fnzi_mapping **out);
void fnzi_mapping_close(fnzi_mapping *m);
void *fnzi_mapping_data(const fnzi_mapping *m);
size_t fnzi_mapping_bytes(const fnzi_mapping *m);
/* IO if the file is another one than when it was mapped, by its size and the time of its last
 * change. Nothing is known if the process has closed the descriptor. NULL: no file. */
FNZ_MUST_CHECK fnz_status fnzi_mapping_check(fnz_context *ctx, const fnzi_mapping *m);

#endif
