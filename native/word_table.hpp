// From the bytes of a word to its row, in a hash table that lies in mapped memory.
//
// `kernels/index.py` lays the table out and says how. A mapped file may be damaged: nothing read
// from it is used as an address before it has been compared with the sizes of the arrays.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pmeans {

enum class Case { lower, cased, cased_then_lower };

struct Slot {
  uint64_t head;  // the word's first eight bytes
  uint64_t rest;  // 24 bits of the hash, 8 of the length, 32 of the word number
};

// A hash table of slots; the one of phrases has the whole hash in the place of the head.
struct Slots {
  const Slot* slots;
  size_t n;

  size_t home(uint64_t hash) const { return hash >> (65 - std::bit_width(n)); }
  void prefetch(uint64_t hash) const { __builtin_prefetch(slots + home(hash)); }
};

struct Table {
  const uint8_t* words;
  size_t n_bytes;
  const int64_t* offsets;
  size_t n_words;
  Slots slots;
  int32_t start;           // row of the first word
  Case letter_case;
  int32_t first_composed;  // id of the first unknown word, or -1 to drop unknown words
  Slots phrases;
  const uint64_t* marks;   // of what phrases begin with, or null if there are none
  int mark_shift;          // of a hash, to the place of its mark
};

struct Spelling {
  size_t offset;  // within the bytes of its sentence's tokens
  size_t size;
  uint64_t hash;
  uint64_t head;  // its first eight bytes
};

// `bytes` must be followed by at least seven zeros.
inline uint64_t hash_word(const uint8_t* bytes, size_t size) {
  constexpr uint64_t first = 0x9E3779B97F4A7C15u, factor = 0xD6E8FEB86659FD93u;
  static_assert(std::endian::native == std::endian::little);
  uint64_t h = size * first;
  for (size_t i = 0; i < size; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, bytes + i, 8);
    h = (h ^ eight) * factor;
    h ^= h >> 32;
  }
  return h * factor;
}

// The hash of words that another follows, and whether a phrase may begin with them.
inline uint64_t followed(uint64_t hash, const Spelling& next) {
  return std::rotl(hash, 1) ^ next.hash;
}

inline bool may_begin(const Table& table, uint64_t hash) {
  const uint64_t mark = uint64_t{1} << (hash & 63) | uint64_t{1} << (hash >> 6 & 63);
  return (table.marks[hash >> table.mark_shift] & mark) == mark;
}

// Whether two words of more than eight bytes, with the same first eight, are equal.
inline bool same_rest(const uint8_t* a, const uint8_t* b, size_t size) {
  uint64_t last_a, last_b;
  std::memcpy(&last_a, a + size - 8, 8);
  std::memcpy(&last_b, b + size - 8, 8);
  return last_a == last_b && (size <= 16 || std::memcmp(a + 8, b + 8, size - 16) == 0);
}

// The row in the matrix of the first number that `is` takes among the slots of a hash, or -1.
template <class Is>
int64_t find_slot(const Table& table, const Slots& slots, uint64_t hash, Is&& is) {
  constexpr uint64_t empty = ~uint64_t{0};
  for (size_t i = slots.home(hash); i < slots.n; ++i) {
    const Slot slot = slots.slots[i];
    if (slot.rest == empty) return -1;
    const uint64_t number = slot.rest & 0xFFFFFFFFu;
    if (number < table.n_words && is(slot, number))
      return static_cast<int64_t>(number) + table.start;
  }
  return -1;
}

inline int64_t find(const Table& table, const Spelling& word, const uint8_t* bytes) {
  const uint64_t rest = word.hash << 40 | std::min<uint64_t>(word.size, 255) << 32;
  return find_slot(table, table.slots, word.hash, [&](const Slot& slot, uint64_t number) {
    if (slot.head != word.head || slot.rest - number != rest) return false;
    if (word.size <= 8) return true;
    const auto begin = static_cast<uint64_t>(table.offsets[number]);
    const auto end = static_cast<uint64_t>(table.offsets[number + 1]);
    return begin <= end && end <= table.n_bytes && end - begin == word.size &&
           same_rest(table.words + begin, bytes + word.offset, word.size);
  });
}

inline int64_t find_phrase(const Table& table, uint64_t hash) {
  return find_slot(table, table.phrases, hash,
                   [&](const Slot& slot, uint64_t) { return slot.head == hash; });
}

}  // namespace pmeans
