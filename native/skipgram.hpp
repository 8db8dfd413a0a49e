// One centre word of skip-gram with negative sampling: a small block of rows times a small block.
//
// `kernels/skipgram.py` is the same mathematics in plain NumPy. A sum over dimensions is taken in
// 8 partial sums and a sum over words in their order: the bits are the same on every instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pmeans {

constexpr size_t skipgram_block = 16;  // a row's numbers are a multiple of it; the last may be zeros

struct SkipGram {
  // Moves the words `in` of a window towards the centre word, out[0], and away from the others.
  // A row may occur more than once. `width` numbers a row. The scratch has n_in * (n_out + 19) + 8
  // numbers.
  void (*step)(float* const* in, size_t n_in, float* const* out, size_t n_out, size_t width,
               float rate, float* scratch);
  // mean[0:width] of some rows of a matrix.
  void (*compose)(const float* matrix, const int32_t* rows, size_t n, size_t width, float* mean);
  // Adds now - before to some rows of a matrix.
  void (*spread)(float* matrix, const int32_t* rows, size_t n, size_t width, const float* now,
                 const float* before);
};

extern const SkipGram skipgram_baseline, skipgram_avx2, skipgram_avx512;

}  // namespace pmeans
