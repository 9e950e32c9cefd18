/**
 * The editor of a playbook: line numbers, colours, marks of findings, completions, and drafts.
 *
 * The text area holds the text and is usable without this script. The server analyzes the text a
 * moment after the last key; the newest answer wins, and typing never waits for one.
 */

/** Pause after a key before the server is asked, in milliseconds. */
const PAUSE = 180;
/** Prefix of the names under which texts that are not saved are kept. */
const DRAFT = "noetl-draft:";

/**
 * @typedef {{ severity: string, message: string, line: number, start: number, end: number }} Finding
 * @typedef {{ tokens: Array<[number, number, string]>, findings: Finding[] }} Analysis
 * @typedef {{ label: string, insert: string, kind: string, about: string | null }} Item
 */

/** The place in the text, kept while the page is replaced. */
let kept = { name: "", at: 0, top: 0 };

/**
 * @param {ParentNode} part
 */
export function startEditor(part) {
  const root = part.querySelector("[data-editor]");
  const text = root?.querySelector("textarea");
  if (root instanceof HTMLElement && text instanceof HTMLTextAreaElement && text.form) {
    new Editor(root, text, text.form);
  }
}

/**
 * Returns an element of the editor.
 *
 * @param {HTMLElement} root
 * @param {string} selector
 */
function found(root, selector) {
  const element = root.querySelector(selector);
  if (!(element instanceof HTMLElement)) {
    throw new Error(`the editor has no ${selector}`);
  }
  return element;
}

class Editor {
  /**
   * @param {HTMLElement} root
   * @param {HTMLTextAreaElement} text
   * @param {HTMLFormElement} form
   */
  constructor(root, text, form) {
    this.root = root;
    this.text = text;
    this.form = form;
    this.address = root.dataset.editor ?? "";
    this.gutter = found(root, ".editor-gutter");
    this.numbers = found(root, ".editor-numbers");
    this.layer = found(root, ".editor-layer");
    this.findings = found(root, ".findings");
    this.completions = new Completions(this, found(root, ".completions"));
    /** @type {string[]} The lines that the layer shows. */
    this.lines = [];
    /** @type {string[]} What was drawn for each line, to draw only what has changed. */
    this.drawn = [];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.pause = undefined;
    this.draft = form.dataset.draft ? DRAFT + form.dataset.draft : "";
    root.classList.add("live");
    for (const hidden of [this.gutter, this.layer, found(root, ".editor-keys")]) {
      hidden.removeAttribute("hidden");
    }
    this.restore();
    this.listen();
    this.drawText();
    this.analyze();
    this.place();
  }

  listen() {
    this.text.addEventListener("input", () => this.changed());
    this.text.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.text.addEventListener("keydown", (event) => this.press(event));
    this.text.addEventListener("blur", () => this.completions.close());
    this.text.addEventListener("click", () => this.completions.close());
    this.findings.addEventListener("click", (event) => {
      const link = event.target instanceof Element ? event.target.closest("[data-at]") : null;
      if (link) {
        event.preventDefault();
        this.moveTo(Number(link.getAttribute("data-at")), Number(link.getAttribute("data-to")));
      }
    });
    document.getElementById("editor-graph")?.addEventListener("click", (event) => {
      const step = event.target instanceof Element ? event.target.closest("[data-line]") : null;
      if (step) {
        event.preventDefault();
        this.moveTo(this.offsetOf(Number(step.getAttribute("data-line"))));
      }
    });
    this.form.addEventListener("submit", () => {
      kept = { name: location.pathname, at: this.text.selectionStart, top: this.text.scrollTop };
    });
  }

  /** Shows the place that the page was left at, or the line that it names. */
  place() {
    const line = Number(this.root.dataset.line ?? 0);
    if (kept.name === location.pathname) {
      this.text.setSelectionRange(kept.at, kept.at);
      this.text.scrollTop = kept.top;
      kept = { name: "", at: 0, top: 0 };
    } else if (line > 0) {
      this.moveTo(this.offsetOf(line));
    }
    this.scrolled();
  }

  /**
   * Returns the offset at which a line begins.
   *
   * @param {number} line
   */
  offsetOf(line) {
    return this.lines.slice(0, line - 1).reduce((sum, it) => sum + it.length + 1, 0);
  }

