// Teach it: a few labelled examples, learned here and tried on other sentences.

import { ask } from "./api.js";
import { element, find, percent, pushedWords, table } from "./dom.js";
import { takenFor } from "./compare.js";
import { fit, margin, readExamples, words } from "./learn.js";
import { Mistake, language, lines, panel, plural, shown, within } from "./panel.js";
import { chosenParts } from "./recipe.js";

const MOST_WORDS = 256;

/** Return what is to be called when examples, tries or parts have changed. */
export function teaching(info) {
  return panel("teach", async (signal) => {
    const { examples, classes, note } = readWell(info);
    const tries = lines("tries", info).texts;
    const parts = chosenParts(info);
    if (parts?.length === 0) throw new Mistake("Choose at least one power of a space.");
    const langs = { examples: language("examples-lang"), tries: language("tries-lang") };
    const embed = (inputs, lang) =>
      inputs.length ? ask("embed", { inputs, lang, parts }, signal) : [];
    const finds = info.finds_languages && info.languages.length > 1 && !langs.tries;
    const [learned, rows, found] = await Promise.all([
      embed(examples.map((example) => example.text), langs.examples),
      embed(tries, langs.tries),
      finds && tries.length
        ? ask("detect", { inputs: tries }, signal)
        : tries.map(() => ({ lang: langs.tries })),
    ]);
    const decide = fit(learned, examples.map((example) => example.label), classes);
    const decided = rows.map((row) => {
      const { scores, probabilities } = decide(row);
      const c = scores.indexOf(Math.max(...scores));
      return { c, scores, probability: probabilities[c], known: row.some((value) => value !== 0) };
    });
    const show = (pushes) =>
      find("taught").replaceChildren(outcome(tries, found, decided, classes, pushes));
    show();
    shown("teach", { examples, classes, tries, langs, parts });
    if (tries.length) show(await leftOut(tries, found, decided, decide, embed, info));
    const learnedSaid = `Learned ${plural(examples.length, "example")} of ${classes.join(", ")}.`;
    return `${learnedSaid}${note}`;
  });
}

function readWell(info) {
  const { examples, wrong } = readExamples(find("examples").value);
  if (wrong.length) {
    throw new Mistake(`Line ${wrong[0]} of the examples is not “label: text”: add what is missing.`);
  }
  const { texts, note } = within(examples.map((example) => example.text), info);
  const kept = examples.slice(0, texts.length);
  const classes = [...new Set(kept.map((example) => example.label))].sort();
  if (classes.length < 2) throw new Mistake("Give examples of at least two labels.");
  return { examples: kept, classes, note };
}

/** How far the decision about each text falls when a word of it is left out. */
async function leftOut(tries, found, decided, decide, embed, info) {
  const most = Math.min(MOST_WORDS, info.limits.texts);
  const without = [];
  const each = tries.map((text, i) => {
    const lang = found[i].lang ?? (info.languages.length > 1 ? null : undefined);
    const parts = lang === null || !decided[i].known ? [] : words(text, lang);
    if (parts.length < 2 || without.length + parts.length > most) return null;
    return parts.map(({ start, end }) => {
      without.push({ text: text.slice(0, start) + text.slice(end), lang, i });
      return { start, end, at: without.length - 1, known: true };
    });
  });
  if (!without.length) return each;
  const lang = without[0].lang === undefined ? undefined : without.map((one) => one.lang);
  const rows = await embed(without.map((one) => one.text), lang);
  return each.map(
    (parts, i) =>
      parts &&
      parts.map((word) => {
        const { c, scores } = decided[i];
        return { ...word, push: margin(scores, c) - margin(decide(rows[word.at]).scores, c) };
      }),
  );
}

function outcome(tries, found, decided, classes, pushes = []) {
  const label = (_, i) => (decided[i].known ? classes[decided[i].c] : "–");
  const columns = [
    ["Sentence", (text, i) => (pushes[i] ? pushedWords(text, pushes[i]) : text)],
    ["Label", label],
    ["Probability", (_, i) => bar(decided[i])],
    ["Taken for", (_, i) => takenFor(found[i], decided[i].known)],
  ];
  return table("Labels learned from the examples", columns, tries, 0);
}

function bar({ probability, known }) {
  const made = element("span", { class: "bar" }, known ? percent(probability) : "");
  made.style.setProperty("--share", known ? probability : 0);
  return made;
}
