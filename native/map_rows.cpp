// Compiled once for each instruction set, under the name PMEANS_ISA. Only raw pointers and
// functions of this file, for the reason given in power_mean.cpp.
#include "map_rows.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace pmeans {
namespace {

// Rows and vectors of columns that share their loads: as many sums as the registers can hold. Codes
// come in tiles of columns.
#if defined(__AVX512F__)
constexpr int row_block = 6, column_block = 4, whole_rows = 6, tile_block = 4;
#elif defined(__AVX2__)
constexpr int row_block = 6, column_block = 2, whole_rows = 6, tile_block = 1;
#else
constexpr int row_block = 6, column_block = 2, whole_rows = 3, tile_block = 1;
#endif
// A single row reads the matrix once, as fast as memory allows: the wider the better.
constexpr int single_block = 8;
constexpr int lanes = vector_bytes / 4;
constexpr int tile = CodedMap::tile;

typedef float Vector __attribute__((vector_size(vector_bytes)));
typedef int32_t Ints __attribute__((vector_size(vector_bytes)));
// The same anywhere in memory.
typedef float Loose __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
typedef int32_t LooseInts __attribute__((vector_size(vector_bytes), aligned(2), may_alias));
inline Vector load(const float* p) { return *reinterpret_cast<const Loose*>(p); }
inline void store(float* p, Vector v) { *reinterpret_cast<Loose*>(p) = v; }

// R rows times C vectors of columns.
template <int R, int C>
inline void product(const LinearMap& map, Strided<const float> rows, size_t column,
                    Strided<float> out) {
  Vector sum[R][C] = {};
  const float* w = map.matrix + column;
  for (size_t k = 0; k < map.n_in; ++k, w += map.n_out) {
    Vector weights[C];
    for (int c = 0; c < C; ++c) weights[c] = load(w + c * lanes);
    for (int r = 0; r < R; ++r) {
      const float x = rows.data[r * rows.stride + static_cast<int64_t>(k)];
      for (int c = 0; c < C; ++c) sum[r][c] += x * weights[c];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) store(out.data + r * out.stride + column + c * lanes, sum[r][c]);
}

// Rows in blocks of R, columns in blocks of C vectors. The last vector reaches back over columns
// that are done: they get the same numbers again.
template <int R, int C>
void blocks(const LinearMap& map, Strided<const float> rows, size_t n, Strided<float> out) {
  auto columns = [&](size_t first, auto count) {
    in_blocks<R>(n, [&](size_t row, auto size) {
      product<decltype(size)::value, decltype(count)::value>(map, from_row(rows, row), first,
                                                             from_row(out, row));
    });
  };
  in_blocks<C>(map.n_out / lanes, [&](size_t v, auto count) { columns(v * lanes, count); });
  if (map.n_out % lanes) columns(map.n_out - lanes, Count<1>());
}

// In float64, where no sum of products of float32 numbers overflows. Returns whether it is finite.
bool multiply_again(const LinearMap& map, const float* row, float* out) {
  bool finite = true;
  for (size_t j = 0; j < map.n_out; ++j) {
    double sum = 0;
    for (size_t k = 0; k < map.n_in; ++k)
      sum += static_cast<double>(row[k]) * static_cast<double>(map.matrix[k * map.n_out + j]);
    finite &= sum - sum == 0;
    out[j] = cut_off(sum);
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

// RANGE. Whole numbers of up to 2^15 - 1 times codes of up to 2^7: as many as this add up to less
// than 2^31. Their sums are added up in float64, which is exact up to 2^53.
constexpr int range = 32767;
constexpr size_t run_pairs = 256;

// To the nearest whole number, the even one of two.
inline int nearest(float x) {
#if defined(__clang__)  // it does not know the other
  return static_cast<int>(__builtin_rintf(x));
#else
  return __builtin_irintf(x);
#endif
}

double round(const CodedMap& map, const float* row, int16_t* whole) {
  // As whole numbers, floats rise with their magnitude, and NaN and infinity lie above all others.
  constexpr int32_t infinity = 0x7F800000;
  int32_t top = 0;
  for (size_t k = 0; k < map.n_in; ++k) {
    const float x = row[k] * map.scale[k];
    int32_t bits;
    memcpy(&bits, &x, 4);
    bits &= 0x7FFFFFFF;
    top = bits > top ? bits : top;
  }
  if (top >= infinity) return -1;
  float magnitude;
  memcpy(&magnitude, &top, 4);
  if (magnitude < 1e-30f) magnitude = 1e-30f;  // so that the next line does not overflow
  const float factor = range / magnitude;
  for (size_t k = 0; k < map.n_in; ++k)
    whole[k] = static_cast<int16_t>(nearest(row[k] * map.scale[k] * factor));
  if (map.n_in % 2) whole[map.n_in] = 0;
  return static_cast<double>(magnitude) / range * map.size;
}

// sum + a0 b0 + a1 b1 for every pair of 16-bit numbers.
inline Ints add_products(Ints sum, Ints a, Ints b) {
#if defined(__AVX512VNNI__)
  return reinterpret_cast<Ints>(_mm512_dpwssd_epi32(
      reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return sum + reinterpret_cast<Ints>(
                   _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return sum + reinterpret_cast<Ints>(
                   _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return sum + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

// R rounded rows times T tiles from the first on.
template <int R, int T>
inline void whole_product(const CodedMap& map, const int16_t* whole, const double* steps,
                          size_t first, Strided<float> out) {
  constexpr int vectors = tile / lanes;
  const size_t n_pairs = map.n_pairs;
  const int16_t* const w = map.tiles + first * n_pairs * tile * 2;
  double total[R][T * tile] = {};
  for (size_t start = 0; start < n_pairs; start += run_pairs) {
    const size_t end = start + run_pairs < n_pairs ? start + run_pairs : n_pairs;
    Ints sum[R][T * vectors] = {};
    for (size_t k = start; k < end; ++k) {
      Ints codes[T * vectors];
      for (int c = 0; c < T * vectors; ++c)
        codes[c] = *reinterpret_cast<const LooseInts*>(
            w + ((c / vectors * n_pairs + k) * tile + c % vectors * lanes) * 2);
      for (int r = 0; r < R; ++r) {
        int32_t pair;
        memcpy(&pair, whole + (r * n_pairs + k) * 2, 4);
        const Ints x = Ints{} + pair;
        for (int c = 0; c < T * vectors; ++c) sum[r][c] = add_products(sum[r][c], x, codes[c]);
      }
    }
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < T * vectors; ++c)
        for (int l = 0; l < lanes; ++l) total[r][c * lanes + l] += sum[r][c][l];
  }
  const size_t column = first * tile, width = T * tile;
  const size_t n = column + width < map.n_out ? width : map.n_out - column;
  for (int r = 0; r < R; ++r)
    for (size_t j = 0; j < n; ++j)
      out.data[r * out.stride + static_cast<int64_t>(column + j)] = cut_off(total[r][j] * steps[r]);
}

void multiply_whole(const CodedMap& map, const int16_t* whole, const double* steps, size_t n,
                    Strided<float> out) {
  in_blocks<tile_block>(map.n_tiles, [&](size_t first, auto tiles) {
    in_blocks<whole_rows>(n, [&](size_t row, auto size) {
      whole_product<decltype(size)::value, decltype(tiles)::value>(
          map, whole + row * map.n_pairs * 2, steps + row, first, from_row(out, row));
    });
  });
}

}  // namespace

#define PMEANS_JOIN(a, b) a##b
#define PMEANS_KERNEL(isa) PMEANS_JOIN(map_rows_, isa)
extern const MapRows PMEANS_KERNEL(PMEANS_ISA) = {multiply, round, multiply_whole};

}  // namespace pmeans
