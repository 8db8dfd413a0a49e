// Word vectors of any format in, columns out, some at a time. Everything is without a name outside of the file
// that includes it, for the reason given in power_mean.cpp.
#pragma once
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernel_tools.hpp"
#include "power_mean.hpp"

namespace pmeans {
namespace {

constexpr int lanes = vector_bytes / 4;
constexpr int wide = 64 / vector_bytes;  // vectors a pass: a cache line of each row

typedef float Vector __attribute__((vector_size(vector_bytes)));
typedef int8_t Bytes __attribute__((vector_size(lanes)));
struct Half { uint16_t bits; };

inline float to_float(float x, float) { return x; }
inline float to_float(int8_t x, float scale) { return static_cast<float>(x) * scale; }
inline float to_float(Half h, float) {
  // Shift exponent and mantissa into place and rescale: exact for normal and denormal numbers.
  uint32_t bits = (h.bits & 0x7FFFu) << 13;
  if (bits >= 0x0F800000u) bits |= 0x70000000u;  // infinity or NaN
  float x;
  memcpy(&x, &bits, 4);
  if (bits < 0x0F800000u) x *= 0x1p112f;
  return h.bits & 0x8000u ? -x : x;
}

inline Vector load(const float* p, float) {
  Vector v;
  memcpy(&v, p, sizeof v);
  return v;
}
inline Vector load(const int8_t* p, float scale) {
  Bytes b;
  memcpy(&b, p, sizeof b);
  return __builtin_convertvector(b, Vector) * scale;
}
inline Vector load(const Half* p, float) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_maskz_cvtph_ps(0xFFFF, _mm256_loadu_si256((const __m256i*)p)));
#elif defined(__F16C__)
  return reinterpret_cast<Vector>(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)));
#else
  Vector v;
  for (int k = 0; k < lanes; ++k) v[k] = to_float(p[k], 0);
  return v;
#endif
}

// The first n columns; the others are 0.
template <class T>
inline Vector load(const T* p, float scale, size_t n) {
  T some[lanes] = {};
  memcpy(some, p, n * sizeof(T));
  return load(some, scale);
}

template <class T>
void decode(const void* row, float scale, size_t dim, float* out) {
  const T* p = static_cast<const T*>(row);
  size_t j = 0;
  for (; j + lanes <= dim; j += lanes) {
    const Vector v = load(p + j, scale);
    memcpy(out + j, &v, sizeof v);
  }
  for (; j < dim; ++j) out[j] = to_float(p[j], scale);
}

inline void decode_row(const Rows& r, size_t i, size_t dim, float* out) {
  switch (r.type) {
    case Type::float32: return decode<float>(r.row[i], 0, dim, out);
    case Type::float16: return decode<Half>(r.row[i], 0, dim, out);
    case Type::int8: return decode<int8_t>(r.row[i], r.scale[i], dim, out);
  }
}

// Puts a finished number into its column, z-normed if need be.
inline void put(const Means& m, float* out, size_t column, float x) {
  if (m.shift) x = (x - m.shift[column]) * m.factor[column];
  out[column] = cut_off(static_cast<double>(x));
}
// `doubt` stays zero as long as everything that is put is finite.
inline void put(const Means& m, float* out, size_t column, Vector x, Vector& doubt) {
  if (m.shift) x = (x - load(m.shift + column, 0)) * load(m.factor + column, 0);
  memcpy(out + column, &x, sizeof x);
  doubt += x - x;
}

}  // namespace
}  // namespace pmeans
