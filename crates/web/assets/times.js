/**
 * Times: the server writes UTC; the visitor may choose local or relative times.
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

/** Draws relative times again every few seconds. */
export function startTimes() {
  if (document.documentElement.dataset.times === "relative") {
    setInterval(() => document.visibilityState === "visible" && drawTimes(document), 5000);
  }
}
