/* even.c - half of a circle of files, for the gate that must see it. */
int planted_odd(int n);
int planted_even(int n);

int planted_even(int n) {
  return n == 0 || planted_odd(n - 1);
}
