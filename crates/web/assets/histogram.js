/**
 * The histogram: a time is chosen by dragging over the bars, or with the arrow keys and Shift, and
 * put into the address of the list.
 *
 * Without this script each bar is a link to its time.
 */

import { show } from "./replace.js";

/** The bar at which a choice began, and the bar at which it is. @type {{ first: Element, last: Element } | null} */
let choice = null;
/** True after a drag over several bars, until the click that ends it. */
let wasDragged = false;

/**
 * Makes the bars of a histogram one stop of the Tab key, and says how to choose.
 *
 * @param {ParentNode} part
 */
export function startHistogram(part) {
  for (const histogram of part.querySelectorAll("[data-histogram]")) {
    bars(histogram).forEach((bar, index, all) => {
      bar.setAttribute("tabindex", index === all.length - 1 ? "0" : "-1");
    });
    histogram.querySelector("[data-chosen]")?.removeAttribute("hidden");
  }
}

/**
 * @param {Element} histogram
 * @returns {Element[]}
 */
function bars(histogram) {
  return [...histogram.querySelectorAll(".bars [data-from]")];
}

/**
 * @param {EventTarget | null} target
 * @returns {{ histogram: Element, bar: Element } | null}
 */
function placeOf(target) {
  const bar = target instanceof Element ? target.closest("[data-histogram] .bars [data-from]") : null;
  const histogram = bar?.closest("[data-histogram]");
  return bar && histogram ? { histogram, bar } : null;
}

/**
 * Returns the bar below a place of the screen, whatever its height.
 *
 * @param {Element} histogram
 * @param {number} x
 */
function barAt(histogram, x) {
  const all = bars(histogram);
  const frame = histogram.querySelector(".bars")?.getBoundingClientRect();
  if (!frame || frame.width === 0) {
    return all[0];
  }
  const index = Math.floor((x - frame.left) / frame.width * all.length);
  return all[Math.min(all.length - 1, Math.max(0, index))];
}

/**
 * Marks the bars of the choice.
 *
 * @param {Element} histogram
 */
function mark(histogram) {
  const all = bars(histogram);
  const ends = choice ? [all.indexOf(choice.first), all.indexOf(choice.last)] : [-1, -2];
  all.forEach((bar, index) => {
    const isChosen = index >= Math.min(...ends) && index <= Math.max(...ends);
    bar.classList.toggle("chosen", isChosen && choice !== null);
  });
  histogram.classList.toggle("choosing", choice !== null);
}

/**
 * Shows the list for the chosen time.
 *
 * @param {Element} histogram
 */
function apply(histogram) {
  if (!choice) {
    return;
  }
  const all = bars(histogram);
  const ends = [choice.first, choice.last].sort((one, other) => all.indexOf(one) - all.indexOf(other));
  const address = new URL(histogram.getAttribute("data-address") ?? "", location.href);
  address.searchParams.set("from", ends[0].getAttribute("data-from") ?? "");
  address.searchParams.set("until", ends[1].getAttribute("data-until") ?? "");
  choice = null;
  mark(histogram);
  show(address.href);
}

/** @param {PointerEvent} event */
function press(event) {
  const place = placeOf(event.target);
  wasDragged = false;
  if (place && event.button === 0 && !event.ctrlKey && !event.metaKey) {
    choice = { first: place.bar, last: place.bar };
  }
}

/** @param {PointerEvent} event */
function drag(event) {
  const histogram = choice?.first.closest("[data-histogram]");
  if (!choice || !histogram || event.buttons !== 1) {
    return;
  }
  choice.last = barAt(histogram, event.clientX);
  wasDragged = wasDragged || choice.last !== choice.first;
  if (wasDragged) {
    mark(histogram);
  }
}

function release() {
  const histogram = choice?.first.closest("[data-histogram]");
  if (histogram && wasDragged) {
    apply(histogram);
  }
  choice = null;
}

/**
 * Moves between bars, extends the choice with Shift, and applies it with Enter.
 *
 * @param {KeyboardEvent} event
 */
function key(event) {
  const place = placeOf(event.target);
  if (!place || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const { histogram, bar } = place;
  const all = bars(histogram);
  const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
  const next = step === 0 ? undefined : all[all.indexOf(bar) + step];
  if (event.key === "Enter" && choice) {
    event.preventDefault();
    apply(histogram);
  } else if (event.key === "Escape" && choice) {
    choice = null;
    mark(histogram);
  } else if (step !== 0) {
    event.preventDefault();
    if (next) {
      choice = event.shiftKey ? { first: choice?.first ?? bar, last: next } : null;
      all.forEach((other) => other.setAttribute("tabindex", other === next ? "0" : "-1"));
      /** @type {HTMLElement} */ (/** @type {unknown} */ (next)).focus();
      mark(histogram);
    }
  }
}

/** Keeps a link from being followed by the click that ends a drag. @param {MouseEvent} event */
function swallow(event) {
  if (wasDragged && placeOf(event.target)) {
    event.preventDefault();
  }
  wasDragged = false;
}

document.addEventListener("pointerdown", press);
document.addEventListener("pointermove", drag);
document.addEventListener("pointerup", release);
document.addEventListener("keydown", key);
document.addEventListener("click", swallow, { capture: true });
document.addEventListener("dragstart", (event) => placeOf(event.target) && event.preventDefault());
