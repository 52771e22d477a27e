"use strict";
// What every page draws with. Whatever a model, a game or a person said becomes a text node, never markup.
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");

function make(tag, attributes = {}, ...children) {
  const element = tag === "svg" || SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}
const SVG = new Set(["path", "line", "text", "title", "g", "rect", "circle"]);

// Characters that do not show, turn the text around, or are half a character are shown by their numbers.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/;
function words(text) {
  const found = document.createDocumentFragment();
  let plain = "";
  for (const sign of text) {
    if (sign.length === 1 && HIDDEN.test(sign)) {
      if (plain) found.append(plain);
      plain = "";
      found.append(make("span", { class: "control" }, `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`));
    } else plain += sign;
  }
  if (plain) found.append(plain);
  return found;
}
// So many characters of a text, none of them cut in half: a character has at most two places in a string.
const cut = (text, most) => [...text.slice(0, 2 * most)].slice(0, most).join("");
const short = (value) => (value === null || value === undefined ? "" : Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-3) ? value.toExponential(2) : String(+value.toPrecision(4)));
const signed = (value) => (value > 0 ? "+" : "") + short(value);

