//! Formats a replay as text.

use noetl_compat::ReplayState;
use noetl_replay::{Difference, StateChange};

use crate::show::output::table::{line, table};
use crate::show::terminal::{BAD, CAREFUL, FAINT, GOOD, STRONG, paint};

/// The most entries shown of a projection; `--output json` has all of them.
const ENTRIES_MAX: usize = 50;
/// The most characters of a change.
const CHANGE_MAX: usize = 160;

/// Formats the projections of an execution.
pub(crate) fn projections(state: &ReplayState) -> String {
    let execution = &state.execution;
    let mut text = format!(
        "{} {}, {} events, last {}\n",
        paint(STRONG, state.execution_id),
        execution.status,
        state.event_count,
        state.last_event_type.as_deref().unwrap_or("none"),
    );
    if state.truncated {
        text += &paint(CAREFUL, "cut short: it has more events than are folded for one answer\n");
    }
    if let Some(step) = &execution.last_node_name {
        text += &format!("step      {step}\n");
    }
    if let Some(checksums) = &state.checksums {
        text += &format!("checksum  {}\n", checksums.checksum.value);
    }
    let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let commands = state.commands.iter().map(|command| {
        row(&[&command.command_id, &command.status, command.worker_id.as_deref().unwrap_or("")])
    });
    section(&mut text, "commands", commands);
    let loops = state.loops.values().map(|it| {
        let total = it.total.map_or("?".to_owned(), |total| total.to_string());
        let failed = if it.failed == 0 { String::new() } else { format!("{} failed", it.failed) };
        row(&[&it.loop_id, &format!("{} of {total}", it.done), &failed])
    });
    section(&mut text, "loops", loops);
    let stages = state.stages.values().map(|stage| row(&[&stage.stage_id, &stage.status]));
    section(&mut text, "stages", stages);
    let frames = state
        .frames
        .values()
        .map(|frame| row(&[&frame.frame_id, &frame.status, &format!("{} rows", frame.row_count)]));
    section(&mut text, "frames", frames);
    let objects = state.business_objects.values().map(|object| {
        row(&[&object.object_key, &object.status, &format!("version {}", object.version)])
    });
    section(&mut text, "business objects", objects);
    text
}

fn section(text: &mut String, name: &str, rows: impl ExactSizeIterator<Item = Vec<String>>) {
    let count = rows.len();
    if count == 0 {
        return;
    }
    let rows: Vec<Vec<String>> =
        rows.take(ENTRIES_MAX).map(|row| [vec![String::new()], row].concat()).collect();
    *text += &format!("{}\n{}", paint(STRONG, name), table(&rows));
    if count > ENTRIES_MAX {
        let more = format!("  and {} more, shown by --output json\n", count - ENTRIES_MAX);
        *text += &paint(FAINT, more);
    }
}

/// Formats the differences, one per line.
pub(crate) fn changes(difference: &Difference) -> String {
    if difference.changes.is_empty() {
        return "no difference\n".to_owned();
    }
    let shown = difference.changes.iter().map(|change: &StateChange| {
        let style = match (&change.before, &change.after) {
            (None, _) => GOOD,
            (Some(_), None) => BAD,
            (Some(_), Some(_)) => CAREFUL,
        };
        paint(style, line(&change.to_string(), CHANGE_MAX)) + "\n"
    });
    shown.collect()
}
