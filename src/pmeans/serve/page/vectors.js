// Arithmetic on rows of numbers.

export const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/** All products of pairs: the cosines, if rows have length 1. */
export const products = (rows, others = rows) => rows.map((a) => others.map((b) => dot(a, b)));

/** The places of the k largest other entries of row i, best first. */
export function nearest(cosines, i, k) {
  const others = cosines[i].map((_, j) => j).filter((j) => j !== i);
  return others.sort((a, b) => cosines[i][b] - cosines[i][a]).slice(0, k);
}

/**
 * The first two principal components: `points` as [x, y], and the share of the variance they keep.
 * There are fewer rows than columns, so that the small matrix of products is taken apart.
 */
export function plane(rows) {
  const mean = rows[0].map((_, j) => rows.reduce((sum, row) => sum + row[j], 0) / rows.length);
  const left = products(rows.map((row) => row.map((value, j) => value - mean[j])));
  const total = left.reduce((sum, row, i) => sum + row[i], 0);
  const axes = [0, 1].map(() => strongest(left));
  return {
    points: rows.map((_, i) => axes.map((axis) => axis.coordinates[i])),
    kept: total > 1e-12 ? axes.reduce((sum, axis) => sum + axis.value, 0) / total : 1,
  };
}

/** Find the largest eigenvalue by power iteration, and take its part out of the matrix. */
function strongest(matrix) {
  let vector = matrix.map((_, i) => 1 + Math.sin(i + 1));
  let value = 0;
  for (let step = 0; step < 300; step++) {
    const next = matrix.map((row) => dot(row, vector));
    value = Math.sqrt(dot(next, next));
    if (value < 1e-12) return { value: 0, coordinates: matrix.map(() => 0) };
    vector = next.map((entry) => entry / value);
  }
  const far = vector.reduce((best, entry) => (Math.abs(entry) > Math.abs(best) ? entry : best));
  if (far < 0) vector = vector.map((entry) => -entry); // the same side at each redraw
  matrix.forEach((row, i) => row.forEach((_, j) => (row[j] -= value * vector[i] * vector[j])));
  return { value, coordinates: vector.map((entry) => entry * Math.sqrt(value)) };
}
