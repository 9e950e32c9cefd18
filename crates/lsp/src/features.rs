//! The answers of the server, each computed from the text of a document.

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CompletionItem, CompletionItemKind,
    CompletionTextEdit, Diagnostic, DiagnosticSeverity, DocumentSymbol, Documentation, Hover,
    HoverContents, Location, MarkupContent, MarkupKind, NumberOrString, Position,
    PrepareRenameResponse, Range, SymbolKind, TextEdit, Uri, WorkspaceEdit,
};
use noetl_playbook::editing::{
    CompletionKind, Completions, HoverText, RenameError, StepMention, StepRole, SyntaxCompletion,
    TemplatePath, completions, hover as explain, is_foreign, rename_step, step_mentions,
    template_completions, template_path, test_completions, test_hover as explain_test,
    test_step_mentions, variable_definition,
};
use noetl_playbook::{
    CodeLanguage, Diagnostic as Finding, DiagnosticCode, FormatError, LintedDocument, Severity,
    format_document,
};

use crate::checks::CheckQueue;
use crate::documents::is_test_file;
use crate::position::{offset_of, position_of, range_of};

/// The name of the server in diagnostics.
const SOURCE: &str = "noetl";

/// Returns the findings about a document, and its code that was not checked yet.
pub(crate) fn findings(
    uri: &str,
    text: &str,
    checks: &CheckQueue,
) -> (Vec<Finding>, Vec<(CodeLanguage, String)>) {
    if is_test_file(uri) {
        let found = match checks.test_findings(uri, text) {
            Some(Ok(found)) => found.clone(),
            Some(Err(message)) => vec![unchecked(text, message)],
            None => Vec::new(),
        };
        return (found, Vec::new());
    }
    // Any other YAML file may be open in the same editor.
    if is_foreign(text) {
        return (Vec::new(), Vec::new());
    }
    let mut document = LintedDocument::new(uri, text.as_bytes());
    let unknown = checks.add_code_faults(&mut document);
    let problems = document.finish_at(checks.levels());
    let found = problems.diagnostics();
    if found.iter().any(|it| it.code == DiagnosticCode::NotAPlaybook) {
        return (Vec::new(), Vec::new());
    }
    (found.to_vec(), unknown)
}

/// Returns the finding that a test file cannot be checked, at its first line.
fn unchecked(text: &str, message: &str) -> Finding {
    Finding {
        severity: Severity::Error,
        code: DiagnosticCode::BadValue,
        message: message.to_owned(),
        help: None,
        span: 0..text.find('\n').unwrap_or(text.len()),
        line: 1,
        column: 1,
        fix: None,
        suggestion: None,
    }
}

/// Returns a finding as the editor shows it.
pub(crate) fn shown(text: &str, found: &Finding) -> Diagnostic {
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
    if is_foreign(text) {
        return Completions { replaced: offset..offset, items: Vec::new(), outside: None };
    }
    template_completions(text, offset).unwrap_or_else(|| completions(text, offset))
}

/// Returns the completions at a position of a test file for a playbook.
pub(crate) fn test_completions_at(
    text: &str,
    position: Position,
    playbook: Option<&str>,
) -> Completions {
    test_completions(text, offset_of(text, position), playbook)
}

/// Returns the explanation of the word at a position of a test file.
pub(crate) fn test_hover(text: &str, position: Position, playbook: Option<&str>) -> Option<Hover> {
    let HoverText { span, text: value } = explain_test(text, offset_of(text, position), playbook)?;
    let markup = MarkupContent { kind: MarkupKind::Markdown, value };
    Some(Hover { contents: HoverContents::Markup(markup), range: Some(range_of(text, &span)) })
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
    if is_foreign(text) {
        return None;
    }
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

/// Returns the definition of the step or the variable that is named at a position.
pub(crate) fn definition(uri: &Uri, text: &str, position: Position) -> Option<Location> {
    let Some((_, here)) = mentions_at(text, position) else {
        let span = variable_definition(text, offset_of(text, position))?;
        return Some(Location::new(uri.clone(), range_of(text, &span)));
    };
    definition_of(uri, text, &here.name)
}

fn definition_of(uri: &Uri, text: &str, step: &str) -> Option<Location> {
    let mut mentions = step_mentions(text).into_iter();
    let defined = mentions.find(|it| it.role == StepRole::Definition && it.name == step)?;
    Some(Location::new(uri.clone(), range_of(text, &defined.span)))
}

/// Returns the definition of the step that is named at a position of a test file, in the playbook.
pub(crate) fn test_definition(
    text: &str,
    position: Position,
    (uri, playbook): (Uri, &str),
) -> Option<Location> {
    let offset = offset_of(text, position);
    let mentions = test_step_mentions(text);
    let here = mentions.iter().find(|it| it.span.start <= offset && offset <= it.span.end)?;
    definition_of(&uri, playbook, &here.name)
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

/// Returns the changes that rename the step at a position, also in the test file beside the playbook;
/// `None` if there is no step.
pub(crate) fn rename(
    (uri, text): (&Uri, &str),
    test: Option<(&Uri, &str)>,
    position: Position,
    to: &str,
) -> Result<Option<WorkspaceEdit>, RenameError> {
    let Some((_, here)) = mentions_at(text, position) else { return Ok(None) };
    let places = rename_step(text, &here.name, to)?;
    let edit = |text: &str, place: &std::ops::Range<usize>| {
        TextEdit::new(range_of(text, place), to.to_owned())
    };
    let mut all = vec![(uri, places.iter().map(|place| edit(text, place)).collect())];
    if let Some((uri, text)) = test {
        let mentions = test_step_mentions(text).into_iter().filter(|it| it.name == here.name);
        let edits: Vec<TextEdit> = mentions.map(|it| edit(text, &it.span)).collect();
        all.extend((!edits.is_empty()).then_some((uri, edits)));
    }
    Ok(Some(edits_of(all)))
}

/// Returns the fixes of findings in a range: those that keep the meaning, and the texts that were
/// probably meant.
pub(crate) fn code_actions(
    uri: &Uri,
    text: &str,
    range: Range,
    checks: &CheckQueue,
) -> Vec<CodeActionOrCommand> {
    let (start, end) = (offset_of(text, range.start), offset_of(text, range.end));
    let (found, _) = findings(uri.as_str(), text, checks);
    let here = found.iter().filter(|it| it.span.start <= end && start <= it.span.end);
    here.filter_map(|it| code_action(uri, text, it)).collect()
}

fn code_action(uri: &Uri, text: &str, found: &Finding) -> Option<CodeActionOrCommand> {
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
        edit: Some(edits_of(vec![(uri, vec![TextEdit::new(range_of(text, &inner), new.clone())])])),
        is_preferred: Some(is_safe),
        ..CodeAction::default()
    }))
}

/// Returns the change that formats a document; empty if it is formatted.
pub(crate) fn format(uri: &Uri, text: &str) -> Result<Vec<TextEdit>, FormatError> {
    // An editor that formats on every save asks for any YAML file.
    if is_foreign(text) && !is_test_file(uri.as_str()) {
        return Ok(Vec::new());
    }
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
fn edits_of(edits: Vec<(&Uri, Vec<TextEdit>)>) -> WorkspaceEdit {
    WorkspaceEdit::new(edits.into_iter().map(|(uri, edits)| (uri.clone(), edits)).collect())
}
