// The shifted power mean of some columns, each with a power of its own. With p >= 1 it is
// low + mean((x - low)^p)^(1/p), with p <= -1 it is high - mean((high - x)^|p|)^(1/|p|), where low
// and high are the least and the largest value of the column: the mean at p = 1 and -1, and ever
// closer to high or low the larger |p| is. `kernels/reference.py` is the same in plain NumPy.
//
// Powers of two are squares, and their roots square roots. Other powers are 2^(p log2 u) with
// polynomials for both. All is float32. There is nothing in it but sums, products, square roots and
// whole numbers, so that every instruction set gives the same bits.
#pragma once
#include <math.h>

#include "row_vectors.hpp"

namespace pmeans {
namespace {

constexpr float least = -125;  // 2^least is still a normal number, and nothing beside 1

inline Whole bits_of(Vector x) { return reinterpret_cast<Whole>(x); }
inline Vector of_bits(Whole x) { return reinterpret_cast<Vector>(x); }

// c[0] + c[1] f + c[2] f^2 + … LATENCY. An operation waits for the one before. So N independent
// polynomials take turns, which N by themselves would not: a processor does not look so far ahead.
template <int N, int degree>
inline void polynomials(const float (&c)[degree + 1], const Vector (&f)[N], Vector (&out)[N]) {
  for (int n = 0; n < N; ++n) out[n] = f[n] * c[degree] + c[degree - 1];
  for (int k = degree - 2; k >= 0; --k)
    for (int n = 0; n < N; ++n) out[n] = out[n] * f[n] + c[k];
}

// log2 |x| for finite x, to 2e-7, in place; about -127 for 0 and denormal numbers.
template <int N>
inline void log2_of(Vector (&x)[N]) {
  constexpr int root_half = 0x3F3504F3;  // the bits of sqrt(1/2)
  constexpr float c[] = {1.4426949f,  -0.72135282f, 0.48092324f, -0.36023962f,
                         0.28709871f, -0.24887688f, 0.23404244f, -0.14581169f};
  Vector f[N], whole[N], log[N];
  for (int n = 0; n < N; ++n) {
    const Whole bits = bits_of(x[n]) & 0x7FFFFFFF;
    const Whole exponent = (bits - root_half) >> 23;
    f[n] = of_bits(bits - (exponent << 23)) - 1.0f;  // sqrt(1/2) - 1 <= f < sqrt(2) - 1
    whole[n] = __builtin_convertvector(exponent, Vector);
  }
  polynomials<N, 7>(c, f, log);
  for (int n = 0; n < N; ++n) x[n] = log[n] * f[n] + whole[n];
}

// 2^t to a relative 1e-7, in place, for t < 127, from below cut off at `least`. Exactly 1 for t = 0.
template <int N>
inline void exp2_of(Vector (&t)[N]) {
  constexpr float nearest = 0x1.8p23f;  // added to a number, it leaves the nearest whole one
  constexpr float c[] = {1.0f, 0.69314700f, 0.24022242f, 0.055507325f, 0.0096715000f, 0.0013265120f};
  Vector f[N], shifted[N], power[N];
  for (int n = 0; n < N; ++n) {
    t[n] = t[n] < least ? Vector{} + least : t[n];
    shifted[n] = t[n] + nearest;
    f[n] = t[n] - (shifted[n] - nearest);  // -1/2 <= f <= 1/2
  }
  polynomials<N, 5>(c, f, power);
  for (int n = 0; n < N; ++n) t[n] = of_bits(bits_of(power[n]) + (bits_of(shifted[n]) << 23));
}

// The least, the largest and the sum of each column, in float64.
inline void summarise(const Means& m, const Rows& r, double* scratch) {
  double *low = scratch, *high = low + m.dim, *sum = high + m.dim;
  float* row = reinterpret_cast<float*>(sum + m.dim);
  for (size_t i = 0; i < r.count; ++i) {
    decode_row(r, i, m.dim, row);
    for (size_t j = 0; j < m.dim; ++j) {
      const double x = row[j];
      low[j] = i == 0 || x < low[j] ? x : low[j];
      high[j] = i == 0 || x > high[j] ? x : high[j];
      sum[j] = i == 0 ? x : sum[j] + x;
    }
  }
}

// What is known of N vectors of columns.
template <int N, class Amount>
struct Known {
  size_t j;  // the first column
  Amount amount;
  Vector low[N], mean[N], high[N], range[N], factor[N];

