//! The answers of the server, each computed from the text of a document.

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CompletionItem, CompletionItemKind,
    CompletionTextEdit, Diagnostic, DiagnosticSeverity, DocumentSymbol, Documentation, Hover,
    HoverContents, Location, MarkupContent, MarkupKind, NumberOrString, Position,
    PrepareRenameResponse, Range, SymbolKind, TextEdit, Uri, WorkspaceEdit,
};
use noetl_playbook::editing::{
    CompletionKind, Completions, RenameError, StepMention, StepRole, SyntaxCompletion,
    TemplatePath, completions, hover as explain, rename_step, step_mentions, template_completions,
    template_path,
};
use noetl_playbook::{DiagnosticCode, FormatError, LintedDocument, Severity, format_document};

use crate::position::{offset_of, position_of, range_of};

/// The name of the server in diagnostics.
const SOURCE: &str = "noetl";
/// The ending of files that test a playbook, which is checked with its playbook only.
const TEST_FILE: &str = ".test.yaml";

/// Returns the findings of `noetl lint` about a document, without the code that a program checks.
pub(crate) fn diagnostics(uri: &Uri, text: &str) -> Vec<Diagnostic> {
    findings(uri, text).iter().map(|it| shown(text, it)).collect()
}

fn findings(uri: &Uri, text: &str) -> Vec<noetl_playbook::Diagnostic> {
    if uri.as_str().ends_with(TEST_FILE) {
        return Vec::new();
    }
    let problems = LintedDocument::new(uri.as_str(), text.as_bytes()).finish();
    let found = problems.diagnostics();
    // Any other YAML file may be open in the same editor.
    if found.iter().any(|it| it.code == DiagnosticCode::NotAPlaybook) {
        return Vec::new();
    }
    found.to_vec()
}

/// Returns a finding as the editor shows it.
fn shown(text: &str, found: &noetl_playbook::Diagnostic) -> Diagnostic {
    Diagnostic {
        range: range_of(text, &found.span),
        severity: Some(match found.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(found.code.as_str().to_owned())),
        source: Some(SOURCE.to_owned()),
        message: match &found.help {
            Some(help) => format!("{}\nhelp: {help}", found.message),
            None => found.message.clone(),
        },
        ..Diagnostic::default()
    }
}

/// Returns the completions at a position: of the template around it, otherwise of the language.
pub(crate) fn completions_at(text: &str, position: Position) -> Completions {
    let offset = offset_of(text, position);
    template_completions(text, offset).unwrap_or_else(|| completions(text, offset))
}

/// Returns completions as the editor shows them, with names from outside of the document.
pub(crate) fn completion_items(
    text: &str,
    position: Position,
    mut found: Completions,
    names: Vec<String>,
) -> Vec<CompletionItem> {
    let written = text[found.replaced.clone()].to_owned();
    let before = offset_of(text, position).clamp(found.replaced.start, found.replaced.end);
    let typed = text[found.replaced.start..before].to_owned();
    found.add_names(&typed, names);
    let range = range_of(text, &found.replaced);
    let items = found.items.into_iter().enumerate();
    items.map(|(rank, item)| completion_item(item, range, (rank, &written))).collect()
}

fn completion_item(
    item: SyntaxCompletion,
    range: Range,
    (rank, typed): (usize, &str),
) -> CompletionItem {
    let SyntaxCompletion { label, insert, kind, about } = item;
    // An editor hides items that do not begin with the text it filters by.
    let is_prefix = label.to_lowercase().starts_with(&typed.to_lowercase());
    CompletionItem {
        kind: Some(match kind {
            CompletionKind::Key => CompletionItemKind::PROPERTY,
            CompletionKind::Value => CompletionItemKind::ENUM_MEMBER,
            CompletionKind::Step => CompletionItemKind::REFERENCE,
            CompletionKind::Variable => CompletionItemKind::VARIABLE,
            CompletionKind::Filter => CompletionItemKind::FUNCTION,
            CompletionKind::Outside => CompletionItemKind::FILE,
        }),
        documentation: about.map(|about| Documentation::String(about.to_owned())),
        sort_text: Some(format!("{rank:04}")),
        filter_text: (!is_prefix).then(|| typed.to_owned()),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(range, insert))),
        label,
        ..CompletionItem::default()
    }
}

/// Returns the path that a template reads at a position.
pub(crate) fn path_at(text: &str, position: Position) -> Option<TemplatePath> {
    template_path(text, offset_of(text, position))
}

/// Returns the explanation of the word at a position, and below it the value that it had.
pub(crate) fn hover(
    text: &str,
    position: Position,
    value: Option<(TemplatePath, String)>,
) -> Option<Hover> {
    let explained = explain(text, offset_of(text, position)).map(|it| (it.span, it.text));
    let (span, text_shown) = match (explained, value) {
        (Some((_, about)), Some((path, value))) => (path.span, format!("{about}\n\n{value}")),
        (None, Some((path, value))) => (path.span, value),
        (Some(explained), None) => explained,
        (None, None) => return None,
    };
    let markup = MarkupContent { kind: MarkupKind::Markdown, value: text_shown };
    let range = Some(range_of(text, &span));
    Some(Hover { contents: HoverContents::Markup(markup), range })
}

