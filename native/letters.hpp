// The grams of a text's words, and which language they speak for; `kernels/letters.py` says how.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lookup.hpp"

namespace pmeans {

// Cuts one text after the other into words, and words into grams. Each thread has its own.
class Grams {
 public:
  Grams(const uint64_t* letters, size_t n_buckets) : letters_(letters), n_buckets_(n_buckets) {}

  // The buckets of a text's grams.
  const std::vector<int32_t>& read(const Text& text) {
    const Text beginning{text.data, std::min(text.length, enough), text.width};
    auto read = [&](const auto* s, size_t n) { return read_as(s, n); };
    if (!with_characters(beginning, read)) with_characters(plain_.of(beginning), read);
    return buckets_;
  }

 private:
  static constexpr size_t longest = 5, longest_word = 62, enough = 4096;
  static constexpr uint32_t foreign = 1;

  // Whether all characters are plain; if not, the buckets are not right.
  template <class Char>
  bool read_as(const Char* s, size_t n) {
    buckets_.clear();
    uint32_t seen = 0;  // the properties of all characters together
    size_t size = 1;    // the space before it
    auto finish = [&] {
      if (size > 1) add_word(size);
      size = 1;
    };
    for (size_t i = 0; i < n; ++i) {
      const uint32_t c = s[i], entry = properties(c);
      seen |= entry;
      if (is_letter(entry)) {
        word_[size++] = letter((c + entry) & 0x1FFFFF);
        if (size > longest_word) finish();
      } else if (kind_of(entry) != Kind::mark) {
        if (size > 1 && joiner(c) == '\'') word_[size++] = '\'';
        finish();
      }
    }
    finish();
    return is_plain(seen);
  }

  uint32_t letter(uint32_t c) const {
    return c < 65536 && letters_[c >> 6] >> (c & 63) & 1 ? c : foreign;
  }

  void add_word(size_t size) {
    word_[0] = word_[size++] = ' ';
    const size_t before = buckets_.size();
    buckets_.resize(before + longest * size + 1);
    int32_t* out = buckets_.data() + before;
    for (size_t start = 0; start < size; ++start) {
      uint32_t hash = 0;
      const size_t end = std::min(start + longest, size);
      for (size_t i = start; i < end; ++i) {
        hash = extended(hash, word_[i]);
        *out = bucket(hash);
        out += !(i == start && word_[i] == ' ');
      }
      if (start || size <= longest) continue;
      for (size_t i = end; i < size; ++i) hash = extended(hash, word_[i]);
      *out++ = bucket(hash);
    }
    buckets_.resize(static_cast<size_t>(out - buckets_.data()));
  }

  static uint32_t extended(uint32_t hash, uint32_t c) {
    hash = (hash ^ c) * 0x85EBCA6Bu;
    return hash ^ hash >> 15;
  }

  int32_t bucket(uint32_t hash) const {
    return static_cast<int32_t>(uint64_t{hash * 0x9E3779B1u} * n_buckets_ >> 32);
  }

  const uint64_t* letters_;
  size_t n_buckets_;
  PlainText plain_;
  std::array<uint32_t, longest_word + 2> word_;
  std::vector<int32_t> buckets_;
};

// See GramWeights in `kernels/letters.py`.
struct GramWeights {
  const uint64_t* letters;
  const uint8_t* weights;
  size_t n_buckets, n_columns;
  const bool* wanted;
  size_t n_languages;
  double sharpness;
};

// Which language one text after the other is in. Each thread has its own.
class Identifier {
 public:
  explicit Identifier(const GramWeights& model)
      : model_(model), grams_(model.letters, model.n_buckets), scores_(model.n_columns) {}

  void read(const Text& text, int32_t& column, float& probability) {
    const std::vector<int32_t>& buckets = grams_.read(text);
    add_up(buckets);
    size_t best = 0, found = model_.n_languages;
    for (size_t k = 0; k < model_.n_languages; ++k) {
      if (scores_[k] > scores_[best]) best = k;
      if (model_.wanted[k] && (found == model_.n_languages || scores_[k] > scores_[found])) found = k;
    }
    const bool none = buckets.empty() || scores_[best] > scores_[found];
    column = none ? -1 - static_cast<int32_t>(found) : static_cast<int32_t>(found);
    probability = buckets.empty() ? 1.0f : likelihood(best, none, buckets.size());
  }

 private:
  typedef uint8_t Weights __attribute__((vector_size(16)));
  typedef uint16_t Sums __attribute__((vector_size(32)));
  static constexpr size_t tile = 32, together = 256;  // sums of so many bytes fit into 16 bits

  void add_up(const std::vector<int32_t>& buckets) {
    std::fill(scores_.begin(), scores_.end(), 0);
    for (size_t begin = 0; begin < buckets.size(); begin += together) {
      const size_t end = std::min(begin + together, buckets.size());
      for (size_t column = 0; column < model_.n_columns; column += tile) {
        Sums low{}, high{};
        for (size_t i = begin; i < end; ++i) {
          const uint8_t* row = model_.weights + static_cast<size_t>(buckets[i]) * model_.n_columns + column;
          Weights first, second;
          std::memcpy(&first, row, tile / 2);
          std::memcpy(&second, row + tile / 2, tile / 2);
          low += __builtin_convertvector(first, Sums);
          high += __builtin_convertvector(second, Sums);
        }
        for (size_t j = 0; j < tile / 2; ++j) {
          scores_[column + j] += low[j];
          scores_[column + tile / 2 + j] += high[j];
        }
      }
    }
  }

  float likelihood(size_t best, bool none, size_t n) const {
    const double sharpness = model_.sharpness / std::sqrt(static_cast<double>(n));
    double total = 0, others = 0;
    for (size_t k = 0; k < model_.n_languages; ++k) {
      const double exponent = static_cast<double>(scores_[k] - scores_[best]) * sharpness;
      if (exponent < -40) continue;  // too little to change a sum of at least 1
      const double likely = std::exp(exponent);
      total += likely;
      if (!model_.wanted[k]) others += likely;
    }
    return static_cast<float>((none ? others : 1) / total);
  }

  GramWeights model_;
  Grams grams_;
  std::vector<int64_t> scores_;
};

}  // namespace pmeans
