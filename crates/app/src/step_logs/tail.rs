//! The end of the output of an execution, as a page shows it.

use noetl_api::wire::LogEntry;
use noetl_model::{Attempt, CommandId, ExecutionId, Held, Seq, StoredLog, Timestamp};
use noetl_store::{LOG_READ_MAX, LogOrder, LogRead, READ_EVENTS_MAX, StoreError};

use super::read::{CommandNames, LogFilter, chunk_entry, report_entries, reported_logs};
use crate::app::App;
use crate::store_reader::StoreReader;

/// The number of events before a position whose reports are read.
const REPORTS_READ: u64 = 1000;
/// The number of events before them that are read for the names of commands.
const NAMES_READ: u64 = 1000;

/// The end of the output of an execution at a position of its event log.
#[derive(Debug, Clone)]
pub struct LogTailQuery {
    pub filter: LogFilter,
    /// The last event whose report is read.
    pub position: u64,
    /// The time until which output was printed; `None` for all.
    pub until: Option<Timestamp>,
    /// The most bytes of text.
    pub bytes_max: usize,
}

/// The end of an output, oldest first.
#[derive(Debug, Clone, Default)]
pub struct LogTail {
    pub entries: Vec<LogEntry>,
    /// True if there is earlier output.
    pub is_cut: bool,
}

impl App {
    /// Returns the end of the output of an execution: of attempts that ended long before the
    /// position, only output that was stored while they ran.
    pub async fn log_tail(
        &self,
        execution: ExecutionId,
        query: &LogTailQuery,
    ) -> Result<LogTail, StoreError> {
        let reader = self.reader();
        let read = LogRead {
            until: query.until,
            order: LogOrder::NewestFirst,
            ..query.filter.read(0, LOG_READ_MAX)
        };
        let mut chunks: Vec<StoredLog> = Vec::new();
        let mut bytes = 0;
        for log in reader.read_logs(execution, &read).await? {
            bytes += log.text.len();
            chunks.push(log);
            if bytes >= query.bytes_max {
                break;
            }
        }
        let first = chunks.last().map_or(0, |log| log.position);
        let mut entries: Vec<LogEntry> = chunks.into_iter().rev().map(chunk_entry).collect();
        entries.extend(reports(&reader, execution, query).await?);
        entries.sort_by_key(|entry| entry.at);
        let mut tail = LogTail { is_cut: first > 1 && bytes >= query.bytes_max, entries };
        tail.cut(query.bytes_max);
        Ok(tail)
    }
}

impl LogTail {
    /// Removes the oldest text beyond a size.
    fn cut(&mut self, bytes_max: usize) {
        let mut left = bytes_max;
        let mut kept = self.entries.len();
        while kept > 0 && left > 0 {
            let entry = &mut self.entries[kept - 1];
            if entry.text.len() > left {
                let from = entry.text.ceil_char_boundary(entry.text.len() - left);
                let line = entry.text[from..].find('\n').map_or(from, |at| from + at + 1);
                entry.text.drain(..line);
                self.is_cut = true;
            }
            left = left.saturating_sub(entry.text.len().max(1));
            kept -= 1;
        }
        self.is_cut |= kept > 0;
        self.entries.drain(..kept);
    }
}

/// Returns the output in the last reports before a position, of attempts without stored output.
async fn reports(
    reader: &StoreReader,
    execution: ExecutionId,
    query: &LogTailQuery,
) -> Result<Vec<LogEntry>, StoreError> {
    let from = query.position.saturating_sub(REPORTS_READ);
    let mut after = Seq(from.saturating_sub(NAMES_READ));
    let mut names = CommandNames::default();
    let mut found: Vec<(CommandId, Attempt, Vec<LogEntry>)> = Vec::new();
    while after.0 < query.position {
        let page = reader.events_after(execution, after, READ_EVENTS_MAX).await?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for recorded in page.iter().filter(|recorded| recorded.seq.0 <= query.position) {
            names.see(&recorded.event);
            let Some((command, attempt, logs)) = reported_logs(&recorded.event) else { continue };
            if recorded.seq.0 > from && !logs.is_empty() {
                let entries = report_entries((command, logs), names.get(command), recorded);
                found.push((command, attempt, entries));
            }
        }
    }
    let reported: Vec<_> = found.iter().map(|(command, attempt, _)| (*command, *attempt)).collect();
    let streamed = reader.streamed(execution, &reported).await?;
    found.retain(|(command, attempt, _)| {
        !streamed.contains(&Held { execution, command: *command, attempt: *attempt })
    });
    let entries = found.into_iter().flat_map(|(_, _, entries)| entries);
    Ok(entries.filter(|entry| query.filter.admits(entry)).collect())
}
