// What the parts of the page have in common: waiting, trouble, languages, limits, what is shown.

import { Refusal } from "./api.js";
import { element, find } from "./dom.js";

export const MOST = 50;
const WAIT = 300;

/** Something that the reader can put right; its sentence is shown. */
export class Mistake extends Error {}

/**
 * Return a function that runs `work(signal)` once the typing has paused, and stops what ran before.
 * `work` returns what to say; what goes wrong is said in its place.
 */
export function panel(name, work) {
  const message = find(`${name}-message`);
  let timer;
  let running;
  const say = (sentence, wrong) => {
    message.textContent = sentence ?? "";
    message.classList.toggle("wrong", wrong);
  };
  return (wait = WAIT) => {
    clearTimeout(timer);
    running?.abort();
    timer = setTimeout(async () => {
      running = new AbortController();
      const { signal } = running;
      try {
        const said = await work(signal);
        if (!signal.aborted) say(said, false);
      } catch (error) {
        if (error.name === "AbortError") return;
        if (!(error instanceof Refusal || error instanceof Mistake)) throw error;
        say(error.message, true);
        if (error.status === 401) document.dispatchEvent(new Event("locked"));
      }
    }, wait);
  };
}

/** What each part of the page shows now, for the code that says the same. */
export const screen = {};

export function shown(name, what) {
  screen[name] = what;
  document.dispatchEvent(new Event("shown"));
}

/** The lines of a field that are not empty, within what server and page take. */
export function lines(id, info) {
  const all = find(id)
    .value.split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return within(all, info);
}

export function within(all, info) {
  const most = Math.min(MOST, info.limits.texts);
  const texts = all.slice(0, most);
  const characters = texts.reduce((sum, text) => sum + [...text].length, 0);
  if (characters > info.limits.characters) {
    throw new Mistake(
      `These are ${characters.toLocaleString("en")} characters, and the server takes ` +
        `${info.limits.characters.toLocaleString("en")} at a time: leave some out.`,
    );
  }
  const dropped = all.length - texts.length;
  return { texts, note: dropped ? ` Only the first ${most} lines are shown.` : "" };
}

const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

/** The name of a language; null is none that the model has. */
export function languageName(code) {
  if (code === null) return "none of the model’s languages";
  return /^[a-z]{2,3}$/.test(code) ? names.of(code) : code;
}

/** Fill a field that chooses a language; without `preferred` it starts with finding it. */
export function offerLanguages(id, info, preferred) {
  const field = find(id);
  const found = info.finds_languages ? [element("option", { value: "" }, "found by the model")] : [];
  const named = info.languages.map((code) => element("option", { value: code }, languageName(code)));
  field.replaceChildren(...found, ...named);
  if (!info.finds_languages && preferred) field.value = preferred;
  field.parentElement.hidden = info.languages.length < 2;
}

/** The chosen language, or undefined where the server is to find it. */
export const language = (id) => find(id).value || undefined;

export const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
