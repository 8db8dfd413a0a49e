// A batch of sentences: finds the rows of each, and has them reduced, side by side.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernel_tools.hpp"
#include "mapper.hpp"
#include "power_mean.hpp"
#include "threads.hpp"

namespace pmeans {

// The word vectors of a space; ids from n_words on are rows of `composed`, which is float32.
struct Vectors {
  Type type;
  const void* matrix;
  size_t n_words, dim;
  const float* scale;
  const float* composed;

  const void* row(size_t id) const {
    static constexpr size_t bits[] = {32, 16, 8, 4};
    if (id >= n_words) return composed + (id - n_words) * dim;
    return static_cast<const char*>(matrix) + id * (dim * bits[static_cast<int>(type)] / 8);
  }
};

// See TokenBatch in `types.py`.
struct Batch {
  const int32_t* ids;
  const int64_t* offsets;
  size_t n_sentences;
};

// Each thread has its own.
class Reducer {
 public:
  Reducer(const Kernel& kernel, const Means& means, const Vectors& vectors, const Batch& batch)
      : kernel_(kernel), means_(means), vectors_(vectors), batch_(batch), scratch_(4 * means.dim + 8) {}

  void reduce(size_t i, float* out) {
    const auto count = static_cast<size_t>(batch_.offsets[i + 1] - batch_.offsets[i]);
    if (count == 0 || means_.dim == 0) {
      std::fill_n(out, means_.n_powers * means_.dim, 0.0f);
      return;
    }
    const int32_t* ids = batch_.ids + batch_.offsets[i];
    find_rows(ids, count, rows_);
    if (i + 1 < batch_.n_sentences)
      find_rows(ids + count, batch_.offsets[i + 2] - batch_.offsets[i + 1], next_);
    scales_.resize(vectors_.scale ? count : 0);
    bool any_composed = false;
    for (size_t k = 0; k < count; ++k) {
      const bool composed = static_cast<size_t>(ids[k]) >= vectors_.n_words;
      if (vectors_.scale) scales_[k] = composed ? 0.0f : vectors_.scale[ids[k]];
      any_composed |= composed;
    }
    Rows rows{vectors_.type, rows_.data(), scales_.data(), count, next_.data(), next_.size()};
    if (any_composed && rows.type != Type::float32) decode(ids, rows);
    if (!kernel_.reduce(means_, rows, out, scratch_.data())) complain(ids, rows);
  }

 private:
  void find_rows(const int32_t* ids, size_t count, std::vector<const void*>& rows) const {
    rows.resize(count);
    for (size_t k = 0; k < count; ++k) rows[k] = vectors_.row(static_cast<size_t>(ids[k]));
  }

  [[noreturn]] void complain(const int32_t* ids, const Rows& rows) {
    std::vector<float> plain(means_.dim);
    size_t k = 0;
    for (; k + 1 < rows.count; ++k) {
      kernel_.decode(rows, k, means_.dim, plain.data());
      if (!finite(plain.data(), means_.dim)) break;
    }
    throw std::invalid_argument("word vector " + std::to_string(ids[k]) + " has NaN or infinity.");
  }

  // Composed vectors are float32: brings the others to the same form.
  void decode(const int32_t* ids, Rows& rows) {
    decoded_.resize(rows.count * means_.dim);
    for (size_t k = 0; k < rows.count; ++k) {
      float* const plain = decoded_.data() + k * means_.dim;
      if (static_cast<size_t>(ids[k]) < vectors_.n_words)
        kernel_.decode(rows, k, means_.dim, plain);
      else
        std::memcpy(plain, rows_[k], means_.dim * sizeof(float));
      rows_[k] = plain;
    }
    rows.type = Type::float32;
  }

  const Kernel& kernel_;
  const Means& means_;
  const Vectors& vectors_;
  const Batch& batch_;
  std::vector<double> scratch_;
  std::vector<const void*> rows_, next_;
  std::vector<float> scales_, decoded_;
};

// The columns that one space gives.
struct Part {
  Means means;
  Vectors vectors;
  Batch batch;

  size_t width() const { return means.n_powers * means.dim; }
};

// Writes the parts of n sentences side by side, mapped if there are maps.
inline void encode_batch(const Kernel& kernel, const std::vector<Part>& parts, size_t n,
                         Mapper mapper, bool mapped, Strided<float> out, int n_threads) {
  std::vector<Reducer> reducers;
  size_t width = 0;
  for (const Part& part : parts) {
    reducers.emplace_back(kernel, part.means, part.vectors, part.batch);
    width += part.width();
  }
  parallel_for(n, block_rows, n_threads, [=, &parts, block = std::vector<float>()](
                                             size_t begin, size_t end, size_t) mutable {
    const Strided<float> target = from_row(out, begin);
    if (mapped) block.resize((end - begin) * width);
    const Strided<float> rows =
        mapped ? Strided<float>{block.data(), static_cast<int64_t>(width)} : target;
    size_t column = 0;
    for (size_t k = 0; k < parts.size(); column += parts[k].width(), ++k)
      for (size_t i = begin; i < end; ++i)
        reducers[k].reduce(i, from_row(rows, i - begin).data + column);
    if (mapped) mapper.apply({rows.data, rows.stride}, end - begin, begin, target);
  });
}

// The first of n rows with NaN or infinity, or -1. Only floating-point numbers can be either.
inline int64_t first_not_finite(const Vectors& vectors, int n_threads) {
  const size_t n = vectors.n_words, dim = vectors.dim;
  std::atomic<size_t> first{n};
  if (vectors.type == Type::float32 || vectors.type == Type::float16)
    parallel_for(n, (size_t{1} << 16) / (dim + 1) + 1, n_threads, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end && i < first; ++i) {
        const bool good = vectors.type == Type::float16
                              ? finite_halves(vectors.row(i), dim)
                              : finite(static_cast<const float*>(vectors.row(i)), dim);
        for (size_t known = first; !good && i < known && !first.compare_exchange_weak(known, i);) {
        }
      }
    });
  return first < n ? static_cast<int64_t>(first) : -1;
}

}  // namespace pmeans
