// The server's classifier on the sentences, and its words.

import { ask } from "./api.js";
import { element, find, percent, pushedWords, table } from "./dom.js";
import { panel, plural, shown } from "./panel.js";

/** Return what is to be called with sentences and language, if a classifier is served. */
export function classifying(info) {
  if (!info.classifier) return () => {};
  find("classify").hidden = false;
  find("classify-about").textContent = `It tells ${info.classifier.classes.join(", ")} apart.`;
  let given;
  const run = panel("classify", async (signal) => {
    const { texts, lang } = given;
    const characters = texts.reduce((sum, text) => sum + [...text].length, 0);
    const short = characters <= info.limits.explained;
    const explained = short && !info.classifier.multi_label; // or: which label?
    const [labels, reasons] = await Promise.all([
      ask("classify", { inputs: texts, lang }, signal),
      explained ? ask("explain", { inputs: texts, lang }, signal) : texts.map(() => null),
    ]);
    const columns = [
      ["No.", (_, i) => `${i + 1}`],
      ["Words", (text, i) => (reasons[i] ? pushedWords(text, pushes(text, reasons[i])) : text)],
      ["Label", (_, i) => named(labels[i].label)],
      ["Probability", (_, i) => sure(labels[i])],
    ];
    find("labels").replaceChildren(table("Labels of the sentences", columns, texts));
    shown("classify", { texts, lang, explained });
    const said = `${plural(texts.length, "sentence")} classified.`;
    return short ? said : `${said} Words: up to ${info.limits.explained} characters.`;
  });
  return (what) => {
    given = what;
    run(0);
  };
}

// Where a sentence may have several labels, both are lists.
const named = (label) => [label ?? []].flat().join(", ") || "–";

function sure({ probability, note }) {
  const made = element("span", {}, [probability ?? []].flat().map(percent).join(", "));
  if (note) made.append(" ", element("small", {}, note));
  return made;
}

/** The server counts characters; JavaScript counts those beyond the first 65,536 twice. */
function pushes(text, { tokens }) {
  const starts = [0];
  for (const character of text) starts.push(starts.at(-1) + character.length);
  return tokens.map(({ start, end, contribution, known }) => ({
    start: starts[start],
    end: starts[end],
    push: contribution,
    known,
  }));
}
