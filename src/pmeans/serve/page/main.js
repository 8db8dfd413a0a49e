// Start: ask what is served, offer it, and let each part follow what is typed.

import { Refusal, ask, token } from "./api.js";
import { classifying } from "./classify.js";
import { coding } from "./code.js";
import { comparing } from "./compare.js";
import { find } from "./dom.js";
import { languageName, offerLanguages, plural } from "./panel.js";
import { offerParts } from "./recipe.js";
import { samples } from "./samples.js";
import { searching } from "./search.js";
import { teaching } from "./teach.js";

let refresh; // all parts of the page, once it has started

async function open() {
  try {
    const info = await ask("info");
    find("trouble").textContent = "";
    find("token-form").hidden = true;
    find("played").hidden = false;
    refresh ??= start(info);
    refresh();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const asked = error.status === 401 && !token.get(); // a first visit is no mistake
    find("trouble").textContent = asked ? "" : error.message;
    if (error.status === 401) lock();
  }
}

function lock() {
  find("token-form").hidden = false;
  find("played").hidden = true;
  find("token").focus();
}

/** Fill the page for what is served, and return what shows all of it. */
function start(info) {
  const named = info.languages.map(languageName).join(", ") || "any language";
  const size = `${plural(info.dimensions, "number")} per sentence`;
  find("model").textContent = `${info.model} · ${named} · ${size}`;
  const first = samples(info);
  for (const id of ["sentences", "examples", "tries", "query"]) {
    if (!find(id).value) find(id).value = first[id]; // what a reload has kept stays
  }
  offerLanguages("sentences-lang", info, first.examplesLang);
  offerLanguages("query-lang", info, first.examplesLang);
  offerLanguages("examples-lang", info, first.examplesLang);
  offerLanguages("tries-lang", info, first.triesLang);
  for (const key of document.querySelectorAll(".key")) {
    key.textContent = 
      "Above a word is how far it pushes: + towards the label (solid line), − away from it (dashed). " +
      "Words that hardly push have no number.";
  }

  const compare = comparing(info, classifying(info));
  const [search, teach] = [searching(info), teaching(info)];
  const on = (ids, type, run) => ids.forEach((id) => find(id).addEventListener(type, () => run()));
  on(["sentences"], "input", compare);
  on(["query"], "input", search);
  on(["examples", "tries"], "input", teach);
  on(["sentences-lang"], "change", compare);
  on(["query-lang"], "change", search);
  on(["examples-lang", "tries-lang"], "change", teach);
  offerParts(info, () => {
    compare();
    teach();
  });
  coding();
  return () => [compare, search, teach].forEach((run) => run(0));
}

document.addEventListener("locked", lock);
find("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token.set(find("token").value.trim());
  open();
});
open();
