/**
 * The graph of an execution: zoom, pan and fit, emphasis of failed and running steps, and arrow keys
 * that walk along arcs.
 *
 * Without this script the graph is an image that scrolls, and its steps are links.
 */

/** Height of the buttons above the drawing and of the space around it, in pixels. */
const TOOLS = 64;

/** The largest reduction of the drawing at which its text is readable. */
const SMALLEST = 1.6;

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
  if (!(frame instanceof HTMLElement) || !(svg instanceof SVGSVGElement) || prepared.has(svg)) {
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
  const box = node instanceof SVGGraphicsElement ? node.getBBox() : { width: 0, height: 0 };
  const at = /translate\(([\d.]+) ([\d.]+)\)/.exec(node?.getAttribute("transform") ?? "");
  const [x, y] = [Number(at?.[1] ?? 0) + box.width / 2, Number(at?.[2] ?? 0) + box.height / 2];
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

/**
 * Moves the focus along an arc: right to a next step, left to a previous one, up and down between
 * steps of the same origin.
 *
 * @param {SVGSVGElement} svg
 * @param {KeyboardEvent} event
 */
function walk(svg, event) {
  const node = event.target instanceof Element ? event.target.closest("[data-step]") : null;
  const step = node?.getAttribute("data-step");
  if (!node || !step || !event.key.startsWith("Arrow") || event.altKey) {
    return;
  }
  const arcs = [...svg.querySelectorAll("[data-from]")].map((arc) => ({
    from: arc.getAttribute("data-from") ?? "",
    to: arc.getAttribute("data-to") ?? "",
  }));
  const next = neighbour(arcs, step, event.key);
  const found = [...svg.querySelectorAll("[data-step]")].find((it) =>
    it.getAttribute("data-step") === next);
  if (found instanceof SVGElement) {
    event.preventDefault();
    event.stopPropagation();
    found.focus();
  }
}

/**
 * @param {{ from: string, to: string }[]} arcs
 * @param {string} step
 * @param {string} key
 * @returns {string | undefined}
 */
function neighbour(arcs, step, key) {
  if (key === "ArrowRight") {
    return arcs.find((arc) => arc.from === step && arc.to !== step)?.to;
  }
  const origin = arcs.find((arc) => arc.to === step && arc.from !== step)?.from;
  if (key === "ArrowLeft") {
    return origin;
  }
  const beside = arcs.filter((arc) => arc.from === origin).map((arc) => arc.to);
  const at = beside.indexOf(step) + (key === "ArrowDown" ? 1 : -1);
  return beside[at];
}
