/* onednn_guard.h - oneDNN's C functions throw where a small allocation of theirs fails; here that
 * becomes a status. */
#ifndef FNZI_ONEDNN_GUARD_H
#define FNZI_ONEDNN_GUARD_H

#include <dnnl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs `work` on the calling thread alone, which takes no signals meanwhile. Returns its status, or
 * dnnl_out_of_memory when something below it threw. */
dnnl_status_t fnzi_cpu_onednn_guard(dnnl_status_t (*work)(void *user), void *user);

#ifdef __cplusplus
}
#endif
#endif
