//! `noetl approvals`: lists, shows and decides about what waits for a person.

use anyhow::anyhow;
use noetl_api::wire::{ApprovalLinkBody, ApprovalView, ApprovalsQuery};
use noetl_engine::ApprovalDecision;
use noetl_model::{CommandId, ExecutionId, Verdict};
use noetl_playbook::{DecisionForm, FormField, FormFieldKind};
use serde_json::Value;

use crate::args::{
    ApprovalLinkArgs, ApprovalListArgs, ApprovalShowArgs, ApprovalsCommand, DecideArgs,
    WhichApproval,
};
use crate::backend::{self, Backend, HistoryLocation};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::ListText;
use crate::show::output::table::table;
use crate::show::terminal::{FAINT, Terminal, paint};

pub(crate) async fn approvals(
    command: &ApprovalsCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        ApprovalsCommand::List(args) => list(args, config, terminal).await,
        ApprovalsCommand::Show(args) => show(args, config, terminal).await,
        ApprovalsCommand::Approve(args) => decide(args, Verdict::Approved, config, terminal).await,
        ApprovalsCommand::Reject(args) => decide(args, Verdict::Rejected, config, terminal).await,
        ApprovalsCommand::Link(args) => link(args, config, terminal).await,
    }
}

async fn list(
    args: &ApprovalListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let query = ApprovalsQuery {
        limit: Some(args.limit.into()),
        approver: args.approver.clone(),
        ..ApprovalsQuery::default()
    };
    let listed =
        backend::with(&args.client, config, async |backend| backend.approvals(query).await);
    let text = ListText {
        empty: "nothing waits for a decision",
        header: &["EXECUTION", "COMMAND", "TITLE", "STEP", "SINCE", "UNTIL", "APPROVERS"],
        row: |it: &ApprovalView| {
            vec![
                it.execution_id.to_string(),
                it.command.to_string(),
                it.title.clone(),
                it.step.clone(),
                to_the_second(&it.requested_at.to_string()),
                it.deadline.map(|at| to_the_second(&at.to_string())).unwrap_or_default(),
                it.approvers.join(", "),
            ]
        },
    };
    terminal.list(args.output, &listed.await?, &text)
}

async fn show(
    args: &ApprovalShowArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let loaded =
        backend::with(&args.client, config, async |backend| chosen(backend, &args.which).await);
    terminal.show(args.output, &loaded.await?, shown)
}

async fn decide(
    args: &DecideArgs,
    verdict: Verdict,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let decided = backend::with(&args.client, config, async |backend| {
        let view = chosen(backend, &args.which).await?;
        let texts = args.set.iter().cloned().collect();
        let decision = ApprovalDecision {
            command: CommandId(view.command),
            verdict,
            actor: config.actor().map(String::from),
            actor_stated: false,
            link_by: None,
            comment: args.comment.clone(),
            values: form_of(&view).from_texts(&texts),
        };
        backend.decide(view.execution_id.into(), decision).await
    });
    terminal.show(args.output, &decided.await?, |view| {
        format!("{} `{}` of execution {}\n", decision_word(view), view.title, view.execution_id)
    })
}

async fn link(
    args: &ApprovalLinkArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let made = backend::with(&args.client, config, async |backend| {
        let view = chosen(backend, &args.which).await?;
        let body = ApprovalLinkBody {
            actor: args.person.clone(),
            valid_for: args.valid_for.clone().map(Value::String),
        };
        let (execution, command) = (view.execution_id.into(), CommandId(view.command));
        let link = backend.approval_link(execution, command, body).await?;
        Ok((link, backend.reader().location().clone()))
    });
    let (link, location) = made.await?;
    let base = match location {
        HistoryLocation::Server(url) => url.as_str().trim_end_matches('/').to_owned(),
        HistoryLocation::File(_) | HistoryLocation::Memory => String::new(),
    };
    terminal.data(&format!("{base}{}\n", link.path)).map_err(Failure::broken)?;
    Ok(Exit::Completed)
}

