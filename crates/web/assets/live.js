/**
 * Live pages: one stream sends the parts of the page that have changed, as HTML.
 *
 * A lost connection is opened again, from the last position on. Parts that the visitor is typing in
 * are updated when the visitor is done.
 */

import { isInUse, mergePart } from "./replace.js";

/** Milliseconds after which a stream that the browser has given up is opened again. */
const REOPEN_AFTER = 1000;

/** @type {EventSource | null} */
let stream = null;
/** The address of the stream, as the page has it. */
let address = "";
/** The last position that was shown. */
let position = "";
/** @type {ReturnType<typeof setTimeout> | undefined} */
let reopening;
/** The parts that wait until the visitor has finished typing, by id. @type {Map<string, string>} */
const waiting = new Map();

/** Opens the stream of the page that is shown, and closes that of another one. */
export function followLive() {
  const wanted = document.querySelector("[data-live]")?.getAttribute("data-live") ?? "";
  if (wanted === address) {
    return;
  }
  close();
  address = wanted;
  position = "";
  if (address !== "") {
    open();
  }
}

function open() {
  const from = new URL(address, location.href);
  if (position !== "") {
    from.searchParams.set("after", position);
  }
  stream = new EventSource(from);
  stream.addEventListener("open", () => tell("open"));
  stream.addEventListener("update", (event) => update(event.data));
  stream.addEventListener("end", (event) => {
    close();
    update(event.data);
  });
  stream.addEventListener("error", () => {
    tell("lost");
    if (stream?.readyState === EventSource.CLOSED) {
      clearTimeout(reopening);
      reopening = setTimeout(open, REOPEN_AFTER);
    }
  });
}

function close() {
  clearTimeout(reopening);
  stream?.close();
  stream = null;
  waiting.clear();
  tell("closed");
}

/**
 * Tells the style of the page whether the stream is open.
 *
 * @param {string} state
 */
function tell(state) {
  document.documentElement.dataset.stream = state;
}

/**
 * Shows an update.
 *
 * @param {string} data
 */
function update(data) {
  tell(stream ? "open" : "closed");
  const { position: shown, parts } = JSON.parse(data);
  position = String(shown);
  for (const [id, html] of Object.entries(parts)) {
    waiting.set(id, String(html));
  }
  showWaiting();
}

/** Shows the parts that wait, except those that the visitor is using. */
function showWaiting() {
  for (const [id, html] of [...waiting]) {
    const part = document.getElementById(id);
    if (!part || !isInUse(part)) {
      waiting.delete(id);
      mergePart(id, html);
    }
  }
}

document.addEventListener("focusout", () => setTimeout(showWaiting));
