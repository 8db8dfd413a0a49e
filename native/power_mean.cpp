// Compiled once for each instruction set, under the name PMEANS_ISA. Only raw pointers and
// functions of this file: an inline function of the standard library, compiled here for a newer
// processor, could be the copy that the linker keeps for everybody.
#include "power_mean.hpp"

#include <math.h>
#include <string.h>

#include "kernel_tools.hpp"
#include "row_vectors.hpp"
#include "shifted_mean.hpp"

namespace pmeans {
namespace {

constexpr double pi = 3.14159265358979323846;

// Where min, mean and max go, as multiples of dim; -1 if they are not wanted.
struct Places { long low, mean, high; };

// Min, sum and max of N vectors of columns from j on, in one pass over the words. The sum of a
// `longer` sentence is taken in runs of float32, and float64 adds up the runs.
template <class T, int N, bool extremes, bool longer, class Amount>
inline void columns(const Means& m, const Rows& r, Places at, size_t j, Amount amount, float* out,
                    Vector& doubt) {
  Vector low[N], high[N], sum[N] = {};
  double total[longer ? N * lanes : 1] = {};
  // The same columns of the next sentence are fetched meanwhile: rows come from all over a matrix,
  // and waiting for them would take longer than the arithmetic.
  for (size_t i = 0; i < r.next_count; ++i)
    __builtin_prefetch(column<T>(r.next[i], j));
  for (int k = 0; k < N; ++k) {
    const float scale = sizeof(T) == 1 ? r.scale[0] : 0.0f;
    low[k] = high[k] = load(column<T>(r.row[0], j + k * lanes), scale, amount);
  }
  const auto word = [&](const Vector(&x)[N]) {
    for (int k = 0; k < N; ++k) {
      if (extremes) low[k] = x[k] < low[k] ? x[k] : low[k];
      if (extremes) high[k] = x[k] > high[k] ? x[k] : high[k];
      sum[k] += x[k];
    }
  };
  each_word<T, N>(r, j, amount, word, [&] {
    for (int k = 0; k < N && longer; ++k) {
      for (int l = 0; l < lanes; ++l) total[k * lanes + l] += static_cast<double>(sum[k][l]);
      sum[k] = Vector{};
    }
  });
  for (int k = 0; k < N; ++k) {
    const size_t c = j + k * lanes;
    if (at.low >= 0) put(m, out, at.low * m.dim + c, amount, low[k], doubt);
    if (at.high >= 0) put(m, out, at.high * m.dim + c, amount, high[k], doubt);
    Vector mean = sum[k] / static_cast<float>(r.count);
    if (longer)
      for (int l = 0; l < lanes; ++l)
        mean[l] = static_cast<float>(total[k * lanes + l] / static_cast<double>(r.count));
    // NAN. Comparisons are false of it, so that min and max pass it over; a sum does not.
    if (at.mean >= 0)
      put(m, out, at.mean * m.dim + c, amount, mean, doubt);
    else
      doubt += mean - mean;
  }
}

template <class T, bool extremes, bool longer>
bool all_columns(const Means& m, const Rows& r, Places at, float* out) {
  Vector doubt = {};
  each_column<wide>(m.dim, [&](size_t j, auto vectors, auto amount) {
    columns<T, vectors.value, extremes, longer>(m, r, at, j, amount, out, doubt);
  });
  return none(doubt);
}

// Returns whether everything is finite.
template <class T>
bool min_mean_max(const Means& m, const Rows& r, Places at, float* out) {
  if (r.count > run_length) return all_columns<T, true, true>(m, r, at, out);
  if (at.low < 0 && at.high < 0) return all_columns<T, false, false>(m, r, at, out);
  return all_columns<T, true, false>(m, r, at, out);
}

// Min, mean and max in float64, where no sum of float32 numbers overflows, cut off at the end.
void min_mean_max_again(const Means& m, const Rows& r, Places at, float* out, double* scratch) {
  double *low = scratch, *high = low + m.dim, *sum = high + m.dim;
  summarise(m, r, scratch);
  for (size_t j = 0; j < m.dim; ++j) {
    if (at.low >= 0) put(m, out, at.low * m.dim + j, cut_off(low[j]));
    if (at.high >= 0) put(m, out, at.high * m.dim + j, cut_off(high[j]));
    if (at.mean >= 0)
      put(m, out, at.mean * m.dim + j, cut_off(sum[j] / static_cast<double>(r.count)));
  }
}

// CUBE ROOT. A first guess by dividing the exponent bits by 3, good to 4 %, then three steps of
// Halley's method, each of which triples the digits. Exact to the last bit or two of a double
// within float's range of exponents, which the caller looks after.
inline double fast_cbrt(double a) {
  const auto single = static_cast<float>(a);
  uint32_t bits;
  memcpy(&bits, &single, 4);
  bits = bits / 3 + 709921077u;
  float guess;
  memcpy(&guess, &bits, 4);
  double x = guess;
  for (int step = 0; step < 3; ++step) {
    const double cube = x * x * x;
    x *= (cube + a + a) / (cube + cube + a);
  }
  return x;
}

// |mean|^(1/p) for every column, in place, keeping the mean's sign.
void roots(double* mean, size_t dim, int p) {
  if (p == 2) {
    for (size_t j = 0; j < dim; ++j) mean[j] = sqrt(mean[j]);
    return;
  }
  if (p == 3) {
    bool ordinary = true;
    for (size_t j = 0; j < dim; ++j) {
      const double a = fabs(mean[j]);
      ordinary &= a > 1e-30 && a < 1e30;
    }
    if (ordinary)
      for (size_t j = 0; j < dim; ++j) mean[j] = copysign(fast_cbrt(fabs(mean[j])), mean[j]);
    else
      for (size_t j = 0; j < dim; ++j) mean[j] = cbrt(mean[j]);
    return;
  }
  for (size_t j = 0; j < dim; ++j) mean[j] = copysign(pow(fabs(mean[j]), 1.0 / p), mean[j]);
}

template <int p>
void add_whole_power(const float* row, size_t dim, double* sum) {
  for (size_t j = 0; j < dim; ++j) {
    const double x = row[j];
    double power = x;
    for (int k = 1; k < p; ++k) power *= x;
    sum[j] += power;
  }
}

// Powers 2 to 8 by multiplication. In float64, where no float32 overflows. Returns whether the means
// of the powers are finite.
bool whole_power(const Means& m, const Rows& r, int p, size_t column, float* out, double* scratch) {
  double* sum = scratch;
  float* row = reinterpret_cast<float*>(scratch + m.dim);
  for (size_t j = 0; j < m.dim; ++j) sum[j] = 0;
  for (size_t i = 0; i < r.count; ++i) {
    decode_row(r, i, m.dim, row);
    switch (p) {
      case 2: add_whole_power<2>(row, m.dim, sum); break;
      case 3: add_whole_power<3>(row, m.dim, sum); break;
      case 4: add_whole_power<4>(row, m.dim, sum); break;
      case 5: add_whole_power<5>(row, m.dim, sum); break;
      case 6: add_whole_power<6>(row, m.dim, sum); break;
      case 7: add_whole_power<7>(row, m.dim, sum); break;
      default: add_whole_power<8>(row, m.dim, sum);
    }
  }
  double doubt = 0;  // a number minus itself is 0, unless it is NaN or infinity
  for (size_t j = 0; j < m.dim; ++j) {
    sum[j] /= static_cast<double>(r.count);
    doubt += sum[j] - sum[j];
  }
  roots(sum, m.dim, p);
  // ROOT. The principal p-th root of a negative number m has the real part |m|^(1/p) cos(pi/p).
  const double turn = m.principal ? -cos(pi / p) : 1.0;
  for (size_t j = 0; j < m.dim; ++j)
    put(m, out, column + j, static_cast<float>(sum[j] < 0 ? sum[j] * turn : sum[j]));
  return doubt == 0;
}

// Real part of the power mean whose non-negative values give `positive` and whose negative ones
// give `negative`, both means of |x|^p.
double any_root(double positive, double negative, double p, bool even, bool principal) {
  if (!principal) {
    const double mean = even ? positive + negative : positive - negative;
    return mean == 0 ? 0 : copysign(pow(fabs(mean), 1 / p), mean);
  }
  const bool whole = p == floor(p);
  const double re = positive + negative * (whole ? (even ? 1.0 : -1.0) : cos(pi * p));
  const double im = whole ? 0.0 : negative * sin(pi * p);
  const double size = hypot(re, im);
  return size == 0 ? 0 : pow(size, 1 / p) * cos(atan2(im, re) / p);
}

// Every other power. Scaled by the largest magnitude of a column (the smallest, for p <= 0), so
// that no p overflows; a zero makes the mean 0 for p <= 0, its limit. Returns whether all rows are
// finite.
bool any_power(const Means& m, const Rows& r, double p, size_t column, float* out, double* scratch) {
  double *scale = scratch, *positive = scale + m.dim, *negative = positive + m.dim;
  float* row = reinterpret_cast<float*>(negative + m.dim);
  for (size_t i = 0; i < r.count; ++i) {
    decode_row(r, i, m.dim, row);
    if (!finite(row, m.dim)) return false;
    for (size_t j = 0; j < m.dim; ++j) {
      const double x = fabs(static_cast<double>(row[j]));
      if (i == 0) scale[j] = x, positive[j] = negative[j] = 0;
      if (p > 0 ? x > scale[j] : x < scale[j]) scale[j] = x;
    }
  }
  for (size_t i = 0; i < r.count; ++i) {
    decode_row(r, i, m.dim, row);
    for (size_t j = 0; j < m.dim; ++j) {
      if (row[j] == 0 || scale[j] == 0) continue;
      const double x = fabs(static_cast<double>(row[j])) / scale[j];
      if (p == 0) {
        positive[j] += log(x);
        negative[j] += row[j] < 0;
      } else {
        (row[j] < 0 ? negative : positive)[j] += pow(x, p);
      }
    }
  }
  const auto n = static_cast<double>(r.count);
  const bool even = fmod(p, 2) == 0;
  for (size_t j = 0; j < m.dim; ++j) {
    double mean = 0;
    if (scale[j] == 0) {
      mean = 0;
    } else if (p == 0) {
      const double share = negative[j] / n;
      const double sign = m.principal ? cos(pi * share) : (share == 0) - (share == 1);
      mean = sign * exp(positive[j] / n) * scale[j];
    } else {
      mean = any_root(positive[j] / n, negative[j] / n, p, even, m.principal) * scale[j];
    }
    put(m, out, column + j, cut_off(mean));
  }
  return true;
}

// Shifted means in float32. Returns whether everything is finite.
template <class T>
bool shifted(const Means& m, const Rows& r, float* out, double* scratch) {
  float* known = reinterpret_cast<float*>(scratch);  // min, mean and max
  const Means plain{m.dim, nullptr, 0, false, nullptr, nullptr, nullptr, nullptr};
  return min_mean_max<T>(plain, r, {0, 1, 2}, known) && shifted_means<T>(m, r, known, out);
}

// Calls work(T) with the type of the rows.
template <class Work>
bool typed(Type type, const Work& work) {
  switch (type) {
    case Type::float16: return work(Half());
    case Type::int8: return work(int8_t());
    case Type::int4: return work(Pair());
    default: return work(float());
  }
}

bool reduce(const Means& m, const Rows& r, float* out, double* scratch) {
  Places at{-1, -1, -1};
  bool sure = true;  // that all rows are finite
  if (m.exponents) {
    sure = typed(r.type, [&](auto t) { return shifted<decltype(t)>(m, r, out, scratch); });
    if (!sure) shifted_again(m, r, out, scratch);
  }
  for (size_t k = 0; k < m.n_powers && !m.exponents; ++k) {
    const double p = m.powers[k];
    const auto place = static_cast<long>(k);
    if (p == 1)
      at.mean = place;
    else if (p == INFINITY)
      at.high = place;
    else if (p == -INFINITY)
      at.low = place;
    else if (p >= 2 && p <= 8 && p == floor(p))
      sure &= whole_power(m, r, static_cast<int>(p), k * m.dim, out, scratch);
    else
      sure &= any_power(m, r, p, k * m.dim, out, scratch);
  }
  if (at.low >= 0 || at.mean >= 0 || at.high >= 0) {
    const bool exact =
        typed(r.type, [&](auto t) { return min_mean_max<decltype(t)>(m, r, at, out); });
    if (!exact) min_mean_max_again(m, r, at, out, scratch);
    sure &= exact;
  }
  float* row = reinterpret_cast<float*>(scratch);
  for (size_t i = 0; i < r.count && !sure; ++i) {
    decode_row(r, i, m.dim, row);
    if (!finite(row, m.dim)) return false;
  }
  return true;
}

}  // namespace

#define PMEANS_JOIN(a, b) a##b
#define PMEANS_KERNEL(isa) PMEANS_JOIN(kernel_, isa)
#define PMEANS_TEXT(x) #x
#define PMEANS_NAME(isa) PMEANS_TEXT(isa)
extern const Kernel PMEANS_KERNEL(PMEANS_ISA) = {"native " PMEANS_NAME(PMEANS_ISA), reduce,
                                                 decode_row};

}  // namespace pmeans
