// The extension for VS Code: starts `noetl lsp` and connects it to the editor.
"use strict";

const { spawn } = require("node:child_process");
const vscode = require("vscode");
const { Connection } = require("./connection");

const SELECTOR = { language: "yaml", scheme: "file" };
/** The milliseconds after the last key before the text is sent. */
const CHANGE_DELAY = 50;
/** The milliseconds that the server has to end by itself. */
const STOP_TIME = 2000;

let server;

const place = (it) => new vscode.Position(it.line, it.character);
const range = (it) => new vscode.Range(place(it.start), place(it.end));
const location = (it) => new vscode.Location(vscode.Uri.parse(it.uri), range(it.range));
const edits = (list) => list.map((it) => new vscode.TextEdit(range(it.range), it.newText));

function workspaceEdit(it) {
  const edit = new vscode.WorkspaceEdit();
  for (const [uri, changes] of Object.entries(it.changes)) {
    edit.set(vscode.Uri.parse(uri), edits(changes));
  }
  return edit;
}

function diagnostic(it) {
  const found = new vscode.Diagnostic(range(it.range), it.message, it.severity - 1);
  found.code = it.code;
  found.source = it.source;
  return found;
}

/** The running language server and the documents that it knows. */
class LanguageServer {
  /** `execution` is the id of the execution whose values are shown, or "last". */
  constructor(log, execution) {
    this.log = log;
    this.findings = vscode.languages.createDiagnosticCollection("noetl");
    this.timers = new Map();
    const command = vscode.workspace.getConfiguration("noetl").get("command");
    const program = ["lsp", ...(execution ? ["--execution", execution] : [])];
    // The settings of a project are found from its directory.
    const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    this.process = spawn(command, program, { cwd, stdio: ["pipe", "pipe", "pipe"] });
    this.process.stderr.on("data", (text) => this.log.append(String(text)));
    this.process.stdin.on("error", (error) => this.log.appendLine(error.message));
    this.process.on("error", (error) => {
      // A program that was not started has no exit.
      this.connection.close();
      vscode.window.showErrorMessage(
        `${command} cannot be started: ${error.message}. Set noetl.command to the noetl program.`,
      );
    });
    this.process.on("exit", (code) => {
      this.connection.close();
      if (!this.isStopped) this.log.appendLine(`noetl lsp has ended with code ${code}`);
    });
    this.connection = new Connection(this.process.stdout, this.process.stdin, (method, params) => {
      if (method === "textDocument/publishDiagnostics") {
        this.findings.set(vscode.Uri.parse(params.uri), params.diagnostics.map(diagnostic));
      }
    });
    this.ready = this.connection
      .request("initialize", { processId: process.pid, rootUri: null, capabilities: {} })
      .then(() => {
        this.connection.notify("initialized", {});
        vscode.workspace.textDocuments.forEach((document) => this.open(document));
      });
    this.ready.catch((error) => this.log.appendLine(error.message));
  }

  open(document) {
    if (!vscode.languages.match(SELECTOR, document)) return;
    this.connection.notify("textDocument/didOpen", {
      textDocument: {
        uri: document.uri.toString(),
        languageId: "yaml",
        version: document.version,
        text: document.getText(),
      },
    });
  }

  /** Sends the text once no key was pressed for a moment. */
  change(document) {
    if (!vscode.languages.match(SELECTOR, document)) return;
    const uri = document.uri.toString();
    clearTimeout(this.timers.get(uri));
    this.timers.set(uri, setTimeout(() => this.flush(document), CHANGE_DELAY));
  }

  /** Sends a text that has changed, so that an answer is about the text that is shown. */
  flush(document) {
    const uri = document.uri.toString();
    if (!this.timers.has(uri)) return;
    clearTimeout(this.timers.get(uri));
    this.timers.delete(uri);
    this.connection.notify("textDocument/didChange", {
      textDocument: { uri, version: document.version },
      contentChanges: [{ text: document.getText() }],
    });
  }

  close(document) {
    if (!vscode.languages.match(SELECTOR, document)) return;
    this.flush(document);
    this.connection.notify("textDocument/didClose", {
      textDocument: { uri: document.uri.toString() },
    });
  }

  /** Asks about a document; `convert` makes the answer a value of the editor. */
  async ask(method, document, more, convert) {
    await this.ready;
    this.flush(document);
    const params = { textDocument: { uri: document.uri.toString() }, ...more };
    const result = await this.connection.request(`textDocument/${method}`, params);
    return result === null ? undefined : convert(result);
  }

