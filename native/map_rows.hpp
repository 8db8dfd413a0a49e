// Rows times a matrix: the map that brings sentence vectors of a language into the shared space.
//
// SUM. The bits of a sum depend on its order, and a BLAS library chooses one by the shape of the
// product, the processor and its own version. Here neither batch nor threads nor instruction set
// changes a bit. Of a float32 matrix, a number of the result is ((x0 w0 + x1 w1) + x2 w2) + …,
// rounded to float32 after every operation: vectors and blocks lie along rows and columns, never
// along the sum. Of a matrix of codes it is a sum of whole numbers, which has one value in any
// order. `map_row` and `map_coded_row` in `kernels/reference.py` are the same in plain NumPy, to the
// bit.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernel_tools.hpp"

namespace pmeans {

struct LinearMap {
  const float* matrix;  // (n_in, n_out)
  size_t n_in, n_out;

  static constexpr size_t narrowest = 16;  // columns that a kernel takes
};

// See CodedMatrix in `kernels/coded.py`.
struct CodedMap {
  const int16_t* tiles;  // (n_tiles, n_pairs, tile, 2)
  const float* scale;    // of each row, at most 1
  double size;           // of all
  size_t n_in, n_out, n_pairs, n_tiles;

  static constexpr size_t tile = 16;
};

// One instruction set's version.
struct MapRows {
  // Multiplies n rows. What float32 cannot hold is cut off at its largest number. Returns n, or the
  // first row where NaN or infinity came in.
  size_t (*multiply)(const LinearMap&, Strided<const float> rows, size_t n, Strided<float> out);
  // Rounds a row, its numbers multiplied by the scales, to 2 * n_pairs whole numbers. Returns what
  // they are to be multiplied by, or -1 if the row has NaN or infinity.
  double (*round)(const CodedMap&, const float* row, int16_t* whole);
  // Multiplies n rounded rows, as above.
  void (*multiply_whole)(const CodedMap&, const int16_t* whole, const double* steps, size_t n,
                         Strided<float> out);
};

extern const MapRows map_rows_baseline, map_rows_avx2, map_rows_avx512;

}  // namespace pmeans
