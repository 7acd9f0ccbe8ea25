/* point_scalar.h - what rows of point.def say of one element of type T. */
#define CHOOSE(c, x, y) ((c) ? (x) : (y))
#define AND(x, y)       ((x) && (y))
#define OR(x, y)        ((x) || (y))
#define TRUTH(c)        ((T)(c))
#define EACH(x)         ((T)(x))
