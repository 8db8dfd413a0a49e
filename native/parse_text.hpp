// Lines "word v1 ... vdim" of a vector file -> words, float32 rows, and a verdict on every line.
//
// Lines end at '\n' alone and fields at ASCII space and tab alone: words hold U+00A0, U+2028 and
// every other byte. The last `dim` fields are the values; all before them is the word, which may
// hold spaces. Values are the decimal text correctly rounded to float32, as `kernels/parsing.py`
// has it, the same rules in plain Python.
//
// Blocks of whole lines are counted first, then parsed side by side into one allocation. A line
// that is too short to hold a word and dim values gets no row, so what is allocated stays below
// a small multiple of the input, whatever the input is.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "threads.hpp"

#if defined(__APPLE__)
#include <xlocale.h>
#else
#include <locale.h>
#endif

namespace pmeans::text {

enum Status : std::uint8_t { OK, BLANK, MALFORMED, NONFINITE, BAD_UTF8 };

inline bool separates(char c) { return c == ' ' || c == '\t'; }
inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

constexpr double POWERS_OF_TEN[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr std::uint64_t WHOLE_POWERS[] = {1,      10,      100,      1000,     10000,
                                          100000, 1000000, 10000000, 100000000};

// Appends the digits at p to w, which wraps around behind the 19th; returns where they end.
// Bytes up to `limit` may be read; the byte at `end`, if there is one, is no digit.
inline const char* read_digits(const char* p, const char* end, const char* limit,
                               std::uint64_t& w) {
  if constexpr (std::endian::native == std::endian::little) {
    while (limit - p >= 8) {
      std::uint64_t x;
      std::memcpy(&x, p, 8);
      x ^= 0x3030303030303030u;  // a digit becomes its value, anything else is above 9
      // A carry out of a byte above 0x89 only reaches later bytes, and the first one decides.
      const std::uint64_t other = ((x + 0x7676767676767676u) | x) & 0x8080808080808080u;
      const int n = other ? std::countr_zero(other) >> 3 : 8;
      if (n == 0) return p;
      x <<= 8 * (8 - n);  // zeros in front; now eight digits, pairwise to one number
      x = x * 10 + (x >> 8);
      x = ((x & 0x000000FF000000FFu) * (100 + (1000000ull << 32)) +
           ((x >> 16) & 0x000000FF000000FFu) * (1 + (10000ull << 32))) >> 32;
      w = w * WHOLE_POWERS[n] + x;
      p += n;
      if (n < 8) return p;
    }
  }
  while (p < end && is_digit(*p)) w = w * 10 + static_cast<std::uint64_t>(*p++ - '0');
  return p;
}

inline bool spells_nonfinite(const char* p, const char* end) {
  const auto same = [&](std::string_view name) {
    return static_cast<std::size_t>(end - p) == name.size() &&
           std::equal(p, end, name.begin(), [](char a, char b) { return (a | 32) == b; });
  };
  return same("nan") || same("inf") || same("infinity");
}

// What the fast path cannot decide: long mantissas, large exponents, near ties, subnormals.
// `magnitude` is above 0 if the number is 1 or more; it tells overflow from underflow.
inline float read_exactly(const char* p, const char* end, std::int64_t magnitude, bool negative) {
  float value = 0;
#if defined(__cpp_lib_to_chars)
  if (std::from_chars(p, end, value).ec != std::errc()) value = magnitude > 0 ? HUGE_VALF : 0.0f;
#else  // Apple's library; in the C locale, as a decimal comma is of no file
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  value = strtof_l(std::string(p, end).c_str(), nullptr, plain);
  static_cast<void>(magnitude);  // zero or infinity already
#endif
  return negative ? -value : value;
}

// Reads the field at p. Returns its end, or nullptr where it is no number; nan and inf are.
inline const char* read_number(const char* p, const char* end, const char* limit, float& value) {
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const char* const mantissa = p;
  std::uint64_t w = 0;
  while (p < end && is_digit(*p)) w = w * 10 + static_cast<std::uint64_t>(*p++ - '0');
  std::int64_t n_digits = p - mantissa, exponent = 0;
  if (p < end && *p == '.') {
    const char* const fraction = ++p;
    p = read_digits(p, end, limit, w);
    exponent = fraction - p;
    n_digits += p - fraction;
  }
  if (n_digits == 0) {
    p = std::find_if(mantissa, end, separates);
    value = HUGE_VALF;
    return spells_nonfinite(mantissa, p) ? p : nullptr;
  }
  if (p < end && (*p | 32) == 'e') {
    const bool down = ++p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    if (p == end || !is_digit(*p)) return nullptr;
    std::int64_t e = 0;
    for (; p < end && is_digit(*p); ++p) e = std::min<std::int64_t>(e * 10 + (*p - '0'), 1ll << 50);
    exponent += down ? -e : e;
  }
  if (p < end && !separates(*p)) return nullptr;
  if (n_digits <= 19 && w <= (1ull << 53) && exponent >= -22 && exponent <= 22) {
    // Two exact doubles and one operation give the nearest double. Rounding that once more, to
    // float32, goes wrong only where it has landed on the middle between two floats.
    const double d = exponent < 0 ? static_cast<double>(w) / POWERS_OF_TEN[-exponent]
                                  : static_cast<double>(w) * POWERS_OF_TEN[exponent];
    const bool middle = (std::bit_cast<std::uint64_t>(d) & 0x1FFFFFFFu) == 0x10000000u;
    if (!middle && (d >= FLT_MIN || w == 0)) {
      value = static_cast<float>(negative ? -d : d);
      return p;
    }
  }
  const char* first = mantissa;
  while (first < p && (*first == '0' || *first == '.')) n_digits -= *first++ == '0';
  value = read_exactly(mantissa, p, n_digits + exponent, negative);
  return p;
}

// Whether the bytes are UTF-8 as Python decodes it: shortest forms, no surrogates.
inline bool is_utf8(const char* begin, const char* end) {
  const auto* p = reinterpret_cast<const unsigned char*>(begin);
  const auto* const stop = reinterpret_cast<const unsigned char*>(end);
  while (p < stop) {
    const unsigned c = *p++;
    if (c < 0x80) continue;
    const int more = c >= 0xC2 && c < 0xE0 ? 1 : (c & 0xF0) == 0xE0 ? 2 : c >= 0xF0 && c < 0xF5 ? 3 : 0;
    if (more == 0 || stop - p < more) return false;
    const unsigned low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    const unsigned high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (*p < low || *p > high) return false;
    for (int i = 1; i < more; ++i)
      if ((p[i] & 0xC0) != 0x80) return false;
    p += more;
  }
  return true;
}

// Reads exactly dim values from p to the end of the line.
inline Status read_values(const char* p, const char* end, const char* limit, std::size_t dim,
                          float* row) {
  bool finite = true;
  for (std::size_t i = 0; i < dim; ++i) {
    while (p < end && separates(*p)) ++p;
    if (p == end) return MALFORMED;
    p = read_number(p, end, limit, row[i]);
    if (!p) return MALFORMED;
    finite &= std::isfinite(row[i]);
  }
  if (p != end) return MALFORMED;
  return finite ? OK : NONFINITE;
}

// A piece in front of the values that is one more value: the line has too many of them.
inline bool looks_decimal(const char* p, const char* end) {
  float ignored;
  return std::any_of(p, end, [](char c) { return c == '.' || (c | 32) == 'e'; }) &&
         read_number(p, end, end, ignored) == end;
}

// Judges one line without its '\n' and fills `row`; the word is [begin, word_end).
inline Status parse_line(const char* begin, const char* end, const char* limit, std::size_t dim,
                         float* row, const char*& word_end) {
  if (begin < end && end[-1] == '\r') --end;
  while (begin < end && separates(end[-1])) --end;
  if (begin == end) return BLANK;
  if (separates(*begin) || !row) return MALFORMED;
  word_end = std::find_if(begin, end, separates);
  Status status = read_values(word_end, end, limit, dim, row);
  if (status == MALFORMED) {  // perhaps a word with spaces: count the values from the end
    const char* q = end;
    for (std::size_t i = 0; i < dim; ++i) {
      while (q > begin && !separates(q[-1])) --q;
      if (q == begin) return MALFORMED;
      while (separates(q[-1])) --q;
    }
    if (q == word_end) return MALFORMED;  // tried already
    word_end = q;
    while (q > begin && !separates(q[-1])) --q;
    if (q > begin && looks_decimal(q, word_end)) return MALFORMED;
    status = read_values(word_end, end, limit, dim, row);
  }
  return status == OK && !is_utf8(begin, word_end) ? BAD_UTF8 : status;
}

struct Block {
  const char *begin, *end;
  std::size_t n_lines = 0, n_rows = 0;          // rows: lines long enough for dim values
  std::size_t first_line = 0, first_row = 0;    // sums of the blocks before
  std::size_t n_kept = 0, n_bytes = 0;          // lines that are OK, and the bytes of their words
};

// The two passes over a buffer; its owner provides the memory in between.
class Lines {
 public:
  Lines(const char* data, std::size_t size, std::size_t dim, int n_threads)
      : data_(data), end_(data + size), dim_(dim), n_threads_(n_threads) {
    for (const char* p = data_; p < end_;) {
      const char* q = end_ - p > BLOCK ? line_end(p + BLOCK) : end_;
      blocks_.push_back({p, q == end_ ? q : q + 1});
      p = blocks_.back().end;
    }
    for_blocks([this](Block& block) { count(block); });
    for (Block& block : blocks_) {
      block.first_line = n_lines_;
      block.first_row = n_rows_;
      n_lines_ += block.n_lines;
      n_rows_ += block.n_rows;
    }
  }

  std::size_t n_lines() const { return n_lines_; }
  std::size_t n_rows() const { return n_rows_; }  // the most there can be
  std::size_t n_kept() const { return n_kept_; }
  std::size_t n_bytes() const { return n_bytes_; }

  // Fills vectors (n_rows, dim), of which the first n_kept() remain; status (n_lines); and the
  // words, as pieces of the data, (n_rows).
  void parse(float* vectors, std::uint8_t* status, std::string_view* words) {
    for_blocks([=, this](Block& block) { parse_block(block, vectors, status, words); });
    for (const Block& block : blocks_) {
      if (n_kept_ != block.first_row) {
        std::memmove(vectors + n_kept_ * dim_, vectors + block.first_row * dim_,
                     block.n_kept * dim_ * sizeof(float));
        std::copy_n(words + block.first_row, block.n_kept, words + n_kept_);
      }
      n_kept_ += block.n_kept;
      n_bytes_ += block.n_bytes;
    }
  }

 private:
  static constexpr std::ptrdiff_t BLOCK = 1 << 18;

  const char* line_end(const char* p) const {
    const void* found = std::memchr(p, '\n', static_cast<std::size_t>(end_ - p));
    return found ? static_cast<const char*>(found) : end_;
  }

  static const char* next(const char* line_end, const Block& block) {
    return line_end < block.end ? line_end + 1 : line_end;  // the last line may lack its '\n'
  }

  template <class Work>
  void for_blocks(const Work& work) {
    parallel_for(blocks_.size(), 1, n_threads_, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end; ++i) work(blocks_[i]);
    });
  }

