/* odd.c - the other half. */
int planted_odd(int n);
int planted_even(int n);

int planted_odd(int n) {
  return n != 0 && planted_even(n - 1);
}
