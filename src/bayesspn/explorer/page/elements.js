// Small helpers to build pages out of nodes. Text is always text: nothing here reads markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Build an HTML element; children are elements or text. */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Build an SVG element. */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** The element with an id. */
export function find(id) {
  return document.getElementById(id);
}

/** A probability as people write it. */
export function percent(probability) {
  const value = 100 * probability;
  if (value === 0) return "0 %";
  if (value < 0.01) return `${value.toExponential(0)} %`;
  return `${value.toFixed(value < 1 ? 2 : value > 99 && value < 100 ? 2 : 1)} %`;
}

/** Let the browser save a text as a file. */
export function save(text, name, type = "text/csv") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
