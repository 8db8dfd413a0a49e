// Word vectors of any format in, columns out, some at a time. Everything is without a name outside of the file
// that includes it, for the reason given in power_mean.cpp.
#pragma once
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernel_tools.hpp"
#include "power_mean.hpp"

namespace pmeans {
namespace {

constexpr int lanes = vector_bytes / 4;
constexpr int wide = 64 / vector_bytes;  // vectors a pass: a cache line of each row

typedef float Vector __attribute__((vector_size(vector_bytes)));
typedef int32_t Whole __attribute__((vector_size(vector_bytes)));
struct Half { uint16_t bits; };
struct Pair { uint8_t bits; };  // two columns of int4: the first in the lower four bits

// Where column j of a row is. That of int4 is even.
template <class T>
inline const T* column(const void* row, size_t j) { return static_cast<const T*>(row) + j; }
template <>
inline const Pair* column<Pair>(const void* row, size_t j) { return static_cast<const Pair*>(row) + j / 2; }

inline float to_float(Half h) {
  // Shift exponent and mantissa into place and rescale: exact for normal and denormal numbers.
  uint32_t bits = (h.bits & 0x7FFFu) << 13;
  if (bits >= 0x0F800000u) bits |= 0x70000000u;  // infinity or NaN
  float x = __builtin_bit_cast(float, bits);
  if (bits < 0x0F800000u) x *= 0x1p112f;
  return h.bits & 0x8000u ? -x : x;
}

inline Vector load(const float* p, float) {
  Vector v;
  memcpy(&v, p, sizeof v);
  return v;
}
inline Vector load(const int8_t* p, float scale) {
  // GCC takes the bytes of a vector one by one, which is four times slower than the instruction.
#if defined(__AVX512F__)
  const Whole codes = reinterpret_cast<Whole>(_mm512_maskz_cvtepi8_epi32(0xFFFF, _mm_loadu_si128((const __m128i*)p)));
#elif defined(__AVX2__)
  const Whole codes = reinterpret_cast<Whole>(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p)));
#else
  typedef int8_t Bytes __attribute__((vector_size(lanes)));
  Bytes b;
  memcpy(&b, p, sizeof b);
  const Whole codes = __builtin_convertvector(b, Whole);
#endif
  return __builtin_convertvector(codes, Vector) * scale;
}
inline Vector load(const Half* p, float) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_maskz_cvtph_ps(0xFFFF, _mm256_loadu_si256((const __m256i*)p)));
#elif defined(__F16C__)
  return reinterpret_cast<Vector>(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)));
#else
  Vector v;
  for (int k = 0; k < lanes; ++k) v[k] = to_float(p[k]);
  return v;
#endif
}
// Each lane shifts its own four bits to the top, and down again, which extends their sign.
inline Vector load(const Pair* p, float scale) {
#if defined(__AVX512F__)
  int32_t eight[2];
  memcpy(eight, p, sizeof eight);
  const Whole all = {eight[0], eight[0], eight[0], eight[0], eight[0], eight[0], eight[0], eight[0],
                     eight[1], eight[1], eight[1], eight[1], eight[1], eight[1], eight[1], eight[1]};
  constexpr Whole up = {28, 24, 20, 16, 12, 8, 4, 0, 28, 24, 20, 16, 12, 8, 4, 0};
  const Whole top = all << up;
#elif defined(__AVX2__)
  int32_t eight;
  memcpy(&eight, p, sizeof eight);
  constexpr Whole up = {28, 24, 20, 16, 12, 8, 4, 0};
  const Whole top = (Whole{} + eight) << up;
#else
  // SSE2 has one shift for all lanes. The upper half of a lane times a power of two is a shift, too.
  typedef uint16_t Shorts __attribute__((vector_size(vector_bytes)));
  uint16_t four;
  memcpy(&four, p, sizeof four);
  constexpr Shorts up = {0, 1 << 12, 0, 1 << 8, 0, 1 << 4, 0, 1};
  const Whole top = reinterpret_cast<Whole>((Shorts{} + four) * up);
#endif
  return __builtin_convertvector(top >> 28, Vector) * scale;
}

