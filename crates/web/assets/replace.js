/**
 * Partial page updates: fetches a page and replaces the part of the document that has changed, keeps
 * the history, and refreshes parts that are live.
 *
 * A link or a form inside an element with `data-part` replaces only the element with that id. An
 * element with `data-refresh` is fetched again every so many milliseconds while the page is visible.
 */

import { leaveForLogin, noteAnswer, noteSilence } from "./connection.js";

/** @type {Array<(part: ParentNode) => void>} */
const listeners = [];

/**
 * Calls a function for every part of the document that is replaced.
 *
 * @param {(part: ParentNode) => void} listener
 */
export function onReplaced(listener) {
  listeners.push(listener);
}

/** The request of the latest navigation; an older one is aborted. @type {AbortController | null} */
let navigation = null;

/** The address of the page that is shown, without its hash. */
let shown = withoutHash();

function withoutHash() {
  return location.pathname + location.search;
}

/**
 * Shows a page without loading the document again; loads it if that fails.
 *
 * @param {string} address
 * @param {{ keep?: boolean, settle?: boolean, part?: string, form?: FormData }} [options] `keep` leaves
 *   the history as it is, `settle` replaces its last entry, `part` replaces only the element with
 *   that id, `form` is sent by POST.
 */
export async function show(address, options = {}) {
  navigation?.abort();
  navigation = new AbortController();
  const content = document.getElementById("content");
  content?.classList.add("loading");
  try {
    const page = await fetched(address, navigation.signal, options.form);
    if (!page) {
      location.assign(address);
      return;
    }
    if (options.settle) {
      history.replaceState(null, "", page.address);
    }
    noteAnswer();
    replace(page.document, options.part);
    if (!options.keep && !options.settle) {
      const isOther = new URL(page.address).pathname !== location.pathname;
      history.pushState(null, "", page.address);
      if (isOther || !options.part) {
        window.scrollTo(0, 0);
        document.getElementById("content")?.focus({ preventScroll: true });
      }
    }
    shown = withoutHash();
  } catch (error) {
    if (!(error instanceof DOMException && error.name === "AbortError")) {
      location.assign(address);
    }
  } finally {
    content?.classList.remove("loading");
  }
}

/**
 * Fetches a page; null if the answer is no page.
 *
 * @param {string} address
 * @param {AbortSignal} signal
 * @param {FormData} [form]
 * @returns {Promise<{ document: Document, address: string, isBroken: boolean } | null>}
 */
async function fetched(address, signal, form) {
  const body = form && new URLSearchParams(/** @type {any} */ (form));
  const response = await fetch(address, { method: body ? "POST" : "GET", body, signal });
  if (!response.headers.get("content-type")?.startsWith("text/html")) {
    return null;
  }
  const text = await response.text();
  const page = new DOMParser().parseFromString(text, "text/html");
  return { document: page, address: response.url, isBroken: response.status >= 500 };
}

/**
 * Replaces the content and the title, or one part of the content.
 *
 * @param {Document} page
 * @param {string} [part]
 */
function replace(page, part) {
  const ids = part && page.getElementById(part) && document.getElementById(part)
    ? [part]
    : ["content"];
  document.title = page.title;
  if (ids[0] === "content") {
    const places = page.querySelector("nav.places");
    if (places) {
      document.querySelector("nav.places")?.replaceWith(document.adoptNode(places));
    }
  }
  for (const id of ids) {
    swap(id, page);
  }
}

/**
 * Replaces the element with an id by the one of another page, and keeps the focus on the element
 * that had it, known by its id or its place among the links.
 *
 * @param {string} id
 * @param {Document} page
 */
function swap(id, page) {
  const old = document.getElementById(id);
  const fresh = page.getElementById(id);
  if (!old || !fresh) {
    return;
  }
  if (old.hasAttribute("data-merge")) {
    merge(old, fresh);
    listeners.forEach((listener) => listener(old));
    return;
  }
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const adopted = document.adoptNode(fresh);
  old.replaceWith(adopted);
  if (focused?.id) {
    document.getElementById(focused.id)?.focus();
  }
  listeners.forEach((listener) => listener(adopted));
}

/**
 * Changes the element with an id to new HTML, and keeps everything that is the same: the focus, what
 * is open, and where it is scrolled to.
 *
 * @param {string} id
 * @param {string} html
 */
export function mergePart(id, html) {
  const old = document.getElementById(id);
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById(id);
  if (old && fresh) {
    merge(old, fresh);
    listeners.forEach((listener) => listener(old));
  }
}

/**
 * Changes a node so that it equals another one.
 *
 * @param {Node} old
 * @param {Node} fresh
 */
function merge(old, fresh) {
  if (old.nodeName !== fresh.nodeName || keyOf(old) !== keyOf(fresh)) {
    old.parentNode?.replaceChild(document.adoptNode(fresh), old);
  } else if (old instanceof Element && fresh instanceof Element) {
    if (old.hasAttribute("data-own")) {
      return;
    }
    mergeAttributes(old, fresh);
    mergeChildren(old, fresh);
  } else if (old.nodeValue !== fresh.nodeValue) {
    old.nodeValue = fresh.nodeValue;
  }
}

/**
 * Returns the name by which a node is the same after an update.
 *
 * @param {Node} node
 */