/// Returns all places that name a step, and the one at a position.
fn mentions_at(text: &str, position: Position) -> Option<(Vec<StepMention>, StepMention)> {
    let offset = offset_of(text, position);
    let mentions = step_mentions(text);
    let here = mentions.iter().find(|it| it.span.start <= offset && offset <= it.span.end)?.clone();
    Some((mentions, here))
}

/// Returns the definition of the step that is named at a position.
pub(crate) fn definition(uri: &Uri, text: &str, position: Position) -> Option<Location> {
    let (mentions, here) = mentions_at(text, position)?;
    let mut mentions = mentions.into_iter();
    let defined = mentions.find(|it| it.role == StepRole::Definition && it.name == here.name)?;
    Some(Location::new(uri.clone(), range_of(text, &defined.span)))
}

/// Returns all places that name the step at a position.
pub(crate) fn references(
    uri: &Uri,
    text: &str,
    position: Position,
    with_definition: bool,
) -> Vec<Location> {
    let Some((mentions, here)) = mentions_at(text, position) else { return Vec::new() };
    let mentions = mentions.into_iter().filter(|it| it.name == here.name);
    mentions
        .filter(|it| with_definition || it.role != StepRole::Definition)
        .map(|it| Location::new(uri.clone(), range_of(text, &it.span)))
        .collect()
}

/// Returns the name that a rename at a position would change.
pub(crate) fn prepare_rename(text: &str, position: Position) -> Option<PrepareRenameResponse> {
    let (_, here) = mentions_at(text, position)?;
    let range = range_of(text, &here.span);
    Some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder: here.name })
}

/// Returns the changes that rename the step at a position; `None` if there is no step.
pub(crate) fn rename(
    uri: &Uri,
    text: &str,
    position: Position,
    to: &str,
) -> Result<Option<WorkspaceEdit>, RenameError> {
    let Some((_, here)) = mentions_at(text, position) else { return Ok(None) };
    let places = rename_step(text, &here.name, to)?;
    let edits = places.iter().map(|place| TextEdit::new(range_of(text, place), to.to_owned()));
    Ok(Some(edit_of(uri, edits.collect())))
}

/// Returns the fixes of findings in a range: those that keep the meaning, and the texts that were
/// probably meant.
pub(crate) fn code_actions(uri: &Uri, text: &str, range: Range) -> Vec<CodeActionOrCommand> {
    let (start, end) = (offset_of(text, range.start), offset_of(text, range.end));
    let found = findings(uri, text);
    let here = found.iter().filter(|it| it.span.start <= end && start <= it.span.end);
    here.filter_map(|it| code_action(uri, text, it)).collect()
}

fn code_action(
    uri: &Uri,
    text: &str,
    found: &noetl_playbook::Diagnostic,
) -> Option<CodeActionOrCommand> {
    let (verb, new, is_safe) = match (&found.fix, &found.suggestion) {
        (Some(fix), _) => ("Replace", fix, true),
        (None, Some(suggestion)) => ("Change", suggestion, false),
        (None, None) => return None,
    };
    let written = text.get(found.span.clone())?;
    // Quotation marks around a word stay.
    let is_quoted = written.len() > 1 && written.starts_with(['"', '\'']);
    let inner = match is_quoted {
        true => found.span.start + 1..found.span.end - 1,
        false => found.span.clone(),
    };
    let preposition = if is_safe { "by" } else { "to" };
    Some(CodeActionOrCommand::CodeAction(CodeAction {
        title: format!("{verb} `{}` {preposition} `{new}`", &text[inner.clone()]),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![shown(text, found)]),
        edit: Some(edit_of(uri, vec![TextEdit::new(range_of(text, &inner), new.clone())])),
        is_preferred: Some(is_safe),
        ..CodeAction::default()
    }))
}

/// Returns the change that formats a document; empty if it is formatted.
pub(crate) fn format(uri: &Uri, text: &str) -> Result<Vec<TextEdit>, FormatError> {
    let formatted = format_document(uri.as_str(), text)?;
    if formatted == text {
        return Ok(Vec::new());
    }
    let whole = Range::new(Position::new(0, 0), position_of(text, text.len()));
    Ok(vec![TextEdit::new(whole, formatted)])
}

/// Returns the steps of a document.
pub(crate) fn symbols(text: &str) -> Vec<DocumentSymbol> {
    let steps = step_mentions(text).into_iter().filter(|it| it.role == StepRole::Definition);
    let symbol = |it: StepMention| {
        let range = range_of(text, &it.span);
        #[allow(deprecated, reason = "the type has no other constructor")]
        DocumentSymbol {
            name: it.name,
            detail: None,
            kind: SymbolKind::FUNCTION,
            tags: None,
            deprecated: None,
            range,
            selection_range: range,
            children: None,
        }
    };
    steps.map(symbol).collect()
}

#[allow(clippy::mutable_key_type, reason = "the type of the protocol")]
fn edit_of(uri: &Uri, edits: Vec<TextEdit>) -> WorkspaceEdit {
    WorkspaceEdit::new([(uri.clone(), edits)].into())
}
