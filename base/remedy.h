/* remedy.h - remedies of failures that the system reports. */
#ifndef FNZI_REMEDY_H
#define FNZI_REMEDY_H

/* "; check the path" for ENOENT; "" for an error that no remedy is known for. Static. */
const char *fnzi_errno_remedy(int error);

#endif
