//! Notifications: the ones that a decision requests, with their rendered messages.
//!
//! A message is rendered from facts about the execution when the event happens, so that it does not
//! change however late it is sent. Templates have a work limit of their own. A template that cannot
//! be rendered is replaced by a default text: a notification never changes what an execution does.

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_expr::{Budget, Template, VariableSource};
use noetl_model::{
    ApprovalRequest, CommandId, Event, EventTag, ExecutionId, ExecutionStatus, NOTICE_BYTES_MAX,
    NOTICE_DEPTH_MAX, NOTICES_MAX, NoticeReason, NoticeTarget, Timestamp, WaitCondition,
};
use noetl_playbook::{NoticeTemplate, NotificationDocument};
use serde_json::{Map, Value, json};

use super::draft::DecisionDraft;
use crate::Execution;
use crate::state::CommandHolder;

/// The units of work of the templates of one notification.
const NOTICE_WORK_MAX: u64 = 256 * 1024;
/// The most characters of an error in a message.
const ERROR_CHARS_MAX: usize = 4000;
/// The most notifications of one execution; a cycle of waits would request them without end.
const NOTICES_OF_EXECUTION_MAX: u32 = 1000;
/// The most receivers of a mail.
const ADDRESSES_MAX: usize = 100;
/// The most characters of a subject.
const SUBJECT_CHARS_MAX: usize = 200;
/// The most characters of the value of a header.
const HEADER_CHARS_MAX: usize = 4000;

/// The documents and settings that decide about notifications.
#[derive(Debug, Clone, Default)]
pub struct NoticeSettings {
    /// The active documents of `kind: Notification`, ordered by path.
    pub documents: Vec<NotificationDocument>,
    /// The address of the web interface, for links; without a slash at the end.
    pub public_url: Option<String>,
}

/// Something that happened in a decision and that notifications tell.
struct Occasion {
    reason: NoticeReason,
    facts: Value,
}

/// The variables of a message: `execution`.
struct Facts(Arc<Value>);

impl VariableSource for Facts {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        (name == "execution").then(|| Arc::clone(&self.0))
    }
}

impl DecisionDraft<'_> {
    /// Adds the notifications that the events of this decision call for.
    pub(super) fn request_notices(&mut self) {
        let empty = NoticeSettings::default();
        let settings = self.given.loaded.notices.clone();
        let settings = settings.as_deref().unwrap_or(&empty);
        let playbook = self.given.playbook;
        let depth = self.state.notice.as_ref().map_or(0, |notice| notice.depth);
        let has_any = !playbook.on.is_empty() || !settings.documents.is_empty();
        if !has_any || depth >= NOTICE_DEPTH_MAX {
            return;
        }
        let started_by = self.state.notice.as_ref().and_then(|notice| notice.document.as_deref());
        let (path, labels) = (self.state.playbook.path.as_str(), &self.state.labels);
        let documents: Vec<&NotificationDocument> = settings
            .documents
            .iter()
            .filter(|it| it.matches.includes(path, labels) && started_by != Some(&it.metadata.path))
            .collect();
        let left = NOTICES_OF_EXECUTION_MAX.saturating_sub(self.state.noticed) as usize;
        let mut requested = Vec::new();
        for Occasion { reason, facts } in self.occasions(settings.public_url.as_deref()) {
            let own = playbook.on.get(&reason).into_iter().flatten().map(|target| (None, target));
            let others = documents.iter().flat_map(|document| {
                let targets = document.on.get(&reason).into_iter().flatten();
                targets.map(|target| (Some(document.metadata.path.clone()), target))
            });
            for (document, template) in own.chain(others) {
                if requested.len() == NOTICES_MAX.min(left) {
                    break;
                }
                let (target, problems) = rendered(template, reason, &facts);
                requested.push(Event::NotificationRequested { reason, document, target, problems });
            }
        }
        for event in requested {
            self.emit(event);
        }
    }

    /// Returns what happened in this decision, as far as notifications tell it.
    fn occasions(&self, public_url: Option<&str>) -> Vec<Occasion> {
        let state = &self.state;
        self.events()
            .iter()
            .filter_map(told_by)
            .filter_map(|(reason, command)| {
                let wait = match command {
                    // A wait that a kept signal has ended in the same decision is over.
                    Some(command) => Some(open_wait(state, command)?),
                    None => None,
                };
                Some(Occasion { reason, facts: self.facts(reason, wait, public_url) })
            })
            .collect()
    }

    fn facts(
        &self,
        reason: NoticeReason,
        wait: Option<(String, Value)>,
        public_url: Option<&str>,
    ) -> Value {
        let state = &self.state;
        let now = state.event_time(self.given.now);
        let until = state.ended_at.unwrap_or(now);
        let error = state.error.as_ref().map(|error| {
            let message: String = error.message.chars().take(ERROR_CHARS_MAX).collect();
            json!({ "kind": error.kind, "message": message })
        });
        let (step, waits_for) = match wait {
            Some((step, waits_for)) => (Some(step), waits_for),
            None => {
                let failed = state.failed_steps.first().filter(|_| state.error.is_some());
                let step = failed.or(state.current.as_ref()).map(ToString::to_string);
                (step, Value::Null)
            }
        };
        let cancelled = self.events().iter().find_map(|event| {
            let Event::ExecutionCancelled { reason, .. } = event else { return None };
            Some(reason.chars().take(ERROR_CHARS_MAX).collect::<String>())
        });
        let url = public_url.map(|base| format!("{base}/ui/executions/{}", state.id));
        json!({
            "id": state.id.to_string(),
            "path": state.playbook.path,
            "version": state.playbook.version,
            "reason": reason,
            "status": state.status.to_string(),
            "error": error,
            "cancelled_because": cancelled,
            "step": step,
            "started_at": state.started_at.to_string(),
            "ended_at": state.ended_at.map(|at| at.to_string()),
            "duration_seconds": until.since(state.started_at).as_secs_f64(),
            "is_late": state.late_at.is_some(),
            "waits_for": waits_for,
            "url": url,
        })
    }
}

