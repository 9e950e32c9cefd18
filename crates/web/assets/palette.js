/**
 * The palette: finds executions by id, playbooks, pages and actions, and opens one. The server finds;
 * this module shows the answer of `/ui/find` and moves among the results.
 */

import { show } from "./replace.js";

/** Pause after a key before the server is asked, in milliseconds. */
const PAUSE = 120;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let pause;
/**
 * @typedef {{ name: string, kind: string, address?: string, element?: Element }} Choice
 */

/** The elements that options press, by option. @type {WeakMap<Element, Element>} */
const pressed = new WeakMap();
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
    const found = [...page.querySelectorAll("#found a")].map((link) => ({
      name: link.textContent ?? "",
      kind: link.getAttribute("data-kind") ?? "",
      address: link.getAttribute("href") ?? "",
    }));
    draw(palette, [...actions(palette), ...found]);
  }
}

/**
 * Returns the actions of this page whose name contains the text: its buttons and links of the head.
 *
 * @param {NonNullable<ReturnType<typeof parts>>} palette
 * @returns {Choice[]}
 */
function actions(palette) {
  const text = palette.field.value.trim().toLowerCase();
  const kind = palette.dialog.dataset.actionWord ?? "";
  const offered = "main .page-head a.button, main .page-head button:not(details button), "
    + "main .page-head details.confirm > summary";
  return [...document.querySelectorAll(offered)]
    .map((element) => ({ name: element.textContent?.trim() ?? "", kind, element }))
    .filter((choice) => choice.name !== "" && choice.name.toLowerCase().includes(text));
}

/**
 * Shows choices as the options of the list.
 *
 * @param {NonNullable<ReturnType<typeof parts>>} palette
 * @param {Choice[]} choices
 */
function draw(palette, choices) {
  const options = choices.map((choice, index) => {
    const option = document.createElement("li");
    option.id = `palette-${index}`;
    option.role = "option";
    option.dataset.address = choice.address ?? "";
    if (choice.element) {
      pressed.set(option, choice.element);
    }
    const kind = document.createElement("span");
    kind.className = "soft";
    kind.textContent = choice.kind;
    const name = document.createElement("span");
    name.textContent = choice.name;
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
  const element = option ? pressed.get(option) : undefined;
  if (element instanceof HTMLElement) {
    parts()?.dialog.close();
    element.click();
    element.closest("details.confirm")?.querySelector("button")?.focus();
    return;
  }
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
