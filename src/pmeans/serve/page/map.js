// The map: a drawing of the first two principal components, with the same in words.

import { digits, drawn, element, percent, table } from "./dom.js";
import { plane } from "./vectors.js";

const EDGE = 24;
const LINE = 20;

/** Draw sentences into a figure as wide as it is. */
export function drawMap(figure, sentences, rows, marks) {
  if (rows.length < 3) {
    figure.replaceChildren(element("p", { class: "quiet" }, "Three sentences make a map."));
    return;
  }
  const { points, kept } = plane(rows);
  const width = figure.clientWidth || 600;
  const height = Math.max(260, Math.min(460, width * 0.62));
  const room = width > 560 ? 230 : 40; // for labels at the right
  const [toX, toY] = [scale(points, 0, EDGE, width - room), scale(points, 1, height - EDGE, EDGE)];
  const places = points.map(([x, y], i) => ({ i, x: toX(x), y: toY(y) }));
  const labels = apart(places, height);
  const marked = places.map(({ i, x, y }) => {
    const to = labels[i];
    const text = room > 40 ? `${i + 1}  ${short(sentences[i], 27)}` : `${i + 1} ${marks[i]}`;
    return drawn(
      "g",
      {},
      drawn("line", { x1: x, y1: y, x2: x + 12, y2: to }),
      drawn("circle", { cx: x, cy: y, r: 5 }),
      drawn("text", { x: x + 15, y: to, "dominant-baseline": "central" }, text),
    );
  });
  const caption =
    `The first two principal components, which keep ${percent(kept)} of the variance. ` +
    "Near to each other is similar in meaning.";
  const picture = drawn(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "map-name map-words" },
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

/** Heights of labels, moved down or up until those side by side are a line apart. */
function apart(places, height) {
  const heights = [];
  const set = [];
  for (const place of [...places].sort((a, b) => a.y - b.y)) {
    const beside = set.filter((other) => Math.abs(other.x - place.x) < 215);
    heights[place.i] = Math.max(place.y, ...beside.map((other) => heights[other.i] + LINE));
    set.push(place);
  }
  const over = Math.max(...heights) - (height - 12);
  return over > 0 ? heights.map((y) => (y > over + LINE ? y - over : y)) : heights;
}

const short = (text, most) => ([...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);
