// Compiled once for each instruction set, under the name PMEANS_ISA. Only raw pointers and
// functions of this file, for the reason given in power_mean.cpp.
#include "softmax.hpp"

#include <math.h>
#include <string.h>

#include "kernel_tools.hpp"

namespace pmeans {
namespace {

// How many rows and columns share their loads: as many as the registers can hold sums of.
#if defined(__AVX512F__)
constexpr int row_block = 4, column_block = 4;
#elif defined(__AVX2__)
constexpr int row_block = 3, column_block = 2;
#else
constexpr int row_block = 1, column_block = 2;
#endif
constexpr int lanes = vector_bytes / 4;
constexpr int parts = sums / lanes;  // vectors that 16 numbers take
constexpr int wide = 4;              // vectors of dimensions in a block of the gradient
// FETCHING. Rows come from all over a matrix, and waiting for them would take longer than the
// arithmetic: the row after so many others is fetched into the second-level cache meanwhile.
constexpr size_t distance = 8;

typedef float Vector __attribute__((vector_size(vector_bytes)));
typedef int32_t Integers __attribute__((vector_size(vector_bytes)));

inline Vector load(const float* p) {
  Vector v;
  memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Vector v) { memcpy(p, &v, sizeof v); }

// The tree is the same for every width.
inline float total(const Vector* sum) {
  float s[sums];
  memcpy(s, sum, sizeof s);
  for (size_t half = sums / 2; half; half /= 2)
    for (size_t l = 0; l < half; ++l) s[l] += s[l + half];
  return s[0];
}

template <int R, int C>
inline void dots(const Minibatch& b, size_t row, const Column* columns, float* logits, size_t stride) {
  Vector sum[R][C][parts] = {};
  auto add = [&](const float* const* rows, size_t from, size_t j) {
    for (int part = 0; part < parts; ++part) {
      Vector w[C];
      for (int c = 0; c < C; ++c) w[c] = load(columns[c].logit + j + part * lanes);
      for (int r = 0; r < R; ++r) {
        const Vector x = load(rows[r] + from + part * lanes);
        for (int c = 0; c < C; ++c) sum[r][c][part] += x * w[c];
      }
    }
  };
  const float *rows[R], *soon[R];
  for (int r = 0; r < R; ++r) {
    rows[r] = b.row[row + r];
    soon[r] = b.row[row + r + distance < b.known ? row + r + distance : row + r];
  }
  for (size_t j = 0; j < b.whole; j += sums) {
    for (int r = 0; r < R; ++r) __builtin_prefetch(soon[r] + j, 0, 2);
    add(rows, j, j);
  }
  add(b.tail + row, 0, b.whole);
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) logits[c * stride + row + r] = total(sum[r][c]);
}

void forward(const Minibatch& b, const Column* columns, size_t n_columns, float* logits, size_t stride) {
  in_blocks<row_block>(b.count, [&](size_t row, auto rows) {
    in_blocks<column_block>(n_columns, [&](size_t c, auto n) {
      dots<decltype(rows)::value, decltype(n)::value>(b, row, columns + c, logits + c * stride, stride);
    });
  });
}

// exp(x) for x <= 0, by a Taylor polynomial within half a factor of 2; 0 where float32 nears its end.
inline Vector exp_of(Vector x) {
  const float shift = 0x1.8p23f;  // adding it rounds to a whole number
  const Vector n = (x * 1.44269504f + shift) - shift;
  const Vector r = (x - n * 0.693359375f) - n * -2.12194440e-4f;  // log(2) in two pieces
  Vector y = r * (1 / 5040.0f) + 1 / 720.0f;
  y = y * r + 1 / 120.0f;
  y = y * r + 1 / 24.0f;
  y = y * r + 1 / 6.0f;
  y = y * r + 0.5f;
  y = y * r + 1;
  y = y * r + 1;
  const Integers bits = (__builtin_convertvector(n, Integers) + 127) << 23;
  Vector power;
  memcpy(&power, &bits, sizeof power);
  return x < -87.0f ? Vector{} : y * power;
}

inline Integers labels_from(const Minibatch& b, size_t row) {
  Integers y;
  memcpy(&y, b.labels + row, sizeof y);
  return y;
}

void errors(const Minibatch& b, size_t n_columns, float divisor, float* logits, size_t stride) {
  for (size_t row = 0; row < b.count; row += lanes) {
    const Integers y = labels_from(b, row);
    float* const z = logits + row;
    if (n_columns == 1) {
      const Vector d = load(z), small = exp_of(d < 0 ? d : -d);
      const Vector second = (d < 0 ? small : Vector{} + 1) / (1 + small);
      const Vector first = (d < 0 ? Vector{} + 1 : small) / (1 + small);
      // The probability of the wrong class, which is exact where the right one's rounds to 1.
      store(z, (y == 1 ? -first : second) / divisor);
      continue;
    }
    Vector largest = load(z), sum = {};
    for (size_t c = 1; c < n_columns; ++c) {
      const Vector other = load(z + c * stride);
      largest = other > largest ? other : largest;
    }
    for (size_t c = 0; c < n_columns; ++c) {
      const Vector e = exp_of(load(z + c * stride) - largest);
      store(z + c * stride, e);
      sum += e;
    }
    for (size_t c = 0; c < n_columns; ++c) {
      const Vector p = load(z + c * stride) / sum;
      store(z + c * stride, (y == static_cast<int32_t>(c) ? p - 1 : p) / divisor);
    }
  }
}

// Adam's step of `n` weights from j on.
template <int n>
inline void adam(float* state, size_t padded, size_t j, const float* gradient, float sign, const Column& a) {
  const float beta2 = 0.999, rest1 = 1 - 0.9, rest2 = 1 - 0.999;
  float *w = state + j, *mean = w + padded, *square = mean + padded;
  for (int i = 0; i < n; ++i) {
    const float g = sign * gradient[i] + a.l2 * w[i];
    const float m = mean[i] + rest1 * (g - mean[i]);
    const float v = beta2 * square[i] + rest2 * g * g;
    mean[i] = m;
    square[i] = v;
    w[i] = w[i] - a.size * m / (sqrtf(v) + a.epsilon);
  }
}

// The gradient of B vectors of dimensions for C columns, over all rows, and at once the step.
template <int B, int C>
inline void descend(const Minibatch& b, const float* const* rows, size_t from, size_t j,
                    const Column* columns, const float* errors, size_t stride) {
  Vector sum[C][B] = {};
  for (size_t r = 0; r < b.count; ++r) {
    Vector x[B];
    for (int k = 0; k < B; ++k) x[k] = load(rows[r] + from + k * lanes);
    for (int c = 0; c < C; ++c) {
      const float e = errors[c * stride + r];
      for (int k = 0; k < B; ++k) sum[c][k] += x[k] * e;
    }
  }
  constexpr int n = B * lanes;
  const size_t padded = b.whole + sums;
  for (int c = 0; c < C; ++c) {
    const Column& a = columns[c];
    float gradient[n];
    memcpy(gradient, sum[c], sizeof gradient);
    adam<n>(a.state, padded, j, gradient, 1, a);
    if (!a.first) continue;
    adam<n>(a.first, padded, j, gradient, -1, a);
    for (int i = 0; i < n; ++i) a.difference[j + i] = a.state[j + i] - a.first[j + i];
  }
}

void update(const Minibatch& b, const Column* columns, size_t n_columns, const float* errors, size_t stride) {
  auto block = [&](auto width, const float* const* rows, size_t from, size_t j) {
    in_blocks<column_block>(n_columns, [&](size_t c, auto n) {
      descend<decltype(width)::value, decltype(n)::value>(b, rows, from, j, columns + c,
                                                          errors + c * stride, stride);
    });
  };
  size_t j = 0;
  for (; j + wide * lanes <= b.whole; j += wide * lanes) block(Count<wide>(), b.row, j, j);
  for (; j < b.whole; j += sums) block(Count<parts>(), b.row, j, j);
  block(Count<parts>(), b.tail, 0, b.whole);
}

}  // namespace

#define PMEANS_JOIN(a, b) a##b
#define PMEANS_SOFTMAX(isa) PMEANS_JOIN(softmax_, isa)
extern const Softmax PMEANS_SOFTMAX(PMEANS_ISA) = {forward, errors, update};

}  // namespace pmeans
