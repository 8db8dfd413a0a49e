// Sentences side by side: their languages, neighbours, similarities, and the map.

import { ask } from "./api.js";
import { digits, element, find, percent, table } from "./dom.js";
import { drawMap } from "./map.js";
import { Mistake, language, languageName, lines, panel, plural, shown } from "./panel.js";
import { aboutParts, chosenParts } from "./recipe.js";
import { dot, nearest, products } from "./vectors.js";

/** Return what is to be called when sentences, language or parts have changed. */
export function comparing(info, then) {
  let redraw = () => {};
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width !== width) redraw();
    width = contentRect.width;
  }).observe(find("map"));

  return panel("compare", async (signal) => {
    const { texts, note } = lines("sentences", info);
    if (!texts.length) throw new Mistake("Write a sentence, or several, one per line.");
    const parts = chosenParts(info);
    if (parts?.length === 0) throw new Mistake("Choose at least one power of a space.");
    const lang = language("sentences-lang");
    const found = info.finds_languages && info.languages.length > 1 && !lang;
    const [rows, detected] = await Promise.all([
      ask("embed", { inputs: texts, lang, parts }, signal),
      found ? ask("detect", { inputs: texts }, signal) : texts.map(() => ({ lang })),
    ]);
    const cosines = products(rows);
    find("neighbours").replaceChildren(neighbours(texts, rows, detected, cosines));
    find("matrix").replaceChildren(matrix(texts, cosines));
    find("recipe-message").textContent = aboutParts(parts, info, rows[0].length);
    redraw = () => drawMap(find("map"), texts, rows, detected.map((each) => each.lang ?? ""));
    redraw();
    shown("compare", { texts, lang, parts, found });
    then({ texts, lang });
    return `${plural(texts.length, "sentence")} compared.${note}`;
  });
}

function neighbours(texts, rows, detected, cosines) {
  const near = (_, i) => {
    const [first, ...others] = nearest(cosines, i, 3);
    if (first === undefined) return "–";
    const said = others.map((j) => `${j + 1} (${digits(cosines[i][j])})`).join(", ");
    return element(
      "span",
      {},
      element("b", {}, digits(cosines[i][first])),
      ` ${first + 1} ${texts[first]} `,
      element("small", {}, said && `then ${said}`),
    );
  };
  const columns = [
    ["No.", (_, i) => `${i + 1}`],
    ["Sentence", (text, i) => spoken(text, detected[i].lang)],
    ["Taken for", (_, i) => takenFor(detected[i], dot(rows[i], rows[i]) > 0)],
    ["Nearest", near],
  ];
  return table("The sentences with their languages and nearest sentences", columns, texts);
}

/** Text of a language, for screen readers to pronounce. */
const spoken = (text, lang) => element("span", lang ? { lang } : {}, text);

export function takenFor({ lang, probability }, known = true) {
  const made = element("span", {});
  if (lang !== undefined) made.append(languageName(lang));
  if (probability !== undefined) made.append(" ", element("small", {}, percent(probability)));
  if (!known) made.append(" ", element("small", {}, "no known word"));
  return made;
}

/** A cell is tinted by twentieths; the number says the same. */
function matrix(texts, cosines) {
  const numbers = texts.map((_, i) => `${i + 1}`);
  const columns = [["Sentence", (text, i) => `${i + 1} ${text}`]];
  numbers.forEach((number, j) => columns.push([number, (_, i) => digits(cosines[i][j])]));
  const made = table("The cosine of each pair of sentences", columns, texts, 0);
  made.classList.add("matrix");
  made.querySelectorAll("tbody tr").forEach((row, i) => {
    row.querySelectorAll("td").forEach((cell, j) => {
      const tint = Math.max(0, Math.min(1, cosines[i][j]));
      cell.style.setProperty("--tint", Math.round(20 * tint) / 20);
      cell.classList.toggle("same", i === j);
    });
  });
  return made;
}
