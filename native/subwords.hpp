// Vectors of unknown words from their character n-grams, exactly as fastText composes them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

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

// Writes the mean of the word's n-gram rows to out[0:dim]; returns how many there are.
inline int compose(const std::string& word, const float* rows, size_t n_rows, size_t dim, int minn,
                   int maxn, float* out) {
  int count = 0;
  for (size_t j = 0; j < dim; ++j) out[j] = 0;
  ngrams(word, minn, maxn, [&](uint32_t hash) {
    const float* row = rows + (hash % n_rows) * dim;
    for (size_t j = 0; j < dim; ++j) out[j] += row[j];
    ++count;
  });
  // fastText multiplies by the reciprocal; a division differs in the last bit.
  const auto share = static_cast<float>(1.0 / count);
  for (size_t j = 0; j < dim && count; ++j) out[j] *= share;
  return count;
}

}  // namespace pmeans