function keyOf(node) {
  return node instanceof Element ? node.id || node.getAttribute("data-same") : null;
}

/**
 * @param {Element} old
 * @param {Element} fresh
 */
function mergeAttributes(old, fresh) {
  // Scripts and visitors change these themselves.
  const kept = ["data-at", ...(old.getAttribute("data-keep") ?? "").split(" ")];
  if (old instanceof HTMLDetailsElement) {
    kept.push("open");
  }
  for (const name of old.getAttributeNames()) {
    if (!fresh.hasAttribute(name) && !kept.includes(name)) {
      old.removeAttribute(name);
    }
  }
  for (const name of fresh.getAttributeNames()) {
    const value = fresh.getAttribute(name) ?? "";
    if (old.getAttribute(name) !== value && !kept.includes(name)) {
      old.setAttribute(name, value);
    }
  }
  if (old instanceof HTMLInputElement && old.type === "range" && !old.matches(":active")) {
    old.value = fresh.getAttribute("value") ?? "";
  }
}

/**
 * Changes the children of an element so that they equal those of another one. A child with a key stays
 * in the document for as long as there is one with its key, so that it keeps the focus when others
 * appear before it.
 *
 * @param {Element} old
 * @param {Element} fresh
 */
function mergeChildren(old, fresh) {
  const freshs = [...fresh.childNodes];
  const keys = new Set(freshs.map(keyOf));
  const keyed = new Map();
  for (const child of [...old.childNodes]) {
    const key = keyOf(child);
    if (key && keys.has(key)) {
      keyed.set(key, child);
    } else if (key) {
      child.remove();
    }
  }
  /** @type {ChildNode | null} */
  let next = old.firstChild;
  for (const child of freshs) {
    const same = keyOf(child) ? keyed.get(keyOf(child)) : next && !keyOf(next) ? next : null;
    if (!same) {
      old.insertBefore(document.adoptNode(child), next);
      continue;
    }
    if (same === next) {
      next = next.nextSibling;
    } else {
      old.insertBefore(same, next);
    }
    merge(same, child);
  }
  while (next) {
    const rest = next.nextSibling;
    next.remove();
    next = rest;
  }
}

/** Fetches this page again and replaces its live parts, unless the visitor is using them. */
export async function refresh() {
  const live = [...document.querySelectorAll("[data-refresh]")].filter((part) => !isInUse(part));
  if (live.length === 0) {
    return;
  }
  const address = location.href;
  const page = await fetched(address, AbortSignal.timeout(10_000)).catch(() => null);
  if (location.href !== address) {
    // The visitor has gone on; this is not the page that was asked for.
    return;
  }
  if (!page || page.isBroken) {
    noteSilence();
    return;
  }
  if (leaveForLogin(page.address)) {
    return;
  }
  noteAnswer();
  for (const part of live) {
    const fresh = page.document.getElementById(part.id);
    if (fresh && part.isConnected && !isInUse(part)) {
      merge(part, fresh);
      listeners.forEach((listener) => listener(part));
    }
  }
}

/**
 * True if the visitor types, chooses, reads or confirms something in a part.
 *
 * @param {Element} part
 */
export function isInUse(part) {
  const active = document.activeElement;
  // A search that was sent has its text as the value of the page; the results go on.
  const isSent = active instanceof HTMLInputElement && active.type === "search"
    && active.value === active.defaultValue;
  const isTyping = active instanceof HTMLElement && part.contains(active) && !isSent
    && active.matches("input, select, textarea");
  const inUse = "details.confirm[open], .histogram details[open], .choosing, [name=id]:checked";
  return isTyping || part.matches(".choosing") || part.querySelector(inUse) !== null;
}

/** Refreshes the live parts of the page for as long as there are any. */
async function keepFresh() {
  for (;;) {
    const intervals = [...document.querySelectorAll("[data-refresh]")].map((part) =>
      Number(part.getAttribute("data-refresh")));
    await new Promise((done) => setTimeout(done, Math.max(500, Math.min(5000, ...intervals))));
    if (document.visibilityState === "visible") {
      await refresh();
    }
  }
}

/**
 * Returns the part that an element replaces.
 *
 * @param {Element} element
 * @returns {string | undefined}
 */
export function partOf(element) {
  return element.closest("[data-part]")?.getAttribute("data-part") ?? undefined;
}

/**
 * Follows a link without loading the document, if it leads to a page of this interface.
 *
 * @param {MouseEvent} event
 */
function follow(event) {
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey
    && !event.altKey && !event.defaultPrevented;
  if (!(link instanceof HTMLAnchorElement) || !isPlain || link.download || link.target) {
    return;
  }
  const isPage = link.origin === location.origin && link.pathname.startsWith("/ui/");
  const isHere = link.hash !== "" && link.pathname === location.pathname
    && link.search === location.search;
  if (isPage && !isHere && !link.hasAttribute("data-plain")) {
    event.preventDefault();
    show(link.href, { part: partOf(link) });
  }
}

export function startReplacing() {
  document.addEventListener("click", follow);
  window.addEventListener("popstate", () => {
    // A link within the page changes the hash only: the browser marks its target.
    if (withoutHash() !== shown) {
      show(location.href, { keep: true });
    }
  });
  keepFresh();
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") {
      refresh();
    }
  });
}
