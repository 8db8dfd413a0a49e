// Blocks of rows through one matrix after the other, as `map_rows.hpp` says.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "map_rows.hpp"

namespace pmeans {

// Rows of a block: so many stay in the second-level cache beside a panel of a matrix.
constexpr size_t block_rows = 48;

// Each thread has its own.
class Mapper {
 public:
  using Map = std::variant<LinearMap, CodedMap>;

  // The first `kept` columns of a row stay as they are, and the mapped others follow.
  Mapper(const MapRows& kernel, const std::vector<Map>& maps, size_t kept = 0)
      : kernel_(kernel), maps_(maps), kept_(kept), scratch_(maps.size()) {}

  // Maps up to block_rows rows. `first` is the number of the first one in messages.
  void apply(Strided<const float> rows, size_t n, size_t first, Strided<float> out) {
    for (size_t i = 0; i < n; ++i)
      std::copy_n(from_row(rows, i).data, kept_, from_row(out, i).data);
    rows.data += kept_;
    out.data += kept_;
    for (size_t k = 0; k < maps_.size(); ++k) {
      Strided<float> to = out;
      if (k + 1 < maps_.size()) {
        const size_t width = std::visit([](const auto& map) { return map.n_out; }, maps_[k]);
        scratch_[k].between.resize(n * width);
        to = {scratch_[k].between.data(), static_cast<int64_t>(width)};
      }
      const size_t done = std::visit(
          [&](const auto& map) { return multiply(map, rows, n, to, scratch_[k]); }, maps_[k]);
      if (done < n)
        throw std::invalid_argument("row " + std::to_string(first + done) +
                                    " or the matrix has NaN or infinity.");
      rows = {to.data, to.stride};
    }
  }

 private:
  struct Scratch {
    std::vector<float> between;       // rows on their way to the next map
    std::vector<float> wide, wider;   // a narrow matrix with columns of zeros, and rows times it
    std::vector<int16_t> whole;       // rounded rows
  };

  size_t multiply(const LinearMap& map, Strided<const float> rows, size_t n, Strided<float> out,
                  Scratch& scratch) {
    constexpr size_t width = LinearMap::narrowest;
    if (map.n_out >= width) return kernel_.multiply(map, rows, n, out);
    if (scratch.wide.empty()) {
      scratch.wide.resize(map.n_in * width);
      for (size_t k = 0; k < map.n_in; ++k)
        std::copy_n(map.matrix + k * map.n_out, map.n_out, scratch.wide.data() + k * width);
    }
    scratch.wider.resize(n * width);
    const Strided<float> wider{scratch.wider.data(), width};
    const size_t done = kernel_.multiply({scratch.wide.data(), map.n_in, width}, rows, n, wider);
    for (size_t i = 0; i < n; ++i)
      std::copy_n(from_row(wider, i).data, map.n_out, from_row(out, i).data);
    return done;
  }

  size_t multiply(const CodedMap& map, Strided<const float> rows, size_t n, Strided<float> out,
                  Scratch& scratch) {
    const size_t width = 2 * map.n_pairs;
    scratch.whole.resize(n * width);
    double steps[block_rows];
    for (size_t i = 0; i < n; ++i) {
      steps[i] = kernel_.round(map, from_row(rows, i).data, scratch.whole.data() + i * width);
      if (steps[i] < 0) return i;
    }
    kernel_.multiply_whole(map, scratch.whole.data(), steps, n, out);
    return n;
  }

  const MapRows& kernel_;
  const std::vector<Map>& maps_;
  size_t kept_;
  std::vector<Scratch> scratch_;
};

}  // namespace pmeans