/// Returns the step of an open wait, and the signal or approval that it waits for.
fn open_wait(state: &Execution, command: CommandId) -> Option<(String, Value)> {
    let open = state.commands.get(&command)?;
    let waits_for = match &open.holder {
        CommandHolder::Wait { condition: WaitCondition::Signal { name, key }, .. } => {
            json!({ "signal": name, "key": key })
        }
        CommandHolder::Approval { request, .. } => approval_facts(request),
        CommandHolder::Wait { condition: WaitCondition::Time { .. }, .. }
        | CommandHolder::Nobody
        | CommandHolder::Worker { .. }
        | CommandHolder::Child { .. }
        | CommandHolder::Callback { .. } => return None,
    };
    Some((open.step.to_string(), waits_for))
}

fn approval_facts(request: &ApprovalRequest) -> Value {
    let shortened = |text: &String| text.chars().take(ERROR_CHARS_MAX).collect::<String>();
    json!({
        "approval": shortened(&request.title),
        "description": request.description.as_ref().map(shortened),
        "approvers": request.approvers.iter().take(ADDRESSES_MAX).collect::<Vec<_>>(),
        "deadline": request.deadline.map(|at| at.to_string()),
        "on_timeout": request.on_timeout,
    })
}

/// Returns the reason of the notifications that an event calls for; of a wait also its command.
fn told_by(event: &Event) -> Option<(NoticeReason, Option<CommandId>)> {
    if let Event::WaitOpened { command, condition: WaitCondition::Signal { .. }, .. }
    | Event::ApprovalRequested { command, .. } = event
    {
        return Some((NoticeReason::Waiting, Some(*command)));
    }
    let reasons = [
        (EventTag::ExecutionCompleted, NoticeReason::Completed),
        (EventTag::ExecutionFailed, NoticeReason::Failed),
        (EventTag::ExecutionCancelled, NoticeReason::Cancelled),
        (EventTag::ExecutionLate, NoticeReason::Late),
    ];
    let found = reasons.iter().find(|(tag, _)| *tag == event.tag());
    found.map(|(_, reason)| (*reason, None))
}

/// Returns a message that says what happened, for targets without a text.
fn default_text(reason: NoticeReason, facts: &Value) -> String {
    let text = |key: &str| facts[key].as_str().unwrap_or_default();
    let mut said = format!("{} {}", text("path"), in_words(reason));
    match reason {
        NoticeReason::Failed => {
            if let Some(step) = facts["step"].as_str() {
                said.push_str(&format!(" in step {step}"));
            }
            if let Some(message) = facts["error"]["message"].as_str() {
                said.push_str(&format!(": {message}"));
            }
        }
        NoticeReason::Cancelled => said.push_str(&format!(": {}", text("cancelled_because"))),
        NoticeReason::Waiting => said.push_str(&awaited_text(text("step"), &facts["waits_for"])),
        NoticeReason::Late => said.push_str(&format!(": it runs since {}", text("started_at"))),
        NoticeReason::Completed => {}
    }
    match facts["url"].as_str() {
        Some(url) => format!("{said}\n{url}"),
        None => format!("{said}\nexecution {}", text("id")),
    }
}