  Known(const float* known, size_t dim, size_t j, Count<N>, Amount amount) : j(j), amount(amount) {
    for (int v = 0; v < N; ++v) {
      low[v] = load(known + j + v * lanes, 0, amount);
      mean[v] = load(known + dim + j + v * lanes, 0, amount);
      high[v] = load(known + 2 * dim + j + v * lanes, 0, amount);
      range[v] = high[v] - low[v];
      factor[v] = range[v] > 1e-37f ? 1.0f / range[v] : Vector{};
    }
  }
};

// Puts means of power k of the v-th vector, given the power means of distances as a `share` of the
// range.
template <int N, class Amount>
inline void put_shifted(const Means& m, const Known<N, Amount>& c, size_t k, int v, Vector p,
                        Vector share, float* out, Vector& doubt) {
  const Vector low = c.low[v], high = c.high[v], root = c.range[v] * share;
  const Vector size = p > 0.0f ? p : -p;
  Vector inside = p > 0.0f ? low + root : high - root;
  inside = inside < low ? low : inside;
  inside = inside > high ? high : inside;
  inside = size == INFINITY ? p > 0.0f ? high : low : inside;
  inside = size == 1.0f ? c.mean[v] : inside;
  put(m, out, k * m.dim + c.j + v * lanes, c.amount, inside, doubt);
}

// SQUARES. The powers 2, 4, 8 and 16 need no logarithm: each is the square of the one before. So one
// pass over the words gives all of them, upwards from low and downwards from high, for all lists of
// powers. 2^-31 is nothing beside 1, which is the u^4 of one word; without it, u^16 would often be a
// denormal number, slow on many processors.
constexpr int most = 4;  // squarings
inline void add_squares(Vector u, Vector (&sum)[most]) {
  for (int k = 0; k < most; ++k) {
    u *= u;
    sum[k] += u;
    if (k == 1) u += 0x1p-31f;
  }
}

inline Vector square_root(Vector x) {
  for (int l = 0; l < lanes; ++l) x[l] = __builtin_sqrtf(x[l]);
  return x;
}

// Puts the means of all lists that are squares, and returns the doubt about them.
template <class T, class Amount>
inline Vector by_squares(const Means& m, const Rows& r, const Known<1, Amount>& c, float* out) {
  Vector doubt = {};
  Vector up[most] = {}, down[most] = {}, all_up[most] = {}, all_down[most] = {};
  const auto word = [&](const Vector(&x)[1]) {
    const Vector u = (x[0] - c.low[0]) * c.factor[0];
    add_squares(u, up);
    add_squares(1.0f - u, down);
  };
  each_word<T, 1>(r, c.j, c.amount, word, [&] {
    for (int s = 0; s < most; ++s) {
      all_up[s] += up[s], up[s] = Vector{};
      all_down[s] += down[s], down[s] = Vector{};
    }
  });
  const float each = 1.0f / static_cast<float>(r.count);
  for (size_t k = 0; k < m.n_powers; ++k) {
    if (m.squarings[k] < 0) continue;
    const Vector p = load(m.exponents + k * m.dim + c.j, 0, c.amount);
    const Vector size = p > 0.0f ? p : -p;
    Vector share = {};
#pragma GCC unroll 4
    for (int s = most - 1; s >= 0; --s) {
      if (s >= m.squarings[k]) continue;
      const Vector mean = p > 0.0f ? all_up[s] * each : all_down[s] * each;
      share = square_root(size == static_cast<float>(2 << s) ? mean : share);
    }
    put_shifted(m, c, k, 0, p, share, out, doubt);
  }
  return doubt;
}

// All other powers. An error of log2 u is multiplied by p in the power and divided by p in the
// root: the result is as exact as log2 u.
template <class T, int N, class Amount>
inline void by_logarithms(const Means& m, const Rows& r, const Known<N, Amount>& c, size_t k,
                          float* out, Vector& doubt) {
  Vector p[N], base[N], size[N], total[N] = {}, sum[N] = {}, share[N];
  for (int v = 0; v < N; ++v) {
    p[v] = load(m.exponents + k * m.dim + c.j + v * lanes, 0, c.amount);
    base[v] = p[v] > 0.0f ? c.low[v] : c.high[v];
    size[v] = p[v] > 0.0f ? p[v] : -p[v];
    size[v] = size[v] < 1.0f ? Vector{} + 1.0f : size[v];  // 0 only where there is no column
  }
  const auto word = [&](const Vector(&x)[N]) {
    Vector u[N];
    for (int v = 0; v < N; ++v) u[v] = (x[v] - base[v]) * c.factor[v];
    log2_of<N>(u);
    for (int v = 0; v < N; ++v) u[v] *= size[v];
    exp2_of<N>(u);
    for (int v = 0; v < N; ++v) sum[v] += u[v];
  };
  each_word<T, N>(r, c.j, c.amount, word, [&] {
    for (int v = 0; v < N; ++v) total[v] += sum[v], sum[v] = Vector{};
  });
  for (int v = 0; v < N; ++v) share[v] = total[v] / static_cast<float>(r.count);
  log2_of<N>(share);
  for (int v = 0; v < N; ++v) share[v] /= size[v];
  exp2_of<N>(share);
  for (int v = 0; v < N; ++v) put_shifted(m, c, k, v, p[v], share[v], out, doubt);
}

// The shifted means of all columns, given min, mean and max. Returns whether everything is finite.
template <class T>
bool shifted_means(const Means& m, const Rows& r, const float* known, float* out) {
  Vector doubt = {};
  bool any_squared = false;
  for (size_t k = 0; k < m.n_powers; ++k) {
    any_squared |= m.squarings[k] >= 0;
    if (m.squarings[k] < 0)
      each_column<4>(m.dim, [&](size_t j, auto vectors, auto amount) {
        const Known c(known, m.dim, j, vectors, amount);
        for (const Vector& range : c.range) doubt += range - range;  // it may have overflowed
        by_logarithms<T>(m, r, c, k, out, doubt);
      });
  }
  if (any_squared)
    each_column<1>(m.dim, [&](size_t j, auto vectors, auto amount) {
      const Known c(known, m.dim, j, vectors, amount);
      doubt += by_squares<T>(m, r, c, out) + (c.range[0] - c.range[0]);
    });
  return none(doubt);
}

// The same in float64, where no difference of float32 numbers overflows.
inline void shifted_again(const Means& m, const Rows& r, float* out, double* scratch) {
  double *low = scratch, *high = low + m.dim, *sum = high + m.dim;
  float* row = reinterpret_cast<float*>(sum + m.dim);
  summarise(m, r, scratch);
  for (size_t k = 0; k < m.n_powers; ++k) {
    const float* p = m.exponents + k * m.dim;
    for (size_t j = 0; j < m.dim; ++j) sum[j] = 0;
    for (size_t i = 0; i < r.count; ++i) {
      decode_row(r, i, m.dim, row);
      for (size_t j = 0; j < m.dim; ++j) {
        const double range = high[j] - low[j], x = row[j];
        if (range > 0) sum[j] += pow((p[j] > 0 ? x - low[j] : high[j] - x) / range, fabs(p[j]));
      }
    }
    for (size_t j = 0; j < m.dim; ++j) {
      const double size = pow(sum[j] / static_cast<double>(r.count), 1 / fabs(p[j]));
      const double x = size * (high[j] - low[j]);
      put(m, out, k * m.dim + j, cut_off(p[j] > 0 ? low[j] + x : high[j] - x));
    }
  }
}

}  // namespace
}  // namespace pmeans
