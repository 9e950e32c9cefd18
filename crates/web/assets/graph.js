/**
 * The graph of an execution: zoom, pan and fit, emphasis of failed and running steps, and arrow keys
 * that walk along arcs. The graph is one stop of the Tab key, however many steps it has; the step that
 * has the focus is brought into view.
 *
 * Without this script the graph is an image that scrolls, and its steps are links.
 */

/** Height of the buttons above the drawing and of the space around it, in pixels. */
const TOOLS = 64;

/** The largest reduction of the drawing at which its text is readable. */
const SMALLEST = 1.6;

/** Space around a step that is brought into view, in units of the drawing. */
const MARGIN = 16;

/** The step that the visitor walked to last and the one it was reached from. */
let walked = { from: "", to: "" };

/** The part of the drawing that is shown, kept while the page is replaced. */
let shown = { address: "", box: [0, 0, 0, 0] };

/** The graphs that were prepared. @type {WeakSet<Element>} */
const prepared = new WeakSet();

/**
 * @param {ParentNode} part
 */
export function startGraph(part) {
  const frame = part.querySelector("[data-graph]");
  const svg = frame?.querySelector("svg.graph");
  if (!(frame instanceof HTMLElement) || !(svg instanceof SVGSVGElement)) {
    return;
  }
  keepOneStop(svg);
  if (prepared.has(svg)) {
    return;
  }
  prepared.add(svg);
  const size = [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
  frame.classList.add("panned");
  frame.querySelector(".graph-tools")?.removeAttribute("hidden");
  const draw = (/** @type {number[]} */ box) => {
    shown = { address: location.pathname, box };
    svg.setAttribute("viewBox", box.join(" "));
  };
  const natural = Math.min(1, frame.clientWidth / size[0]) * size[1] + TOOLS;
  frame.style.height = `${Math.max(200, Math.min(window.innerHeight * 0.55, natural))}px`;
  const fit = () => draw(fitted(svg, size));
  if (shown.address === location.pathname) {
    draw(shown.box);
  } else {
    draw(readable(svg, size));
  }
  const zoom = (/** @type {number} */ factor, x = 0.5, y = 0.5) => {
    const [left, top, width, height] = shown.box;
    const [w, h] = [width * factor, height * factor];
    draw([left + (width - w) * x, top + (height - h) * y, w, h]);
  };
  frame.querySelector(".graph-tools")?.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-graph-zoom]") : null;
    const shows = event.target instanceof Element ? event.target.closest("[data-graph-show]") : null;
    if (shows) {
      emphasize(frame, shows);
    }
    switch (button?.getAttribute("data-graph-zoom")) {
      case "in": zoom(0.8); break;
      case "out": zoom(1.25); break;
      case "fit": fit(); break;
    }
  });
  frame.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const place = svg.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.1 : 0.9, (event.clientX - place.left) / place.width,
        (event.clientY - place.top) / place.height);
    }
  }, { passive: false });
  pan(frame, draw);
  svg.addEventListener("keydown", (event) => walk(svg, event));
  svg.addEventListener("focusin", (event) => {
    const node = event.target instanceof Element ? event.target.closest("[data-step]") : null;
    if (node instanceof SVGGraphicsElement) {
      stopAt(svg, node);
      // A click is on a step that is in view, and may begin to move the drawing.
      if (node.matches(":focus-visible")) {
        draw(broughtIntoView(shown.box, placeOf(node)));
      }
    }
  });
}

/**
 * Lets the Tab key stop at one step: the one it stopped at before, else the selected one.
 *
 * @param {SVGSVGElement} svg
 */
function keepOneStop(svg) {
  const stop = svg.querySelector("[data-step][tabindex='0']")
    ?? svg.querySelector("[data-step].selected") ?? svg.querySelector("[data-step]");
  if (stop) {
    stopAt(svg, stop);
  }
}

/**
 * @param {SVGSVGElement} svg
 * @param {Element} stop
 */
function stopAt(svg, stop) {
  for (const node of svg.querySelectorAll("[data-step]")) {
    node.setAttribute("tabindex", node === stop ? "0" : "-1");
  }
}

/**
 * Returns the place of a step in the drawing: left, top, width and height.
 *
 * @param {SVGGraphicsElement} node
 * @returns {number[]}
 */
function placeOf(node) {
  const box = node.getBBox();
  const at = /translate\(([\d.]+) ([\d.]+)\)/.exec(node.getAttribute("transform") ?? "");
  return [Number(at?.[1] ?? 0), Number(at?.[2] ?? 0), box.width, box.height];
}

/**
 * Moves a box by as little as shows a place with some space around it.
 *
 * @param {number[]} box
 * @param {number[]} place
 * @returns {number[]}
 */
function broughtIntoView([left, top, width, height], [x, y, w, h]) {
  const within = (/** @type {number} */ from, /** @type {number} */ size, /** @type {number} */ at, /** @type {number} */ length) =>
    Math.max(at + length + MARGIN - size, Math.min(at - MARGIN, from));
  return [within(left, width, x, w), within(top, height, y, h), width, height];
}

/**
 * Emphasizes the steps of one kind, or no longer; the others become faint.
 *
 * @param {HTMLElement} frame
 * @param {Element} button
 */
function emphasize(frame, button) {
  const isOn = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(isOn));
  frame.classList.toggle(`show-${button.getAttribute("data-graph-show")}`, isOn);
  frame.classList.toggle("emphasized", frame.querySelector("[aria-pressed=true]") !== null);
}

