/**
 * JSON trees: find text in a value, and copy the path of a row for use in a template.
 *
 * Without this script a tree opens and closes.
 */

/** The trees that were prepared. @type {WeakSet<Element>} */
const prepared = new WeakSet();

/**
 * @param {ParentNode} part
 */
export function startTrees(part) {
  for (const tree of part.querySelectorAll(".json")) {
    const tools = tree.querySelector(":scope > .json-tools");
    if (!tools || prepared.has(tools)) {
      continue;
    }
    prepared.add(tools);
    tools.removeAttribute("hidden");
    const search = tools.querySelector("input");
    if (search) {
      search.placeholder = document.getElementById("search-word")?.textContent ?? "";
      search.addEventListener("input", () => find(tree, search.value.trim().toLowerCase()));
    }
    tree.addEventListener("click", (event) => choose(tree, tools, event.target));
    tree.addEventListener("focusin", (event) => choose(tree, tools, event.target));
  }
}

/**
 * Shows only the rows that contain a text, with the rows around them; everything if it is empty.
 *
 * @param {Element} tree
 * @param {string} text
 */
function find(tree, text) {
  for (const row of tree.querySelectorAll(".leaf, details")) {
    const isFound = text === "" || row.textContent?.toLowerCase().includes(text);
    row.toggleAttribute("hidden", !isFound);
    if (isFound && text !== "" && row instanceof HTMLDetailsElement) {
      row.open = true;
    }
  }
}

/**
 * Shows the path of a row beside the search.
 *
 * @param {Element} tree
 * @param {Element} tools
 * @param {EventTarget | null} target
 */
function choose(tree, tools, target) {
  const row = target instanceof Element ? target.closest(".leaf, summary") : null;
  const [shown, copy] = [tools.querySelector("code"), tools.querySelector("button")];
  if (!row || !shown || !copy) {
    return;
  }
  const path = pathOf(tree, row.matches("summary") ? row.parentElement ?? row : row);
  shown.textContent = path;
  copy.setAttribute("data-copy", path);
  copy.classList.remove("done");
  copy.toggleAttribute("hidden", path === "");
}

/**
 * Returns the path of a row, such as `ctx.orders[3].total`.
 *
 * @param {Element} tree
 * @param {Element} row
 */
function pathOf(tree, row) {
  /** @type {string[]} */
  const steps = [];
  for (let at = row; at.parentElement?.matches(".children"); at = at.parentElement.parentElement ?? tree) {
    const key = at.querySelector(":scope > .key, :scope > summary > .key")?.textContent ?? null;
    const index = [...at.parentElement.children].indexOf(at);
    const isName = key !== null && /^[A-Za-z_][A-Za-z0-9_]*$/.test(key);
    steps.unshift(key === null ? `[${index}]` : isName ? `.${key}` : `[${JSON.stringify(key)}]`);
  }
  const root = tree.closest("[data-path]")?.getAttribute("data-path") ?? "";
  return (root + steps.join("")).replace(/^\./, "");
}
