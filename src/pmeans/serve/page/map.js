// The map: a drawing of the first two principal components, with the same in words.

import { digits, drawn, element, percent, table } from "./dom.js";
import { plane } from "./vectors.js";

const EDGE = 28;
const LINE = 20; // between labels
const WIDE = 230; // a label

/** Draw sentences into a figure as wide as it is. */
export function drawMap(figure, sentences, rows, marks) {
  if (rows.length < 3) {
    figure.replaceChildren(element("p", { class: "quiet" }, "Three sentences make a map."));
    return;
  }
  const { points, kept } = plane(rows);
  const width = figure.clientWidth || 600;
  const height = Math.max(260, Math.min(460, width * 0.62));
  const wide = width > 560;
  const room = wide ? WIDE + 40 : 60; // at the right, for labels
  const [toX, toY] = [scale(points, 0, EDGE, width - room), scale(points, 1, height - EDGE, EDGE)];
  const places = points.map(([x, y], i) => ({ i, x: toX(x), y: toY(y) }));
  const labels = apart(places, height);
  const marked = places.map(({ i, x, y }) => {
    const to = labels[i];
    const text = wide ? `${i + 1}  ${short(sentences[i], 27)}` : `${i + 1} ${marks[i]}`;
    return drawn(
      "g",
      {},
      drawn("line", { x1: x, y1: y, x2: to.x - 4, y2: to.y }),
      drawn("circle", { cx: x, cy: y, r: 5 }),
      drawn("text", { x: to.x, y: to.y, "dominant-baseline": "central" }, text),
    );
  });
  const caption =
    `The first two principal components, which keep ${percent(kept)} of the variance. ` +
    "Near to each other is similar in meaning.";
  const picture = drawn(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-labelledby": "map-name",
      "aria-describedby": "map-words",
    },
    drawn("title", { id: "map-name" }, `Map of ${rows.length} sentences`),
    drawn("desc", { id: "map-words" }, "The table below it has the same places in numbers."),
    ...marked,
  );
  const open = figure.querySelector("details")?.open;
  const inNumbers = element(
    "details",
    open ? { open: "" } : {},
    element("summary", {}, "The map in numbers"),
    element("div", { class: "wide" }, coordinates(sentences, points)),
  );
  figure.replaceChildren(picture, element("figcaption", { class: "quiet" }, caption), inNumbers);
}

function coordinates(sentences, points) {
  const columns = [
    ["No.", (_, i) => `${i + 1}`],
    ["Sentence", (_, i) => sentences[i]],
    ["Across", ([x]) => digits(x)],
    ["Up", ([, y]) => digits(y)],
  ];
  return table("Places of the sentences in the map", columns, points);
}

/** From coordinates to pixels; what has no extent is in the middle. */
function scale(points, axis, from, to) {
  const values = points.map((point) => point[axis]);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (most - least < 1e-9) return () => (from + to) / 2;
  return (value) => from + ((value - least) / (most - least)) * (to - from);
}

/** Places of labels: right of all points nearby, and a line apart from each other. */
function apart(places, height) {
  const near = (a, b) => Math.abs(a.x - b.x) < 60 && Math.abs(a.y - b.y) < 2 * LINE;
  const labels = places.map((place) => ({
    x: 15 + Math.max(...places.filter((other) => near(place, other)).map((other) => other.x)),
    y: place.y,
  }));
  const order = [...labels].sort((a, b) => a.y - b.y);
  const above = (label, at) =>
    order.slice(0, at).filter((other) => Math.abs(other.x - label.x) < WIDE);
  order.forEach((label, at) => {
    label.y = Math.max(label.y, ...above(label, at).map((other) => other.y + LINE));
  });
  // Those that have left the drawing at its foot push the others up.
  for (let at = order.length - 1; at >= 0; at--) {
    order[at].y = Math.min(order[at].y, height - LINE);
    for (const other of above(order[at], at)) other.y = Math.min(other.y, order[at].y - LINE);
  }
  return labels;
}

function short(text, most) {
  const characters = [...text];
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : text;
}