  bool has_room(const char* begin, const char* end) const {
    return static_cast<std::size_t>(end - begin) / 2 >= dim_;  // "a" and dim times " 1"
  }

  void count(Block& block) const {
    for (const char* p = block.begin; p < block.end;) {
      const char* const q = line_end(p);
      ++block.n_lines;
      block.n_rows += has_room(p, q);
      p = next(q, block);
    }
  }

  void parse_block(Block& block, float* vectors, std::uint8_t* status,
                   std::string_view* words) const {
    vectors += block.first_row * dim_;
    status += block.first_line;
    words += block.first_row;
    for (const char* p = block.begin; p < block.end;) {
      const char *const q = line_end(p), *word_end = p;
      const Status found = parse_line(p, q, end_, dim_, has_room(p, q) ? vectors : nullptr, word_end);
      *status++ = found;
      if (found == OK) {
        *words++ = {p, static_cast<std::size_t>(word_end - p)};
        block.n_bytes += static_cast<std::size_t>(word_end - p);
        vectors += dim_;
        ++block.n_kept;
      }
      p = next(q, block);
    }
  }

  const char *data_, *end_;
  std::size_t dim_;
  int n_threads_;
  std::vector<Block> blocks_;
  std::size_t n_lines_ = 0, n_rows_ = 0, n_kept_ = 0, n_bytes_ = 0;
};

}  // namespace pmeans::text
