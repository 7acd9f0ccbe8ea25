/* point_scalar.h - the words of point.def for one element of type T. */
#define CHOOSE(c, x, y) ((c) ? (x) : (y))
#define AND(x, y)       ((x) && (y))
#define OR(x, y)        ((x) || (y))
#define TRUTH(c)        ((T)(c))
#define EACH(x)         ((T)(x))
#define ANY_OF(c)       (c)