/**
 * Returns the box that shows the whole drawing, at most in its own size.
 *
 * @param {SVGSVGElement} svg
 * @param {number[]} size
 */
function fitted(svg, size) {
  const [width, height] = size;
  const place = svg.getBoundingClientRect();
  const scale = Math.max(1, width / place.width, height / place.height);
  const [w, h] = [place.width * scale, place.height * scale];
  return [(width - w) / 2, (height - h) / 2, w, h];
}

/**
 * Returns the box that is shown first: the whole drawing if its text stays readable, else the part
 * around the selected step.
 *
 * @param {SVGSVGElement} svg
 * @param {number[]} size
 */
function readable(svg, size) {
  const [left, top, width, height] = fitted(svg, size);
  const place = svg.getBoundingClientRect();
  const scale = SMALLEST * place.width / width;
  if (place.width === 0 || scale >= 1) {
    return [left, top, width, height];
  }
  const node = svg.querySelector(".node.selected") ?? svg.querySelector(".node");
  const at = node instanceof SVGGraphicsElement ? placeOf(node) : [0, 0, 0, 0];
  const [x, y] = [at[0] + at[2] / 2, at[1] + at[3] / 2];
  const [w, h] = [width * scale, height * scale];
  const within = (/** @type {number} */ middle, /** @type {number} */ part, /** @type {number} */ whole) =>
    part >= whole ? (whole - part) / 2 : Math.min(whole - part, Math.max(0, middle - part / 2));
  return [within(x, w, size[0]), within(y, h, size[1]), w, h];
}

/**
 * Moves the drawing with the pointer.
 *
 * @param {HTMLElement} frame
 * @param {(box: number[]) => void} draw
 */
function pan(frame, draw) {
  /** @type {{ x: number, y: number, box: number[] } | null} */
  let from = null;
  let moved = false;
  frame.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && !(event.target instanceof Element && event.target.closest("button"))) {
      from = { x: event.clientX, y: event.clientY, box: shown.box };
      moved = false;
    }
  });
  frame.addEventListener("pointermove", (event) => {
    if (!from) {
      return;
    }
    const scale = from.box[2] / frame.clientWidth;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (Math.hypot(x, y) > 4 && !moved) {
      moved = true;
      frame.setPointerCapture(event.pointerId);
    }
    if (moved) {
      frame.classList.add("moving");
      draw([from.box[0] - x * scale, from.box[1] - y * scale, from.box[2], from.box[3]]);
    }
  });
  const stop = () => {
    from = null;
    frame.classList.remove("moving");
  };
  frame.addEventListener("pointerup", stop);
  frame.addEventListener("pointercancel", stop);
  frame.addEventListener("click", (event) => {
    if (moved) {
      event.preventDefault();
      event.stopPropagation();
    }
  }, true);
  frame.addEventListener("dragstart", (event) => event.preventDefault());
}

/** The keys that walk through the graph. */
const WALKING = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

/**
 * Moves the focus along an arc: right to a next step, left to a previous one, up and down between
 * steps of the same origin; or to the first, the last, the previous or the next step of the playbook.
 *
 * @param {SVGSVGElement} svg
 * @param {KeyboardEvent} event
 */
function walk(svg, event) {
  const node = event.target instanceof Element ? event.target.closest("[data-step]") : null;
  const step = node?.getAttribute("data-step");
  if (!node || !step || !WALKING.includes(event.key) || event.altKey) {
    return;
  }
  const arcs = [...svg.querySelectorAll("[data-from]")].map((arc) => ({
    from: arc.getAttribute("data-from") ?? "",
    to: arc.getAttribute("data-to") ?? "",
  }));
  const nodes = [...svg.querySelectorAll("[data-step]")];
  const steps = nodes.map((it) => it.getAttribute("data-step") ?? "");
  const found = nodes[steps.indexOf(neighbour(steps, arcs, step, event.key) ?? "")];
  event.preventDefault();
  event.stopPropagation();
  if (found instanceof SVGElement) {
    const to = found.getAttribute("data-step") ?? "";
    const isBeside = ["ArrowUp", "ArrowDown"].includes(event.key);
    walked = { from: isBeside ? walked.from : step, to };
    found.focus();
  }
}

/**
 * @param {string[]} steps
 * @param {{ from: string, to: string }[]} arcs
 * @param {string} step
 * @param {string} key
 * @returns {string | undefined}
 */
function neighbour(steps, arcs, step, key) {
  const at = steps.indexOf(step);
  const after = arcs.filter((arc) => arc.from === step && arc.to !== step).map((arc) => arc.to);
  const before = arcs.filter((arc) => arc.to === step && arc.from !== step).map((arc) => arc.from);
  // A step with several origins goes on among the successors of the one that the visitor came from.
  const cameFrom = walked.to === step && before.includes(walked.from) ? walked.from : before[0];
  const beside = before.length === 0
    ? steps.filter((other) => !arcs.some((arc) => arc.to === other && arc.from !== other))
    : arcs.filter((arc) => arc.from === cameFrom).map((arc) => arc.to);
  switch (key) {
    case "ArrowRight": return after[0];
    case "ArrowLeft": return cameFrom;
    case "ArrowDown": return beside[beside.indexOf(step) + 1];
    case "ArrowUp": return beside[beside.indexOf(step) - 1];
    case "Home": return steps[0];
    case "End": return steps[steps.length - 1];
    case "PageDown": return steps[at + 1];
    default: return steps[at - 1];
  }
}
