// What the kernels share. Everything is without a name outside of the file that includes it, for the
// reason given in power_mean.cpp.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace pmeans {

// Row i is at data + i * stride.
template <class T>
struct Strided {
  T* data;
  int64_t stride;
};

namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

// What float32 cannot hold is cut off at its largest number.
inline float cut_off(double x) {
  constexpr double largest = 3.4028234663852886e38;
  return static_cast<float>(x > largest ? largest : x < -largest ? -largest : x);
}

template <class T>
inline Strided<T> from_row(Strided<T> rows, size_t i) {
  return {rows.data + static_cast<int64_t>(i) * rows.stride, rows.stride};
}

template <int n>
struct Count {
  static constexpr int value = n;
};

// Calls work(start, Count<n>) for 0 <= start < size in blocks of n = `block` and, at the end, fewer.
template <int block, class Work>
inline void in_blocks(size_t size, const Work& work, size_t start = 0) {
  for (; start + block <= size; start += block) work(start, Count<block>());
  if constexpr (block > 1) in_blocks<block - 1>(size, work, start);
}

// Whether none of n floating-point numbers is NaN or infinity, whose exponents have all bits set.
template <class Bits, Bits exponent>
inline bool finite_bits(const void* numbers, size_t n) {
  Bits bad = 0;
  for (size_t i = 0; i < n; ++i) {
    Bits bits;
    memcpy(&bits, static_cast<const char*>(numbers) + i * sizeof bits, sizeof bits);
    bad |= (bits & exponent) == exponent;
  }
  return !bad;
}
inline bool finite(const float* x, size_t n) { return finite_bits<uint32_t, 0x7F800000u>(x, n); }
inline bool finite_halves(const void* x, size_t n) { return finite_bits<uint16_t, 0x7C00u>(x, n); }

}  // namespace
}  // namespace pmeans
