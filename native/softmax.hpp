// One step of many small softmax classifiers that see the same rows.
//
// `kernels/softmax.py` is the same mathematics in plain NumPy. A sum over dimensions is taken in
// 16 partial sums and a sum over rows in the rows' order, one classifier at a time, whatever the
// width of a vector and whoever else is being trained: the bits are the same on every instruction
// set and in every company.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pmeans {

constexpr size_t sums = 16;  // partial sums of a dot product; weights are padded to a multiple

// Rows of features. What is left of a row behind its last whole 16 numbers is copied to its
// `tail`, 16 numbers wide: the rest of the row, a 1 that the bias is the weight of, zeros.
struct Minibatch {
  const float* const* row;
  const float* const* tail;
  const int32_t* labels;  // may be read up to a multiple of 16
  size_t count;
  size_t known;           // how many rows `row` goes on to name; those behind `count` follow soon
  size_t whole;           // numbers of a row that lie in whole runs of 16
};

// What one logit comes from. Two classes need one logit only, the second minus the first.
struct Column {
  const float* logit;  // weights of the logit, (padded,)
  float* state;        // of the class: weights, mean, square, (3, padded)
  float* first;        // two classes: state of the first one, and
  float* difference;   // weights of the second minus those of the first; else null
  // ADAM. rate * m / (sqrt(v) / root + epsilon) with both of its sides multiplied by root, which
  // saves a division a weight.
  float size, epsilon, l2;
};

struct Softmax {
  // Logits of every row: logits[column * stride + row].
  void (*forward)(const Minibatch&, const Column*, size_t n_columns, float* logits, size_t stride);
  // Turns the logits of a classifier's columns into the gradient of the cross-entropy, which is
  // divided by `divisor`.
  void (*errors)(const Minibatch&, size_t n_columns, float divisor, float* logits, size_t stride);
  // The step of every classifier down its gradient.
  void (*update)(const Minibatch&, const Column*, size_t n_columns, const float* errors, size_t stride);
};

extern const Softmax softmax_baseline, softmax_avx2, softmax_avx512;

}  // namespace pmeans
