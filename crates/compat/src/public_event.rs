//! Converts events of the log to public events, with the step and command each is about.

use std::collections::BTreeMap;

use noetl_api::{AnyId, EventSource, PublicEvent, value_or_reference};
use noetl_model::{
    CommandId, Event, EventSubject, ExecutionId, Payload, PlaybookRef, Recorded, RunId, StepName,
    Timestamp, WaitCondition,
};
use serde_json::{Map, Value, json};

use crate::names::public_name;

/// The step, public id and issue of a command.
#[derive(Debug, Clone)]
struct NamedCommand {
    step: StepName,
    id: String,
    issued_at: Timestamp,
}

/// The step of a run, and the time it was entered, if that event was read.
#[derive(Debug, Clone)]
struct NamedRun {
    step: StepName,
    entered_at: Option<Timestamp>,
}

/// Converts the events of an execution, in order, to public events. Events refer to runs and
/// commands that earlier events named.
#[derive(Debug)]
pub struct EventConverter {
    execution: ExecutionId,
    commands: BTreeMap<CommandId, NamedCommand>,
    runs: BTreeMap<RunId, NamedRun>,
}

impl EventConverter {
    pub fn new(execution: ExecutionId) -> Self {
        Self { execution, commands: BTreeMap::new(), runs: BTreeMap::new() }
    }

    /// Remembers the run or command that an event names, without converting the event.
    pub fn learn(&mut self, recorded: &Recorded) {
        if let Event::StepEntered { run, step, .. } = &recorded.event {
            let run_of = NamedRun { step: step.clone(), entered_at: Some(recorded.at) };
            self.runs.insert(*run, run_of);
        }
        if let Event::CommandIssued { command, step, task, .. } = &recorded.event {
            let run_of = || NamedRun { step: step.clone(), entered_at: None };
            self.runs.entry(task.run).or_insert_with(run_of);
            let id = command_id(self.execution, recorded).expect("it issues a command");
            let issued_at = recorded.at;
            self.commands.insert(*command, NamedCommand { step: step.clone(), id, issued_at });
        }
    }

    pub fn convert(&mut self, recorded: &Recorded) -> PublicEvent {
        self.learn(recorded);
        let event = &recorded.event;
        let (name, status) = public_name(event);
        let mut meta = meta(event);
        let (node_id, node_name) = match event.subject() {
            EventSubject::Execution => {
                let name = if let Event::ExecutionStarted { playbook, .. } = event {
                    playbook.path.clone()
                } else {
                    "playbook".to_owned()
                };
                (Some("playbook".to_owned()), Some(name))
            }
            EventSubject::Step(step) => both(step),
            EventSubject::Run(run) => {
                self.runs.get(&run).map_or((None, None), |run| both(&run.step))
            }
            EventSubject::Command(command) => match self.commands.get(&command) {
                Some(NamedCommand { step, id, .. }) => {
                    meta.insert("command_id".to_owned(), json!(id));
                    both(step)
                }
                None => (None, None),
            },
            EventSubject::Timer(_) | EventSubject::Other => (None, None),
        };
        PublicEvent {
            event_id: AnyId(recorded.event_id.0),
            seq: recorded.seq.0,
            event_type: name.to_owned(),
            node_id,
            node_name,
            node_type: node_type(event),
            status: status.to_owned(),
            created_at: recorded.at.to_string(),
            timestamp: recorded.at.to_string(),
            duration: self.duration(recorded),
            context: self.context(event),
            result: result(event, status),
            error: event.error().map(|error| error.message.clone()),
            meta: Value::Object(meta),
            source: EventSource::Log,
            derived: false,
        }
    }

    /// Returns the milliseconds that a command or step took, for the event that ends it.
    fn duration(&self, recorded: &Recorded) -> Option<u64> {
        let began = if let Event::CommandCompleted { command, .. }
        | Event::CommandFailed { command, .. }
        | Event::CommandCancelled { command, .. } = &recorded.event
        {
            self.commands.get(command)?.issued_at
        } else if let Event::StepCompleted { run, .. } | Event::StepFailed { run, .. } =
            &recorded.event
        {
            self.runs.get(run)?.entered_at?
        } else {
            return None;
        };
        u64::try_from(recorded.at.since(began).as_millis()).ok()
    }

    fn context(&self, event: &Event) -> Option<Value> {
        if let Event::ExecutionStarted { playbook, workload, .. } = event {
            return Some(json!({
                "execution_id": self.execution.to_string(),
                "catalog_id": playbook.catalog_id.to_string(),
                "path": playbook.path,
                "version": playbook.version,
                "workload": value_or_reference(workload),
            }));
        }
        let Event::CommandIssued { bindings, .. } = event else { return None };
        let values = bindings.0.iter();
        let values: Map<String, Value> =
            values.map(|(name, value)| (name.clone(), value_or_reference(value))).collect();
        Some(json!({ "render_context": values }))
    }
}

fn both(step: &StepName) -> (Option<String>, Option<String>) {
    (Some(step.to_string()), Some(step.to_string()))
}