// How many columns of a vector there are: all, or fewer in a space that is narrower than a vector.
struct All {};
struct Few { size_t n; };

template <class T>
inline Vector load(const T* p, float scale, All) { return load(p, scale); }
template <class T>
inline Vector load(const T* p, float scale, Few few) {
  T some[lanes] = {};
  memcpy(some, p, few.n * sizeof(T));
  return load(some, scale);
}
inline Vector load(const Pair* p, float scale, Few few) {
  Pair some[lanes / 2] = {};
  memcpy(some, p, few.n / 2);
  return load(some, scale);
}
inline void store(float* p, const Vector& x, All) { memcpy(p, &x, sizeof x); }
inline void store(float* p, const Vector& x, Few few) { memcpy(p, &x, few.n * sizeof(float)); }

template <class T>
void decode(const void* row, float scale, size_t dim, float* out) {
  size_t j = 0;
  for (; j + lanes <= dim; j += lanes) store(out + j, load(column<T>(row, j), scale), All());
  const Few rest{dim - j};
  if (rest.n) store(out + j, load(column<T>(row, j), scale, rest), rest);
}

inline void decode_row(const Rows& r, size_t i, size_t dim, float* out) {
  switch (r.type) {
    case Type::float32: return decode<float>(r.row[i], 0, dim, out);
    case Type::float16: return decode<Half>(r.row[i], 0, dim, out);
    case Type::int8: return decode<int8_t>(r.row[i], r.scale[i], dim, out);
    case Type::int4: return decode<Pair>(r.row[i], r.scale[i], dim, out);
  }
}

constexpr size_t run_length = 64;  // float32 additions in a row, before the sum starts anew

// Calls word(x) with N vectors of columns from j on of every word, and run() after each run of
// words.
template <class T, int N, class Amount, class Word, class Run>
inline void each_word(const Rows& r, size_t j, Amount amount, const Word& word, const Run& run) {
  for (size_t start = 0; start < r.count; start += run_length) {
    const size_t end = start + run_length < r.count ? start + run_length : r.count;
    for (size_t i = start; i < end; ++i) {
      const float scale = sizeof(T) == 1 ? r.scale[i] : 0.0f;
      Vector x[N];
      for (int k = 0; k < N; ++k) x[k] = load(column<T>(r.row[i], j + k * lanes), scale, amount);
      word(x);
    }
    run();
  }
}

// Calls work(j, Count<N>, amount) for N vectors of columns from j on, and then for single vectors.
template <int N, class Work>
inline void each_column(size_t dim, const Work& work) {
  if (dim < lanes) return work(0, Count<1>(), Few{dim});
  size_t j = 0;
  for (; j + N * lanes <= dim; j += N * lanes) work(j, Count<N>(), All());
  for (; j + lanes <= dim; j += lanes) work(j, Count<1>(), All());
  // The last vector reaches back over columns that are done: they get the same values again.
  if (j < dim) work(dim - lanes, Count<1>(), All());
}

// Puts a finished number into its column, z-normed if need be.
inline void put(const Means& m, float* out, size_t column, float x) {
  if (m.shift) x = (x - m.shift[column]) * m.factor[column];
  out[column] = cut_off(static_cast<double>(x));
}
// The same for a vector. `doubt` stays zero as long as everything that is put is finite.
template <class Amount>
inline void put(const Means& m, float* out, size_t column, Amount amount, Vector x, Vector& doubt) {
  if (m.shift) x = (x - load(m.shift + column, 0, amount)) * load(m.factor + column, 0, amount);
  store(out + column, x, amount);
  doubt += x - x;
}

// Whether there is no doubt.
inline bool none(Vector doubt) {
  bool all = true;
  for (int k = 0; k < lanes; ++k) all &= doubt[k] == 0;
  return all;
}

}  // namespace
}  // namespace pmeans
