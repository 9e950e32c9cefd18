//! Loops: opening them, keeping items in flight, claiming frames, collecting the outputs.

use noetl_expr::Template;
use noetl_model::{
    ErrorKind, ErrorMode, Event, ItemSource, LoopMode, Payload, Place, RunId, TaskAddress,
    ToolError,
};
use noetl_playbook::{FrameProcess, Loop, LoopSource};
use serde_json::{Value, json};

use super::draft::{Attempted, DecisionDraft, settled, shallow};
use super::halt::Halt;
use crate::scope::EndWay;
use crate::state::{LoopRun, RunBody};
use crate::value::{Listed, listed};
use crate::{CommandResult, LoopEnd, LoopOutput, Needs};

/// The default number of items in flight of a parallel loop.
const IN_FLIGHT_DEFAULT: u64 = 500;
/// The largest number of items in flight.
const IN_FLIGHT_MAX: u64 = 10_000;
/// The largest number of items begun per input; the end of an item begins further ones.
const BEGUN_AT_ONCE_MAX: usize = 500;
/// The largest number of items of a loop.
const ITEMS_MAX: u64 = 10_000_000;
/// The default number of rows per claim.
const FRAME_ROWS_DEFAULT: u64 = 1;

impl DecisionDraft<'_> {
    /// Evaluates the items of a loop and begins the first ones.
    pub(super) fn open_loop(&mut self, run: RunId, repeat: &Loop) -> Result<(), Halt> {
        let items = match &repeat.source {
            LoopSource::Cursor(_) => Ok(ItemSource::Cursor),
            LoopSource::In(template) => self.items(run, template)?,
        };
        let in_flight_max = self.in_flight_max(run, repeat)?;
        let (items, in_flight_max) = match (items, in_flight_max) {
            (Ok(items), Ok(in_flight_max)) => (items, in_flight_max),
            (Err(error), _) | (_, Err(error)) => return self.fail_run(run, error),
        };
        let is_cursor = items == ItemSource::Cursor;
        self.emit(Event::LoopOpened { run, items, mode: repeat.mode, in_flight_max });
        if is_cursor { self.issue_claim(run, 0) } else { self.continue_loop(run) }
    }

    fn items(&self, run: RunId, template: &Template) -> Result<Attempted<ItemSource>, Halt> {
        let rendered = settled(self.scope().inside(run, None).render("`loop.in`", template))?;
        let rendered = rendered.and_then(|value| shallow("`loop.in`", value));
        Ok(rendered.and_then(|value| match listed(value) {
            Listed::Count(len) if len <= ITEMS_MAX => Ok(ItemSource::Range(len)),
            Listed::Count(len) => Err(ToolError::new(
                ErrorKind::Config,
                format!("a loop over {len} items is too long: {ITEMS_MAX} is the limit"),
            )),
            Listed::Items(values) => Ok(ItemSource::List {
                len: values.len() as u64,
                values: Payload::inline(Value::Array(values)),
            }),
            Listed::NotAList(what) => Err(ToolError::new(
                ErrorKind::Config,
                format!("`loop.in` is {what}: a loop needs a list, a map, a number or a text"),
            )),
        }))
    }

    fn in_flight_max(&self, run: RunId, repeat: &Loop) -> Result<Attempted<u32>, Halt> {
        let (written, default) = match repeat.mode {
            LoopMode::Sequential => (&None, 1),
            LoopMode::Parallel => (&repeat.in_flight_max, IN_FLIGHT_DEFAULT),
            LoopMode::Cursor => (&repeat.frame.row_concurrency, 1),
        };
        let number = self.number(run, written.as_ref(), "`max_in_flight`", default)?;
        Ok(number.map(|number| {
            u32::try_from(number.clamp(1, IN_FLIGHT_MAX)).expect("the limit is small")
        }))
    }

    /// Returns the number of rows that the next claim asks for.
    pub(super) fn frame_rows(&self, run: RunId) -> Result<u64, Halt> {
        let (_, step) = self.step_of(run);
        let written = step.repeat.as_ref().and_then(|repeat| repeat.frame.max_rows.as_ref());
        let rows = self.number(run, written, "`frame.max_rows`", FRAME_ROWS_DEFAULT)?;
        Ok(rows.unwrap_or(FRAME_ROWS_DEFAULT).max(1))
    }

    fn number(
        &self,
        run: RunId,
        written: Option<&Template>,
        what: &str,
        default: u64,
    ) -> Result<Attempted<u64>, Halt> {
        let Some(template) = written else { return Ok(Ok(default)) };
        let rendered = settled(self.scope().inside(run, None).render(what, template))?;
        Ok(rendered.and_then(|value| {
            let number = match &value {
                Value::Number(number) => number.as_u64(),
                Value::String(text) => text.trim().parse().ok(),
                Value::Null => Some(default),
                Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
            };
            number.ok_or_else(|| {
                let message = format!("{what} must be a whole number, not `{value}`");
                ToolError::new(ErrorKind::Config, message)
            })
        }))
    }

    /// Begins items while the concurrency limit allows it, and ends the loop once all have ended.
    pub(super) fn continue_loop(&mut self, run: RunId) -> Result<(), Halt> {
        let mut begun = 0;
        loop {
            let repeat = self.loop_run(run);
            let stopped = repeat.error.is_some() && self.state.error_mode == ErrorMode::Strict;
            let more = !stopped && repeat.next < repeat.total();
            let room = repeat.open.len() < repeat.in_flight_max as usize;
            if more && room && begun >= BEGUN_AT_ONCE_MAX && !repeat.open.is_empty() {
                return Ok(());
            } else if more && room {
                begun += 1;
                let next = repeat.next;
                self.issue_task(run, Some(next), 0, 0)?;
            } else if repeat.open.is_empty() && !more {
                return self.items_done(run);
            } else {
                return Ok(());
            }
        }
    }

    /// Ends a loop whose begun items have all ended: fails, claims the next frame, or completes.
    fn items_done(&mut self, run: RunId) -> Result<(), Halt> {
        let repeat = self.loop_run(run);
        if let Some(error) = &repeat.error
            && self.state.error_mode == ErrorMode::Strict
        {
            let error = error.clone();
            return self.fail_run(run, error);
        }
        match &repeat.items {
            ItemSource::Cursor => {
                let frame = repeat.frames;
                self.issue_claim(run, frame)
            }
            ItemSource::Range(_) | ItemSource::List { .. } => self.complete_loop(run),
        }
    }

    fn complete_loop(&mut self, run: RunId) -> Result<(), Halt> {
        let repeat = self.loop_run(run);
        let stats = repeat.stats();
        let output = match &repeat.items {
            ItemSource::Cursor => Payload::inline(
                json!({ "cursor": "drained", "frames": repeat.frames, "stats": stats }),
            ),
            ItemSource::Range(0) | ItemSource::List { len: 0, .. } => {
                Payload::inline(json!({ "results": [], "data": [], "stats": stats }))
            }
            ItemSource::Range(_) | ItemSource::List { .. } => match self.collected(run)? {
                LoopOutput::Value(output) => output,
                LoopOutput::TooLarge => Payload::inline(
                    json!({ "results": null, "data": null, "stats": stats, "too_large": true }),
                ),
            },
        };
        self.complete_run(run, Payload::null(), Some(output), EndWay::Loop)
    }

    /// Returns the output of the loop; asks for it if it is not loaded.
    fn collected(&self, run: RunId) -> Result<LoopOutput, Halt> {
        if let Some(output) = self.given.loaded.loops.get(&run) {
            return Ok(output.clone());
        }
        let open = self.state.runs.get(&run).expect("the run is open");
        let produced = self.produced.range((run, 0)..=(run, u64::MAX));
        let produced = produced.map(|((_, index), output)| (*index, output.clone())).collect();
        let (after, counts) = (open.entered, open.items());
        Err(Needs::Loop(Box::new(LoopEnd { run, after, counts, produced })).into())
    }

    /// Issues the command that fetches the next frame of a cursor loop.
    pub(super) fn issue_claim(&mut self, run: RunId, frame: u64) -> Result<(), Halt> {
        let (_, step) = self.step_of(run);
        let Some(Loop { source: LoopSource::Cursor(task), .. }) = &step.repeat else {
            unreachable!("only a cursor loop claims frames");
        };
        self.issue(TaskAddress { run, place: Place::Claim { frame }, retry: 0 }, step, task)
    }

    /// Handles the end of a claim: its rows are the next frame; no rows end the loop.
    pub(super) fn claim_ended(
        &mut self,
        address: TaskAddress,
        frame: u64,
        ended: &CommandResult,
    ) -> Result<(), Halt> {
        let run = address.run;
        let output = match ended {
            CommandResult::Failed { error, .. } => return self.fail_run(run, error.clone()),
            CommandResult::Completed { output } => self.loaded(output)?,
        };
        let rows = match &*output {
            Value::Array(rows) => rows.clone(),
            Value::Object(map) => match map.get("rows") {
                Some(Value::Array(rows)) => rows.clone(),
                Some(_) | None => Vec::new(),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        };
        if rows.is_empty() {
            return self.complete_loop(run);
        }
        let (_, step) = self.step_of(run);
        let process = step.repeat.as_ref().map(|repeat| repeat.frame.process);
        let len = match process {
            Some(FrameProcess::Frame) => 1,
            Some(FrameProcess::Row) | None => rows.len() as u64,
        };
        let rows = Payload::inline(Value::Array(rows));
        self.emit(Event::FrameOpened { run, frame, len, rows });
        self.continue_loop(run)
    }

    fn loop_run(&self, run: RunId) -> &LoopRun {
        match &self.state.runs.get(&run).expect("the run is open").body {
            RunBody::Loop(repeat) => repeat,
            RunBody::Tasks(_) => unreachable!("the step has a loop"),
        }
    }
}
