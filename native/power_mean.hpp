// Power means of the rows of one sentence, for any list of powers.
//
// `kernels/reference.py` is the same mathematics in plain NumPy. What is computed for a sentence
// depends on that sentence alone, and every operation is the same on every instruction set, so
// min, mean, max and shifted means have the same bits everywhere.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pmeans {

enum class Type { float32, float16, int8, int4 };

// What to compute; the same for all sentences of a call.
struct Means {
  size_t dim;
  const double* powers;
  size_t n_powers;
  bool principal;
  const float* exponents;  // if means are shifted: a power for each column, (n_powers, dim); or null
  const int8_t* squarings;  // how often to square, (n_powers,); -1: not all are ±2^k or ±inf
  const float* shift;   // subtracted from each column, then `factor` multiplies it; or null
  const float* factor;
};

// The word vectors of one sentence, each in its own place.
struct Rows {
  Type type;
  const void* const* row;
  const float* scale;  // what each int8 or int4 row is multiplied by
  size_t count;        // at least 1
  const void* const* next;  // the rows of the next sentence
  size_t next_count;
};

// One instruction set's version. `scratch` has room for 4 * dim doubles. `reduce` returns false if a
// row has NaN or infinity.
struct Kernel {
  const char* name;
  bool (*reduce)(const Means&, const Rows&, float* out, double* scratch);
  void (*decode)(const Rows&, size_t i, size_t dim, float* out);
};

extern const Kernel kernel_baseline, kernel_avx2, kernel_avx512;

}  // namespace pmeans
