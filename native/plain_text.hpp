// Text in plain characters: without invisible ones, and with ligatures and the like as letters.
//
// `plain` of `kernels/splitting.py` is the specification. Nearly all text is plain already. So it is
// read where it lies, and once more from a plain copy if a character of it turns out not to be.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "tokenize.hpp"

namespace pmeans {

// A Python string as it lies in memory.
struct Text {
  const void* data;
  size_t length;
  int width;  // bytes a character
};

// Calls use(characters, length) with the characters of a text.
template <class Use>
decltype(auto) with_characters(const Text& text, Use&& use) {
  switch (text.width) {
    case 1: return use(static_cast<const uint8_t*>(text.data), text.length);
    case 2: return use(static_cast<const uint16_t*>(text.data), text.length);
    default: return use(static_cast<const uint32_t*>(text.data), text.length);
  }
}

// Writes one text after the other in plain characters. Each thread has its own.
class PlainText {
 public:
  // A plain copy, which lasts until the next call.
  Text of(const Text& text) {
    plain_.clear();
    with_characters(text, [&](const auto* s, size_t n) { append(s, n); });
    return {plain_.data(), plain_.size(), sizeof(uint32_t)};
  }

 private:
  template <class Char>
  void append(const Char* s, size_t n) {
    bool after_symbol = false;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t c = s[i], entry = properties(c);
      // EMOJI. What joins two of them, or names a flag, is invisible and a part of them.
      const bool in_emoji = after_symbol && (c == 0x200D || c - 0xE0020 < 0x60u);
      if (is_plain(entry) || in_emoji) {
        plain_.push_back(c);
      } else {
        const auto* const place = std::lower_bound(std::begin(plain_of), std::end(plain_of), c);
        for (uint32_t part : plain_form[place - plain_of])
          if (part) plain_.push_back(part);
      }
      if (kind_of(entry) != Kind::mark) after_symbol = is_symbol(entry);
    }
  }

  std::vector<uint32_t> plain_;
};

}  // namespace pmeans