/// Returns the public id of the command that an event issues: `<execution>:<step>:<event>`, with
/// `:i<index>` for an item of a loop. `None` for other events.
pub fn command_id(execution: ExecutionId, issued: &Recorded) -> Option<String> {
    let Event::CommandIssued { step, task, .. } = &issued.event else { return None };
    let id = format!("{execution}:{step}:{}", issued.event_id);
    Some(match task.place.item() {
        Some(index) => format!("{id}:i{index}"),
        None => id,
    })
}

fn node_type(event: &Event) -> Option<String> {
    if let Event::ExecutionStarted { .. } = event {
        return Some("execution".to_owned());
    }
    let Event::CommandIssued { tool, .. } = event else { return None };
    Some(tool.to_string())
}

fn playbook_value(playbook: &PlaybookRef) -> Value {
    let PlaybookRef { catalog_id, path, version } = playbook;
    json!({ "catalog_id": catalog_id.to_string(), "path": path, "version": version })
}

fn awaited(condition: &WaitCondition) -> Value {
    match condition {
        WaitCondition::Time { until } => json!({ "until": until.to_string() }),
        WaitCondition::Signal { name, key: None } => json!({ "signal": name }),
        WaitCondition::Signal { name, key: Some(key) } => json!({ "signal": name, "key": key }),
    }
}

fn named(actor: Option<&String>, reason: Option<&String>) -> Value {
    json!({ "actor": actor, "reason": reason })
}

/// Returns who decided an approval, and how; null for other events.
fn decision(event: &Event) -> Value {
    let Event::ApprovalDecided {
        verdict, actor, actor_stated, link_by, comment, timed_out, ..
    } = event
    else {
        return Value::Null;
    };
    json!({
        "decision": verdict, "actor": actor, "actor_stated": actor_stated, "link_by": link_by,
        "comment": comment, "timed_out": timed_out,
    })
}

/// Returns the receiver of a notification and its cause; null for other events.
fn notification(event: &Event) -> Value {
    let Event::NotificationRequested { reason, document, target, problems } = event else {
        return Value::Null;
    };
    let problems = (!problems.is_empty()).then_some(problems);
    let (kind, receiver) = (target.kind().as_str(), target.receiver());
    json!({ "reason": reason, "document": document, "target": kind, "receiver": receiver,
        "problems": problems })
}

