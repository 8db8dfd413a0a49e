// From sentences to the rows of their words and phrases, in several tables at once.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "plain_text.hpp"
#include "threads.hpp"
#include "tokenize.hpp"
#include "word_table.hpp"

namespace pmeans {

// The tokens of one sentence, spelled one behind the other.
class Tokens {
 public:
  Tokens(bool cased, bool lower) : cased_(cased), lower_(lower) {}

  void read(const Text& text, Splitting splitting) {
    auto read = [&](const auto* s, size_t n) { return read_as(s, n, splitting); };
    if (!with_characters(text, read)) with_characters(plain_.of(text), read);
  }
  const uint8_t* bytes() const { return bytes_.data(); }
  const std::vector<Spelling>& cased() const { return cased_spellings_; }
  const std::vector<Spelling>& lower() const { return lower_spellings_; }

 private:
  template <class Char>
  bool read_as(const Char* s, size_t n, Splitting splitting) {
    cased_spellings_.clear();
    lower_spellings_.clear();
    size_t used = 0;
    auto add = [&](std::vector<Spelling>& to, size_t begin, size_t end, bool lower, bool word) {
      // At most 4 bytes a character, and the zeros that the hash wants to see behind a word.
      const size_t need = used + 4 * (end - begin) + 16;
      if (bytes_.size() < need) bytes_.resize(2 * need);
      uint8_t* out = bytes_.data() + used;
      size_t size = end - begin;
      bool ascii = false;
      if constexpr (sizeof(Char) == 1) ascii = spell_ascii(s + begin, size, n - begin, lower, out);
      if (!ascii) size = spell(s + begin, size, lower, word, out);
      std::memset(out + size, 0, 8);
      uint64_t head;
      std::memcpy(&head, out, 8);
      to.push_back({used, size, hash_word(out, size), head});
      used += size + 8;
    };
    return split(s, n, splitting, [&](size_t begin, size_t end, bool word) {
      if (cased_) add(cased_spellings_, begin, end, false, word);
      if (lower_) add(lower_spellings_, begin, end, true, word);
    });
  }
  bool cased_, lower_;
  PlainText plain_;
  std::vector<uint8_t> bytes_;
  std::vector<Spelling> cased_spellings_, lower_spellings_;
};

// Distinct words, numbered in order of appearance.
class Distinct {
 public:
  int32_t number(const char* bytes, size_t size, uint64_t hash) {
    if (2 * words_.size() >= slots_.size()) grow();
    size_t place = hash & (slots_.size() - 1);
    for (int32_t k; (k = slots_[place]) >= 0; place = (place + 1) & (slots_.size() - 1))
      if (hashes_[k] == hash && words_[k].size() == size &&
          std::memcmp(words_[k].data(), bytes, size) == 0)
        return k;
    slots_[place] = static_cast<int32_t>(words_.size());
    words_.emplace_back(bytes, size);
    hashes_.push_back(hash);
    return slots_[place];
  }
  const std::vector<std::string>& words() const { return words_; }
  const std::vector<uint64_t>& hashes() const { return hashes_; }

 private:
  void grow() {
    slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), -1);
    for (size_t k = 0; k < hashes_.size(); ++k) {
      size_t place = hashes_[k] & (slots_.size() - 1);
      while (slots_[place] >= 0) place = (place + 1) & (slots_.size() - 1);
      slots_[place] = static_cast<int32_t>(k);
    }
  }
  std::vector<int32_t> slots_;
  std::vector<std::string> words_;
  std::vector<uint64_t> hashes_;
};

// What one table knows of a batch; see TokenBatch in `types.py`.
struct Found {
  std::vector<int32_t> ids;
  std::vector<int32_t> known, unknown;  // ids, and words without one, of each sentence
  std::vector<int32_t> joined;          // words beyond the ids, if there are phrases
  Distinct unknown_words;
};

// The words of one sentence after another, looked up in all tables. Each thread has its own.
class Finder {
 public:
  Finder(const std::vector<Table>& tables, Splitting splitting, size_t n_texts)
      : tables_(tables), splitting_(splitting), remembers_(tables.size() > 1 && n_texts >= 256) {
    bool cased = false, lower = false;
    for (const Table& table : tables) {
      cased |= table.letter_case != Case::lower;
      lower |= table.letter_case != Case::cased;
    }
    tokens_ = Tokens(cased, lower);
    seen_.resize(remembers_ ? n_seen : 0);
    seen_rows_.resize(seen_.size() * tables.size());
  }