/// Returns what a step waits for: a signal, or an approval with those who may decide and the deadline.
fn awaited_text(step: &str, waits_for: &Value) -> String {
    let text = |key: &str| waits_for[key].as_str();
    let Some(title) = text("approval") else {
        let signal = text("signal").unwrap_or_default();
        let key = text("key").map(|key| format!(" with key {key}")).unwrap_or_default();
        return format!(" for signal {signal}{key} in step {step}");
    };
    let mut said = format!(" for an approval in step {step}: {title}");
    if let Some(description) = text("description") {
        said.push_str(&format!("\n{description}"));
    }
    let approvers = waits_for["approvers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = approvers.iter().filter_map(Value::as_str).collect();
    match names.as_slice() {
        [] => said.push_str("\nDecided by: everyone with access"),
        names => said.push_str(&format!("\nDecided by: {}", names.join(", "))),
    }
    if let Some(deadline) = text("deadline") {
        let effect = match text("on_timeout") {
            Some("approve") => "it counts as approved",
            Some("reject") => "it counts as rejected",
            Some(_) | None => "the step fails",
        };
        said.push_str(&format!("\nDeadline: {deadline}, then {effect}"));
    }
    said
}

fn in_words(reason: NoticeReason) -> &'static str {
    match reason {
        NoticeReason::Failed => "failed",
        NoticeReason::Completed => "completed",
        NoticeReason::Cancelled => "was cancelled",
        NoticeReason::Late => "is late",
        NoticeReason::Waiting => "waits",
    }
}

/// Renders a target; returns it with the templates that could not be rendered.
fn rendered(
    template: &NoticeTemplate,
    reason: NoticeReason,
    facts: &Value,
) -> (NoticeTarget, Vec<String>) {
    let mut message = MessageRenderer {
        variables: Facts(Arc::new(facts.clone())),
        budget: Budget::new(NOTICE_WORK_MAX),
        reason,
        problems: Vec::new(),
    };
    let target = message.target(template);
    let len = serde_json::to_string(&target).map_or(usize::MAX, |json| json.len());
    if len <= NOTICE_BYTES_MAX {
        return (target, message.problems);
    }
    message.problems.push(format!(
        "the message has more than {NOTICE_BYTES_MAX} bytes (NOTICE_BYTES_MAX); the default is sent"
    ));
    (message.shortened(target), message.problems)
}

/// Renders the parts of one message.
struct MessageRenderer {
    variables: Facts,
    budget: Budget,
    reason: NoticeReason,
    problems: Vec<String>,
}

impl MessageRenderer {
    fn target(&mut self, template: &NoticeTemplate) -> NoticeTarget {
        match template {
            NoticeTemplate::Playbook { path, workload } => {
                let workload = match self.value("workload", workload.as_ref()) {
                    Some(Value::Object(workload)) => workload,
                    Some(_) | None => self.default_workload(),
                };
                NoticeTarget::Playbook { path: path.clone(), workload }
            }
            NoticeTemplate::Http { url, method, headers, body, credential } => NoticeTarget::Http {
                url: self.text("url", Some(url)).unwrap_or_default(),
                method: method.as_str().to_owned(),
                headers: self.headers(headers.as_ref()),
                body: self
                    .value("body", body.as_ref())
                    .unwrap_or_else(|| (*self.variables.0).clone()),
                credential: credential.clone(),
            },
            NoticeTemplate::Mail { to, subject, body, credential } => {
                let subject = self.text("subject", subject.as_ref());
                NoticeTarget::Mail {
                    to: self.addresses(to),
                    subject: one_line(
                        &subject.unwrap_or_else(|| self.default_subject()),
                        SUBJECT_CHARS_MAX,
                    ),
                    body: self.text("body", body.as_ref()).unwrap_or_else(|| self.default_text()),
                    credential: credential.clone(),
                }
            }
            NoticeTemplate::Slack { webhook, text } => NoticeTarget::Slack {
                webhook: webhook.clone(),
                text: self.text("text", text.as_ref()).unwrap_or_else(|| self.default_text()),
            },
        }
    }

