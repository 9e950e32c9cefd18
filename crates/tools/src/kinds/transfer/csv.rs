//! CSV with a header, parsed by `csv-core`.
//!
//! An empty cell is null; an empty cell in quotes is the empty string. `csv-core` reports how many
//! bytes a cell was read from, so that its opening quote is known; the crate `csv` does not.

use csv_core::ReadFieldResult;
use noetl_model::ToolError;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};
use tokio::sync::mpsc::Sender;

use super::chunk::{Filler, RowChunk};
use super::file::{ROW_BYTES_MAX, RowFile};
use crate::run::keys::scalar_text;

/// The number of bytes of a cell that are parsed at a time.
const OUTPUT_BYTES: usize = 4096;

/// The cells of a row; `None` is null.
type CsvRecord = Vec<Option<String>>;

/// Sends all rows of a file in chunks.
pub(super) async fn pump(
    of: &RowFile,
    input: impl AsyncBufRead + Unpin,
    to: Sender<RowChunk>,
    rows_max: usize,
) -> Result<(), ToolError> {
    let mut records = CsvRecords::new(of, input);
    let header = records.next().await?.unwrap_or_default();
    let columns: Vec<String> = header.into_iter().map(|cell| cell.unwrap_or_default()).collect();
    let width = columns.len();
    let mut filler = Filler::new(columns, rows_max, to);
    while let Some(cells) = records.next().await? {
        if cells.len() != width {
            return Err(records.wrong(format!("{} values, but {width} columns", cells.len())));
        }
        let row = cells.into_iter().map(|cell| cell.map_or(Value::Null, Value::String)).collect();
        if filler.push(row).await.is_err() {
            return Ok(());
        }
    }
    filler.finish().await;
    Ok(())
}

/// The records of a file.
struct CsvRecords<'a, R> {
    of: &'a RowFile,
    input: R,
    parser: csv_core::Reader,
    /// The last line of the current record.
    line: u64,
}

/// A cell that is being read.
#[derive(Default)]
struct PartialCell {
    bytes: Vec<u8>,
    /// True if the cell begins with a quote; `None` before its first byte.
    quoted: Option<bool>,
}

impl<'a, R: AsyncBufRead + Unpin> CsvRecords<'a, R> {
    fn new(of: &'a RowFile, input: R) -> Self {
        Self { of, input, parser: csv_core::Reader::new(), line: 0 }
    }

    /// Reads the next record. Blank lines are skipped.
    async fn next(&mut self) -> Result<Option<CsvRecord>, ToolError> {
        let mut output = [0; OUTPUT_BYTES];
        let (mut cells, mut cell) = (CsvRecord::new(), PartialCell::default());
        let (mut size, mut is_blank, mut has_ended) = (0, true, false);
        loop {
            let input = self.input.fill_buf().await.map_err(|error| self.of.failed(&error))?;
            let at_end = input.is_empty();
            // A line end completes the last record, unless a quote is open.
            let bytes = if at_end && !has_ended { b"\n" } else { input };
            let (result, read, written) = self.parser.read_field(bytes, &mut output);
            let bytes = &bytes[..read];
            size += read;
            is_blank &= bytes.trim_ascii().is_empty();
            cell.extend(bytes, &output[..written], cells.is_empty());
            if 0 < read {
                self.line = self.parser.line() - u64::from(bytes.ends_with(b"\n"));
            }
            if at_end {
                has_ended = true;
            } else {
                self.input.consume(read);
            }
            if ROW_BYTES_MAX < size {
                return Err(self.wrong(format!("a row of more than {ROW_BYTES_MAX} bytes")));
            }
            match result {
                ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
                ReadFieldResult::End => return Ok(None),
                ReadFieldResult::Field { .. } if at_end && read == 0 => {
                    return Err(self.wrong("a quote is not closed"));
                }
                ReadFieldResult::Field { record_end } => {
                    let finished = std::mem::take(&mut cell).finish();
                    cells.push(finished.map_err(|_| self.wrong("a cell is not UTF-8"))?);
                    if record_end && !is_blank {
                        return Ok(Some(cells));
                    }
                    if record_end {
                        cells.clear();
                        size = 0;
                    }
                }
            }
        }
    }

