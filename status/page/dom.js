// Elements from plain values, and bringing what is on the screen to what it should be with the fewest changes, so that
// focus, selection and scroll positions survive an update. Text is only ever set as text.

const svgTags = new Set(['svg', 'path', 'circle', 'rect', 'line', 'g']);

/** h makes an element. Attributes that are null or false are left out; style is an object of properties. */
export function h(tag, attributes, ...children) {
  const el = svgTags.has(tag)
    ? document.createElementNS('http://www.w3.org/2000/svg', tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'style') {
      for (const [property, v] of Object.entries(value)) el.style.setProperty(property, v);
    } else {
      el.setAttribute(name, value === true ? '' : value);
    }
  }
  el.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false).map(c => c instanceof Node ? c : String(c)));
  return el;
}

/**
 * morph makes the children of parent equal to wanted. Elements with the same data-key are kept and moved; one with data-keep
 * looks after its own content (a chart does).
 */
export function morph(parent, wanted) {
  const keyed = new Map();
  for (const el of parent.children) if (el.dataset.key) keyed.set(el.dataset.key, el);
  let here = parent.firstChild;
  for (const next of [wanted].flat(Infinity).filter(Boolean)) {
    const key = next.dataset?.key;
    const old = key ? keyed.get(key) : here && !here.dataset?.key && alike(here, next) ? here : null;
    if (!old) {
      parent.insertBefore(next, here);
      continue;
    }
    if (old === here) here = here.nextSibling;
    else parent.insertBefore(old, here);
    update(old, next);
    keyed.delete(key);
  }
  while (here) {
    const rest = here.nextSibling;
    here.remove();
    here = rest;
  }
}

const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName;

function update(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  if (old.nodeName !== next.nodeName) {
    old.replaceWith(next);
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (name !== 'style' && name !== 'open' && !next.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name !== 'style' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
  if (!old.hasAttribute('data-keep')) morph(old, [...next.childNodes]);
}
