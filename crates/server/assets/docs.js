"use strict";

// How deep the shape of a body is drawn.
const DEPTH_MAX = 6;
const METHODS = ["get", "post", "put", "delete", "patch"];

// An element with text or other elements in it; text is never read as markup.
function element(name, attributes, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content.filter((part) => part !== null && part !== undefined));
  return made;
}

function resolved(schema, schemas) {
  const name = schema?.$ref?.split("/").pop();
  return name ? { ...schemas[name], title: name } : schema ?? {};
}

// A sample of a value of this shape: names of types in place of values.
function sample(given, schemas, depth = 0) {
  const schema = resolved(given, schemas);
  if (depth > DEPTH_MAX) return "…";
  if (schema.enum) return schema.enum.join(" | ");
  const choice = schema.oneOf ?? schema.anyOf;
  if (choice) {
    const real = choice.filter((one) => one.type !== "null");
    return sample(real[0] ?? {}, schemas, depth + 1);
  }
  if (schema.allOf) {
    const parts = schema.allOf.map((part) => sample(part, schemas, depth + 1));
    return Object.assign({}, ...parts.filter((part) => typeof part === "object"));
  }
  const type = [schema.type].flat().filter((one) => one !== "null").join(" | ");
  if (type === "array") return [sample(schema.items, schemas, depth + 1)];
  if (schema.properties) {
    const entries = Object.entries(schema.properties);
    return Object.fromEntries(entries.map(([key, of]) => [key, sample(of, schemas, depth + 1)]));
  }
  return type || "any";
}

function body(title, content, schemas) {
  const parts = Object.entries(content ?? {}).map(([type, { schema }]) => [
    element("h3", {}, `${title} · ${type}`),
    element("pre", {}, JSON.stringify(sample(schema, schemas), null, 2)),
  ]);
  return parts.flat();
}

function parameters(list) {
  if (!list?.length) return null;
  const rows = list.map((one) =>
    element("tr", {},
      element("td", {}, element("code", {}, one.name), one.required ? " *" : ""),
      element("td", {}, one.in),
      element("td", {}, one.description ?? "")));
  const head = element("tr", {}, ...["Name", "In", ""].map((text) => element("th", {}, text)));
  return element("div", {}, element("h3", {}, "Parameters"), element("table", {}, head, ...rows));
}

function operation(path, method, of, schemas) {
  const responses = Object.entries(of.responses ?? {}).flatMap(([status, answer]) => {
    const drawn = status === "default" ? [] : body(`Answer ${status}`, answer.content, schemas);
    return drawn.length ? drawn : [element("h3", {}, `Answer ${status}`),
      element("div", { class: "note" }, answer.description || "without a body")];
  });
  const scopes = of["x-scopes"];
  const who = scopes ? `Needs a token with the scope ${scopes.join(" or ")}.` : "Open to everybody.";
  const name = (of.summary ?? of.operationId).replace(/\.$/, "");
  const made = element("details", {},
    element("summary", {},
      element("span", { class: `method ${method}` }, method.toUpperCase()),
      element("code", {}, path),
      element("span", {}, name)),
    element("div", { class: "body" },
      of.description ? element("p", {}, of.description) : null,
      element("p", { class: "note" }, who),
      parameters(of.parameters),
      ...body("Body", of.requestBody?.content, schemas),
      ...responses));
  made.dataset.text = `${method} ${path} ${of.operationId} ${name} ${of.description ?? ""}`.toLowerCase();
  return made;
}

function show(document_) {
  const schemas = document_.components?.schemas ?? {};
  document.getElementById("version").textContent = document_.info.version;
  document.getElementById("about").textContent = document_.info.description ?? "";
  const sections = new Map();
  for (const [path, item] of Object.entries(document_.paths)) {
    for (const method of METHODS.filter((one) => item[one])) {
      const tag = item[method].tags?.[0] ?? "other";
      if (!sections.has(tag)) sections.set(tag, element("section", {}, element("h2", {}, tag)));
      sections.get(tag).append(operation(path, method, item[method], schemas));
    }
  }
  document.getElementById("operations").replaceChildren(...sections.values());
}

function filter(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const section of document.querySelectorAll("section")) {
    let shown = 0;
    for (const one of section.querySelectorAll("details")) {
      one.hidden = !words.every((word) => one.dataset.text.includes(word));
      shown += one.hidden ? 0 : 1;
    }
    section.hidden = shown === 0;
  }
}

document.getElementById("filter").addEventListener("input", (event) => filter(event.target.value));
fetch("/api/openapi.json")
  .then((answer) => answer.json())
  .then(show)
  .catch((error) => {
    document.getElementById("operations").textContent = `The description cannot be read: ${error}`;
  });
