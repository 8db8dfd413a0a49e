// Skip-gram over the sentences of a corpus: what is drawn at random, and which rows meet. See
// SkipGramJob in `kernels/skipgram.py`; the arithmetic is in skipgram.cpp.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "skipgram.hpp"
#include "threads.hpp"

namespace pmeans {

struct SkipGramJob {
  const int32_t* ids;
  const int64_t* offsets;
  size_t n_sentences;
  const uint64_t *keep, *coin;  // (n_words,), out of 2^32
  const int32_t* alias;         // (n_words,)
  size_t n_words;
  const int32_t* pieces;   // rows that a word is the mean of; null where a word is its row
  const int64_t* borders;  // (n_words + 1,)
  size_t window, negatives, epochs;
  double rate, last_rate;
  uint64_t seed;
  bool shuffle;
};

// SplitMix64: any number is a good seed, so every sentence of every epoch has its own.
class Random {
 public:
  Random(uint64_t seed, uint64_t epoch, uint64_t sentence) : state_(seed) {
    state_ = next() + epoch;
    state_ = next() + sentence;
  }
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return static_cast<size_t>(((next() >> 32) * n) >> 32); }

 private:
  uint64_t state_;
};

// One thread's work; what it allocates is kept from sentence to sentence.
class SkipGramWorker {
 public:
  SkipGramWorker(const SkipGram& kernel, const SkipGramJob& job, float* inputs, float* outputs,
                 size_t width)
      : kernel_(kernel), job_(job), inputs_(inputs), outputs_(outputs), width_(width) {}

  void train(size_t epoch, size_t sentence) {
    Random random(job_.seed, epoch, sentence);
    draw(random, sentence);
    if (words_.size() < 2) return;
    const double all = static_cast<double>(job_.offsets[job_.n_sentences]);
    const double done = (static_cast<double>(epoch) * all + static_cast<double>(job_.offsets[sentence])) /
                        (static_cast<double>(job_.epochs) * all);
    const auto rate = static_cast<float>(job_.rate + (job_.last_rate - job_.rate) * done);
    find_rows();
    for (size_t i = 0; i < words_.size(); ++i) {
      if (i + 1 < words_.size()) fetch(i + 1);
      centre(i, rate);
    }
    if (job_.pieces) give_back();
  }

 private:
  // The words that stay, and for each its reach and its negatives.
  void draw(Random& random, size_t sentence) {
    words_.clear();
    for (int64_t t = job_.offsets[sentence]; t < job_.offsets[sentence + 1]; ++t)
      if ((random.next() >> 32) < job_.keep[job_.ids[t]]) words_.push_back(job_.ids[t]);
    const size_t n = words_.size();
    if (n < 2) return;
    if (job_.shuffle)
      for (size_t i = n - 1; i > 0; --i) std::swap(words_[i], words_[random.below(i + 1)]);
    reach_.resize(n);
    targets_.resize(n * (job_.negatives + 1));
    for (size_t i = 0; i < n; ++i) {
      reach_[i] = job_.window - random.below(job_.window);
      int32_t* const drawn = &targets_[i * (job_.negatives + 1)];
      drawn[0] = words_[i];
      for (size_t k = 1; k <= job_.negatives; ++k) {
        const uint64_t z = random.next();
        const auto column = static_cast<size_t>(((z >> 32) * job_.n_words) >> 32);
        drawn[k] = (z & 0xFFFFFFFFu) < job_.coin[column] ? static_cast<int32_t>(column) : job_.alias[column];
      }
    }
  }

  // A word made of pieces is composed once a sentence, however often it stands there.
  void find_rows() {
    rows_.resize(words_.size());
    if (!job_.pieces) {
      for (size_t i = 0; i < words_.size(); ++i) rows_[i] = inputs_ + row_of(words_[i]);
      return;
    }
    distinct_ = words_;
    std::sort(distinct_.begin(), distinct_.end());
    distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
    now_.resize(distinct_.size() * width_);
    for (size_t d = 0; d < distinct_.size(); ++d) {
      const int64_t begin = job_.borders[distinct_[d]], end = job_.borders[distinct_[d] + 1];
      kernel_.compose(inputs_, job_.pieces + begin, static_cast<size_t>(end - begin), width_, &now_[d * width_]);
    }
    before_ = now_;
    for (size_t i = 0; i < words_.size(); ++i) {
      const auto at = std::lower_bound(distinct_.begin(), distinct_.end(), words_[i]);
      rows_[i] = &now_[static_cast<size_t>(at - distinct_.begin()) * width_];
    }
  }

  void give_back() {
    for (size_t d = 0; d < distinct_.size(); ++d) {
      const int64_t begin = job_.borders[distinct_[d]], end = job_.borders[distinct_[d] + 1];
      kernel_.spread(inputs_, job_.pieces + begin, static_cast<size_t>(end - begin), width_,
                     &now_[d * width_], &before_[d * width_]);
    }
  }

  // Rows of rare words are far away: those of the next centre are fetched during this one.
  void fetch(size_t i) const {
    const int32_t* const drawn = &targets_[i * (job_.negatives + 1)];
    for (size_t k = 0; k <= job_.negatives; ++k)
      for (size_t j = 0; j < width_; j += 16) __builtin_prefetch(outputs_ + row_of(drawn[k]) + j, 1, 2);
  }

  void centre(size_t i, float rate) {
    in_.clear();
    const size_t begin = i - std::min(i, reach_[i]), end = std::min(words_.size(), i + reach_[i] + 1);
    for (size_t j = begin; j < end; ++j)
      if (j != i) in_.push_back(rows_[j]);
    out_.clear();
    const int32_t* const drawn = &targets_[i * (job_.negatives + 1)];
    for (size_t k = 0; k <= job_.negatives; ++k)  // the centre word is no negative of itself
      if (k == 0 || drawn[k] != drawn[0]) out_.push_back(outputs_ + row_of(drawn[k]));
    scratch_.resize(std::max(scratch_.size(), in_.size() * (out_.size() + 19) + 8));
    kernel_.step(in_.data(), in_.size(), out_.data(), out_.size(), width_, rate, scratch_.data());
  }

  size_t row_of(int32_t word) const { return static_cast<size_t>(word) * width_; }

  const SkipGram& kernel_;
  const SkipGramJob& job_;
  float *inputs_, *outputs_;
  size_t width_;
  std::vector<int32_t> words_, targets_, distinct_;
  std::vector<size_t> reach_;
  std::vector<float*> rows_, in_, out_;
  std::vector<float> now_, before_, scratch_;
};

// HOGWILD. Threads share both matrices without a lock: rarely do two move the same row at once, and
// then one of the moves may be lost. With one thread every bit is determined.
inline void train_sentences(const SkipGram& kernel, const SkipGramJob& job, float* inputs, float* outputs,
                            size_t width, size_t epoch, size_t begin, size_t end, int n_threads) {
  SkipGramWorker worker(kernel, job, inputs, outputs, width);
  parallel_for(end - begin, 32, n_threads, [=](size_t first, size_t last, size_t) mutable {
    for (size_t s = first; s < last; ++s) worker.train(epoch, begin + s);
  });
}

}  // namespace pmeans
