/* array.c - tensors, each on one line: name, dtype, sizes and its first elements; and copies. */
#include "cli/cli.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 8 };

/* IEEE-like bits of any width to a number: one rule for halves and brain floats. */
static double small_float(uint32_t bits, int exponent_bits, int fraction_bits) {
  uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  int exponent = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
  int bias = (1 << (exponent_bits - 1)) - 1;
  double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * ldexp(fraction, 1 - bias - fraction_bits);
  return sign * ldexp(fraction + (1u << fraction_bits), exponent - bias - fraction_bits);
}

static double read_float(const unsigned char *p, size_t bytes, bool brain) {
  float f;
  double d;
  uint16_t half;
  if (bytes == 8)
    return memcpy(&d, p, 8), d;
  if (bytes == 4)
    return memcpy(&f, p, 4), (double)f;
  memcpy(&half, p, 2);
  return brain ? small_float(half, 8, 7) : small_float(half, 5, 10);
}

static uint64_t read_bits(const unsigned char *p, size_t bytes) {
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes; i++)
    bits |= (uint64_t)p[i] << 8 * i;
  return bits;
}

static void print_float(const unsigned char *p, size_t bytes, bool brain) {
  if (bytes == 1)
    printf("0x%02x", *p);
  else
    printf("%.*g", bytes == 8 ? 17 : bytes == 4 ? 9 : 5, read_float(p, bytes, brain));
}

static void print_element(fnz_dtype dtype, const unsigned char *p) {
  const fnz_dtype_info *info = fnz_dtype_get_info(dtype);
  size_t bytes = info->bytes;
  uint64_t top;
  switch (info->category) {
  case 'b':
    fputs(*p ? "true" : "false", stdout);
    return;
  case 'u':
    printf("%llu", (unsigned long long)read_bits(p, bytes));
    return;
  case 'i':
    top = (uint64_t)1 << (8 * bytes - 1);
    printf("%lld", (long long)((read_bits(p, bytes) ^ top) - top));
    return;
  case 'c':
    print_float(p, bytes / 2, false);
    fputs(" + ", stdout);
    print_float(p + bytes / 2, bytes / 2, false);
    fputc('i', stdout);
    return;
  default:
    print_float(p, bytes, dtype == FNZ_BF16);
  }
}

enum { MOST_TYPE = 16 + 24 * FNZ_MAX_RANK, LEAST_NAME = 16 };

/* "f32[2, 3]"; its length. */
static int say_type(const fnz_array *array, char out[MOST_TYPE]) {
  int used = snprintf(out, MOST_TYPE, "%s[", fnz_dtype_get_info(array->dtype)->name);
  for (uint32_t i = 0; i < array->rank; i++)
    used += snprintf(out + used, MOST_TYPE - (size_t)used, "%s%lld", i ? ", " : "",
                     (long long)array->sizes[i]);
  return used + snprintf(out + used, MOST_TYPE - (size_t)used, "]");
}

void cli_json_array(fnzi_json_out *w, const fnz_array *array) {
  fnzi_json_open(w, '{');
  fnzi_json_out_text(w, "name", array->name);
  fnzi_json_out_text(w, "dtype", fnz_dtype_get_info(array->dtype)->name);
  fnzi_json_open_as(w, "sizes", '[');
  for (uint32_t i = 0; i < array->rank; i++)
    fnzi_json_out_int(w, array->sizes[i]);
  fnzi_json_close(w, ']');
  fnzi_json_out_count(w, "bytes", array->bytes);
  fnzi_json_close(w, '}');
}

void cli_print_arrays(const fnz_arrays *arrays) {
  int names = LEAST_NAME, types = 0;
  char type[MOST_TYPE];
  for (size_t i = 0; i < fnz_arrays_count(arrays); i++) {
    int name = (int)strlen(fnz_arrays_at(arrays, i)->name),
        length = say_type(fnz_arrays_at(arrays, i), type);
    names = name > names ? name : names;
    types = length > types ? length : types;
  }
  for (size_t i = 0; i < fnz_arrays_count(arrays); i++) {
    const fnz_array *array = fnz_arrays_at(arrays, i);
    size_t size = fnz_dtype_get_info(array->dtype)->bytes, count = array->bytes / size;
    char said[MOST_TYPE];
    say_type(array, said);
    printf("%-*s %-*s", names, array->name, count ? types : 0, said);
    for (size_t k = 0; k < count && k < SHOWN; k++) {
      fputs(k ? ", " : "  ", stdout);
      print_element(array->dtype, (const unsigned char *)array->data + k * size);
    }
    puts(count > SHOWN ? ", ..." : "");
  }
}

fnz_status cli_array_copy(const fnz_array *a, const char *name, fnz_arrays *to) {
  void *data;
  fnz_status status = fnz_arrays_add(to, name, a->dtype, a->rank, a->sizes, &data);
  if (status == FNZ_OK && a->bytes)
    memcpy(data, a->data, a->bytes);
  return status;
}
