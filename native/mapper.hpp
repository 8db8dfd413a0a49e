// Blocks of rows through one matrix after the other, as `map_rows.hpp` says.
#pragma once
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

  Mapper(const MapRows& kernel, const std::vector<Map>& maps) : kernel_(kernel), maps_(maps) {
    between_.resize(maps.empty() ? 0 : maps.size() - 1);
  }

  // Maps up to block_rows rows. `first` is the number of the first one in messages.
  void apply(Strided<const float> rows, size_t n, size_t first, Strided<float> out) {
    for (size_t k = 0; k < maps_.size(); ++k) {
      Strided<float> to = out;
      if (k < between_.size()) {
        const size_t width = std::visit([](const auto& map) { return map.n_out; }, maps_[k]);
        between_[k].resize(n * width);
        to = {between_[k].data(), static_cast<int64_t>(width)};
      }
      const size_t done = std::visit([&](const auto& map) { return multiply(map, rows, n, to); }, maps_[k]);
      if (done < n)
        throw std::invalid_argument("row " + std::to_string(first + done) +
                                    " or the matrix has NaN or infinity.");
      rows = {to.data, to.stride};
    }
  }

 private:
  size_t multiply(const LinearMap& map, Strided<const float> rows, size_t n, Strided<float> out) {
    return kernel_.multiply(map, rows, n, out);
  }

  size_t multiply(const CodedMap& map, Strided<const float> rows, size_t n, Strided<float> out) {
    const size_t width = 2 * map.n_pairs;
    whole_.resize(n * width);
    double steps[block_rows];
    for (size_t i = 0; i < n; ++i) {
      steps[i] = kernel_.round(map, from_row(rows, i).data, whole_.data() + i * width);
      if (steps[i] < 0) return i;
    }
    kernel_.multiply_whole(map, whole_.data(), steps, n, out);
    return n;
  }

  const MapRows& kernel_;
  const std::vector<Map>& maps_;
  std::vector<std::vector<float>> between_;
  std::vector<int16_t> whole_;
};

}  // namespace pmeans
