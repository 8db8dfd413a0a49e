// Making elements. Text becomes text nodes: nothing that is typed is ever read as HTML.

export const find = (id) => document.getElementById(id);

/** Make an element; children are elements and strings. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Make an element of a drawing. */
export function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Make a table; a column is its heading and what it shows of a row: a string or an element. */
export function table(caption, columns, rows, rowHeading = 1) {
  const cell = (shown, at) =>
    element(at === rowHeading ? "th" : "td", at === rowHeading ? { scope: "row" } : {}, shown);
  return element(
    "table",
    {},
    element("caption", { class: "unseen" }, caption),
    element(
      "thead",
      {},
      element("tr", {}, ...columns.map(([heading]) => element("th", { scope: "col" }, heading))),
    ),
    element(
      "tbody",
      {},
      ...rows.map((row, i) =>
        element("tr", {}, ...columns.map(([, show], at) => cell(show(row, i), at))),
      ),
    ),
  );
}

/** Two digits, with a real minus sign; the sign of what is above 0 on request. */
export function digits(value, signed = false) {
  const text = Math.abs(value).toFixed(2);
  if (Number(text) === 0) return "0.00";
  return (value < 0 ? "−" : signed ? "+" : "") + text;
}

export const percent = (share) => (share > 0.995 ? "> 99 %" : `${Math.round(100 * share)} %`);

/** Words that push less than this share of the strongest are left unmarked. */
const SMALLEST = 0.1;

/** A sentence with how far each word pushed, above the word: coloured, underlined and in digits. */
export function pushedWords(sentence, pushes) {
  const most = Math.max(...pushes.map((word) => Math.abs(word.push)), 1e-9);
  const made = element("span", { class: "pushed" });
  let done = 0;
  for (const { start, end, push, known } of pushes) {
    made.append(sentence.slice(done, start));
    const word = sentence.slice(start, end);
    if (known && Math.abs(push) >= SMALLEST * most) {
      const marked = element("span", { class: push < 0 ? "away" : "towards" }, word);
      marked.style.setProperty("--share", Math.abs(push) / most);
      made.append(element("ruby", {}, marked, element("rt", {}, digits(push, true))));
    } else {
      made.append(known ? word : element("s", { title: "unknown word" }, word));
    }
    done = end;
  }
  made.append(sentence.slice(done));
  return made;
}