    /// Returns the target with the default message.
    fn shortened(&self, target: NoticeTarget) -> NoticeTarget {
        match target {
            NoticeTarget::Playbook { path, .. } => {
                NoticeTarget::Playbook { path, workload: self.default_workload() }
            }
            NoticeTarget::Http { url, method, headers: _, body: _, credential } => {
                let url = if url.len() < NOTICE_BYTES_MAX / 4 { url } else { String::new() };
                let body = (*self.variables.0).clone();
                NoticeTarget::Http { url, method, headers: BTreeMap::new(), body, credential }
            }
            NoticeTarget::Mail { mut to, subject, body: _, credential } => {
                to.retain(|address| address.len() < SUBJECT_CHARS_MAX);
                NoticeTarget::Mail { to, subject, body: self.default_text(), credential }
            }
            NoticeTarget::Slack { webhook, text: _ } => {
                NoticeTarget::Slack { webhook, text: self.default_text() }
            }
        }
    }

    fn default_text(&self) -> String {
        default_text(self.reason, &self.variables.0)
    }

    fn default_subject(&self) -> String {
        let facts = &self.variables.0;
        let path = facts["path"].as_str().unwrap_or_default();
        let subject = format!("{path} {}", in_words(self.reason));
        match facts["waits_for"]["approval"].as_str() {
            Some(title) => format!("{subject} for an approval: {title}"),
            None => subject,
        }
    }

    fn default_workload(&self) -> Map<String, Value> {
        Map::from_iter([("execution".to_owned(), (*self.variables.0).clone())])
    }

    /// Renders a part; `None` if there is no template, or if it cannot be rendered.
    fn value(&mut self, key: &str, template: Option<&Template>) -> Option<Value> {
        match template?.render_within(&self.variables, &self.budget) {
            Ok(_) if self.budget.is_exceeded() => {
                let problem = format!("`{key}` took more than {NOTICE_WORK_MAX} units of work");
                self.problems.push(format!("{problem} (NOTICE_WORK_MAX)"));
                None
            }
            Ok(value) => Some(value),
            Err(error) => {
                let error: String = error.message.chars().take(ERROR_CHARS_MAX).collect();
                self.problems.push(format!("`{key}`: {error}"));
                None
            }
        }
    }

    fn text(&mut self, key: &str, template: Option<&Template>) -> Option<String> {
        self.value(key, template).map(|value| as_text(&value))
    }

    fn headers(&mut self, template: Option<&Template>) -> BTreeMap<String, String> {
        let rendered = self.value("headers", template);
        let Some(Value::Object(headers)) = rendered else { return BTreeMap::new() };
        headers
            .iter()
            .map(|(name, value)| (name.clone(), one_line(&as_text(value), HEADER_CHARS_MAX)))
            .collect()
    }

    fn addresses(&mut self, template: &Template) -> Vec<String> {
        let listed = match self.value("to", Some(template)) {
            Some(Value::Array(items)) => items.iter().map(as_text).collect(),
            Some(one) => as_text(&one).split(',').map(str::to_owned).collect(),
            None => Vec::new(),
        };
        let trimmed = listed.iter().map(|address: &String| address.trim().to_owned());
        trimmed.filter(|address| !address.is_empty()).take(ADDRESSES_MAX).collect()
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Returns a text for a header: without line breaks, and not too long.
fn one_line(text: &str, chars_max: usize) -> String {
    let line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    line.take(chars_max).collect()
}

/// Returns a sample of every target of a document, as if an execution had just failed, completed
/// and so on.
pub fn sample_notices(
    document: &NotificationDocument,
    execution: ExecutionId,
    now: Timestamp,
) -> Vec<(NoticeReason, NoticeTarget)> {
    let mut samples = Vec::new();
    for (reason, targets) in &document.on {
        let status = match reason {
            NoticeReason::Failed => ExecutionStatus::Failed,
            NoticeReason::Completed => ExecutionStatus::Completed,
            NoticeReason::Cancelled => ExecutionStatus::Cancelled,
            NoticeReason::Late | NoticeReason::Waiting => ExecutionStatus::Running,
        };
        let facts = json!({
            "id": execution.to_string(),
            "path": "test/notification",
            "version": 1,
            "reason": reason,
            "status": status.to_string(),
            "error": { "kind": "policy", "message": "this is a test of the notification" },
            "cancelled_because": "this is a test of the notification",
            "step": "start",
            "started_at": now.to_string(),
            "ended_at": status.is_terminal().then(|| now.to_string()),
            "duration_seconds": 0.0,
            "is_late": *reason == NoticeReason::Late,
            "waits_for": { "signal": "test" },
            "url": Value::Null,
        });
        samples.extend(targets.iter().map(|target| (*reason, rendered(target, *reason, &facts).0)));
    }
    samples
}
