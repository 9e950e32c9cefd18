/**
 * Forms: sent without loading the document, filters at once when a choice changes, ticks for all rows,
 * copy buttons.
 */

import { partOf, show } from "./replace.js";

/**
 * Sends a form in the background and shows the page that answers.
 *
 * @param {SubmitEvent} event
 */
function send(event) {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.getAttribute("method") === "dialog" || event.defaultPrevented) {
    return;
  }
  if (form.hasAttribute("data-form")) {
    return;
  }
  event.preventDefault();
  const fields = new FormData(form, event.submitter);
  // A control named `action` or `method` hides the property of the form, so attributes are read.
  const address = new URL(form.getAttribute("action") ?? "", location.href);
  if (form.getAttribute("method")?.toLowerCase() === "post") {
    show(address.href, { form: fields });
    return;
  }
  address.search = "";
  for (const [name, value] of fields) {
    if (typeof value === "string" && value !== "") {
      address.searchParams.append(name, value);
    }
  }
  show(address.href, { part: partOf(form) });
}

/**
 * Sends a form when one of its choices changes, if the form asks for it.
 *
 * @param {Event} event
 */
function sendAtOnce(event) {
  const field = event.target;
  const isChoice = field instanceof HTMLSelectElement
    || (field instanceof HTMLInputElement && field.type === "checkbox");
  if (isChoice && field.form?.hasAttribute("data-at-once")) {
    field.form.requestSubmit();
  }
}

/**
 * Ticks all rows of the page, or none.
 *
 * @param {Event} event
 */
function tickAll(event) {
  const all = event.target;
  if (all instanceof HTMLInputElement && all.closest("[data-tick-all]")) {
    for (const tick of document.querySelectorAll("input[type=checkbox][name=id]")) {
      if (tick instanceof HTMLInputElement) {
        tick.checked = all.checked;
      }
    }
  }
}

/**
 * Copies the text of a copy button.
 *
 * @param {MouseEvent} event
 */
async function copy(event) {
  const button = event.target instanceof Element ? event.target.closest("[data-copy]") : null;
  if (button) {
    await navigator.clipboard?.writeText(button.getAttribute("data-copy") ?? "");
    button.classList.add("done");
  }
}

/**
 * Closes menus and confirmations when the visitor clicks beside them.
 *
 * @param {MouseEvent} event
 */
function closeOthers(event) {
  for (const open of document.querySelectorAll("details.menu[open], details.confirm[open]")) {
    if (event.target instanceof Node && !open.contains(event.target)) {
      open.removeAttribute("open");
    }
  }
}

export function startForms() {
  document.addEventListener("submit", send);
  document.addEventListener("change", sendAtOnce);
  document.addEventListener("change", tickAll);
  document.addEventListener("click", copy);
  document.addEventListener("click", closeOthers);
}
