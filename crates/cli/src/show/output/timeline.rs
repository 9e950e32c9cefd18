//! Draws a timeline: a line per step, with when it waited and ran.

use std::time::Duration;

use noetl_model::Timestamp;
use noetl_replay::{CommandSpan, ForkGap, Spent, StepSpan, Timeline, TimelineOutcome};

use crate::show::output::table::{line, table};
use crate::show::output::time::took_finely;
use crate::show::terminal::{BAD, FAINT, STRONG, paint};

/// The width of the bars.
const WIDTH: usize = 48;
/// The most steps drawn; `--output json` has all of them.
const STEPS_MAX: usize = 200;
/// The most characters of a step's name.
const NAME_MAX: usize = 32;

/// Draws a whole timeline.
pub(crate) fn drawn(timeline: &Timeline) -> String {
    let Some(started) = timeline.started_at else { return "nothing has happened yet\n".to_owned() };
    let total = timeline.spent.total().max(1);
    let scale = Scale { started, total, fork_gaps: &timeline.fork_gaps };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for span in timeline.steps.iter().take(STEPS_MAX) {
        let commands = timeline.commands.iter().filter(|command| command.run == span.run);
        rows.push(vec![
            if span.is_critical { "*".to_owned() } else { String::new() },
            line(span.step.as_str(), NAME_MAX),
            scale.bar(span, commands),
            took_finely(Duration::from_micros(span.spent.total())),
            ended(span.outcome),
        ]);
    }
    let mut text = format!(
        "{} took {}, {} events\n\n{}",
        paint(STRONG, timeline.execution_id),
        took_finely(Duration::from_micros(timeline.spent.total())),
        timeline.event_count,
        table(&rows),
    );
    if timeline.steps.len() > STEPS_MAX || timeline.truncated {
        text += &paint(FAINT, "there is more than is drawn; --output json has more\n");
    }
    text += &format!("\n{}", paint(FAINT, "█ running  ▒ child  ░ waiting for a worker  · other\n"));
    if !timeline.fork_gaps.is_empty() {
        text += &paint(FAINT, "the time between the past it shares and the fork is left out\n");
    }
    let path: Vec<&str> = timeline.critical_path.iter().map(|step| step.as_str()).collect();
    text += &format!("\ncritical path (*)  {}\n", path.join(" → "));
    text += &where_it_went(&timeline.spent);
    text
}

fn ended(outcome: TimelineOutcome) -> String {
    match outcome {
        TimelineOutcome::Completed => String::new(),
        TimelineOutcome::Running => "running".to_owned(),
        TimelineOutcome::Failed => paint(BAD, "failed"),
        TimelineOutcome::Cancelled => "cancelled".to_owned(),
    }
}

/// Describes how the time was spent, the largest part first.
fn where_it_went(spent: &Spent) -> String {
    let total = spent.total().max(1);
    let mut parts = [
        ("running", spent.running),
        ("in child executions", spent.child),
        ("waiting for a worker", spent.worker),
        ("waiting for a slot", spent.slot),
        ("waiting for a signal", spent.signal),
        ("waiting for an approval", spent.approval),
        ("waiting for a timer", spent.timer),
        ("other", spent.other),
    ];
    parts.sort_by_key(|(_, micros)| std::cmp::Reverse(*micros));
    let rows: Vec<Vec<String>> = parts
        .iter()
        .filter(|(_, micros)| *micros > 0)
        .map(|(name, micros)| {
            let share = format!("{} %", micros * 100 / total);
            vec![(*name).to_owned(), took_finely(Duration::from_micros(*micros)), share]
        })
        .collect();
    table(&rows)
}

/// Converts instants to columns of a line.
struct Scale<'a> {
    started: Timestamp,
    /// The duration shown by the line, in microseconds.
    total: u64,
    /// The times between the shared history and the start of each fork, which the line leaves out.
    fork_gaps: &'a [ForkGap],
}

impl Scale<'_> {
    fn place(&self, at: Timestamp) -> usize {
        let before = |gap: &ForkGap| at.min(gap.forked_at).since(gap.left_at);
        let left_out: Duration = self.fork_gaps.iter().map(before).sum();
        let micros = at.since(self.started).saturating_sub(left_out).as_micros();
        let place = micros * WIDTH as u128 / u128::from(self.total);
        usize::try_from(place).unwrap_or(WIDTH).min(WIDTH)
    }

    /// Draws the states of a step. If a cell has several, running takes precedence over waiting.
    fn bar<'a>(
        &self,
        span: &StepSpan,
        commands: impl Iterator<Item = &'a CommandSpan> + Clone,
    ) -> String {
        let left_out = self.fork_gaps.iter().map(|gap| gap.forked_at.since(gap.left_at));
        let whole = Duration::from_micros(self.total) + left_out.sum::<Duration>();
        let end = self.started.after(whole);
        let mut cells = [' '; WIDTH];
        self.fill(&mut cells, span.entered_at, span.ended_at.unwrap_or(end), '·');
        for command in commands.clone() {
            let until = command.claimed_at.or(command.ended_at).unwrap_or(end);
            self.fill(&mut cells, command.issued_at, until, '░');
        }
        for command in commands {
            if let Some(from) = command.claimed_at {
                let mark = if command.attempts == 0 { '▒' } else { '█' };
                self.fill(&mut cells, from, command.ended_at.unwrap_or(end), mark);
            }
        }
        let cells: String = cells.iter().collect();
        format!("|{cells}|")
    }

    fn fill(&self, cells: &mut [char; WIDTH], from: Timestamp, to: Timestamp, mark: char) {
        let from = self.place(from).min(WIDTH - 1);
        let to = self.place(to).clamp(from + 1, WIDTH);
        cells[from..to].fill(mark);
    }
}
