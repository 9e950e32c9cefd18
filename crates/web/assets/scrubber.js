/**
 * The scrubber: the position follows the handle, arrow keys move it by an event, and it can play.
 *
 * Without this script the position moves by links and by a form.
 */

import { show } from "./replace.js";

/** Milliseconds between a movement of the handle and the request. */
const SETTLE = 60;
/** Milliseconds that each event is shown while playing. */
const FRAME = 350;

/** True while the positions are shown one after another. */
let isPlaying = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let pending;

/**
 * @param {ParentNode} part
 */
export function startScrubber(part) {
  const scrubber = part.querySelector("[data-scrubber]");
  const handle = scrubber?.querySelector("input[type=range]");
  if (!scrubber || !(handle instanceof HTMLInputElement)) {
    return;
  }
  scrubber.querySelector("form button")?.setAttribute("hidden", "");
  handle.addEventListener("input", () => {
    isPlaying = false;
    clearTimeout(pending);
    pending = setTimeout(() => move(handle), SETTLE);
  });
  const play = scrubber.querySelector("[data-play]");
  play?.removeAttribute("hidden");
  play?.addEventListener("click", () => {
    isPlaying = !isPlaying;
    if (isPlaying && handle.value === handle.max) {
      handle.value = "1";
      move(handle);
    } else {
      playOn(handle);
    }
  });
  play?.setAttribute("aria-pressed", String(isPlaying));
  playOn(handle);
}

/**
 * Shows the position of the handle, without a new entry in the history.
 *
 * @param {HTMLInputElement} handle
 */
function move(handle) {
  const address = new URL(location.href);
  address.searchParams.set("at", handle.value);
  history.replaceState(null, "", address);
  show(address.href, { keep: true, part: "execution" });
}

/**
 * Shows the next position after a while, if the visitor wants to see them all.
 *
 * @param {HTMLInputElement} handle
 */
function playOn(handle) {
  const next = Number(handle.value) + 1;
  isPlaying = isPlaying && next <= Number(handle.max);
  clearTimeout(pending);
  if (isPlaying) {
    pending = setTimeout(() => {
      handle.value = String(next);
      move(handle);
    }, FRAME);
  }
}

/**
 * Moves the position by a key, unless the visitor types or walks through the graph.
 *
 * @param {KeyboardEvent} event
 */
function moveByKey(event) {
  const scrubber = document.querySelector("[data-scrubber]");
  const isTyping = event.target instanceof Element
    && event.target.closest("input, select, textarea, svg, dialog");
  if (!scrubber || isTyping || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) {
    return;
  }
  const link = scrubber.querySelector(`a[data-key="${event.key}"]`);
  if (link instanceof HTMLAnchorElement) {
    event.preventDefault();
    history.replaceState(null, "", link.href);
    show(link.href, { keep: true, part: "execution" });
  }
}

document.addEventListener("keydown", moveByKey);
