//! The answers of the server, each computed from the text of a document.

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CompletionItem, CompletionItemKind,
    CompletionTextEdit, Diagnostic, DiagnosticSeverity, DocumentSymbol, Documentation, Hover,
    HoverContents, Location, MarkupContent, MarkupKind, NumberOrString, Position,
    PrepareRenameResponse, Range, SymbolKind, TextEdit, Uri, WorkspaceEdit,
};
use noetl_playbook::editing::{
    CompletionKind, Completions, RenameError, StepMention, StepRole, SyntaxCompletion, completions,
    hover as explain, rename_step, step_mentions, template_completions,
};
use noetl_playbook::{DiagnosticCode, FormatError, LintedDocument, Severity, format_document};

use crate::position::{offset_of, position_of, range_of};

/// The name of the server in diagnostics.
const SOURCE: &str = "noetl";
/// The ending of files that test a playbook, which is checked with its playbook only.
const TEST_FILE: &str = ".test.yaml";

/// Returns the findings of `noetl lint` about a document, without the code of its tools.
pub(crate) fn diagnostics(uri: &Uri, text: &str) -> Vec<Diagnostic> {
    if uri.as_str().ends_with(TEST_FILE) {
        return Vec::new();
    }
    let problems = LintedDocument::new(uri.as_str(), text.as_bytes()).finish();
    let found = problems.diagnostics();
    // Any other YAML file may be open in the same editor.
    if found.iter().any(|it| it.code == DiagnosticCode::NotAPlaybook) {
        return Vec::new();
    }
    let diagnostic = |it: &noetl_playbook::Diagnostic| Diagnostic {
        range: range_of(text, &it.span),
        severity: Some(match it.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(it.code.as_str().to_owned())),
        source: Some(SOURCE.to_owned()),
        message: match &it.help {
            Some(help) => format!("{}\nhelp: {help}", it.message),
            None => it.message.clone(),
        },
        ..Diagnostic::default()
    };
    found.iter().map(diagnostic).collect()
}

/// Returns the completions at a position: of the template around it, otherwise of the language.
pub(crate) fn complete(text: &str, position: Position) -> Vec<CompletionItem> {
    let offset = offset_of(text, position);
    let Completions { replaced, items } =
        template_completions(text, offset).unwrap_or_else(|| completions(text, offset));
    let range = range_of(text, &replaced);
    let typed = text[replaced].to_owned();
    items
        .into_iter()
        .enumerate()
        .map(|(rank, item)| completion_item(item, range, (rank, &typed)))
        .collect()
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
        }),
        documentation: about.map(|about| Documentation::String(about.to_owned())),
        sort_text: Some(format!("{rank:04}")),
        filter_text: (!is_prefix).then(|| typed.to_owned()),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(range, insert))),
        label,
        ..CompletionItem::default()
    }
}

pub(crate) fn hover(text: &str, position: Position) -> Option<Hover> {
    let found = explain(text, offset_of(text, position))?;
    let markup = MarkupContent { kind: MarkupKind::Markdown, value: found.text };
    Some(Hover {
        contents: HoverContents::Markup(markup),
        range: Some(range_of(text, &found.span)),
    })
}

/// Returns the place at a position that names a step.
fn mention_at(text: &str, position: Position) -> Option<StepMention> {
    let offset = offset_of(text, position);
    let mut mentions = step_mentions(text).into_iter();
    mentions.find(|it| it.span.start <= offset && offset <= it.span.end)
}

/// Returns the definition of the step that is named at a position.
pub(crate) fn definition(uri: &Uri, text: &str, position: Position) -> Option<Location> {
    let here = mention_at(text, position)?;
    let mut mentions = step_mentions(text).into_iter();
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
    let Some(here) = mention_at(text, position) else { return Vec::new() };
    let mentions = step_mentions(text).into_iter().filter(|it| it.name == here.name);
    mentions
        .filter(|it| with_definition || it.role != StepRole::Definition)
        .map(|it| Location::new(uri.clone(), range_of(text, &it.span)))
        .collect()
}

/// Returns the name that a rename at a position would change.
pub(crate) fn prepare_rename(text: &str, position: Position) -> Option<PrepareRenameResponse> {
    let here = mention_at(text, position)?;
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
    let Some(here) = mention_at(text, position) else { return Ok(None) };
    let places = rename_step(text, &here.name, to)?;
    let edits = places.iter().map(|place| TextEdit::new(range_of(text, place), to.to_owned()));
    Ok(Some(edit_of(uri, edits.collect())))
}

/// Returns the safe fixes of findings in a range.
pub(crate) fn code_actions(uri: &Uri, text: &str, range: Range) -> Vec<CodeActionOrCommand> {
    let problems = LintedDocument::new(uri.as_str(), text.as_bytes()).finish();
    let (start, end) = (offset_of(text, range.start), offset_of(text, range.end));
    let here =
        problems.diagnostics().iter().filter(|it| it.span.start <= end && start <= it.span.end);
    let shown = diagnostics(uri, text);
    let action = |it: &noetl_playbook::Diagnostic| {
        let fix = it.fix.clone()?;
        let written = text.get(it.span.clone())?;
        // Quotation marks around a word stay.
        let is_quoted = written.len() > 1 && written.starts_with(['"', '\'']);
        let inner = match is_quoted {
            true => it.span.start + 1..it.span.end - 1,
            false => it.span.clone(),
        };
        let place = range_of(text, &it.span);
        let solved = shown.iter().filter(|shown| shown.range == place).cloned().collect();
        Some(CodeActionOrCommand::CodeAction(CodeAction {
            title: format!("Replace `{}` by `{fix}`", &text[inner.clone()]),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(solved),
            edit: Some(edit_of(uri, vec![TextEdit::new(range_of(text, &inner), fix)])),
            is_preferred: Some(true),
            ..CodeAction::default()
        }))
    };
    here.filter_map(action).collect()
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
