/* masked_values.h - what masked_scatter and its text for a GPU (engine/cuda/masked.cu) share. */
/* Elements of the mask that are counted together. */
enum { MASKED_TILE = 2048 };
