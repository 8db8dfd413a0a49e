// The choice of spaces and powers.

import { element, find } from "./dom.js";

const NAMES = new Map([["-inf", "min"], [1, "mean"], ["inf", "max"], [2, "p 2"], [3, "p 3"]]);
const name = (power) => NAMES.get(power) ?? `p ${power}`;
// Lists have one power per dimension. They are the model's own, and no box is offered for them.
const powersOf = (parts, space) =>
  parts.filter(([of]) => of === space).flatMap(([, p]) => p.filter((each) => !Array.isArray(each)));
const same = (a, b) => a.length === b.length && a.every((each) => b.includes(each));

/** Show a box for each space and power, the model's own checked. */
export function offerParts(info, changed) {
  const sets = info.spaces.map((space) => {
    const own = powersOf(info.parts, space);
    const offered = [...NAMES.keys(), ...own.filter((power) => !NAMES.has(power))];
    const boxes = offered.map((power) => {
      const box = element("input", { type: "checkbox", value: power });
      box.dataset.space = space;
      box.defaultChecked = own.includes(power);
      return element("label", {}, box, ` ${name(power)}`);
    });
    return element("fieldset", {}, element("legend", {}, space), ...boxes);
  });
  find("parts").replaceChildren(...sets);
  find("parts").addEventListener("change", changed);
  find("reset").addEventListener("click", () => {
    for (const box of find("parts").querySelectorAll("input")) box.checked = box.defaultChecked;
    changed();
  });
}

/** The chosen parts as `/embed` takes them; undefined for the model as it is; none is []. */
export function chosenParts(info) {
  const checked = [...find("parts").querySelectorAll("input:checked")];
  const parts = info.spaces
    .map((space) => [space, checked.filter((box) => box.dataset.space === space).map(powerOf)])
    .filter(([, powers]) => powers.length);
  const own = info.spaces.every((space) => same(powersOf(parts, space), powersOf(info.parts, space)));
  return own ? undefined : parts;
}

const powerOf = (box) => (box.value.endsWith("inf") ? box.value : Number(box.value));

/** Say in a sentence what becomes of the chosen parts. */
export function aboutParts(parts, info, columns) {
  if (!parts) return `The model as it is, ${columns} numbers per sentence.`;
  const foreign = parts.flatMap(([space, powers]) =>
    powers
      .filter((power) => !powersOf(info.parts, space).includes(power))
      .map((power) => `${name(power)} of ${space}`),
  );
  const map = info.mapped ? " The model’s map between languages is left out." : "";
  if (info.znorm === "none") return `${columns} numbers per sentence.${map}`;
  return foreign.length
    ? `${columns} numbers per sentence, plain: the model has no z-norm for ${foreign[0]}.${map}`
    : `${columns} numbers per sentence, z-normed by the model.${map}`;
}
