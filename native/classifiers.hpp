// Training of whole groups of classifiers: shuffles, minibatches, stopping, the best weights, and
// the threads. See FitGroup and FitRule in `kernels/softmax.py`; the arithmetic is in softmax.cpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "softmax.hpp"
#include "threads.hpp"

namespace pmeans {

struct FitRule {
  size_t batch, epochs_a_round, max_epochs, patience;
  bool patience_resets, mean_loss, macro_f1;
};

struct FitGroup {
  const float* x;
  size_t dim, n_classes;
  const int32_t *labels, *train, *dev;
  size_t n_train, n_dev;
  uint32_t seed;
  size_t drawn;
  const float *weights, *bias;
  std::vector<double> rates, l2;
};

struct Fitted {
  std::vector<float> weights, bias;
  double score = -1;
  size_t epochs = 0;
};

// NumPy's legacy generator: the order that RandomState(seed).permutation(n) gives.
class Shuffler {
 public:
  explicit Shuffler(uint32_t seed) : generator_(seed) {}

  void permutation(size_t n, std::vector<uint32_t>& order) {
    order.resize(n);
    std::iota(order.begin(), order.end(), 0u);
    for (size_t i = n; i-- > 1;) std::swap(order[i], order[below_or_at(static_cast<uint32_t>(i))]);
  }

 private:
  // Draws are cut to as many bits as the limit has, and repeated if they are above it.
  uint32_t below_or_at(uint32_t limit) {
    uint32_t mask = limit, drawn;
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    while ((drawn = generator_() & mask) > limit) {
    }
    return drawn;
  }

  std::mt19937 generator_;
};

struct alignas(64) Line {
  float number[sums];
};
using Lines = std::vector<Line>;
inline float* numbers(Lines& lines) { return lines.data()->number; }

// The classifiers of one group.
class GroupTrainer {
 public:
  GroupTrainer(const Softmax& kernel, const FitGroup& group, const FitRule& rule)
      : kernel_(kernel), group_(group), rule_(rule), lines_(group.dim / sums + 1),
        padded_(lines_ * sums), n_columns_(group.n_classes == 2 ? 1 : group.n_classes) {
    const size_t largest = std::max(std::min(rule.batch, group.n_train), dev_rows);
    stride_ = (largest + sums - 1) / sums * sums;
    tails_.resize(largest);
    for (Line& tail : tails_) tail_pointers_.push_back(tail.number);
    for (size_t i = 0; i < group.rates.size(); ++i) add_fit(group.rates[i], group.l2[i]);
    logits_.resize(fits_.size() * n_columns_ * stride_ / sums);
  }

  std::vector<Fitted> train() {
    Shuffler shuffler(group_.seed);
    std::vector<uint32_t> order;
    if (group_.drawn) shuffler.permutation(group_.drawn, order);
    while (find_running()) {
      for (size_t i = 0; i < rule_.epochs_a_round; ++i) {
        shuffler.permutation(group_.n_train, order);
        gather(group_.train, group_.n_train, order.data());
        for (size_t start = 0; start < order.size(); start += rule_.batch)
          step(start, std::min(rule_.batch, order.size() - start));
      }
      epochs_ += rule_.epochs_a_round;
      look_at_dev();
    }
    std::vector<Fitted> fitted;
    for (Fit& fit : fits_) fitted.push_back(std::move(fit.best));
    return fitted;
  }

 private:
  static constexpr size_t dev_rows = 64;

  struct Fit {
    double rate, l2;
    Lines state;       // (n_classes, 3, padded): weights, mean, square
    Lines difference;  // (padded,), for two classes
    Fitted best;
    size_t stale = 0;
    std::vector<int64_t> hits, sizes;  // of each class, on the development rows
  };

  void add_fit(double rate, double l2) {
    Fit& fit = fits_.emplace_back();
    fit.rate = rate;
    fit.l2 = l2;
    fit.state.resize(group_.n_classes * 3 * lines_);
    for (size_t k = 0; k < group_.n_classes; ++k) {
      std::copy_n(group_.weights + k * group_.dim, group_.dim, weights(fit, k));
      weights(fit, k)[group_.dim] = group_.bias[k];
    }
    if (n_columns_ > 1) return;
    fit.difference.resize(lines_);
    for (size_t j = 0; j < padded_; ++j)
      numbers(fit.difference)[j] = weights(fit, 1)[j] - weights(fit, 0)[j];
  }

  float* weights(Fit& fit, size_t k) { return numbers(fit.state) + k * 3 * padded_; }

  bool find_running() {
    running_.clear();
    columns_.clear();
    if (epochs_ >= rule_.max_epochs) return false;
    for (Fit& fit : fits_) {
      if (fit.stale >= rule_.patience) continue;
      running_.push_back(&fit);
      for (size_t k = 0; k < n_columns_; ++k) {
        const float* const own = weights(fit, k);
        columns_.push_back(n_columns_ > 1
                               ? Column{own, weights(fit, k), nullptr, nullptr, 0, 0, 0}
                               : Column{numbers(fit.difference), weights(fit, 1), weights(fit, 0),
                                        numbers(fit.difference), 0, 0, 0});
      }
    }
    return !running_.empty();
  }

