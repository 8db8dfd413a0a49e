// What the kernels share. Everything is without a name outside of the file that includes it, for the
// reason given in power_mean.cpp.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace pmeans {
namespace {

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
