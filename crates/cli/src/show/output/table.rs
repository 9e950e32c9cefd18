//! Aligned columns.

use crate::show::terminal::{FAINT, paint, shown};

/// Aligns the columns of rows, two blanks apart; the last column is not padded.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        })
        .collect();
    let lines = rows.iter().map(|row| {
        let mut line = String::new();
        for (cell, column_width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(column_width - width(cell) + 2));
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    });
    lines.collect()
}

/// Aligns rows below a header.
pub(crate) fn headed_table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let header = header.iter().map(|name| paint(FAINT, name)).collect();
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    table(&rows)
}

/// Returns the printed width of a cell, without styles.
fn width(cell: &str) -> usize {
    shown(cell, false).chars().count()
}

/// Returns a text as one line of at most `max` characters.
pub(crate) fn line(text: &str, max: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= max {
        return words;
    }
    words.chars().take(max - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::terminal::GOOD;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".to_owned(), "b".to_owned()], vec!["long".to_owned(), "é".to_owned()]];
        assert_eq!(table(&rows), "a     b\nlong  é\n");
    }

    #[test]
    fn colours_take_no_room() {
        let rows = [vec![paint(GOOD, "ok"), "x".into()], vec!["1234".into(), "y".into()]];
        assert_eq!(table(&rows), format!("{}    x\n1234  y\n", paint(GOOD, "ok")));
    }

    #[test]
    fn a_long_text_becomes_one_line_with_a_sign_that_there_was_more() {
        assert_eq!(line("a\n  b", 10), "a b");
        assert_eq!(line("abcdef", 4), "abc…");
    }
}