fn meta(event: &Event) -> Map<String, Value> {
    let meta = match event {
        Event::ExecutionStarted { pool, trace, .. } => {
            json!({ "execution_pool": pool, "trace": trace })
        }
        Event::ExecutionForked { origin, playbook, context, .. } => json!({
            "forked_from": origin.execution.to_string(), "forked_at": origin.seq,
            "playbook": playbook.as_ref().map(playbook_value), "context": context,
        }),
        Event::CommandIssued { pool, task, .. } => {
            json!({ "execution_pool": pool, "iteration_index": task.place.item() })
        }
        Event::CommandClaimed { attempt, worker, lease_until, .. } => json!({
            "attempt": attempt, "worker_id": worker, "lease_until": lease_until.to_string(),
        }),
        Event::CommandCompleted { attempt, logs, job, .. }
        | Event::CommandFailed { attempt, logs, job, .. } => {
            let logs = Some(logs).filter(|logs| !logs.is_empty());
            json!({ "attempt": attempt, "logs": logs, "job": job })
        }
        Event::CommandParked { attempt, worker, .. }
        | Event::AttemptSuperseded { attempt, worker, .. } => {
            json!({ "attempt": attempt, "worker_id": worker })
        }
        Event::WaitOpened { condition, .. } => awaited(condition),
        Event::ApprovalRequested { request: approval, .. } => json!({
            "title": approval.title, "approvers": approval.approvers }),
        Event::ApprovalDecided { .. } => decision(event),
        Event::SignalReceived { name, sender, actor, .. } => {
            json!({ "signal": name, "sender": sender, "actor": actor })
        }
        Event::ExecutionPaused { actor, reason, .. }
        | Event::ExecutionResumed { actor, reason } => named(actor.as_ref(), reason.as_ref()),
        Event::SlotRequested { limit, .. } => json!({ "limit": limit.name }),
        Event::SlotGranted { limit, .. } => json!({ "limit": limit }),
        Event::IterationCompleted { index, .. } | Event::IterationFailed { index, .. } => {
            json!({ "iteration_index": index })
        }
        Event::StepFailed { handled, .. } => json!({ "handled": handled }),
        Event::ExecutionFailed { steps, .. } => json!({ "failed_steps": steps }),
        Event::ExecutionCancelled { reason, .. } | Event::CommandCancelled { reason, .. } => {
            json!({ "reason": reason })
        }
        Event::ExecutionLate { due_at } => json!({ "due_at": due_at.to_string() }),
        Event::NotificationRequested { .. } => notification(event),
        Event::ExecutionStalled { detail } => json!({ "detail": detail }),
        Event::ExecutionRewound { seen, found } => json!({ "seen": seen, "found": found }),
        Event::ChildStarted { child, .. } => json!({ "child_execution_id": child.to_string() }),
        Event::TimerSet { due_at, .. } => json!({ "due_at": due_at.to_string() }),
        Event::StepEntered { .. }
        | Event::StepSkipped { .. }
        | Event::StepAwaited { .. }
        | Event::LoopOpened { .. }
        | Event::FrameOpened { .. }
        | Event::ContextUpdated { .. }
        | Event::SignalDelivered { .. }
        | Event::TimerFired { .. }
        | Event::TimerCancelled { .. }
        | Event::StepCompleted { .. }
        | Event::ExecutionCompleted { .. }
        | Event::Reported { .. } => Value::Null,
    };
    let Value::Object(meta) = meta else { return Map::new() };
    meta.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// Returns the `result` of a public event, in the envelope that clients unpack.
fn result(event: &Event, status: &str) -> Option<Value> {
    let context = if let Event::CommandCompleted { output, .. } = event {
        json!({ "result": enveloped("success", output) })
    } else if let Event::CommandFailed { error, output, .. } = event {
        json!({ "error": error, "data": output.as_ref().map(value_or_reference) })
    } else if let Event::ContextUpdated { values, large, .. } = event {
        let elsewhere = large
            .iter()
            .map(|(name, reference)| (name.clone(), value_or_reference(&Payload::Ref(*reference))));
        let values: Map<String, Value> = values.clone().into_iter().chain(elsewhere).collect();
        json!({ "values": values })
    } else if let Event::Reported { body, .. } = event {
        body.clone()
    } else if let Event::ApprovalDecided { values, .. } = event {
        json!({ "values": value_or_reference(values) })
    } else if let Event::SignalReceived { body, .. } = event {
        json!({ "body": value_or_reference(body) })
    } else if let Some(error) = event.error() {
        json!({ "error": error })
    } else {
        return event.output().map(|output| enveloped(status, output));
    };
    Some(json!({ "status": status, "context": context }))
}

fn enveloped(status: &str, payload: &Payload) -> Value {
    match payload {
        Payload::Inline(value) => json!({ "status": status, "context": { "data": value } }),
        Payload::Ref(_) => json!({ "status": status, "reference": value_or_reference(payload) }),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use noetl_model::{
        Attempt, Bindings, Digest, EventId, Logs, PayloadRef, Place, Pool, Seq, TaskAddress,
        Timestamp, ToolKind,
    };

    use super::*;

    fn recorded(seq: u64, event: Event) -> Recorded {
        let event_id = EventId(100 + seq.cast_signed());
        Recorded { seq: Seq(seq), event_id, at: Timestamp::from_millis(0), event, prev: None }
    }

    fn issued(place: Place) -> Recorded {
        let event = Event::CommandIssued {
            command: CommandId(0),
            task: TaskAddress { run: RunId(0), place, retry: 0 },
            step: StepName::new("fetch"),
            tool: ToolKind::Http,
            pool: Pool::shared(),
            bindings: Bindings::default(),
            cache: None,
        };
        recorded(3, event)
    }

    fn completed(output: Payload) -> Recorded {
        let (command, attempt, logs, job) = (CommandId(0), Attempt(1), Logs::default(), None);
        recorded(5, Event::CommandCompleted { command, attempt, output, logs, job })
    }

    #[track_caller]
    fn check(before: &[Recorded], event: &Recorded, expected: Expect) {
        let mut converter = EventConverter::new(ExecutionId(7));
        before.iter().for_each(|it| converter.learn(it));
        let converted = converter.convert(event);
        let result = converted.result.unwrap_or_default();
        let text = format!("{:?}\n{result}\n{}\n", converted.node_name, converted.meta);
        expected.assert_eq(&text);
    }

    #[test]
    fn the_end_of_a_command_names_its_step_and_wraps_its_data_as_clients_unwrap_it() {
        let before = [issued(Place::Item { index: 4, task: 0 })];
        check(
            &before,
            &completed(Payload::inline(json!({ "x": 1 }))),
            expect![[r#"
                Some("fetch")
                {"status":"COMPLETED","context":{"result":{"status":"success","context":{"data":{"x":1}}}}}
                {"attempt":1,"command_id":"7:fetch:103:i4"}
            "#]],
        );
    }

    #[test]
    fn a_large_output_is_shown_by_reference() {
        let reference = PayloadRef { digest: Digest::of(b"x"), size: 1 };
        let before = [issued(Place::Task(0))];
        check(
            &before,
            &completed(Payload::Ref(reference)),
            expect![[r#"
                Some("fetch")
                {"status":"COMPLETED","context":{"result":{"status":"success","reference":{"kind":"payload","ref":"/api/payloads/2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","bytes":1}}}}
                {"attempt":1,"command_id":"7:fetch:103"}
            "#]],
        );
    }

    #[test]
    fn a_command_that_was_issued_too_long_ago_has_no_name() {
        check(
            &[],
            &completed(Payload::null()),
            expect![[r#"
                None
                {"status":"COMPLETED","context":{"result":{"status":"success","context":{"data":null}}}}
                {"attempt":1}
            "#]],
        );
    }
}