  async stop() {
    this.isStopped = true;
    this.findings.dispose();
    this.timers.forEach((timer) => clearTimeout(timer));
    let late;
    const tooLate = new Promise((_, reject) => {
      late = setTimeout(() => reject(new Error("the server does not answer")), STOP_TIME);
    });
    try {
      await Promise.race([this.connection.request("shutdown", null), tooLate]);
      this.connection.notify("exit", null);
    } catch {
      this.connection.close();
      this.process.kill("SIGKILL");
    } finally {
      clearTimeout(late);
    }
  }
}

function completion(it) {
  const kinds = vscode.CompletionItemKind;
  const kindOf = {
    3: kinds.Function,
    6: kinds.Variable,
    10: kinds.Property,
    17: kinds.File,
    18: kinds.Reference,
  };
  const item = new vscode.CompletionItem(it.label, kindOf[it.kind] ?? kinds.EnumMember);
  item.documentation = it.documentation;
  item.sortText = it.sortText;
  item.filterText = it.filterText;
  item.range = range(it.textEdit.range);
  item.insertText = it.textEdit.newText;
  return item;
}

function hover(it) {
  return new vscode.Hover(new vscode.MarkdownString(it.contents.value), range(it.range));
}

function codeAction(it) {
  const action = new vscode.CodeAction(it.title, vscode.CodeActionKind.QuickFix);
  action.edit = workspaceEdit(it.edit);
  action.diagnostics = it.diagnostics.map(diagnostic);
  action.isPreferred = it.isPreferred;
  return action;
}

function symbol(it) {
  const kind = vscode.SymbolKind.Function;
  return new vscode.DocumentSymbol(it.name, "", kind, range(it.range), range(it.selectionRange));
}

/** Registers the features of the server with the editor. */
function providers() {
  const { languages } = vscode;
  const each = (convert) => (list) => list.map(convert);
  const at = (method, convert) => (document, position) =>
    server.ask(method, document, { position }, convert);
  return [
    languages.registerCompletionItemProvider(
      SELECTOR,
      { provideCompletionItems: at("completion", each(completion)) },
      "{", "|", ".", " ", ":",
    ),
    languages.registerHoverProvider(SELECTOR, { provideHover: at("hover", hover) }),
    languages.registerDefinitionProvider(SELECTOR, {
      provideDefinition: at("definition", location),
    }),
    languages.registerReferenceProvider(SELECTOR, {
      provideReferences: (document, position, context) =>
        server.ask("references", document, { position, context }, each(location)),
    }),
    languages.registerRenameProvider(SELECTOR, {
      prepareRename: async (document, position) => {
        const found = await server.ask("prepareRename", document, { position }, (it) => ({
          range: range(it.range),
          placeholder: it.placeholder,
        }));
        if (!found) throw new Error("There is no step to rename here.");
        return found;
      },
      provideRenameEdits: (document, position, newName) =>
        server.ask("rename", document, { position, newName }, workspaceEdit),
    }),
    languages.registerCodeActionsProvider(SELECTOR, {
      provideCodeActions: (document, selected) =>
        server.ask(
          "codeAction",
          document,
          { range: selected, context: { diagnostics: [] } },
          each(codeAction),
        ),
    }),
    languages.registerDocumentFormattingEditProvider(SELECTOR, {
      provideDocumentFormattingEdits: (document, options) =>
        server.ask("formatting", document, { options }, edits),
    }),
    languages.registerDocumentSymbolProvider(SELECTOR, {
      provideDocumentSymbols: (document) =>
        server.ask("documentSymbol", document, {}, each(symbol)),
    }),
  ];
}

async function restart(log, execution) {
  await server.stop();
  server = new LanguageServer(log, execution);
}

function activate(context) {
  const log = vscode.window.createOutputChannel("NoETL");
  server = new LanguageServer(log);
  const { workspace } = vscode;
  context.subscriptions.push(
    log,
    ...providers(),
    workspace.onDidOpenTextDocument((document) =>
      server.ready.then(
        () => server.open(document),
        () => {}, // The log has the reason.
      ),
    ),
    workspace.onDidChangeTextDocument((event) => server.change(event.document)),
    workspace.onDidCloseTextDocument((document) => server.close(document)),
    vscode.commands.registerCommand("noetl.restart", () => restart(log)),
    vscode.commands.registerCommand("noetl.showExecution", async () => {
      const prompt = "Id of an execution, or last. Hover over a variable to see the value it had.";
      const chosen = await vscode.window.showInputBox({ prompt, value: "last" });
      if (chosen) await restart(log, chosen.trim());
    }),
  );
}

function deactivate() {
  return server?.stop();
}

module.exports = { activate, deactivate };
