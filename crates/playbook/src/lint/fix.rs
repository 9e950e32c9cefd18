//! Applies the fixes of findings, and checks that a document means the same as before.

use crate::diagnostic::{Diagnostic, Problems};
use crate::parse::{CheckedDocument, parse_document};

/// Returns the text of a document with all safe fixes applied, and their number; `None` if there is
/// nothing to fix.
pub fn fixed(source: &str, problems: &Problems) -> Option<(String, usize)> {
    let mut fixes: Vec<&Diagnostic> =
        problems.diagnostics().iter().filter(|diagnostic| diagnostic.fix.is_some()).collect();
    fixes.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.span.start));
    fixes.dedup_by_key(|diagnostic| diagnostic.span.clone());
    let mut text = source.to_owned();
    let mut count = 0;
    // From the end to the start, so that the places of the remaining fixes stay right.
    for diagnostic in fixes {
        let Some(fix) = &diagnostic.fix else { continue };
        let Some(written) = text.get(diagnostic.span.clone()) else { continue };
        // Quotation marks around a word stay.
        let quotes = written.starts_with(['"', '\'']);
        let span = match quotes && written.len() > 1 {
            true => diagnostic.span.start + 1..diagnostic.span.end - 1,
            false => diagnostic.span.clone(),
        };
        let mut changed = text.clone();
        changed.replace_range(span, fix);
        if has_same_meaning(source, &changed) {
            (text, count) = (changed, count + 1);
        }
    }
    (count > 0).then_some((text, count))
}

/// True if two documents are read as the same playbook, schedule, subscription or notification.
pub fn has_same_meaning(one: &str, other: &str) -> bool {
    let read = |text: &str| parse_document("document", text.as_bytes()).ok().map(meaning);
    match (read(one), read(other)) {
        (Some(one), Some(other)) => one == other,
        (Some(_) | None, _) => false,
    }
}

fn meaning(document: CheckedDocument) -> String {
    match document {
        CheckedDocument::Playbook(checked) => format!("{:?}", checked.playbook),
        CheckedDocument::Subscription(checked) => format!("{:?}", checked.subscription),
        CheckedDocument::Schedule(checked) => format!("{:?}", checked.schedule),
        CheckedDocument::Notification(checked) => format!("{:?}", checked.notification),
    }
}