  // Looks a sentence up and adds what each table knows to its part of `found`.
  void read(const Text& text, std::vector<Found>& found) {
    tokens_.read(text, splitting_);
    find_rows();
    for (size_t t = 0; t < tables_.size(); ++t) {
      if (tables_[t].marks) find_phrases(t);
      add_to(found[t], t);
    }
  }

 private:
  // SEEN. Most running words are short and few. What several tables said of a word of up to eight
  // bytes is kept, by its hash, in a small array that the cache holds better than the tables.
  struct Key {
    uint64_t head;
    size_t size;  // 0: free
  };
  static constexpr int seen_bits = 12;
  static constexpr size_t n_seen = size_t{1} << seen_bits;

  static constexpr size_t longest_phrase = 3;  // words
  static constexpr int32_t in_phrase = -2;  // in place of a row, of all but a phrase's first word

  const std::vector<Spelling>& words() const {
    return tokens_.cased().empty() ? tokens_.lower() : tokens_.cased();
  }

  void find_rows() {
    const std::vector<Spelling>& words = this->words();
    const size_t n_tables = tables_.size();
    rows_.resize(words.size() * n_tables);
    fresh_.resize(words.size());
    size_t n_fresh = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      if (remembers_ && recall(words[i], &rows_[i * n_tables])) continue;
      fresh_[n_fresh++] = i;
      for (size_t t = 0; t < n_tables; ++t) tables_[t].slots.prefetch(spellings(t)[i].hash);
    }
    for (size_t k = 0; k < n_fresh; ++k) {
      const size_t i = fresh_[k];
      for (size_t t = 0; t < n_tables; ++t) rows_[i * n_tables + t] = find_row(i, t);
      if (remembers_ && words[i].size <= 8) remember(words[i], &rows_[i * n_tables]);
    }
  }

  int32_t find_row(size_t i, size_t t) const {
    const Table& table = tables_[t];
    int64_t row = find(table, spellings(t)[i], tokens_.bytes());
    if (row < 0 && table.letter_case == Case::cased_then_lower)
      row = find(table, tokens_.lower()[i], tokens_.bytes());
    return static_cast<int32_t>(row);
  }

  bool recall(const Spelling& word, int32_t* rows) const {
    const size_t place = word.hash >> (64 - seen_bits);
    if (seen_[place].head != word.head || seen_[place].size != word.size) return false;
    std::copy_n(&seen_rows_[place * tables_.size()], tables_.size(), rows);
    return true;
  }

  void remember(const Spelling& word, const int32_t* rows) {
    const size_t place = word.hash >> (64 - seen_bits);
    seen_[place] = {word.head, word.size};
    std::copy_n(rows, tables_.size(), &seen_rows_[place * tables_.size()]);
  }

  const std::vector<Spelling>& spellings(size_t t) const {
    return tables_[t].letter_case == Case::lower ? tokens_.lower() : tokens_.cased();
  }

  // PHRASES. From left to right, the longest entry of several words wins that the words at hand
  // begin with. Nearly all words are sent away by the mark of two words. For the others, the table
  // is called from memory before the first of them is looked up.
  void find_phrases(size_t t) {
    const Table& table = tables_[t];
    const std::vector<Spelling>&first = spellings(t), &second = tokens_.lower();
    const bool both = table.letter_case == Case::cased_then_lower;
    likely_.resize(first.size());
    size_t n_likely = 0, end = 0;
    auto begins = [&](const std::vector<Spelling>& words, size_t i) {
      return may_begin(table, followed(words[i].hash, words[i + 1]));
    };
    for (size_t i = 0; i + 1 < first.size(); ++i) {
      likely_[n_likely] = i;  // and overwritten, if it is not
      n_likely += begins(first, i) || (both && begins(second, i));
    }
    for (size_t k = 0; k < n_likely; ++k)
      table.phrases.prefetch(followed(first[likely_[k]].hash, first[likely_[k] + 1]));
    for (size_t k = 0; k < n_likely; ++k) {
      const size_t i = likely_[k];
      if (i < end) continue;
      for (size_t n = std::min(longest_phrase, first.size() - i); n > 1; --n) {
        int64_t row = find_joined(table, &first[i], n);
        if (row < 0 && both) row = find_joined(table, &second[i], n);
        if (row < 0) continue;
        end = i + n;
        for (size_t j = i; j < end; ++j) rows_[j * tables_.size() + t] = in_phrase;
        rows_[i * tables_.size() + t] = static_cast<int32_t>(row);
        break;
      }
    }
  }

  // The row of n words as a phrase, or -1.
  static int64_t find_joined(const Table& table, const Spelling* words, size_t n) {
    uint64_t hash = words[0].hash;
    for (size_t k = 1; k < n; ++k) hash = followed(hash, words[k]);
    return may_begin(table, hash) ? find_phrase(table, hash) : -1;
  }

  void add_to(Found& found, size_t t) const {
    const bool numbers = tables_[t].first_composed >= 0;
    const size_t n = words().size(), before = found.ids.size();
    found.ids.resize(before + n);
    int32_t* const ids = found.ids.data() + before;
    int32_t known = 0, joined = 0;
    for (size_t i = 0; i < n; ++i) {
      int32_t row = rows_[i * tables_.size() + t];
      bool has_id = row >= 0;
      joined += row == in_phrase;
      if (numbers && !has_id && row != in_phrase) {
        // Numbered within its chunk for now, from -1 downwards.
        const Spelling& word = spellings(t)[i];
        const auto* spelled = reinterpret_cast<const char*>(tokens_.bytes()) + word.offset;
        row = -1 - found.unknown_words.number(spelled, word.size, word.hash);
        has_id = true;
      }
      ids[known] = row;  // and overwritten, if it is none
      known += has_id;
    }
    found.ids.resize(before + known);
    found.known.push_back(known);
    found.unknown.push_back(static_cast<int32_t>(n) - known - joined);
    if (tables_[t].marks) found.joined.push_back(joined);
  }

  const std::vector<Table>& tables_;
  Splitting splitting_;
  bool remembers_;
  Tokens tokens_{false, false};
  std::vector<Key> seen_;
  std::vector<int32_t> seen_rows_;  // (n_seen, n_tables)
  std::vector<int32_t> rows_;       // (n_words, n_tables) of the sentence at hand
  std::vector<size_t> fresh_;       // its words that were not seen before
  std::vector<size_t> likely_;      // its words that a phrase may begin with
};

