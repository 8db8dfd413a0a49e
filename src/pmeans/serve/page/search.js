// Search in the server's index.

import { ask } from "./api.js";
import { digits, find, table } from "./dom.js";
import { Mistake, language, panel, plural, shown } from "./panel.js";

const HITS = 5;

/** Return what is to be called when the query has changed, if an index is served. */
export function searching(info) {
  if (!info.index) return () => {};
  find("search").hidden = false;
  const rows = info.index.rows.toLocaleString("en");
  find("search-about").textContent = `Among ${rows} rows of the server’s index.`;
  return panel("search", async (signal) => {
    const query = find("query").value.trim();
    if (!query) throw new Mistake("Write what to search for.");
    const lang = language("query-lang");
    const [hits] = await ask("search", { inputs: query, lang, k: HITS }, signal);
    const columns = [
      ["Cosine", (hit) => digits(hit.score)],
      ["Text", (hit) => hit.text ?? `row ${hit.row}`],
    ];
    find("hits").replaceChildren(table(`What is nearest to “${query}”`, columns, hits));
    shown("search", { query, lang, k: HITS });
    return `${plural(hits.length, "text")} found.`;
  });
}
