// Cutting text into tokens and spelling them as UTF-8, straight from Python's own characters.
//
// Python keeps a string as 1, 2 or 4 bytes a character; everything here is a template over that
// width, so no string is encoded or copied first. `kernels/splitting.py` is the specification, the
// tables are made from it, and tests hold the two equal.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>
#include <vector>

#include "unicode_table.hpp"

namespace pmeans {

enum class Splitting { whitespace, words, words_english, words_elision, words_portuguese };
enum class Kind : uint32_t { other, space, word, mark };

inline uint32_t properties(uint32_t c) {
  // A string made by foreign code may hold anything: what is no character is "other".
  return c < 0x110000 ? unicode_entry[unicode_page[c >> 8] * 256 + (c & 255)] : 0;
}
inline Kind kind_of(uint32_t entry) { return static_cast<Kind>(entry >> 21 & 3); }
inline Kind kind(uint32_t c) { return kind_of(properties(c)); }
inline bool is_letter(uint32_t entry) { return entry >> 25 & 1; }
inline bool is_symbol(uint32_t entry) { return entry >> 26 & 1; }
inline bool is_plain(uint32_t entry) { return !(entry >> 27 & 1); }
inline bool is_space(uint32_t c) {
  // Printable ASCII, which is nearly everything, needs no table.
  return c - 0x21 >= 0x5E && kind(c) == Kind::space;
}

inline uint8_t* append_utf8(uint8_t* out, uint32_t c) {
  if (c < 0x80) {
    *out++ = static_cast<uint8_t>(c);
  } else if (c < 0x800) {
    *out++ = static_cast<uint8_t>(0xC0 | c >> 6);
    *out++ = static_cast<uint8_t>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    *out++ = static_cast<uint8_t>(0xE0 | c >> 12);
    *out++ = static_cast<uint8_t>(0x80 | (c >> 6 & 63));
    *out++ = static_cast<uint8_t>(0x80 | (c & 63));
  } else {
    *out++ = static_cast<uint8_t>(0xF0 | (c >> 18 & 7));
    *out++ = static_cast<uint8_t>(0x80 | (c >> 12 & 63));
    *out++ = static_cast<uint8_t>(0x80 | (c >> 6 & 63));
    *out++ = static_cast<uint8_t>(0x80 | (c & 63));
  }
  return out;
}

// A few constants: compared all at once, without a branch.
template <size_t N>
constexpr bool is_one_of(const uint32_t (&characters)[N], uint32_t c) {
  bool found = false;
  for (uint32_t each : characters) found |= c == each;
  return found;
}

// Apostrophes and hyphens that hold a word together, in the spelling of word spaces; else 0.
inline uint32_t joiner(uint32_t c) {
  if (is_one_of(apostrophes, c)) return '\'';
  if (is_one_of(hyphens, c)) return '-';
  return 0;
}

// SIGMA. The lower-case form of a capital sigma depends on where in the word it stands; this is
// the rule that CPython follows: final if a letter precedes and none follows, not counting marks
// and the like in between.
template <class Char>
uint32_t lower_sigma(const Char* s, size_t n, size_t i) {
  auto seeks_case = [](uint32_t entry) { return !(entry >> 24 & 1); };
  bool before = false, after = false;
  for (size_t j = i; j-- > 0;)
    if (uint32_t entry = properties(s[j]); seeks_case(entry)) {
      before = entry >> 23 & 1;
      break;
    }
  for (size_t j = i + 1; j < n; ++j)
    if (uint32_t entry = properties(s[j]); seeks_case(entry)) {
      after = entry >> 23 & 1;
      break;
    }
  return before && !after ? 0x3C2 : 0x3C3;
}

// The character that a character and a mark are when composed, or 0.
inline uint32_t compose(uint32_t first, uint32_t mark) {
  const uint64_t pair = uint64_t{first} << 21 | mark;
  const auto* const found = std::lower_bound(std::begin(composed_pair), std::end(composed_pair), pair);
  return found != std::end(composed_pair) && *found == pair ? composed[found - composed_pair] : 0;
}

template <class Char>
std::vector<uint32_t> composed_word(const Char* s, size_t n) {
  std::vector<uint32_t> word;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t c = joiner(s[i]) ? joiner(s[i]) : s[i];
    const uint32_t both = word.empty() ? 0 : compose(word.back(), c);
    if (both)
      word.back() = both;
    else
      word.push_back(c);
  }
  return word;
}

// Writes the token s[0:n] as UTF-8, at most 4 n bytes, and returns how many. `word` tokens have
// their joiners normalised and their marks composed.
template <class Char>
size_t spell(const Char* s, size_t n, bool lower, bool word, uint8_t* out) {
  uint8_t* const start = out;
  for (size_t i = 0; i < n; ++i) {
    uint32_t c = s[i];
    if (c < 0x80) {
      *out++ = static_cast<uint8_t>(lower && c - 'A' < 26u ? c | 0x20 : c);
      continue;
    }
    if (word) {
      if (const uint32_t plain = joiner(c)) c = plain;
      if (sizeof(Char) > 1 && i > 0 && kind(c) == Kind::mark && compose(s[i - 1], c)) {
        const std::vector<uint32_t> whole = composed_word(s, n);
        return spell(whole.data(), whole.size(), lower, false, start);
      }
    }
    if (lower) {
      if (c == 0x3A3) {
        c = lower_sigma(s, n, i);
      } else if (c == 0x130) {
        *out++ = 'i';
        c = 0x307;
      } else if (c < 0x110000) {
        c = (c + properties(c)) & 0x1FFFFF;
      }
    }
    out = append_utf8(out, c);
  }
  return static_cast<size_t>(out - start);
}

