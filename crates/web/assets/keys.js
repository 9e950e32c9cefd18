/**
 * Keys: `g` and a letter go to a place, `j` and `k` move along the rows of a page, `?` lists the keys.
 */

import { openPalette } from "./palette.js";
import { show } from "./replace.js";

/** The time within which the letter after `g` counts, in milliseconds. */
const SECOND_KEY_WITHIN = 1500;

/** When `g` was pressed last. */
let goAt = 0;

/**
 * True if a key belongs to the field that has the focus.
 *
 * @param {KeyboardEvent} event
 */
function isTyping(event) {
  const target = event.target;
  return target instanceof HTMLElement
    && (target.isContentEditable || target.matches("input:not([type=checkbox]), select, textarea"));
}

/**
 * Moves the mark along the rows of the page's tables and lists.
 *
 * @param {number} step
 */
function moveRow(step) {
  const rows = [...document.querySelectorAll("main tbody tr, main [data-row]")]
    .filter((row) => !row.closest("details:not([open])"));
  if (rows.length === 0) {
    return;
  }
  const at = rows.findIndex((row) => row.hasAttribute("data-at"));
  const next = at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step));
  rows[at]?.removeAttribute("data-at");
  rows[next].setAttribute("data-at", "");
  rows[next].scrollIntoView({ block: "nearest" });
  // A row has links to its playbook and its labels as well as the one that opens it.
  const link = rows[next].querySelector("[data-opens] a[href]") ?? rows[next].querySelector("a[href]");
  if (link instanceof HTMLElement) {
    link.focus({ preventScroll: true });
  }
}

/**
 * Goes to the place of a letter.
 *
 * @param {string} letter
 */
function go(letter) {
  const link = document.querySelector(`nav.places a[data-go="${CSS.escape(letter)}"]`);
  if (link instanceof HTMLAnchorElement) {
    show(link.href);
  }
}

function openKeys() {
  const dialog = document.getElementById("keys");
  if (dialog instanceof HTMLDialogElement && !dialog.open) {
    dialog.showModal();
  }
}

/** The keys without modifiers, by name. @type {Record<string, () => void>} */
const KEYS = {
  "?": openKeys,
  "/": openPalette,
  j: () => moveRow(1),
  k: () => moveRow(-1),
  g: () => {
    goAt = Date.now();
  },
};

/** @param {KeyboardEvent} event */
function press(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) {
    return;
  }
  if (document.querySelector("dialog[open]")) {
    return;
  }
  if (Date.now() - goAt < SECOND_KEY_WITHIN) {
    goAt = 0;
    go(event.key);
    return;
  }
  const action = KEYS[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
}

export function startKeys() {
  document.addEventListener("keydown", press);
  document.addEventListener("click", (event) => {
    const opener = event.target instanceof Element ? event.target.closest("[data-open=keys]") : null;
    if (opener) {
      openKeys();
    }
  });
}
