// Runs the extension in Node with a stand-in for the editor, against a real `noetl lsp`, and checks the
// manifest. `node run.js NOETL` prints the answers as JSON.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");

const EXTENSION = path.join(__dirname, "..");

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}
class Range {
  constructor(start, end) {
    Object.assign(this, { start, end });
  }
}
class Uri {
  constructor(text) {
    this.text = text;
  }
  static parse(text) {
    return new Uri(text);
  }
  toString() {
    return this.text;
  }
}
class WorkspaceEdit {
  constructor() {
    this.changes = [];
  }
  set(uri, edits) {
    this.changes.push([String(uri), edits]);
  }
}
const holder = (...names) =>
  class {
    constructor(...values) {
      names.forEach((name, index) => (this[name] = values[index]));
    }
  };

const registered = {};
const commands = {};
const events = {};
const findings = new Map();
/** The program that serves the editor, and the messages about it. */
let command = process.argv[2];
const problems = [];
const waiting = [];
const register = (kind) => (selector, provider) => {
  assert.equal(selector.language, "yaml");
  registered[kind] = provider;
  return { dispose() {} };
};
const listen = (name) => (listener) => {
  events[name] = listener;
  return { dispose() {} };
};

const document = {
  uri: Uri.parse("file:///work/greet.yaml"),
  version: 1,
  text: "",
  languageId: "yaml",
  getText() {
    return this.text;
  },
};

/** The part of the editor's interface that the extension uses. */
const editor = {
  Position,
  Range,
  Uri,
  WorkspaceEdit,
  Location: holder("uri", "range"),
  TextEdit: holder("range", "newText"),
  Diagnostic: holder("range", "message", "severity"),
  CompletionItem: holder("label", "kind"),
  Hover: holder("contents", "range"),
  MarkdownString: holder("value"),
  CodeAction: holder("title", "kind"),
  DocumentSymbol: holder("name", "detail", "kind", "range", "selectionRange"),
  CompletionItemKind: { Function: 2, Variable: 5, Property: 9, File: 16, Reference: 17, EnumMember: 19 },
  CodeActionKind: { QuickFix: "quickfix" },
  SymbolKind: { Function: 11 },
  languages: {
    match: (selector, it) => (it.languageId === selector.language ? 10 : 0),
    createDiagnosticCollection: () => ({
      set(uri, list) {
        findings.set(String(uri), list);
        waiting.splice(0).forEach((go) => go());
      },
      dispose() {},
    }),
    registerCompletionItemProvider: register("completion"),
    registerHoverProvider: register("hover"),
    registerDefinitionProvider: register("definition"),
    registerReferenceProvider: register("references"),
    registerRenameProvider: register("rename"),
    registerCodeActionsProvider: register("codeActions"),
    registerDocumentFormattingEditProvider: register("formatting"),
    registerDocumentSymbolProvider: register("symbols"),
  },
  window: {
    createOutputChannel: () => ({ append() {}, appendLine() {}, dispose() {} }),
    showErrorMessage: (message) => {
      if (command === process.argv[2]) throw new Error(message);
      problems.push(message);
    },
    showInputBox: async () => "last",
  },
  workspace: {
    textDocuments: [document],
    workspaceFolders: undefined,
    getConfiguration: (section) => {
      assert.equal(section, "noetl");
      return { get: (key) => ({ command })[key] };
    },
    onDidOpenTextDocument: listen("open"),
    onDidChangeTextDocument: listen("change"),
    onDidCloseTextDocument: listen("close"),
  },
  commands: {
    registerCommand: (name, run) => {
      commands[name] = run;
      return { dispose() {} };
    },
  },
};

const load = Module._load;
Module._load = (name, ...more) => (name === "vscode" ? editor : load(name, ...more));

/** Waits for the next diagnostics. */
const published = () => new Promise((resolve) => waiting.push(resolve));

