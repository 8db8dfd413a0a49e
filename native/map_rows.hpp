// Rows times a matrix: the map that brings sentence vectors of a language into the shared space.
//
// SUM. The bits of a sum depend on its order, and a BLAS library chooses one by the shape of the
// product, the processor and its own version. Here a number of the result is ((x0 w0 + x1 w1) +
// x2 w2) + …, rounded to float32 after every operation. Vectors and blocks lie along rows and
// columns, never along the sum, so batch, threads and instruction set change no bit. `map_row` in
// `kernels/reference.py` is the same in plain NumPy, to the bit.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pmeans {

// Row i is at data + i * stride.
template <class T>
struct Strided {
  T* data;
  int64_t stride;
};

struct LinearMap {
  const float* matrix;  // (n_in, n_out)
  size_t n_in, n_out;
};

// One instruction set's version.
struct MapRows {
  // Multiplies n rows. What float32 cannot hold is cut off at its largest number. Returns n, or the
  // first row where NaN or infinity came in.
  size_t (*multiply)(const LinearMap&, Strided<const float> rows, size_t n, Strided<float> out);
};

extern const MapRows map_rows_baseline, map_rows_avx2, map_rows_avx512;

}  // namespace pmeans
