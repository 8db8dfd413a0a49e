// A classifier of a few examples, fitted in the browser.

import { dot, products } from "./vectors.js";

/** What one example weighs against the ridge: C of scikit-learn's LogisticRegression. */
export const C = 10;

/** Read lines `label: text`; `wrong` has the numbers of those that are not. */
export function readExamples(text) {
  const examples = [];
  const wrong = [];
  text.split("\n").forEach((line, i) => {
    if (!line.trim()) return;
    const [, label, said] = line.match(/^\s*([^:：]*?)\s*[:：]\s*(.*?)\s*$/u) ?? [];
    if (label && said) examples.push({ label, text: said });
    else wrong.push(i + 1);
  });
  return { examples, wrong };
}

/**
 * Fit logistic regression with a ridge; the constant is one more column, and shrinks as well.
 * The weights are sums of examples, so that only the products of examples are needed.
 * Returns a function from rows to `{ scores, probabilities }`, one number per class.
 */
export function fit(rows, labels, classes) {
  const kernel = products(rows).map((row) => row.map((value) => value + 1));
  const trace = kernel.reduce((sum, row, i) => sum + row[i], 0);
  // Nesterov's method: the ridge curves by 1, the loss by at most C/2 times the trace.
  const curve = 1 + (C / 2) * trace;
  const momentum = (Math.sqrt(curve) - 1) / (Math.sqrt(curve) + 1);
  let shares = rows.map(() => classes.map(() => 0));
  let before = shares;
  for (let step = 0; step < 40 * Math.sqrt(curve); step++) {
    const ahead = shares.map((row, i) => row.map((v, c) => v + momentum * (v - before[i][c])));
    before = shares;
    shares = ahead.map((row, i) => {
      const p = softmax(classes.map((_, c) => sum(ahead, (other, j) => kernel[i][j] * other[c])));
      return row.map((v, c) => v - (v + C * (p[c] - (labels[i] === classes[c]))) / curve);
    });
  }
  return (row) => {
    const near = rows.map((example) => dot(example, row) + 1);
    const scores = classes.map((_, c) => sum(shares, (share, i) => near[i] * share[c]));
    return { scores, probabilities: softmax(scores) };
  };
}

const sum = (list, term) => list.reduce((total, entry, i) => total + term(entry, i), 0);

function softmax(scores) {
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const total = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / total);
}

/** How far a class is ahead of the best other one. */
export function margin(scores, c) {
  return scores[c] - Math.max(...scores.filter((_, other) => other !== c));
}

/** The words of a text as `{ start, end }`, also where no spaces stand between them. */
export function words(text, lang) {
  const locale = /^[a-z]{2,3}$/.test(lang) ? lang : undefined;
  const found = new Intl.Segmenter(locale, { granularity: "word" }).segment(text);
  return [...found]
    .filter((part) => part.isWordLike)
    .map((part) => ({ start: part.index, end: part.index + part.segment.length }));
}