function checkManifest() {
  const manifest = JSON.parse(fs.readFileSync(path.join(EXTENSION, "package.json"), "utf8"));
  assert.match(manifest.name, /^[a-z0-9-]+$/);
  assert.match(manifest.publisher, /^[a-z0-9-]+$/i);
  assert.match(manifest.version, /^\d+\.\d+\.\d+$/);
  assert.match(manifest.engines.vscode, /^\^\d+\.\d+\.\d+$/);
  assert.ok(fs.existsSync(path.join(EXTENSION, manifest.main)));
  for (const event of manifest.activationEvents) assert.match(event, /^onLanguage:[a-z]+$/);
  const { configuration, commands: declared } = manifest.contributes;
  for (const [name, property] of Object.entries(configuration.properties)) {
    assert.ok(name.startsWith("noetl."), name);
    assert.equal(typeof property.default, property.type);
    assert.ok(["application", "machine", "window", "resource"].includes(property.scope));
    assert.ok(property.description);
  }
  assert.deepEqual(declared.map((it) => it.command).sort(), Object.keys(commands).sort());
  declared.forEach((it) => assert.ok(it.title));
}

const HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: greet}\nworkflow:\n";
const TEXT = `${HEAD}  - step: start
    tool: {kind: noop}
    next: ende
  - step: end
    tool: {kind: noop, result: "{{ start }}"}
`;

async function main() {
  document.text = TEXT;
  const extension = require(EXTENSION);
  const context = { subscriptions: [] };
  const first = published();
  extension.activate(context);
  await first;
  checkManifest();
  const found = findings.get(String(document.uri)).map((it) => [it.code, it.severity, it.source]);
  const everything = new Range(new Position(0, 0), new Position(99, 0));
  const fixes = await registered.codeActions.provideCodeActions(document, everything);

  document.text = TEXT.replace("ende", "end");
  document.version += 1;
  const second = published();
  events.change({ document });
  await second;
  const answers = {
    found,
    fixes: fixes.map((it) => [it.title, it.edit.changes[0][1][0].newText]),
    fixed: findings.get(String(document.uri)).length,
  };
  const name = new Position(4, 12);
  const { completion, hover, definition, references, rename, formatting, symbols } = registered;
  const offered = await completion.provideCompletionItems(document, new Position(6, 13));
  answers.offered = offered.map((it) => [it.label, it.kind, it.insertText]);
  answers.hover = (await hover.provideHover(document, name)).contents.value;
  const defined = await definition.provideDefinition(document, new Position(6, 11));
  answers.defined = defined.range.start.line;
  const context2 = { includeDeclaration: true };
  answers.references = (await references.provideReferences(document, name, context2)).length;
  answers.placeholder = (await rename.prepareRename(document, name)).placeholder;
  const edit = await rename.provideRenameEdits(document, name, "begin");
  answers.renamed = edit.changes[0][1].map((it) => it.newText);
  await assert.rejects(() => rename.prepareRename(document, new Position(0, 0)), /no step/);
  const options = { tabSize: 2, insertSpaces: true };
  answers.formatted = (await formatting.provideDocumentFormattingEdits(document, options)).length;
  answers.symbols = (await symbols.provideDocumentSymbols(document)).map((it) => it.name);

  const third = published();
  await commands["noetl.showExecution"]();
  await third;
  await commands["noetl.restart"]();
  await published();

  // A server that never answers, and one that does not exist, are replaced all the same.
  fs.writeFileSync("hangs.sh", "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 });
  command = "./hangs.sh";
  await commands["noetl.restart"]();
  command = "./missing";
  await commands["noetl.restart"]();
  await new Promise((resolve) => setTimeout(resolve, 0));
  await assert.rejects(async () => hover.provideHover(document, name), /has ended/);
  assert.match(problems.join(), /missing cannot be started/);
  const fourth = published();
  command = process.argv[2];
  await commands["noetl.restart"]();
  await fourth;
  events.close(document);
  await extension.deactivate();
  console.log(JSON.stringify(answers));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
