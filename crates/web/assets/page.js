/**
 * The script of every page. Pages are complete without it; it makes them quicker to use.
 *
 * Each module exports one function that is called for a part of the document: at first for all of
 * it, later for every part that was replaced.
 */

import { startForms } from "./forms.js";
import { startGraph } from "./graph.js";
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
  startGraph(part);
  followLive();
  startScrubber(part);
  for (const hidden of part.querySelectorAll("[data-copy], [data-open]")) {
    hidden.removeAttribute("hidden");
  }
}

startReplacing();
startForms();
startTimes();
startPalette();
startKeys();
onReplaced(prepare);
prepare(document);
