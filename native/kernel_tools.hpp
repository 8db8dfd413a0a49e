// Loops over blocks of a size that the compiler knows. Without a name outside of the file that
// includes it, for the reason given in power_mean.cpp.
#pragma once
#include <stddef.h>

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

}  // namespace
}  // namespace pmeans
