// Vectors of unknown words from their character n-grams.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "folding.hpp"

namespace pmeans {

// Calls emit(hash) for every n-gram of "<word>" with minn to maxn characters. The hash is
// FNV-1a over *signed* bytes: fastText's, whose bytes above 127 extend their sign.
template <class Emit>
void ngrams(const std::string& word, int minn, int maxn, Emit&& emit) {
  const std::string s = "<" + word + ">";
  auto continues = [&](size_t i) { return (static_cast<uint8_t>(s[i]) & 0xC0) == 0x80; };
  for (size_t i = 0; i < s.size(); ++i) {
    if (continues(i)) continue;
    uint32_t h = 2166136261u;
    size_t j = i;
    for (int n = 1; j < s.size() && n <= maxn; ++n) {
      do {
        h = (h ^ static_cast<uint32_t>(static_cast<int8_t>(s[j++]))) * 16777619u;
      } while (j < s.size() && continues(j));
      if (n >= minn && !(n == 1 && (i == 0 || j == s.size()))) emit(h);
    }
  }
}

// Vectors of hash buckets, and how words are composed of them: by the mean of their n-grams as
// fastText does, or, `folded`, by the sum over the root of their number, of the n-grams of the folded
// word and of its skeleton. Those of the skeleton have four characters at least.
struct Subwords {
  const float* rows;
  size_t n_rows, dim;
  int minn, maxn;
  bool folded;

  // Writes the word's vector to out[0:dim]; returns of how many n-grams it is.
  int compose(const std::string& word, float* out) const {
    std::fill_n(out, dim, 0.0f);
    int count = 0;
    if (folded) {
      const std::vector<uint32_t> spelled = characters(word);
      count = add(respelled(spelled, false), minn, out) + add(skeleton(spelled), std::max(minn, 4), out);
    } else {
      count = add(word, minn, out);
    }
    // fastText multiplies by the reciprocal; a division differs in the last bit.
    const auto share = static_cast<float>(1.0 / (folded ? std::sqrt(count) : count));
    for (size_t j = 0; j < dim && count; ++j) out[j] *= share;
    return count;
  }

 private:
  int add(const std::string& word, int shortest, float* out) const {
    int count = 0;
    ngrams(word, shortest, maxn, [&](uint32_t hash) {
      const float* row = rows + (hash % n_rows) * dim;
      for (size_t j = 0; j < dim; ++j) out[j] += row[j];
      ++count;
    });
    return count;
  }
};

}  // namespace pmeans
