// Compiled once for each instruction set, under the name PMEANS_ISA. Only raw pointers and
// functions of this file, for the reason given in power_mean.cpp.
#include "skipgram.hpp"

#include <string.h>

#include "kernel_tools.hpp"

// Vectors are passed within this file only, so that no caller can have another idea of them.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace pmeans {
namespace {

// As wide on every instruction set, so that every one has the same partial sums.
constexpr size_t lanes = 8;
typedef float Vector __attribute__((vector_size(lanes * 4)));
typedef float Quad __attribute__((vector_size(16)));

inline Vector load(const float* p) {
  Vector v;
  memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Vector v) { memcpy(p, &v, sizeof v); }

inline Quad halved(Vector v) {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
}

// The sums over each of four vectors: (0 + 4 + 2 + 6) + (1 + 5 + 3 + 7), in pairs.
inline Quad totals(const Vector* v) {
  const Quad a = halved(v[0]), b = halved(v[1]), c = halved(v[2]), d = halved(v[3]);
  const Quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Quad cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

template <int R, int C>
inline void dots(float* const* in, float* const* out, size_t width, float* logits, size_t stride) {
  Vector sum[R][4] = {};
  for (size_t j = 0; j < width; j += lanes) {
    Vector y[C];
    for (int c = 0; c < C; ++c) y[c] = load(out[c] + j);
    for (int r = 0; r < R; ++r) {
      const Vector x = load(in[r] + j);
      for (int c = 0; c < C; ++c) sum[r][c] += x * y[c];
    }
  }
  for (int r = 0; r < R; ++r) {
    const Quad four = totals(sum[r]);
    memcpy(logits + r * stride, &four, C * sizeof(float));
  }
}

// SIGMOID. 1/2 + tanh(x/2)/2, with Lambert's continued fraction for tanh to x^7, which reaches 1
// at 4.97 and is cut there: the sigmoid is within 5e-5.
inline Vector sigmoid(Vector x) {
  const Vector end = Vector{} + 4.97f;
  Vector t = x * 0.5f;
  t = t < end ? t : end;
  t = t > -end ? t : -end;
  const Vector s = t * t;
  const Vector above = t * (((s + 378.0f) * s + 17325.0f) * s + 135135.0f);
  const Vector below = ((s * 28.0f + 3150.0f) * s + 62370.0f) * s + 135135.0f;
  return 0.5f + 0.5f * (above / below);
}

constexpr int chunk = 2;  // vectors of a row that are worked on together

// sum[n] = over m of weights[n * of_n + m * of_m] * rows[m][j:j + chunk * lanes].
template <int N>
inline void weighted(float* const* rows, size_t n_rows, size_t j, const float* weights, size_t of_n,
                     size_t of_m, Vector (*sum)[chunk]) {
  Vector s[N][chunk] = {};
  for (size_t m = 0; m < n_rows; ++m) {
    Vector x[chunk];
    for (int k = 0; k < chunk; ++k) x[k] = load(rows[m] + j + k * lanes);
    for (int n = 0; n < N; ++n) {
      const float w = weights[n * of_n + m * of_m];
      for (int k = 0; k < chunk; ++k) s[n][k] += x[k] * w;
    }
  }
  memcpy(sum, s, sizeof s);
}

inline void add(float* row, const Vector* sum) {
  for (int k = 0; k < chunk; ++k) store(row + k * lanes, load(row + k * lanes) + sum[k]);
}

void step(float* const* in, size_t n_in, float* const* out, size_t n_out, size_t width, float rate,
          float* scratch) {
  static_assert(chunk * lanes == skipgram_block);
  const size_t stride = (n_out + 3) / 4 * 4;
  float* const errors = scratch + n_in * skipgram_block;  // (n_in, stride)
  for (size_t i = n_out; i < stride; ++i)
    for (size_t b = 0; b < n_in; ++b) errors[b * stride + i] = 0;
  in_blocks<2>(n_in, [&](size_t b, auto rows) {
    in_blocks<4>(n_out, [&](size_t c, auto columns) {
      dots<decltype(rows)::value, decltype(columns)::value>(in + b, out + c, width,
                                                            errors + b * stride + c, stride);
    });
  });
  const size_t n_errors = n_in * stride;
  for (size_t i = n_errors; i < n_errors + 4; ++i) errors[i] = 0;  // the end of the last vector
  for (size_t i = 0; i < n_errors; i += lanes) store(errors + i, sigmoid(load(errors + i)) * -rate);
  for (size_t b = 0; b < n_in; ++b) errors[b * stride] += rate;
  // Both sides move by what the other was before. Columns do not meet, so a few at a time do.
  Vector sum[4][chunk];
  for (size_t j = 0; j < width; j += skipgram_block) {
    in_blocks<4>(n_in, [&](size_t b, auto n) {
      constexpr int rows = decltype(n)::value;
      weighted<rows>(out, n_out, j, errors + b * stride, stride, 1, sum);
      memcpy(scratch + b * skipgram_block, sum, rows * sizeof sum[0]);
    });
    in_blocks<4>(n_out, [&](size_t c, auto n) {
      constexpr int rows = decltype(n)::value;
      weighted<rows>(in, n_in, j, errors + c, 1, stride, sum);
      for (int i = 0; i < rows; ++i) add(out[c + i] + j, sum[i]);
    });
    for (size_t b = 0; b < n_in; ++b) {
      memcpy(sum, scratch + b * skipgram_block, sizeof sum[0]);
      add(in[b] + j, sum[0]);
    }
  }
}

void compose(const float* matrix, const int32_t* rows, size_t n, size_t width, float* mean) {
  const float share = 1.0f / static_cast<float>(n);
  for (size_t j = 0; j < width; j += lanes) {
    Vector sum = {};
    for (size_t i = 0; i < n; ++i) sum += load(matrix + static_cast<size_t>(rows[i]) * width + j);
    store(mean + j, sum * share);
  }
}

void spread(float* matrix, const int32_t* rows, size_t n, size_t width, const float* now,
            const float* before) {
  for (size_t i = 0; i < n; ++i) {
    float* const row = matrix + static_cast<size_t>(rows[i]) * width;
    for (size_t j = 0; j < width; j += lanes)
      store(row + j, load(row + j) + (load(now + j) - load(before + j)));
  }
}

}  // namespace

#define PMEANS_JOIN(a, b) a##b
#define PMEANS_SKIPGRAM(isa) PMEANS_JOIN(skipgram_, isa)
extern const SkipGram PMEANS_SKIPGRAM(PMEANS_ISA) = {step, compose, spread};

}  // namespace pmeans