// Joins the chunks of one table, and numbers distinct unknown words in order of appearance.
inline Found join(const Table& table, std::vector<std::vector<Found>>& chunks, size_t t) {
  Found all;
  std::vector<int32_t> numbers;  // of a chunk's words among those of all
  size_t n_ids = 0;
  for (const auto& chunk : chunks) n_ids += chunk[t].ids.size();
  all.ids.reserve(n_ids);
  for (auto& chunk : chunks) {
    Found& part = chunk[t];
    numbers.clear();
    for (size_t k = 0; k < part.unknown_words.words().size(); ++k) {
      const std::string& word = part.unknown_words.words()[k];
      const uint64_t hash = part.unknown_words.hashes()[k];
      numbers.push_back(all.unknown_words.number(word.data(), word.size(), hash));
    }
    for (int32_t& id : part.ids)
      if (id < 0) id = table.first_composed + numbers[-static_cast<int64_t>(id) - 1];
    all.ids.insert(all.ids.end(), part.ids.begin(), part.ids.end());
    all.known.insert(all.known.end(), part.known.begin(), part.known.end());
    all.unknown.insert(all.unknown.end(), part.unknown.begin(), part.unknown.end());
    all.joined.insert(all.joined.end(), part.joined.begin(), part.joined.end());
    part = Found{};
  }
  return all;
}

inline std::vector<Found> lookup(const std::vector<Text>& texts, const std::vector<Table>& tables,
                                 Splitting splitting, int n_threads) {
  constexpr size_t grain = 256;
  std::vector<std::vector<Found>> chunks((texts.size() + grain - 1) / grain);
  parallel_for(texts.size(), grain, n_threads,
               [&, finder = Finder(tables, splitting, texts.size())](size_t begin, size_t end,
                                                                    size_t chunk) mutable {
                 chunks[chunk].resize(tables.size());
                 for (size_t i = begin; i < end; ++i) finder.read(texts[i], chunks[chunk]);
               });
  std::vector<Found> found;
  for (size_t t = 0; t < tables.size(); ++t) found.push_back(join(tables[t], chunks, t));
  return found;
}

}  // namespace pmeans
