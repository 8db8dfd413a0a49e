// Compiled once for each instruction set, under the name PMEANS_ISA. Only raw pointers and
// functions of this file, for the reason given in power_mean.cpp.
#include "map_rows.hpp"

#include "kernel_tools.hpp"

namespace pmeans {
namespace {

// Rows and vectors of columns that share their loads: as many sums as the registers can hold.
#if defined(__AVX512F__)
constexpr int vector_bytes = 64, row_block = 6, column_block = 4;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32, row_block = 6, column_block = 2;
#else
constexpr int vector_bytes = 16, row_block = 6, column_block = 2;
#endif
// A single row reads the matrix once, as fast as memory allows: the wider the better.
constexpr int single_block = 8;
constexpr int lanes = vector_bytes / 4;
constexpr double largest = 3.4028234663852886e38;

typedef float Vector __attribute__((vector_size(vector_bytes)));
// The same anywhere in memory.
typedef float Loose __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
inline Vector load(const float* p, Vector) { return *reinterpret_cast<const Loose*>(p); }
inline float load(const float* p, float) { return *p; }
inline void store(float* p, Vector v) { *reinterpret_cast<Loose*>(p) = v; }
inline void store(float* p, float v) { *p = v; }

template <class T>
inline Strided<T> from_row(Strided<T> rows, size_t i) {
  return {rows.data + static_cast<int64_t>(i) * rows.stride, rows.stride};
}

// R rows times C times V columns, V being a vector or a single number.
template <class V, int R, int C>
inline void product(const LinearMap& map, Strided<const float> rows, size_t column,
                    Strided<float> out) {
  constexpr size_t width = sizeof(V) / sizeof(float);
  V sum[R][C] = {};
  const float* w = map.matrix + column;
  for (size_t k = 0; k < map.n_in; ++k, w += map.n_out) {
    V weights[C];
    for (int c = 0; c < C; ++c) weights[c] = load(w + c * width, V{});
    for (int r = 0; r < R; ++r) {
      const float x = rows.data[r * rows.stride + static_cast<int64_t>(k)];
      for (int c = 0; c < C; ++c) sum[r][c] += x * weights[c];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) store(out.data + r * out.stride + column + c * width, sum[r][c]);
}

// Rows in blocks of R, columns in blocks of C vectors. The last vector reaches back over columns
// that are done: they get the same numbers again.
template <int R, int C>
void blocks(const LinearMap& map, Strided<const float> rows, size_t n, Strided<float> out) {
  auto columns = [&](auto v, size_t first, auto count) {
    in_blocks<R>(n, [&](size_t row, auto size) {
      product<decltype(v), decltype(size)::value, decltype(count)::value>(
          map, from_row(rows, row), first, from_row(out, row));
    });
  };
  in_blocks<C>(map.n_out / lanes, [&](size_t v, auto count) { columns(Vector{}, v * lanes, count); });
  if (map.n_out < lanes)
    in_blocks<C>(map.n_out, [&](size_t column, auto count) { columns(0.0f, column, count); });
  else if (map.n_out % lanes)
    columns(Vector{}, map.n_out - lanes, Count<1>());
}

// In float64, where no sum of products of float32 numbers overflows. Returns whether it is finite.
bool multiply_again(const LinearMap& map, const float* row, float* out) {
  bool finite = true;
  for (size_t j = 0; j < map.n_out; ++j) {
    double sum = 0;
    for (size_t k = 0; k < map.n_in; ++k)
      sum += static_cast<double>(row[k]) * static_cast<double>(map.matrix[k * map.n_out + j]);
    finite &= sum - sum == 0;
    out[j] = static_cast<float>(sum > largest ? largest : sum < -largest ? -largest : sum);
  }
  return finite;
}

size_t multiply(const LinearMap& map, Strided<const float> rows, size_t n, Strided<float> out) {
  if (n == 1)
    blocks<1, single_block>(map, rows, n, out);
  else
    blocks<row_block, column_block>(map, rows, n, out);
  for (size_t i = 0; i < n; ++i) {
    float* const row = from_row(out, i).data;
    if (!finite(row, map.n_out) && !multiply_again(map, from_row(rows, i).data, row)) return i;
  }
  return n;
}

}  // namespace

#define PMEANS_JOIN(a, b) a##b
#define PMEANS_KERNEL(isa) PMEANS_JOIN(map_rows_, isa)
extern const MapRows PMEANS_KERNEL(PMEANS_ISA) = {multiply};

}  // namespace pmeans
