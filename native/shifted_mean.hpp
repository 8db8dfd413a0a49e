// The shifted power mean of some columns, each with a power of its own. With p >= 1 it is
// low + mean((x - low)^p)^(1/p), and with p <= -1 high - mean((high - x)^|p|)^(1/|p|), where low and
// high are the least and the largest value of the column: the mean at p = 1 and -1, and ever closer
// to high or low the larger |p| is. `kernels/reference.py` is the same in plain NumPy.
//
// Powers are 2^(p log2 u) with polynomials for both, in float32. There is nothing in them but sums,
// products and whole numbers, so that every instruction set gives the same bits. An error of log2 u
// is multiplied by p in the power and divided by p in the root: the result is as exact as log2 u.
#pragma once
#include <math.h>

#include "row_vectors.hpp"

namespace pmeans {
namespace {

typedef int32_t Whole __attribute__((vector_size(vector_bytes)));
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

// What is known of a block of N vectors of columns: the power of each column, min, mean and max.
template <int N>
struct Columns { Vector p[N], low[N], mean[N], high[N]; };

// The shifted means of such a block, given `at`(i, n), its n-th vector of word i.
template <int N, class At>
inline void shifted_means(const Columns<N>& c, size_t count, const At& at, Vector (&out)[N]) {
  Vector base[N], factor[N], size[N], total[N] = {}, sum[N] = {}, x[N];
  for (int n = 0; n < N; ++n) {
    const Vector range = c.high[n] - c.low[n];
    base[n] = c.p[n] > 0.0f ? c.low[n] : c.high[n];
    factor[n] = range > 1e-37f ? 1.0f / range : Vector{};
    size[n] = c.p[n] > 0.0f ? c.p[n] : -c.p[n];
  }
  for (size_t i = 0; i < count; ++i) {
    for (int n = 0; n < N; ++n) x[n] = (at(i, n) - base[n]) * factor[n];
    log2_of<N>(x);
    for (int n = 0; n < N; ++n) x[n] *= size[n];
    exp2_of<N>(x);
    for (int n = 0; n < N; ++n) sum[n] += x[n];
    if (i % 64 == 63)  // as the mean, in runs
      for (int n = 0; n < N; ++n) total[n] += sum[n], sum[n] = Vector{};
  }
  for (int n = 0; n < N; ++n) x[n] = (total[n] + sum[n]) / static_cast<float>(count);
  log2_of<N>(x);
  for (int n = 0; n < N; ++n) x[n] /= size[n];
  exp2_of<N>(x);
  for (int n = 0; n < N; ++n) {
    const Vector low = c.low[n], high = c.high[n], p = c.p[n], root = (high - low) * x[n];
    Vector inside = p > 0.0f ? low + root : high - root;
    inside = inside < low ? low : inside > high ? high : inside;
    out[n] = size[n] == 1.0f ? c.mean[n] : size[n] < INFINITY ? inside : p > 0.0f ? high : low;
  }
}

// The shifted means of N vectors of columns from j on, for the k-th power; or of n < lanes columns.
template <class T, int N>
inline void shifted_columns(const Means& m, const Rows& r, size_t k, size_t j, size_t n,
                            const float* known, float* out) {
  Columns<N> c;
  Vector x[N];
  const auto some = [=](const float* p, int v) { return load(p + j + v * lanes, 0, n); };
  for (int v = 0; v < N; ++v)
    c.p[v] = some(m.exponents + k * m.dim, v), c.low[v] = some(known, v),
    c.mean[v] = some(known + m.dim, v), c.high[v] = some(known + 2 * m.dim, v);
  const auto row = [&](size_t i) { return static_cast<const T*>(r.row[i]) + j; };
  const auto scale = [&](size_t i) { return sizeof(T) == 1 ? r.scale[i] : 0.0f; };
  if (n < lanes)
    shifted_means<N>(c, r.count, [&](size_t i, int) { return load(row(i), scale(i), n); }, x);
  else
    shifted_means<N>(
        c, r.count, [&](size_t i, int v) { return load(row(i) + v * lanes, scale(i)); }, x);
  for (int v = 0; v < N; ++v)
    for (size_t l = 0; l < n; ++l) put(m, out, k * m.dim + j + v * lanes + l, x[v][l]);
}

// The same for all columns in float64, where no difference of float32 numbers overflows.
inline void shifted_again(const Means& m, const Rows& r, const float* p, size_t column, float* out,
                   double* scratch) {
  double *low = scratch, *high = low + m.dim, *sum = high + m.dim;
  float* row = reinterpret_cast<float*>(sum + m.dim);
  for (size_t i = 0; i < r.count; ++i) {
    decode_row(r, i, m.dim, row);
    for (size_t j = 0; j < m.dim; ++j) {
      const double x = row[j];
      low[j] = i == 0 || x < low[j] ? x : low[j];
      high[j] = i == 0 || x > high[j] ? x : high[j];
    }
  }
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
    put(m, out, column + j, cut_off(p[j] > 0 ? low[j] + x : high[j] - x));
  }
}

}  // namespace
}  // namespace pmeans
