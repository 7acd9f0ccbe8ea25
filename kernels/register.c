/* register.c - kernels that users add to a backend. */
#include "kernels/backends.h"

fnz_status fnz_kernel_register(fnz_context *ctx, fnz_backend *backend, const fnz_kernel *kernel) {
  FNZ_TRY(fnzi_backend_check(ctx, backend));
  fnzi_krn_machine *m = fnzi_machine_of(backend);
  if (!m || m->stock.elsewhere)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "backend %s takes no kernels; the CPU and the meta backend do", backend->name);
  if (!kernel->op || !kernel->impl)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "a kernel needs an operator and an impl");
  if (kernel->meta && kernel->op->is_view)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "%s is a view; its kernel must be a plain one",
                     kernel->op->name);
  const fnzi_krn_registered *other =
      kernel->meta ? fnzi_krn_registered_structured(m, kernel->op) : NULL;
  if (other && other->kernel.op != kernel->op)
    return fnzi_fail(ctx, FNZ_CLASS_DUPLICATE, NULL,
                     "%s: the group has a structured kernel already, that of %s", kernel->op->name,
                     other->kernel.op->name);
  fnzi_krn_registered *r = fnzi_krn_registered_same(m, kernel->op);
  if (!r) {
    FNZI_NEW(&m->lasting, 1, &r);
    FNZI_PUSH(m->ctx, &m->registered, r);
  }
  r->kernel = *kernel;
  r->row = (fnzi_kernel){.accepts = FNZI_ACCEPTS_ANY,
                         .memory = kernel->meta ? FNZI_MEMORY_NEW : FNZI_MEMORY_VIEW,
                         .shape = fnzi_shape_registered,
                         .run = FNZI_RUN_registered};
  m->generation++;
  return FNZ_OK;
}
