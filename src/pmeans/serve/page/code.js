// curl and Python for what is on the screen.

import { address, token } from "./api.js";
import { find } from "./dom.js";
import { C } from "./learn.js";
import { screen } from "./panel.js";

/** Quote for a POSIX shell: within '…' only ' itself is special. */
export const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

const isTexts = (value) => Array.isArray(value) && value.every((each) => typeof each === "string");

/** Write a value so that JSON and Python both read it: there are strings, numbers and lists. */
const plain = (value) =>
  isTexts(value) && value.length > 1
    ? `[\n${value.map((each) => `  ${JSON.stringify(each)}`).join(",\n")}\n]`
    : JSON.stringify(value);

/** The requests behind what is shown, as [path, fields], and what they are for. */
function requests() {
  const { compare, classify, search, teach } = screen;
  const made = [];
  if (compare) {
    const { texts, lang, parts, found } = compare;
    if (found) made.push(["Languages", "detect", { inputs: texts }]);
    made.push(["Vectors: similarity is their product", "embed", { inputs: texts, lang, parts }]);
  }
  if (classify) {
    const { texts, lang, explained } = classify;
    made.push(["Labels", "classify", { inputs: texts, lang }]);
    if (explained) made.push(["Words", "explain", { inputs: texts, lang }]);
  }
  if (search) {
    const { query, lang, k } = search;
    made.push(["Search", "search", { inputs: query, lang, k }]);
  }
  if (teach) {
    const texts = teach.examples.map((example) => example.text);
    const { parts, langs, tries } = teach;
    const embed = (about, inputs, lang) => made.push([about, "embed", { inputs, lang, parts }]);
    embed("Examples to learn; Python has the fit", texts, langs.examples);
    if (tries.length) embed("What to try them on", tries, langs.tries);
  }
  return made;
}

export function curl() {
  const header = token.get() ? " \\\n  -H \"Authorization: Bearer $TOKEN\"" : "";
  return requests()
    .map(([about, path, fields]) => {
      const body = Object.entries(fields)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => `${JSON.stringify(name)}: ${plain(value)}`)
        .join(",\n");
      const sent = `-H 'Content-Type: application/json' -d ${shell(`{${body}}`)}`;
      return `# ${about}\ncurl -s ${shell(address(path))}${header} \\\n  ${sent}\n`;
    })
    .join("\n");
}

export function python() {
  const { compare, classify, search, teach } = screen;
  const more = (given) =>
    Object.entries(given)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `, ${name}=${plain(value)}`)
      .join("");
  const secret = token.get() ? ', "Authorization": "Bearer " + os.environ["TOKEN"]' : "";
  const code = [
    `import json${secret && "\nimport os"}\nimport urllib.request\n`,
    `import numpy as np${teach ? "\nfrom sklearn.linear_model import LogisticRegression" : ""}\n\n`,
    "def ask(path, **fields):",
    `    url = ${JSON.stringify(address(""))} + path`,
    `    headers = {"Content-Type": "application/json"${secret}}`,
    "    request = urllib.request.Request(url, json.dumps(fields).encode(), headers)",
    "    with urllib.request.urlopen(request) as answer:",
    "        return json.load(answer)\n\n",
  ];
  if (compare) {
    const { texts, lang, parts, found } = compare;
    code.push(`sentences = ${listed(texts)}`);
    if (found) code.push('print(ask("detect", inputs=sentences))');
    code.push(`rows = np.array(ask("embed", inputs=sentences${more({ lang, parts })}))`);
    code.push("print((rows @ rows.T).round(2))");
  }
  if (classify) {
    const texts = classify.texts === compare.texts ? "sentences" : plain(classify.texts);
    const given = `inputs=${texts}${more({ lang: classify.lang })}`;
    code.push(`print(ask("classify", ${given}))`);
    if (classify.explained) code.push(`print(ask("explain", ${given}))`);
  }
  if (search) {
    const { query, lang, k } = search;
    code.push(`print(ask("search", inputs=${plain(query)}${more({ lang, k })}))`);
  }
  if (teach?.tries.length) code.push(...learning(teach, more));
  return `${code.join("\n")}\n`;
}

/** scikit-learn fits two classes by one row of weights, where the ridge counts twice. */
function learning({ examples, classes, tries, langs, parts }, more) {
  const weight = classes.length === 2 ? 2 * C : C;
  return [
    `\nexamples = ${listed(examples.map((example) => example.text))}`,
    `labels = ${listed(examples.map((example) => example.label))}`,
    `tries = ${listed(tries)}`,
    `learned = np.array(ask("embed", inputs=examples${more({ lang: langs.examples, parts })}))`,
    `tried = np.array(ask("embed", inputs=tries${more({ lang: langs.tries, parts })}))`,
    `model = LogisticRegression(C=${weight}, fit_intercept=False, tol=1e-8, max_iter=1000)`,
    "model.fit(np.c_[learned, np.ones(len(learned))], labels)",
    "chances = model.predict_proba(np.c_[tried, np.ones(len(tried))])",
    "for text, chance in zip(tries, chances):",
    "    print(model.classes_[chance.argmax()], chance.max().round(2), text)",
  ];
}

const listed = (texts) => `[\n${texts.map((text) => `    ${JSON.stringify(text)},\n`).join("")}]`;

/** Keep the code up to date, and have it copied. */
export function coding() {
  const box = find("code");
  const show = () => {
    const chosen = document.querySelector("input[name=code]:checked").value;
    box.textContent = chosen === "curl" ? curl() : python();
  };
  document.addEventListener("shown", show);
  for (const choice of document.querySelectorAll("input[name=code]")) {
    choice.addEventListener("change", show);
  }
  find("copy").addEventListener("click", async () => {
    let said = "Copied.";
    try {
      await navigator.clipboard.writeText(box.textContent);
    } catch {
      getSelection().selectAllChildren(box);
      said = "The browser does not let the page copy. The code is selected: press Ctrl+C.";
    }
    find("copy-message").textContent = said;
  });
}
