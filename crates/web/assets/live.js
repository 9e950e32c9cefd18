/**
 * Live pages: one stream sends the parts of the page that have changed, as HTML.
 *
 * A lost connection is opened again, from the last position on. Parts that the visitor is typing in
 * are updated when the visitor is done. A page that nobody sees has no stream: a browser opens only
 * six connections to a server, for all of its tabs.
 */

import { checkSession, noteAnswer, noteSilence } from "./connection.js";
import { isInUse, mergePart } from "./replace.js";

/** Milliseconds after which a stream that the browser has given up is opened again. */
const REOPEN_AFTER = 1000;
/**
 * Milliseconds without a message after which the connection counts as lost; the server sends one a
 * second.
 */
const SILENT_MAX = 2500;
/** Milliseconds for which the stream of a page that is not visible stays open. */
const HIDDEN_MAX = 5000;

/** @type {EventSource | null} */
let stream = null;
/** The address of the stream, as the page has it. */
let address = "";
/** The last position that was shown. */
let position = "";
/** True once the execution has ended: nothing follows. */
let isOver = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let hiding;
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
  isOver = false;
  followVisibility();
}

/** Opens the stream of a page that is visible, and closes it once the page is hidden for long. */
function followVisibility() {
  clearTimeout(hiding);
  if (document.visibilityState === "visible") {
    if (!stream && address !== "" && !isOver) {
      open();
    }
  } else if (stream) {
    hiding = setTimeout(pause, HIDDEN_MAX);
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
    isOver = true;
    close();
    noteAnswer();
    update(event.data);
  });
  stream.addEventListener("error", () => {
    lose();
    watch();
    if (stream?.readyState === EventSource.CLOSED) {
      clearTimeout(reopening);
      reopening = setTimeout(reopen, REOPEN_AFTER);
    }
  });
}

/** Opens a stream that the server has refused, unless the session has ended. */
async function reopen() {
  const refused = stream;
  const isLeaving = await checkSession().catch(() => false);
  if (!isLeaving && stream === refused && refused) {
    open();
  }
}

/** Notes a sign of life of the connection. */
function heard() {
  tell("open");
  noteAnswer();
  watch();
}

/** Notes that the connection is lost. */
function lose() {
  tell("lost");
  noteSilence();
}

/** Opens another connection once nothing has been heard of this one for long. */
function watch() {
  clearTimeout(silence);
  silence = setTimeout(() => {
    lose();
    stream?.close();
    open();
  }, SILENT_MAX);
}

/** Closes the stream; what it has sent is kept. */
function pause() {
  clearTimeout(hiding);
  clearTimeout(reopening);
  clearTimeout(silence);
  stream?.close();
  stream = null;
  tell("closed");
}

function close() {
  pause();
  waiting.clear();
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
document.addEventListener("visibilitychange", followVisibility);
