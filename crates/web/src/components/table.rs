//! Tables: a heading per column, one row per thing, and a link to the next page.

use maud::{Markup, html};

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableColumn<'a> {
    pub(crate) heading: &'a str,
    pub(crate) kind: ColumnKind,
}

/// The form of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Text,
    /// Aligned to the right, digits below digits.
    Number,
    /// Takes the space that the others leave.
    Wide,
    /// Buttons and links; the heading is for screen readers only.
    Actions,
}

impl ColumnKind {
    const fn class(self) -> Option<&'static str> {
        match self {
            Self::Text => None,
            Self::Number => Some("number"),
            Self::Wide => Some("wide"),
            Self::Actions => Some("actions"),
        }
    }
}

pub(crate) const fn text(heading: &str) -> TableColumn<'_> {
    TableColumn { heading, kind: ColumnKind::Text }
}

pub(crate) const fn number(heading: &str) -> TableColumn<'_> {
    TableColumn { heading, kind: ColumnKind::Number }
}

pub(crate) const fn wide(heading: &str) -> TableColumn<'_> {
    TableColumn { heading, kind: ColumnKind::Wide }
}

pub(crate) const fn actions(heading: &str) -> TableColumn<'_> {
    TableColumn { heading, kind: ColumnKind::Actions }
}

/// Draws a table. Each row has a cell per column; a narrow screen shows the heading before the cell.
pub(crate) fn table(caption: &str, columns: &[TableColumn<'_>], rows: &[Vec<Markup>]) -> Markup {
    draw(caption, columns, rows.iter().map(|row| (None, row)))
}

/// Draws a table whose rows have keys. A row keeps the focus when the page is refreshed and other
/// rows appear before it.
pub(crate) fn keyed_table(
    caption: &str,
    columns: &[TableColumn<'_>],
    rows: &[(String, Vec<Markup>)],
) -> Markup {
    draw(caption, columns, rows.iter().map(|(key, row)| (Some(key.as_str()), row)))
}

fn draw<'a>(
    caption: &str,
    columns: &[TableColumn<'_>],
    rows: impl Iterator<Item = (Option<&'a str>, &'a Vec<Markup>)>,
) -> Markup {
    html! {
        div.table-frame {
            table {
                caption.hidden { (caption) }
                thead { tr {
                    @for column in columns {
                        th scope="col" class=[column.kind.class()] {
                            @match column.kind {
                                ColumnKind::Actions => span.hidden { (column.heading) },
                                ColumnKind::Text | ColumnKind::Number | ColumnKind::Wide => (column.heading),
                            }
                        }
                    }
                } }
                tbody {
                    @for (key, row) in rows {
                        tr data-same=[key] { @for (column, cell) in columns.iter().zip(row) {
                            td class=[column.kind.class()] data-label=(column.heading) { (cell) }
                        } }
                    }
                }
            }
        }
    }
}
