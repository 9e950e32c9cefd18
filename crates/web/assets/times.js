/**
 * Times: the server writes UTC; the visitor may choose local or relative times. Durations of work that
 * goes on are counted here, so that nothing is sent for them.
 */

/** Units of relative times with their length in seconds. @type {Array<[Intl.RelativeTimeFormatUnit, number]>} */
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/**
 * Returns a time as the distance from now, such as "2 minutes ago".
 *
 * @param {Date} at
 * @param {string} language
 */
function relative(at, language) {
  const seconds = (at.getTime() - Date.now()) / 1000;
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  return format.format(Math.trunc(seconds / length), unit);
}

/**
 * Returns a time in the visitor's time zone.
 *
 * @param {Date} at
 * @param {string} language
 */
function local(at, language) {
  return at.toLocaleString(language, { dateStyle: "short", timeStyle: "medium" });
}

/**
 * Draws the times of a part of the document as the visitor has chosen.
 *
 * @param {ParentNode} part
 */
export function drawTimes(part) {
  const { times } = document.documentElement.dataset;
  const language = document.documentElement.lang;
  if (times === "utc") {
    return;
  }
  if (times === "local") {
    for (const tick of part.querySelectorAll("[data-clock]")) {
      const at = new Date(tick.getAttribute("data-clock") ?? "");
      tick.textContent = at.toLocaleTimeString(language, { timeStyle: "medium" });
    }
  }
  for (const element of part.querySelectorAll("time[datetime]")) {
    const at = new Date(element.getAttribute("datetime") ?? "");
    const isExact = times === "local" || element.hasAttribute("data-exact");
    const text = isExact ? local(at, language) : relative(at, language);
    if (element.textContent !== text) {
      element.textContent = text;
    }
  }
}

/** The time at which each growing or shrinking duration was drawn. @type {WeakMap<Element, { text: string, at: number }>} */
const drawn = new WeakMap();

/** Counts the durations of a page that go on; they stand still while the connection is lost. */
function countDurations() {
  if (document.visibilityState !== "visible" || document.documentElement.dataset.stream === "lost") {
    return;
  }
  for (const element of document.querySelectorAll("[data-grows], [data-shrinks]")) {
    const text = element.getAttribute("data-grows") ?? element.getAttribute("data-shrinks") ?? "";
    const known = drawn.get(element);
    if (known?.text !== text) {
      drawn.set(element, { text, at: Date.now() });
      continue;
    }
    const passed = Date.now() - known.at;
    const millis = element.hasAttribute("data-grows") ? Number(text) + passed : Number(text) - passed;
    element.textContent = short(Math.max(0, millis), document.documentElement.lang);
  }
}

/**
 * Returns a duration as the server writes it, with two units at most.
 *
 * @param {number} millis
 * @param {string} language
 */
function short(millis, language) {
  const seconds = Math.floor(millis / 1000);
  const two = (/** @type {number} */ large, /** @type {string} */ one, /** @type {number} */ small, /** @type {string} */ other) =>
    small === 0 ? `${large} ${one}` : `${large} ${one} ${small} ${other}`;
  if (seconds < 1) {
    return `${Math.floor(millis)} ms`;
  }
  if (seconds < 10) {
    const mark = language === "de" ? "," : ".";
    return `${seconds}${mark}${Math.floor(millis / 100) % 10} s`;
  }
  if (seconds < 60) {
    return `${seconds} s`;
  }
  if (seconds < 3600) {
    return two(Math.floor(seconds / 60), "min", seconds % 60, "s");
  }
  if (seconds < 86_400) {
    return two(Math.floor(seconds / 3600), "h", Math.floor(seconds / 60) % 60, "min");
  }
  return two(Math.floor(seconds / 86_400), "d", Math.floor(seconds / 3600) % 24, "h");
}

/** Draws relative times again every few seconds, and counts durations. */
export function startTimes() {
  setInterval(countDurations, 1000);
  if (document.documentElement.dataset.times === "relative") {
    setInterval(() => document.visibilityState === "visible" && drawTimes(document), 5000);
  }
}
