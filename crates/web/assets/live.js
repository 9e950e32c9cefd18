/**
 * Live pages: one stream sends the parts of the page that have changed, as HTML.
 *
 * A lost connection is opened again, from the last position on. Parts that the visitor is typing in
 * are updated when the visitor is done.
 */

import { isInUse, mergePart } from "./replace.js";

/** Milliseconds after which a stream that the browser has given up is opened again. */
const REOPEN_AFTER = 1000;
/**
 * Milliseconds without a message after which the connection counts as lost; the server sends one a
 * second.
 */
const SILENT_MAX = 2500;

/** @type {EventSource | null} */
let stream = null;
/** The address of the stream, as the page has it. */
let address = "";
/** The last position that was shown. */
let position = "";
/** @type {ReturnType<typeof setTimeout> | undefined} */
let reopening;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let silence;
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
  watch();
  stream.addEventListener("open", heard);
  stream.addEventListener("alive", heard);
  stream.addEventListener("update", (event) => {
    heard();
    update(event.data);
  });
  stream.addEventListener("end", (event) => {
    close();
    update(event.data);
  });
  stream.addEventListener("error", () => {
    tell("lost");
    watch();
    if (stream?.readyState === EventSource.CLOSED) {
      clearTimeout(reopening);
      reopening = setTimeout(open, REOPEN_AFTER);
    }
  });
}

/** Notes a sign of life of the connection. */
function heard() {
  tell("open");
  watch();
}

/** Opens another connection once nothing has been heard of this one for long. */
function watch() {
  clearTimeout(silence);
  silence = setTimeout(() => {
    tell("lost");
    stream?.close();
    open();
  }, SILENT_MAX);
}

function close() {
  clearTimeout(reopening);
  clearTimeout(silence);
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
