/* point_either_values.h - values of float rows for one element or a vector of them. The includer
 * defines T, N (T, or a vector of T), CHOOSE, V(function, accuracy), which names a function of one
 * N, and VALUE, the specifiers of functions: they compute here and on a GPU. */
/* The gradient of silu, with the sigmoid s. */
VALUE N slope(N gradient, N x, N s) {
  return gradient * s * (1 + x * (1 - s));
}

/* The gradient of softplus, with z = exp(beta x). */
VALUE N softplus_slope(N gradient, N z) {
  return gradient * z / (z + 1);
}

/* At least `eps` from both ends of [0, 1]. */
VALUE N inside(N x, N eps) {
  return CHOOSE(x < eps, eps, CHOOSE(x > 1 - eps, 1 - eps, x));
}

/* The gradients of gelu: of the normal distribution, and of its approximation by tanh. */
VALUE N gelu_slope(N gradient, N x) {
  N cumulative = (T)0.5 * (1 + V(erf, own)(x * (T)0.70710678118654752440));
  N density = (T)0.39894228040143267794 * V(exp, own)((T)-0.5 * x * x);
  return gradient * (cumulative + x * density);
}

VALUE N gelu_tanh_slope(N gradient, N x) {
  const T beta = (T)0.79788456080286535588, kappa = (T)0.044715;
  N cube = x * x * x, tangent = V(tanh, own)(beta * (x + kappa * cube));
  N left = (T)0.5 * x, right = 1 + tangent;
  N slope_of_tangent = 1 - tangent * tangent, inner = beta * (1 + 3 * kappa * x * x);
  return gradient * ((T)0.5 * right + left * slope_of_tangent * inner);
}

/* Is the rest of a division by b not 0, and of the other sign? */
#define IS_BESIDE(rest, b) (F(copysign)(rest, b) != (rest))

VALUE N modulo(N a, N b) {
  N rest = F(fmod)(a, b);
  return CHOOSE(IS_BESIDE(rest, b), rest + b, rest);
}

VALUE N divide(N a, N b) {
  N ratio = a / b, rest = F(fmod)(a, b), quotient = (a - rest) / b;
  quotient = CHOOSE(IS_BESIDE(rest, b), quotient - 1, quotient);
  N whole = F(floor)(quotient);
  whole = CHOOSE(quotient - whole > (T)0.5, whole + 1, whole);
  whole = CHOOSE(quotient == 0, F(copysign)(EACH(0), ratio), whole);
  return CHOOSE(b == 0, ratio, whole);
}

/* log of the multivariate gamma function of p dimensions. */
VALUE N log_gammas(N x, N p) {
  N sum = EACH(0), most = EACH(MOST_DEGREE);
  for (T j = 1; ANY_OF(AND(p >= j, p <= most)); j += 1)
    sum = CHOOSE(p >= j, sum + V(lgamma, u10)(x + (1 - j) / 2), sum);
  return CHOOSE(p > most, (T)NAN, sum + p * (p - 1) * (T)0.28618247146235004353);
}
