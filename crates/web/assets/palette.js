/**
 * The palette: finds executions by id, playbooks, pages and actions, and opens one. The server finds;
 * this module shows the answer of `/ui/find` and moves among the results.
 */

import { show } from "./replace.js";

/** Pause after a key before the server is asked, in milliseconds. */
const PAUSE = 120;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let pause;
/** The number of the latest question; answers to earlier ones are dropped. */
let question = 0;

function parts() {
  const dialog = document.getElementById("palette");
  const field = dialog?.querySelector("input");
  const list = document.getElementById("palette-results");
  if (dialog instanceof HTMLDialogElement && field instanceof HTMLInputElement && list) {
    return { dialog, field, list };
  }
  return null;
}

export function openPalette() {
  const palette = parts();
  if (palette && !palette.dialog.open) {
    palette.field.value = "";
    palette.dialog.showModal();
    find();
  }
}

/** Asks the server for the results of the text and shows them. */
async function find() {
  const palette = parts();
  if (!palette) {
    return;
  }
  const asked = ++question;
  const response = await fetch(`/ui/find?q=${encodeURIComponent(palette.field.value)}`);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (asked === question) {
    draw(palette, [...page.querySelectorAll("#found a")]);
  }
}

/**
 * Shows links as the options of the list.
 *
 * @param {NonNullable<ReturnType<typeof parts>>} palette
 * @param {Element[]} links
 */
function draw(palette, links) {
  const options = links.map((link, index) => {
    const option = document.createElement("li");
    option.id = `palette-${index}`;
    option.role = "option";
    option.dataset.address = link.getAttribute("href") ?? "";
    const kind = document.createElement("span");
    kind.className = "soft";
    kind.textContent = link.getAttribute("data-kind");
    const name = document.createElement("span");
    name.textContent = link.textContent;
    option.append(name, kind);
    return option;
  });
  palette.list.replaceChildren(...options);
  select(palette, 0);
}

/**
 * @param {NonNullable<ReturnType<typeof parts>>} palette
 * @param {number} index
 */
function select(palette, index) {
  const options = [...palette.list.children];
  const chosen = options[Math.max(0, Math.min(options.length - 1, index))];
  for (const option of options) {
    option.setAttribute("aria-selected", String(option === chosen));
  }
  palette.field.setAttribute("aria-activedescendant", chosen?.id ?? "");
  chosen?.scrollIntoView({ block: "nearest" });
}

/** @param {Element | null | undefined} option */
function open(option) {
  const address = option instanceof HTMLElement ? option.dataset.address : undefined;
  if (address) {
    parts()?.dialog.close();
    show(new URL(address, location.href).href);
  }
}

/** @param {KeyboardEvent} event */
function press(event) {
  const palette = parts();
  if (!palette) {
    return;
  }
  const options = [...palette.list.children];
  const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown") {
    select(palette, at + 1);
  } else if (event.key === "ArrowUp") {
    select(palette, at - 1);
  } else if (event.key === "Enter") {
    open(options[at]);
  } else {
    return;
  }
  event.preventDefault();
}

export function startPalette() {
  const palette = parts();
  palette?.field.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(find, PAUSE);
  });
  palette?.field.addEventListener("keydown", press);
  palette?.list.addEventListener("click", (event) => {
    open(event.target instanceof Element ? event.target.closest("[role=option]") : null);
  });
}
