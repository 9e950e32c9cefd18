/**
 * The scrubber: the page follows its handles, keys move the position, and it can play.
 *
 * Without this script the position moves by links and by a form.
 */

import { show } from "./replace.js";

/** Milliseconds between a movement of a handle and the request. */
const SETTLE = 60;
/** Milliseconds that each position is shown while playing at the usual speed. */
const FRAME = 350;
/** The number of positions in which a long log is played. */
const FRAMES = 300;

/** True while the positions are shown one after another. */
let isPlaying = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let pending;
/** The scrubbers that were prepared. @type {WeakSet<Element>} */
const prepared = new WeakSet();

/**
 * @param {ParentNode} part
 */
export function startScrubber(part) {
  const scrubber = document.querySelector("[data-scrubber]");
  if (!scrubber || !(part instanceof Document || part.contains(scrubber) || part === scrubber)) {
    return;
  }
  for (const handle of scrubber.querySelectorAll("input[type=range]")) {
    if (handle instanceof HTMLInputElement && !prepared.has(handle)) {
      prepared.add(handle);
      handle.addEventListener("input", () => {
        isPlaying = false;
        clearTimeout(pending);
        pending = setTimeout(() => move(handle.name, handle.value), SETTLE);
      });
    }
  }
  scrubber.querySelector("form button")?.setAttribute("hidden", "");
  const play = scrubber.querySelector("[data-play]");
  if (play && !prepared.has(play)) {
    prepared.add(play);
    play.removeAttribute("hidden");
    scrubber.querySelector("[data-speed]")?.removeAttribute("hidden");
    play.addEventListener("click", () => {
      isPlaying = !isPlaying;
      const { position, last } = places(scrubber);
      if (isPlaying && position === last) {
        move("at", "1");
      } else {
        playOn(scrubber);
      }
    });
  }
  playOn(scrubber);
}

/**
 * Returns the position and the last event that a scrubber shows.
 *
 * @param {Element} scrubber
 */
function places(scrubber) {
  return {
    position: Number(scrubber.getAttribute("data-position")),
    last: Number(scrubber.getAttribute("data-last")),
  };
}

/**
 * Shows another position, without a new entry in the history.
 *
 * @param {string} name The position that moves: by event (`at`, `to`) or by time.
 * @param {string} value
 */
function move(name, value) {
  const address = new URL(location.href);
  address.searchParams.delete(name.startsWith("to") ? "to" : "at");
  address.searchParams.set(name, value);
  show(address.href, { settle: true, part: "execution" });
}

/**
 * Shows the next position after a while, if the visitor wants to see them all.
 *
 * @param {Element} scrubber
 */
function playOn(scrubber) {
  const { position, last } = places(scrubber);
  isPlaying = isPlaying && position < last;
  scrubber.querySelector("[data-play]")?.setAttribute("aria-pressed", String(isPlaying));
  if (isPlaying) {
    clearTimeout(pending);
    const next = Math.min(last, position + Math.max(1, Math.floor(last / FRAMES)));
    const speed = scrubber.querySelector("[data-speed]");
    const factor = speed instanceof HTMLSelectElement ? Number(speed.value) : 1;
    pending = setTimeout(() => isPlaying && move("at", String(next)), FRAME / factor);
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
    && event.target.closest("input, select, textarea, svg.graph, dialog");
  if (!scrubber || isTyping || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const key = event.shiftKey ? `Shift+${event.key}` : event.key;
  const link = scrubber.querySelector(`a[data-key="${CSS.escape(key)}"]`);
  if (link instanceof HTMLAnchorElement) {
    event.preventDefault();
    isPlaying = false;
    show(link.href, { settle: true, part: "execution" });
  }
}

document.addEventListener("keydown", moveByKey);