    fn wrong(&self, what: impl std::fmt::Display) -> ToolError {
        self.of.wrong(self.line, what)
    }
}

impl PartialCell {
    /// Adds the bytes that a call of the parser has read and written. Before the first cell of a
    /// record the parser also reads the end of the previous line.
    fn extend(&mut self, read: &[u8], written: &[u8], is_first: bool) {
        if self.quoted.is_none() {
            let mut content = read.iter().filter(|byte| !(is_first && b"\r\n".contains(byte)));
            self.quoted = content.next().map(|byte| *byte == b'"');
        }
        self.bytes.extend_from_slice(written);
    }

    fn finish(self) -> Result<Option<String>, std::string::FromUtf8Error> {
        let is_null = self.bytes.is_empty() && self.quoted != Some(true);
        if is_null { Ok(None) } else { String::from_utf8(self.bytes).map(Some) }
    }
}

/// Appends a record with its line end. An empty string is quoted, to distinguish it from null.
pub(super) fn write_record(text: &mut String, values: impl Iterator<Item = Value>) {
    for (place, value) in values.enumerate() {
        if 0 < place {
            text.push(',');
        }
        let cell = match &value {
            Value::Null => continue,
            value => scalar_text(value).unwrap_or_else(|| value.to_string()),
        };
        match cell.is_empty() || cell.contains([',', '"', '\n', '\r']) {
            true => text.push_str(&format!("\"{}\"", cell.replace('"', "\"\""))),
            false => text.push_str(&cell),
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tokio::io::BufReader;

    use super::*;
    use crate::kinds::transfer::file::FileFormat;
    use crate::protect::files::FileAccess;

    /// Reads a text in pieces of `capacity` bytes and shows each record, then the error.
    async fn read(text: &str, capacity: usize) -> Vec<String> {
        let of = RowFile {
            path: PathBuf::from("a.csv"),
            format: FileFormat::Csv,
            files: FileAccess::default(),
        };
        let input = BufReader::with_capacity(capacity, text.as_bytes());
        let mut records = CsvRecords::new(&of, input);
        let mut shown = Vec::new();
        loop {
            match records.next().await {
                Ok(Some(cells)) => {
                    shown.push(serde_json::to_string(&cells).expect("cells are JSON"));
                }
                Ok(None) => return shown,
                Err(error) => {
                    shown.push(error.message);
                    return shown;
                }
            }
        }
    }

    #[tokio::test]
    async fn records_are_the_same_in_pieces_of_any_size() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("\n\r\n", &[]),
            ("a,b", &[r#"["a","b"]"#]),
            ("a,\n,b\n", &[r#"["a",null]"#, r#"[null,"b"]"#]),
            ("\"\",\"\"\n", &[r#"["",""]"#]),
            ("x,\"\"\r\n\"\",y\r\n", &[r#"["x",""]"#, r#"["","y"]"#]),
            ("a\r\n \r\n\r\nb\r\n", &[r#"["a"]"#, r#"["b"]"#]),
            ("\"a\nb\",\"c\"\"d\"\n", &[r#"["a\nb","c\"d"]"#]),
            ("ä,ö\n", &[r#"["ä","ö"]"#]),
            ("a\n\"b\nc", &[r#"["a"]"#, "a.csv, line 3: a quote is not closed"]),
        ];
        for (text, expected) in cases {
            for capacity in [1, 2, 3, 64] {
                assert_eq!(read(text, capacity).await, *expected, "{text:?} by {capacity}");
            }
        }
    }

    #[test]
    fn a_null_is_empty_and_an_empty_string_is_quoted() {
        let mut text = String::new();
        write_record(&mut text, [Value::Null, "".into(), "a\"b".into(), 7.into()].into_iter());
        assert_eq!(text, ",\"\",\"a\"\"b\",7\n");
    }
}