/// Returns the approval that the arguments name: without a command, the one that waits.
async fn chosen(backend: &dyn Backend, which: &WhichApproval) -> Result<ApprovalView, Failure> {
    let execution = backend.reader().chosen(which.execution).await?.summary.execution;
    if let Some(command) = which.command {
        return backend.approval(execution, CommandId(command)).await;
    }
    let query = ApprovalsQuery { execution_id: Some(execution.into()), ..Default::default() };
    let mut open = backend.approvals(query).await?;
    match open.len() {
        1 => Ok(open.remove(0)),
        0 => Err(Failure::bad_input(anyhow!("no approval of execution {execution} waits"))),
        count => Err(several(execution, count, &open)),
    }
}

fn several(execution: ExecutionId, count: usize, open: &[ApprovalView]) -> Failure {
    let named: Vec<String> =
        open.iter().take(5).map(|view| format!("{} ({})", view.command, view.title)).collect();
    Failure::bad_input(anyhow!(
        "{count} approvals of execution {execution} wait; name the command of one: {}",
        named.join(", ")
    ))
}

fn form_of(view: &ApprovalView) -> DecisionForm {
    let form = view.form.as_ref().and_then(|schema| DecisionForm::parse(schema).ok());
    form.unwrap_or_default()
}

fn decision_word(view: &ApprovalView) -> &'static str {
    view.decision.as_ref().map_or("waiting:", |decision| decision.decision.as_str())
}

fn shown(view: &ApprovalView) -> String {
    let row = |name: &str, value: String| vec![paint(FAINT, name), value];
    let mut rows = vec![
        row("approval", view.title.clone()),
        row("execution", view.execution_id.to_string()),
        row("command", view.command.to_string()),
        row("step", view.step.clone()),
        row("since", to_the_second(&view.requested_at.to_string())),
    ];
    if let Some(deadline) = view.deadline {
        rows.push(row("until", to_the_second(&deadline.to_string())));
    }
    if !view.approvers.is_empty() {
        rows.push(row("approvers", view.approvers.join(", ")));
    }
    for field in form_of(view).fields {
        rows.push(row("field", described(&field)));
    }
    match &view.decision {
        None => rows.push(row("decision", "none yet".to_owned())),
        Some(decision) => {
            rows.push(row("decision", decision.decision.to_string()));
            rows.push(row("at", to_the_second(&decision.decided_at.to_string())));
            rows.extend(decision.actor.clone().map(|actor| row("by", actor)));
            rows.extend(decision.comment.clone().map(|comment| row("comment", comment)));
            rows.push(row("values", decision.values.to_string()));
        }
    }
    let description = view.description.as_ref().map(|text| format!("\n{text}\n"));
    format!("{}{}", table(&rows), description.unwrap_or_default())
}

/// Describes a field of a form in one line, such as `share (whole number, required): Share of users`.
fn described(field: &FormField) -> String {
    let kind = match field.kind {
        FormFieldKind::Text { .. } => "text",
        FormFieldKind::Integer { .. } => "whole number",
        FormFieldKind::Number { .. } => "number",
        FormFieldKind::Boolean => "true or false",
    };
    let choices: Vec<String> = field.choices.iter().map(Value::to_string).collect();
    let kind = if choices.is_empty() { kind.to_owned() } else { choices.join(", ") };
    let required = if field.is_required { ", required" } else { "" };
    let default = field.default.as_ref().map(|it| format!(", default {it}")).unwrap_or_default();
    let title = field.title.as_ref().map(|title| format!(": {title}")).unwrap_or_default();
    format!("{} ({kind}{required}{default}){title}", field.name)
}

/// Shortens a time to the second.
fn to_the_second(at: &str) -> String {
    at.get(..19).map_or_else(|| at.to_owned(), |second| format!("{}Z", second))
}