// The same for a token of ASCII, eight bytes at a time; `room` bytes may be read from s and
// n rounded up to eights is written. False if a byte is not ASCII or the room does not suffice.
inline bool spell_ascii(const uint8_t* s, size_t n, size_t room, bool lower, uint8_t* out) {
  constexpr uint64_t ones = 0x0101010101010101u, tops = 0x80 * ones;
  if ((n + 7) / 8 * 8 > room) return false;
  for (size_t i = 0; i < n; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, s + i, 8);
    if (eight & tops) return false;
    // The top bit of each byte tells whether it is at least 'A', and whether it is beyond 'Z'.
    const uint64_t capitals = (eight + (0x80 - 'A') * ones) & ~(eight + (0x7F - 'Z') * ones) & tops;
    if (lower) eight |= capitals >> 2;
    std::memcpy(out + i, &eight, 8);
  }
  return true;
}

// Where the token at i ends. Of single bytes, eight are looked at together: the first that is at
// most a space, or not ASCII, is looked at closely.
template <class Char>
size_t token_end(const Char* s, size_t n, size_t i) {
  for (;; ++i) {
    if constexpr (sizeof(Char) == 1) {
      constexpr uint64_t ones = 0x0101010101010101u, tops = 0x80 * ones;
      for (; i + 8 <= n; i += 8) {
        uint64_t eight;
        std::memcpy(&eight, s + i, 8);
        const uint64_t stops = ((eight - 0x21 * ones) | eight) & tops;
        if (stops) {
          i += static_cast<size_t>(std::countr_zero(stops)) / 8;
          break;
        }
      }
    }
    if (i == n || is_space(s[i])) return i;
  }
}

template <class Char, class Emit>
void split_whitespace(const Char* s, size_t n, Emit&& emit) {
  for (size_t i = 0;;) {
    while (i < n && is_space(s[i])) ++i;
    if (i == n) return;
    const size_t begin = i;
    i = token_end(s, n, i);
    emit(begin, i, false);
  }
}

// Whether the lower-cased end of s[0:n] is `suffix`.
template <class Char>
bool ends_with(const Char* s, size_t n, std::string_view suffix) {
  if (n < suffix.size()) return false;
  for (size_t k = 0; k < suffix.size(); ++k) {
    uint32_t c = s[n - suffix.size() + k];
    c = joiner(c) ? joiner(c) : c;
    if ((c - 'A' < 26u ? c | 0x20 : c) != static_cast<uint8_t>(suffix[k])) return false;
  }
  return true;
}

template <class Char, class Emit>
void emit_word(const Char* s, size_t begin, size_t end, Splitting splitting, Emit&& emit) {
  auto has = [&](const auto& marks) {
    bool found = false;
    for (size_t i = begin; i < end; ++i) found |= is_one_of(marks, s[i]);
    return found;
  };
  const bool joined = splitting == Splitting::words_portuguese ? has(hyphens) : has(apostrophes);
  if (joined) {
    for (const auto& [way, ending] : endings)
      if (way == static_cast<int>(splitting) && end - begin > ending.size() &&
          ends_with(s + begin, end - begin, ending)) {
        emit(begin, end - ending.size(), true);
        emit(end - ending.size(), end, true);
        return;
      }
  }
  auto whole = [&] {
    return std::ranges::any_of(unsplit_elisions, [&](std::string_view word) {
      return end - begin == word.size() && ends_with(s + begin, end - begin, word);
    });
  };
  if (joined && splitting == Splitting::words_elision && !whole()) {
    for (size_t i = begin; i < end; ++i)
      if (joiner(s[i]) == '\'') {
        emit(begin, i + 1, true);
        begin = i + 1;
      }
  }
  emit(begin, end, true);
}

// Whether all characters are plain; if not, the tokens are not right.
template <class Char, class Emit>
bool split_words(const Char* s, size_t n, Splitting splitting, Emit&& emit) {
  uint32_t seen = 0;  // the properties of all characters together
  auto look = [&](size_t i) {
    const uint32_t entry = properties(s[i]);
    seen |= entry;
    return kind_of(entry);
  };
  auto digit = [](uint32_t c) { return c - '0' < 10u; };
  auto separates_digits = [&](size_t i) {
    return digit(s[i - 1]) && i + 1 < n && digit(s[i + 1]) &&
           is_one_of(digit_separators, s[i]);
  };
  auto joins = [&](size_t i) {
    return joiner(s[i]) != 0 && i + 1 < n && kind(s[i + 1]) == Kind::word && !separates_digits(i);
  };
  for (size_t i = 0; i < n;) {
    const Kind first = look(i);
    const size_t begin = i++;
    if (first == Kind::space) continue;
    if (first == Kind::other) {
      while (i < n && look(i) == Kind::mark) ++i;
      emit(begin, i, false);
    } else {
      auto in_word = [](Kind kind) { return kind == Kind::word || kind == Kind::mark; };
      while (i < n && (in_word(look(i)) || joins(i))) ++i;
      emit_word(s, begin, i, splitting, emit);
      if (i < n && separates_digits(i)) ++i;
    }
  }
  return is_plain(seen);
}

// Calls emit(begin, end, is_word) for every token of s[0:n]. False if the text must be made plain.
template <class Char, class Emit>
bool split(const Char* s, size_t n, Splitting splitting, Emit&& emit) {
  if (splitting != Splitting::whitespace) return split_words(s, n, splitting, emit);
  split_whitespace(s, n, emit);
  return true;
}

}  // namespace pmeans
