// Words without the spelling of their language: `kernels/folding.py` is the specification, from
// which the tables are made, and tests hold the two equal.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tokenize.hpp"
#include "unicode_table.hpp"

namespace pmeans {

// The character that begins at word[i], in the UTF-8 that Python writes; i moves past it.
inline uint32_t next_character(std::string_view word, size_t& i) {
  const auto first = static_cast<uint8_t>(word[i++]);
  if (first < 0x80) return first;
  uint32_t c = first < 0xE0 ? first & 31 : first < 0xF0 ? first & 15 : first & 7;
  while (i < word.size() && (static_cast<uint8_t>(word[i]) & 0xC0) == 0x80) c = c << 6 | (word[i++] & 63);
  return c;
}

inline std::vector<uint32_t> characters(std::string_view word) {
  std::vector<uint32_t> all;
  for (size_t i = 0; i < word.size();) all.push_back(next_character(word, i));
  return all;
}

inline void append_folded(uint32_t c, std::string& out) {
  if (const uint32_t k = folded_entry[folded_page[c >> 8] * 256 + (c & 255)]) {
    out.append(reinterpret_cast<const char*>(folded_text) + folded_end[k - 1], folded_end[k] - folded_end[k - 1]);
  } else {
    uint8_t bytes[4];
    out.append(reinterpret_cast<const char*>(bytes), append_utf8(bytes, c) - bytes);
  }
}

// Returns `folded(word)`, or `spoken(word)`.
inline std::string respelled(const std::vector<uint32_t>& word, bool by_sound) {
  std::string out;
  for (size_t i = 0; i < word.size(); ++i) {
    const uint32_t c = word[i];
    if (c < 0x80) {
      out += static_cast<char>(c - 'A' < 26u ? c | 0x20 : c);
      continue;
    }
    const auto* const own = std::ranges::lower_bound(spoken, c, {}, [](const auto& s) { return s.character; });
    if (by_sound && own != std::end(spoken) && own->character == c)
      out += own->letters;
    else
      append_folded(c == 0x3A3 ? lower_sigma(word.data(), word.size(), i) : c, out);
  }
  return out;
}

// How many bytes at the beginning of a text are one sound, and which; (0, "") if they are none.
struct Sound {
  size_t n = 0;
  std::string_view name;
};
inline Sound first_sound(std::string_view text) {
  if (text.size() > 1 && text[0] == 'c' && std::string_view("eiy").find(text[1]) != text.npos) return {1, "S"};
  for (const auto& [letters, name] : sounds)
    if (text.starts_with(letters)) return {letters.size(), name};
  return {};
}

inline std::string skeleton(const std::vector<uint32_t>& word) {
  constexpr int shortest = 3;
  for (const uint32_t c : word)
    if (!is_letter(properties(c))) return "";
  const std::string plain = respelled(word, true);
  if (plain.empty()) return "";
  const bool vowel = std::string_view("aeiouyhj").find(plain[0]) != std::string_view::npos;
  std::string out = vowel ? "A" : "";
  int count = vowel;
  std::string_view last;
  for (size_t i = 0; i < plain.size();) {
    const Sound sound = first_sound(std::string_view(plain).substr(i));
    i += std::max(sound.n, size_t{1});
    if (!sound.n || sound.name == last) continue;
    out += last = sound.name;
    ++count;
  }
  return count >= shortest ? out : "";
}

}  // namespace pmeans
