/**
 * The script of every page. Pages are complete without it; it makes them quicker to use.
 *
 * Each module exports one function that is called for a part of the document: at first for all of
 * it, later for every part that was replaced.
 */

import { startEditor } from "./editor.js";
import { startForms } from "./forms.js";
import { startGraph } from "./graph.js";
import { startHistogram } from "./histogram.js";
import { startTrees } from "./json-tree.js";
import { startKeys } from "./keys.js";
import { followLive } from "./live.js";
import { startPalette } from "./palette.js";
import { onReplaced, startReplacing } from "./replace.js";
import { startScrubber } from "./scrubber.js";
import { drawTimes, startTimes } from "./times.js";

/**
 * Prepares a part of the document that has just appeared.
 *
 * @param {ParentNode} part
 */
function prepare(part) {
  drawTimes(part);
  startEditor(part);
  startGraph(part);
  startHistogram(part);
  startTrees(part);
  followLive();
  startScrubber(part);
  showMarked(part);
  followLogs();
  for (const hidden of part.querySelectorAll("[data-copy], [data-open], [data-tick-all]")) {
    hidden.removeAttribute("hidden");
  }
}

/** The first marked line of each source that was scrolled to. @type {WeakMap<Element, string>} */
const scrolled = new WeakMap();

/**
 * Scrolls sources to the lines that are marked, once for each choice of lines.
 *
 * @param {ParentNode} part
 */
function showMarked(part) {
  for (const source of part.querySelectorAll("pre.source")) {
    const line = source.querySelector(".marked");
    const text = line?.textContent ?? "";
    if (source instanceof HTMLElement && line instanceof HTMLElement && scrolled.get(source) !== text) {
      scrolled.set(source, text);
      source.scrollTop = line.offsetTop - source.offsetTop - line.offsetHeight;
    }
  }
}

/** True while the end of the logs stays in view. */
let isFollowing = true;
/** The logs that were prepared. @type {WeakSet<Element>} */
const followed = new WeakSet();

/** Keeps the end of the logs in view for as long as the visitor has not scrolled up. */
function followLogs() {
  const log = document.querySelector("pre.log.lines");
  const button = document.querySelector("[data-follow]");
  if (!(log instanceof HTMLElement) || !button) {
    return;
  }
  button.removeAttribute("hidden");
  if (!followed.has(log)) {
    followed.add(log);
    isFollowing = true;
    log.addEventListener("scroll", () => {
      isFollowing = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
      button.setAttribute("aria-pressed", String(isFollowing));
    });
    button.addEventListener("click", () => {
      isFollowing = !isFollowing;
      followLogs();
    });
  }
  if (isFollowing) {
    log.scrollTop = log.scrollHeight;
  }
  button.setAttribute("aria-pressed", String(isFollowing));
}

/**
 * Scrolls the navigation of a narrow screen to the place that the page belongs to.
 *
 * @param {ParentNode} part
 */
function showPlace(part) {
  if (part === document || (part instanceof Element && part.id === "content")) {
    const place = document.querySelector("nav.places [aria-current]");
    place?.scrollIntoView({ block: "nearest", inline: "center" });
  }
}

startReplacing();
startForms();
startTimes();
startPalette();
startKeys();
onReplaced(prepare);
onReplaced(showPlace);
prepare(document);
showPlace(document);
