//! Formats the problems of a document for a terminal.

use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};
use noetl_playbook::{Diagnostic, ProblemReport, Problems};

use crate::show::terminal::styled;

/// Renders findings with their source lines: in colours, or as plain text.
pub(crate) fn render(problems: &Problems, color: bool) -> String {
    let plain = format!("{problems}{}\n", problems.headline());
    // The renderer prints sources unescaped, so an escape sequence in one would look like a style.
    if !color || plain.contains('\u{1b}') {
        return plain;
    }
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode());
    let report = ProblemReport::from(problems.clone());
    let mut text = String::new();
    for finding in problems.diagnostics() {
        handler
            .render_report(&mut text, &Placed { finding, report: &report })
            .expect("writing to a string cannot fail");
        text.push('\n');
    }
    styled(&text) + problems.headline().as_str()
}

/// A finding together with its document.
#[derive(Debug)]
struct Placed<'a> {
    finding: &'a Diagnostic,
    report: &'a ProblemReport,
}

impl fmt::Display for Placed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.finding.fmt(f)
    }
}

impl std::error::Error for Placed<'_> {}

impl miette::Diagnostic for Placed<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        miette::Diagnostic::code(self.finding)
    }

    fn severity(&self) -> Option<miette::Severity> {
        miette::Diagnostic::severity(self.finding)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        miette::Diagnostic::help(self.finding)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.report.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        miette::Diagnostic::labels(self.finding)
    }
}