  /** Restores a text that was not saved, and forgets the drafts of a text that was. */
  restore() {
    if (this.draft === "") {
      return;
    }
    if (this.form.hasAttribute("data-saved")) {
      const path = this.draft.slice(0, this.draft.lastIndexOf("@"));
      for (const name of Object.keys(sessionStorage)) {
        if (name === `${DRAFT}new` || name.slice(0, name.lastIndexOf("@")) === path) {
          sessionStorage.removeItem(name);
        }
      }
      return;
    }
    const stored = sessionStorage.getItem(this.draft);
    if (stored === null || stored === this.text.value) {
      return;
    }
    const sent = this.text.value;
    this.text.value = stored;
    const notice = document.querySelector(".editor-draft");
    notice?.removeAttribute("hidden");
    notice?.querySelector("[data-discard]")?.addEventListener("click", () => {
      sessionStorage.removeItem(this.draft);
      notice.setAttribute("hidden", "");
      this.text.value = sent;
      this.drawText();
      this.analyze();
    });
  }

  keepDraft() {
    if (this.draft !== "") {
      sessionStorage.setItem(this.draft, this.text.value);
    }
  }

  changed() {
    this.drawText();
    this.keepDraft();
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.analyze(), PAUSE);
    if (this.completions.isOpen()) {
      this.completions.ask();
    }
  }

  scrolled() {
    const { scrollLeft, scrollTop } = this.text;
    this.layer.style.transform = `translate(${-scrollLeft}px, ${-scrollTop}px)`;
    this.numbers.style.transform = `translateY(${-scrollTop}px)`;
    this.completions.close();
  }

  /** Draws the lines that have changed as plain text; the colours of the others stay. */
  drawText() {
    const lines = this.text.value.split("\n");
    let first = 0;
    const shorter = Math.min(lines.length, this.lines.length);
    while (first < shorter && lines[first] === this.lines[first]) {
      first += 1;
    }
    let last = 0;
    while (last < shorter - first
      && lines[lines.length - 1 - last] === this.lines[this.lines.length - 1 - last]) {
      last += 1;
    }
    const removed = this.lines.length - first - last;
    const fresh = lines.slice(first, lines.length - last);
    for (let count = 0; count < removed; count += 1) {
      this.layer.children[first].remove();
    }
    const made = fresh.map((line) => {
      const element = document.createElement("span");
      element.className = "line";
      element.textContent = `${line}\n`;
      return element;
    });
    const after = this.layer.children[first] ?? null;
    made.forEach((element) => this.layer.insertBefore(element, after));
    this.drawn.splice(first, removed, ...fresh.map(() => ""));
    this.lines = lines;
    this.number(lines.length);
  }

  /**
   * Draws as many line numbers as the text has lines.
   *
   * @param {number} count
   */
  number(count) {
    while (this.numbers.children.length > count) {
      this.numbers.lastElementChild?.remove();
    }
    for (let line = this.numbers.children.length + 1; line <= count; line += 1) {
      const number = document.createElement("span");
      number.textContent = String(line);
      this.numbers.append(number);
    }
  }

  /**
   * Sends the text to the server; null if it has changed before the answer.
   *
   * @param {string} name
   * @param {Record<string, string>} [more]
   */
  async send(name, more = {}) {
    const content = this.text.value;
    const token = this.form.querySelector("input[name=form_token]");
    const body = new URLSearchParams({ content, ...more });
    body.set("form_token", token instanceof HTMLInputElement ? token.value : "");
    try {
      const response = await fetch(`${this.address}/${name}`, { method: "POST", body });
      const isJson = response.headers.get("content-type")?.startsWith("application/json");
      const answer = isJson ? await response.json() : null;
      return this.text.value === content && this.text.isConnected ? answer : null;
    } catch {
      return null;
    }
  }

  /** Asks the server for colours, findings, graph and inputs of the text. */
  async analyze() {
    const answer = await this.send("analysis");
    if (!answer) {
      return;
    }
    this.findings.innerHTML = answer.findings;
    if (answer.analysis) {
      this.drawAnalysis(answer.analysis);
    }
    replaceHtml("editor-graph", answer.graph);
    replaceInputs(answer.inputs);
  }

  /** @param {Analysis} analysis */
  drawAnalysis(analysis) {
    /** @type {Map<number, Finding[]>} */
    const marked = new Map();
    for (const finding of analysis.findings) {
      marked.set(finding.line, [...(marked.get(finding.line) ?? []), finding]);
    }
    let start = 0;
    let next = 0;
    this.lines.forEach((line, index) => {
      const end = start + line.length;
      const tokens = [];
      for (; next < analysis.tokens.length && analysis.tokens[next][0] <= end; next += 1) {
        tokens.push(analysis.tokens[next]);
      }
      const findings = marked.get(index + 1) ?? [];
      const drawing = JSON.stringify([tokens.map(([at, ...rest]) => [at - start, ...rest]),
        findings.map((it) => [it.severity, it.message])]);
      if (this.drawn[index] !== drawing) {
        this.drawn[index] = drawing;
        this.drawLine(index, start, tokens, findings);
      }
      start = end + 1;
    });
  }

  /**
   * @param {number} index
   * @param {number} start The offset of the line.
   * @param {Array<[number, number, string]>} tokens
   * @param {Finding[]} findings
   */
  drawLine(index, start, tokens, findings) {
    const line = this.lines[index];
    const parts = [];
    let at = 0;
    for (const [from, length, kind] of tokens) {
      const begin = from - start;
      parts.push(line.slice(at, begin));
      const token = document.createElement("span");
      token.className = `t-${kind}`;
      token.textContent = line.slice(begin, begin + length);
      parts.push(token);
      at = begin + length;
    }
    parts.push(`${line.slice(at)}\n`);
    const element = this.layer.children[index];
    element.replaceChildren(...parts);
    const isError = findings.some((it) => it.severity === "error");
    const mark = findings.length === 0 ? "" : isError ? " error" : " warning";
    element.className = `line${mark}`;
    const number = this.numbers.children[index];
    number.className = mark.trim();
    number.setAttribute("title", findings.map((it) => it.message).join("\n"));
  }

  /**
   * Moves the cursor to a place and selects the text up to another one on the same line.
   *
   * @param {number} offset
   * @param {number} [end]
   */
  moveTo(offset, end = offset) {
    const isLine = !this.text.value.slice(offset, end).includes("\n");
    this.text.focus();
    this.text.setSelectionRange(offset, isLine ? end : offset);
    const line = this.text.value.slice(0, offset).split("\n").length;
    const height = this.lineHeight();
    if (line * height < this.text.scrollTop
      || (line + 2) * height > this.text.scrollTop + this.text.clientHeight) {
      this.text.scrollTop = Math.max(0, (line - 6) * height);
    }
  }

  lineHeight() {
    return Number.parseFloat(getComputedStyle(this.text).lineHeight) || 19;
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.ctrlKey && event.code === "Space") {
      event.preventDefault();
      this.completions.ask();
      return;
    }
    if (this.completions.press(event)) {
      event.preventDefault();
      return;
    }
    if (event.key === "Enter" && !event.ctrlKey && !event.altKey && !event.isComposing) {
      event.preventDefault();
      const before = this.text.value.slice(0, this.text.selectionStart);
      const line = before.slice(before.lastIndexOf("\n") + 1);
      const indent = /^\s*/.exec(line)?.[0] ?? "";
      this.insert(`\n${indent}${line.trimEnd().endsWith(":") ? "  " : ""}`);
    } else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      const save = this.form.querySelector("button[value=save]");
      if (save instanceof HTMLButtonElement) {
        event.preventDefault();
        this.form.requestSubmit(save);
      }
    }
  }

  /**
   * Inserts a text at the cursor, so that the browser can undo it.
   *
   * @param {string} inserted
   * @param {number} [start]
   * @param {number} [end]
   */
  insert(inserted, start = this.text.selectionStart, end = this.text.selectionEnd) {
    this.text.focus();
    this.text.setSelectionRange(start, end);
    if (!document.execCommand("insertText", false, inserted)) {
      this.text.setRangeText(inserted, start, end, "end");
      this.text.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
}

/**
 * Replaces a part of the page by HTML of the server; null leaves it as it is.
 *
 * @param {string} id
 * @param {string | null} html
 */
function replaceHtml(id, html) {
  const element = document.getElementById(id);
  if (element && html !== null && element.innerHTML !== html) {
    element.innerHTML = html;
  }
}

/**
 * Replaces the inputs if their names have changed, and keeps the values that were entered.
 *
 * @param {string | null} html
 */
function replaceInputs(html) {
  const inputs = document.getElementById("editor-inputs");
  if (!inputs || html === null) {
    return;
  }
  const fresh = document.createElement("div");
  fresh.innerHTML = html;
  const names = (/** @type {Element} */ part) =>
    [...part.querySelectorAll("[name]")].map((it) => `${it.localName} ${it.getAttribute("name")}`);
  if (names(fresh).join("\n") === names(inputs).join("\n")) {
    return;
  }
  for (const field of fresh.querySelectorAll("input, textarea")) {
    const name = CSS.escape(field.getAttribute("name") ?? "");
    const old = inputs.querySelector(`${field.localName}[name="${name}"]`);
    if (old instanceof HTMLInputElement && field instanceof HTMLInputElement) {
      field.value = old.value;
      field.checked = old.checked;
    } else if (old instanceof HTMLTextAreaElement && field instanceof HTMLTextAreaElement) {
      field.value = old.value;
    }
  }
  inputs.replaceChildren(...fresh.children);
}

/** The list of completions at the cursor. */
class Completions {
  /**
   * @param {Editor} editor
   * @param {HTMLElement} list
   */
  constructor(editor, list) {
    this.editor = editor;
    this.list = list;
    /** @type {Item[]} */
    this.items = [];
    this.range = [0, 0];
    this.chosen = 0;
    /** The number of the latest question; answers to earlier ones are dropped. */
    this.question = 0;
    // A click would take the focus from the text before the item is chosen.
    list.addEventListener("mousedown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const option = event.target instanceof Element ? event.target.closest("[role=option]") : null;
      const index = option ? [...list.children].indexOf(option) : -1;
      if (index >= 0) {
        this.accept(index);
      }
    });
  }

  isOpen() {
    return !this.list.hidden;
  }

  close() {
    this.question += 1;
    this.list.hidden = true;
    this.list.replaceChildren();
    this.editor.text.removeAttribute("aria-activedescendant");
    this.editor.text.removeAttribute("aria-controls");
  }

  async ask() {
    this.question += 1;
    const asked = this.question;
    const offset = String(this.editor.text.selectionEnd);
    const answer = await this.editor.send("completions", { offset });
    if (asked !== this.question) {
      return;
    }
    if (!answer || answer.items.length === 0) {
      this.close();
      return;
    }
    this.items = answer.items;
    this.range = [answer.start, answer.end];
    this.draw();
  }

  draw() {
    this.list.replaceChildren(...this.items.map((item, index) => {
      const option = document.createElement("li");
      option.id = `completion-${index}`;
      option.role = "option";
      const name = document.createElement("code");
      name.textContent = item.label;
      const about = document.createElement("span");
      about.className = "soft";
      about.lang = "en";
      about.textContent = item.about ?? "";
      option.append(name, about);
      return option;
    }));
    this.list.hidden = false;
    this.editor.text.setAttribute("aria-controls", this.list.id);
    this.select(0);
    this.move();
  }

  /** Puts the list under the cursor, inside of the editor. */
  move() {
    const { text } = this.editor;
    const before = text.value.slice(0, this.range[0]);
    const line = before.split("\n").length;
    const column = before.length - before.lastIndexOf("\n") - 1;
    const height = this.editor.lineHeight();
    const style = getComputedStyle(text);
    const canvas = document.createElement("canvas").getContext("2d");
    const width = canvas ? (canvas.font = style.font, canvas.measureText("0").width) : 8;
    const left = Number.parseFloat(style.paddingLeft) + column * width - text.scrollLeft;
    const below = Number.parseFloat(style.paddingTop) + line * height - text.scrollTop;
    const room = text.clientWidth - this.list.offsetWidth;
    this.list.style.left = `${Math.max(0, Math.min(left, room))}px`;
    const above = below - height - this.list.offsetHeight;
    const fits = below + this.list.offsetHeight <= text.clientHeight || above < 0;
    this.list.style.top = `${fits ? below : above}px`;
  }

  /** @param {number} index */
  select(index) {
    const options = [...this.list.children];
    this.chosen = (index + options.length) % options.length;
    options.forEach((option, at) => {
      option.setAttribute("aria-selected", String(at === this.chosen));
    });
    options[this.chosen].scrollIntoView({ block: "nearest" });
    this.editor.text.setAttribute("aria-activedescendant", options[this.chosen].id);
  }

  /** @param {number} index */
  accept(index) {
    const item = this.items[index];
    const [start, end] = this.range;
    this.close();
    this.editor.insert(item.insert, start, end);
  }

  /**
   * Moves in the list and chooses; returns true if the key was for the list.
   *
   * @param {KeyboardEvent} event
   */
  press(event) {
    if (!this.isOpen()) {
      return false;
    }
    switch (event.key) {
      case "ArrowDown": this.select(this.chosen + 1); return true;
      case "ArrowUp": this.select(this.chosen - 1); return true;
      case "Enter":
      case "Tab": this.accept(this.chosen); return true;
      case "Escape": this.close(); return true;
      case "ArrowLeft":
      case "ArrowRight":
      case "Home":
      case "End": this.close(); return false;
      default: return false;
    }
  }
}