  // Finds rows and labels, in the given order if there is one.
  void gather(const int32_t* chosen, size_t n, const uint32_t* order) {
    rows_.resize(n);
    labels_.assign(n + sums, 0);
    for (size_t i = 0; i < n; ++i) {
      const auto row = static_cast<size_t>(chosen[order ? order[i] : i]);
      rows_[i] = group_.x + row * group_.dim;
      labels_[i] = group_.labels[row];
    }
  }

  Minibatch minibatch(size_t start, size_t count) {
    const size_t whole = group_.dim / sums * sums, rest = group_.dim - whole;
    for (size_t i = 0; i < count; ++i) {
      std::copy_n(rows_[start + i] + whole, rest, tails_[i].number);
      tails_[i].number[rest] = 1;
    }
    return {rows_.data() + start, tail_pointers_.data(), labels_.data() + start, count, rows_.size() - start,
            whole};
  }

  void step(size_t start, size_t count) {
    ++steps_;
    const double correction = 1 - std::pow(0.9, static_cast<double>(steps_));
    const double root = std::sqrt(1 - std::pow(0.999, static_cast<double>(steps_)));
    for (size_t c = 0; c < columns_.size(); ++c) {
      const Fit& fit = *running_[c / n_columns_];
      columns_[c].size = static_cast<float>(fit.rate / correction * root);
      columns_[c].epsilon = static_cast<float>(1e-8 * root);
      columns_[c].l2 = static_cast<float>(fit.l2);
    }
    const Minibatch batch = minibatch(start, count);
    float* const logits = numbers(logits_);
    kernel_.forward(batch, columns_.data(), columns_.size(), logits, stride_);
    const float divisor = rule_.mean_loss ? static_cast<float>(count) : 1.0f;
    for (size_t i = 0; i < running_.size(); ++i)
      kernel_.errors(batch, n_columns_, divisor, logits + i * n_columns_ * stride_, stride_);
    kernel_.update(batch, columns_.data(), columns_.size(), logits, stride_);
  }

  void look_at_dev() {
    for (Fit* fit : running_) {
      fit->hits.assign(group_.n_classes, 0);
      fit->sizes.assign(group_.n_classes, 0);
    }
    gather(group_.dev, group_.n_dev, nullptr);
    for (size_t start = 0; start < group_.n_dev; start += dev_rows) {
      const Minibatch batch = minibatch(start, std::min(dev_rows, group_.n_dev - start));
      kernel_.forward(batch, columns_.data(), columns_.size(), numbers(logits_), stride_);
      for (size_t i = 0; i < running_.size(); ++i)
        for (size_t row = 0; row < batch.count; ++row) {
          const auto gold = static_cast<size_t>(batch.labels[row]);
          const size_t predicted = predict(numbers(logits_) + i * n_columns_ * stride_ + row);
          running_[i]->hits[gold] += gold == predicted;
          ++running_[i]->sizes[gold];
          ++running_[i]->sizes[predicted];
        }
    }
    for (Fit* fit : running_) {
      const double score = measured(*fit);
      fit->best.epochs = epochs_;
      if (score > fit->best.score) {
        keep(*fit, score);
        if (rule_.patience_resets) fit->stale = 0;
      } else {
        ++fit->stale;
      }
    }
  }

  // The first of equal logits.
  size_t predict(const float* logits) const {
    if (n_columns_ == 1) return logits[0] > 0;
    size_t best = 0;
    for (size_t k = 1; k < n_columns_; ++k)
      if (logits[k * stride_] > logits[best * stride_]) best = k;
    return best;
  }

  double measured(const Fit& fit) const {
    double sum = 0, present = 0;
    for (size_t k = 0; k < group_.n_classes; ++k) {
      if (!rule_.macro_f1) sum += static_cast<double>(fit.hits[k]);
      if (!rule_.macro_f1 || !fit.sizes[k]) continue;
      sum += 2 * static_cast<double>(fit.hits[k]) / static_cast<double>(fit.sizes[k]);
      ++present;
    }
    return sum / (rule_.macro_f1 ? present : static_cast<double>(group_.n_dev));
  }

  void keep(Fit& fit, double score) {
    fit.best.score = score;
    fit.best.weights.resize(group_.n_classes * group_.dim);
    fit.best.bias.resize(group_.n_classes);
    for (size_t k = 0; k < group_.n_classes; ++k) {
      std::copy_n(weights(fit, k), group_.dim, fit.best.weights.data() + k * group_.dim);
      fit.best.bias[k] = weights(fit, k)[group_.dim];
    }
  }

  const Softmax& kernel_;
  const FitGroup& group_;
  const FitRule& rule_;
  const size_t lines_, padded_, n_columns_;
  size_t stride_ = 0, steps_ = 0, epochs_ = 0;
  std::vector<Fit> fits_;
  std::vector<Fit*> running_;
  std::vector<Column> columns_;
  std::vector<const float*> rows_;
  std::vector<int32_t> labels_;
  Lines tails_, logits_;
  std::vector<const float*> tail_pointers_;
};

// A group is the work of one thread, so that its weights stay in that core's cache.
inline std::vector<std::vector<Fitted>> train_groups(const Softmax& kernel, const std::vector<FitGroup>& groups,
                                                     const FitRule& rule, int n_threads) {
  std::vector<std::vector<Fitted>> fitted(groups.size());
  parallel_for(groups.size(), 1, n_threads, [&](size_t begin, size_t, size_t) {
    fitted[begin] = GroupTrainer(kernel, groups[begin], rule).train();
  });
  return fitted;
}

}  // namespace pmeans
