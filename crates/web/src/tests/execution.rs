//! The page of an execution that has failed, at several positions.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use expect_test::{Expect, expect};
use noetl_api::LeaseRequest;
use noetl_control::{PlaybookChoice, StartRequest};
use noetl_model::{
    ErrorKind, ExecutionId, LeaseScope, Logs, OpenedSecret, Origin, Outcome, Pool, Report,
    ToolError, WorkerId,
};
use serde_json::{Map, json};

use super::Site;
use super::text::content_text;

pub(super) const ORDERS: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: orders, path: shop/orders}
workload: {minimum: 10}
workflow:
  - step: load
    tool: {kind: python, code: 'pass'}
    set: {ctx.total: '{{ output.total }}'}
    next:
      spec: {mode: inclusive}
      arcs:
        - {step: bill, when: '{{ ctx.total > workload.minimum }}'}
        - {step: alert, when: '{{ ctx.total > 1000 }}'}
  - step: bill
    tool: {kind: python, code: 'pass', input: {amount: '{{ ctx.total }}'}}
  - step: alert
    tool: {kind: python, code: 'pass'}
";

/// Leases the next command and reports its end.
pub(super) async fn work(site: &Site, outcome: Outcome, stderr: &str) {
    let worker = WorkerId::new("w");
    let request = LeaseRequest {
        worker: worker.clone(),
        pool: Pool::new("shared"),
        scope: LeaseScope::All,
        max: 1,
        wait: Duration::ZERO,
    };
    let leases = site.app.lease_commands(request).await.expect("a lease");
    let lease = leases.first().expect("a command");
    let report = Report {
        execution: lease.execution,
        command: lease.command,
        attempt: lease.attempt,
        worker,
        outcome,
        logs: Logs { stdout: String::new(), stderr: stderr.to_owned() },
        next: None,
    };
    site.app.report_commands(vec![report]).await.expect("an answer");
}

/// Starts the newest version of the playbook.
pub(super) async fn start(site: &Site) -> ExecutionId {
    let playbook = PlaybookChoice::Path { path: "shop/orders".to_owned(), version: None };
    let started = site.app.start(StartRequest::new(playbook, Map::new())).await;
    started.expect("an execution").execution
}

/// A site with an execution whose first step waits for a worker.
pub(super) async fn started() -> (Site, ExecutionId) {
    let site = Site::new();
    site.app.register(ORDERS).await.expect("a playbook");
    let execution = start(&site).await;
    (site, execution)
}

/// A site with an execution whose second step has failed.
pub(super) async fn failed() -> (Site, ExecutionId) {
    let (site, execution) = started().await;
    work(&site, Outcome::Completed { output: Arc::new(json!({ "total": 42 })) }, "").await;
    let error = ToolError::new(ErrorKind::Exception, "no address <b>");
    work(&site, Outcome::Failed { error, output: None }, "bill: no address").await;
    (site, execution)
}

async fn check(query: &str, expected: Expect) {
    let (site, execution) = failed().await;
    let shown = site.get(&format!("/ui/executions/{execution}{query}")).await;
    assert_eq!(shown.status, StatusCode::OK, "{query}: {}", shown.body);
    assert!(!shown.body.contains("<b>"), "{query}");
    expected.assert_eq(&content_text(&shown.body));
}

#[tokio::test(start_paused = true)]
#[allow(clippy::too_many_lines, reason = "the text of a whole page")]
async fn a_failed_execution_opens_at_its_failure() {
    check(
        "",
        expect![[r#"
            shop/orders v1Failed
            Retry from the failed stepFork from hereRun again with changesCompareVerifyDownload eventsKeep or delete
            Execution | 402371326771204097
            Started | <date> 08:00:00 UTC
            Took | 0 ms
            Started by | Request
            Failed in step bill, attempt 1
            exceptionno address <b>
            Input
            {2}
            codepass
            input{1}
            amount42
            From upstreamload
            {1}
            total42
            stderrbill: no address
            Retry from the failed stepRetry with an edited playbookRetry with changed variables
            Failed
            Running
            +
            −
            Fitload → bill
            {{ ctx.total > workload.minimum }}
            taken onceload → alert
            {{ ctx.total > 1000 }}
            taken 0 timesload
            completed, 1 run✓ load python · completed bill
            failed, 1 run✕ bill python · failed alert
            not reached, 0 runs○ alert python · not reached
            StepVariablesEventsTry an expressionLogsSource
            billfailed
            Entered from load, because of {{ ctx.total > workload.minimum }} (ctx.total = 42, workload.minimum = 10)
            exceptionno address <b>
            Input
            {2}
            codepass
            input{1}
            amount42
            Values that it reads
            {1}
            ctx{1}
            total42
            Template
            {2}
            codepass
            input{1}
            amount{{ ctx.total }}
            Output
            null
            Commands
            Commands
            | Try | End | Worker | Waited | Ran
            | 1 | failed | w | 0 ms | 0 ms
            stderrbill: no address
            Timeline0 msCritical pathworking
            +0 ms
            ▸✓load completed0 ms
            ▸✕bill failed0 ms
            |◀◀◀◀
            Play
            ½×
            1×
            2×
            5×▶▶▶▶|
            11: failure 12: failure bill13: failure
            Position
            Show
            Event 13 of 13 execution.failed +0 ms
            by eventsby timeCompare from here
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_earlier_position_shows_the_variables_that_its_event_changed() {
    check(
        "?at=6&tab=variables&to=3",
        expect![[r#"
            shop/orders v1Running
            Retry from the failed stepFork from hereRun again with changesCompareVerifyDownload eventsKeep or delete
            Execution | 402371326771204097
            Started | <date> 08:00:00 UTC
            Took | 0 ms
            Started by | Request
            Failed
            Running
            +
            −
            Fitload → bill
            {{ ctx.total > workload.minimum }}
            taken 0 timesload → alert
            {{ ctx.total > 1000 }}
            taken 0 timesload
            running, 1 run◐ load python · running bill
            not reached, 0 runs○ bill python · not reached alert
            not reached, 0 runs○ alert python · not reached
            StepVariablesEventsTry an expressionLogsSource
            From event 3 to event 6
            total
            42
            load running ×1 → running ×1
            ctx
            total changed by this event
            42
            workload
            workload
            {1}
            minimum10
            Timeline0 msCritical pathOnly between the positionsworking
            +0 ms
            ▸◐load running0 ms
            |◀◀◀◀
            Play
            ½×
            1×
            2×
            5×▶▶▶▶|
            11: failure 12: failure bill13: failure
            Position
            Position to compare with
            Show
            Event 6 of 13 context.updated +0 ms Go to the end
            by eventsby timeCompared with event 3. Show the difference End the comparison
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_step_says_which_arcs_it_took_and_why() {
    check(
        "?step=load",
        expect![[r#"
            shop/orders v1Failed
            Retry from the failed stepFork from hereRun again with changesCompareVerifyDownload eventsKeep or delete
            no address <b>
            Execution | 402371326771204097
            Started | <date> 08:00:00 UTC
            Took | 0 ms
            Started by | Request
            Failed
            Running
            +
            −
            Fitload → bill
            {{ ctx.total > workload.minimum }}
            taken onceload → alert
            {{ ctx.total > 1000 }}
            taken 0 timesload
            completed, 1 run✓ load python · completed bill
            failed, 1 run✕ bill python · failed alert
            not reached, 0 runs○ alert python · not reached
            StepVariablesEventsTry an expressionLogsSource
            loadcompleted
            Entered first: the execution begins here.
            Input
            {1}
            codepass
            Template
            {1}
            codepass
            Output
            {1}
            total42
            Arcs after it
            → bill taken
            {{ ctx.total > workload.minimum }}
            ctx.total = 42
            workload.minimum = 10
            → alert condition was false
            {{ ctx.total > 1000 }}
            ctx.total = 42
            Commands
            Commands
            | Try | End | Worker | Waited | Ran
            | 1 | completed | w | 0 ms | 0 ms
            No output was written.
            Timeline0 msCritical pathworking
            +0 ms
            ▸✓load completed0 ms
            ▸✕bill failed0 ms
            |◀◀◀◀
            Play
            ½×
            1×
            2×
            5×▶▶▶▶|
            11: failure 12: failure bill13: failure
            Position
            Show
            Event 13 of 13 execution.failed +0 ms
            by eventsby timeCompare from here
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn events_are_a_table_with_filters() {
    let (site, execution) = failed().await;
    let address = format!("/ui/executions/{execution}?tab=events&kind=command.claimed");
    let shown = site.get(&address).await;
    let rows = shown.between("<ol class=\"events\">", "</ol>");
    assert_eq!(rows.matches("class=\"seq\"").count(), 2, "{rows}");
    assert_eq!(rows.matches("\"kind\">command.claimed</span>").count(), 2, "{rows}");
}

#[tokio::test(start_paused = true)]
async fn an_expression_is_evaluated_at_the_position() {
    check(
        "?at=7&tab=try&expression=ctx.total*2",
        expect![[r#"
            shop/orders v1Running
            Retry from the failed stepFork from hereRun again with changesCompareVerifyDownload eventsKeep or delete
            Execution | 402371326771204097
            Started | <date> 08:00:00 UTC
            Took | 0 ms
            Started by | Request
            Failed
            Running
            +
            −
            Fitload → bill
            {{ ctx.total > workload.minimum }}
            taken 0 timesload → alert
            {{ ctx.total > 1000 }}
            taken 0 timesload
            completed, 1 run✓ load python · completed bill
            not reached, 0 runs○ bill python · not reached alert
            not reached, 0 runs○ alert python · not reached
            StepVariablesEventsTry an expressionLogsSource
            Template or expression
            Evaluate
            Result number
            84
            Values it reads
            ctx.total
            42
            Timeline0 msCritical pathworking
            +0 ms
            ▸✓load completed0 ms
            |◀◀◀◀
            Play
            ½×
            1×
            2×
            5×▶▶▶▶|
            11: failure 12: failure bill13: failure
            Position
            Show
            Event 7 of 13 step.completed load +0 ms Go to the end
            by eventsby timeCompare from here
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_page_about_an_execution_answers() {
    let (site, execution) = failed().await;
    let parts = [
        "/fork?at=4",
        "/again",
        "/compare?at=8&to=2",
        "/verify",
        "/value?name=ctx.total",
        "?tab=source",
    ];
    for part in parts {
        let shown = site.get(&format!("/ui/executions/{execution}{part}")).await;
        assert_eq!(shown.status, StatusCode::OK, "{part}: {}", shown.body);
    }
    let log = site.get(&format!("/ui/executions/{execution}/log.jsonl")).await;
    assert!(log.body.lines().count() > 8 && log.body.ends_with('\n'));
    let missing = site.get(&format!("/ui/executions/{execution}?at=999")).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn a_fork_with_changed_variables_opens_the_new_execution() {
    let (site, execution) = failed().await;
    let base = format!("/ui/executions/{execution}");
    let fields = "at=4&ctx=%7B%22total%22%3A7%7D&workload=%7B%22minimum%22%3A1%7D";
    let shown = site.submit(&format!("{base}/fork?at=4"), &format!("{base}/fork"), fields).await;
    assert_eq!(shown.status, StatusCode::SEE_OTHER, "{}", shown.body);
    assert!(shown.location().starts_with("/ui/executions/") && shown.location() != base);
}

/// Starts an execution for an initiator; returns the text of its page and of the list.
async fn initiated(site: &Site, origin: Origin) -> (String, String) {
    let playbook = PlaybookChoice::Path { path: "shop/orders".to_owned(), version: None };
    let mut request = StartRequest::new(playbook, Map::new());
    request.input.origin = origin;
    let execution = site.app.start(request).await.expect("an execution").execution;
    let shown = site.get(&format!("/ui/executions/{execution}")).await;
    let list = site.get("/ui/executions").await;
    (shown.body, list.body)
}

#[tokio::test(start_paused = true)]
async fn the_initiator_of_an_execution_is_named_and_linked() {
    let (site, first) = started().await;
    let instant = "2026-11-17T02:30:00Z".parse().expect("a time");
    let nightly = Origin::Schedule { path: "shop/nightly".to_owned(), instant };
    let (shown, list) = initiated(&site, nightly).await;
    let link = "Schedule <a href=\"/ui/schedules/shop/nightly\">shop/nightly</a>";
    assert!(shown.contains(link) && list.contains(link), "{shown}");
    assert!(content_text(&shown).contains("for 2026-11-17 02:30:00 UTC"), "{shown}");

    let (shown, list) = initiated(&site, Origin::Rerun { execution: first }).await;
    let link = format!("href=\"/ui/executions/{first}\"");
    assert!(shown.contains("Repeats") && shown.contains(&link), "{shown}");
    assert!(list.contains("Repeats"), "{list}");

    let above = Origin::Linked { execution: first, depth: 1 };
    let (shown, list) = initiated(&site, above).await;
    assert!(shown.contains("Step of") && list.contains("Step of"), "{shown}");
}

const SECRETIVE: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: secretive, path: shop/secretive}
inputs:
  token: {type: string, required: true, secret: true}
  who: {type: string, default: Ada}
workflow:
  - step: greet
    tool:
      kind: python
      code: 'pass'
      input:
        token: '{{ workload.token }}'
        text: 'Hello {{ workload.who }}'
        key: '{{ keychain.shop.key }}'
";

#[tokio::test(start_paused = true)]
async fn the_input_of_a_step_is_rendered_without_secrets() {
    let site = Site::new();
    site.app.register(SECRETIVE).await.expect("a playbook");
    let playbook = PlaybookChoice::Path { path: "shop/secretive".to_owned(), version: None };
    let inputs = Map::from_iter([("token".to_owned(), json!("hunter2"))]);
    let started = site.app.start(StartRequest::new(playbook, inputs)).await.expect("it starts");
    let shown = site.get(&format!("/ui/executions/{}?step=greet", started.execution)).await;
    let text = content_text(&shown.body);
    let input = text.split("Input").nth(1).expect("the inspector shows the input");
    assert!(input.contains("token***"), "{text}");
    assert!(input.contains("textHello Ada"), "{text}");
    assert!(input.contains("key{{ keychain.shop.key }}"), "{text}");
    for secret in ["hunter2", "noetl:sealed"] {
        assert!(!shown.body.contains(secret), "{secret}: {text}");
    }
}

/// Leases all commands; returns the secrets that a worker gets with them.
async fn leased_secrets(site: &Site) -> Vec<String> {
    let request = LeaseRequest {
        worker: WorkerId::new("w"),
        pool: Pool::new("shared"),
        scope: LeaseScope::All,
        max: 10,
        wait: Duration::ZERO,
    };
    let leases = site.app.lease_commands(request).await.expect("leases");
    let opened = leases.iter().flat_map(|lease| lease.secrets.0.values());
    let clear = opened.map(|secret| match secret {
        OpenedSecret::Value(value) => value.as_str().expect("text").to_owned(),
        OpenedSecret::Unreadable(reason) => panic!("{reason}"),
    });
    clear.collect()
}

/// Returns the text of the workload in a form, as a form sends it.
fn sent_workload(form: &str) -> String {
    let text = form.split("name=\"workload\"").nth(1).and_then(|it| it.split_once('>'));
    let text = text.and_then(|(_, rest)| rest.split_once("</textarea>")).expect("a field").0;
    let text = text.replace("&quot;", "\"").replace('\n', "\r\n");
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test(start_paused = true)]
async fn forms_that_continue_an_execution_mask_its_secrets_and_keep_them() {
    let site = Site::new();
    site.app.register(SECRETIVE).await.expect("a playbook");
    let playbook = PlaybookChoice::Path { path: "shop/secretive".to_owned(), version: None };
    let inputs = Map::from_iter([("token".to_owned(), json!("hunter2"))]);
    let started = site.app.start(StartRequest::new(playbook, inputs)).await.expect("it starts");
    let base = format!("/ui/executions/{}", started.execution);
    assert_eq!(leased_secrets(&site).await, ["hunter2"]);
    for (form, fields) in [("fork", "at=2&ctx=%7B%7D&"), ("again", "")] {
        let shown = site.get(&format!("{base}/{form}")).await;
        assert!(shown.body.contains("&quot;token&quot;: &quot;***&quot;"), "{}", shown.body);
        assert!(!shown.body.contains("noetl:sealed"), "{}", shown.body);
        let workload = sent_workload(&shown.body).replace("%41%64%61", "%45%76%65");
        let fields = format!("{fields}workload={workload}");
        let sent = site.submit(&format!("{base}/{form}"), &format!("{base}/{form}"), &fields).await;
        assert_eq!(sent.status, StatusCode::SEE_OTHER, "{form}: {}", content_text(&sent.body));
        let step = site.get(&format!("{}?step=greet", sent.location())).await;
        let text = content_text(&step.body);
        assert!(text.contains("Hello Eve") && text.contains("token***"), "{form}: {text}");
        assert_eq!(leased_secrets(&site).await, ["hunter2"], "{form}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_again_with_an_empty_workload_has_only_the_defaults_of_the_playbook() {
    let site = Site::new();
    site.app.register(ORDERS).await.expect("a playbook");
    let playbook = PlaybookChoice::Path { path: "shop/orders".to_owned(), version: None };
    let inputs = Map::from_iter([("minimum".to_owned(), json!(731))]);
    let first = site.app.start(StartRequest::new(playbook, inputs)).await.expect("it starts");
    let base = format!("/ui/executions/{}", first.execution);
    let workload = async |address: &str| {
        content_text(&site.get(&format!("{address}?tab=variables")).await.body)
    };
    assert!(workload(&base).await.contains("731"));
    let form = format!("{base}/again");
    let sent = site.submit(&form, &form, "workload=%7B%7D").await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.body);
    let again = workload(sent.location()).await;
    assert!(again.contains("minimum10") && !again.contains("731"), "{again}");
}

#[tokio::test(start_paused = true)]
async fn a_run_again_with_a_mistake_keeps_what_was_typed() {
    let (site, execution) = failed().await;
    let form = format!("/ui/executions/{execution}/again");
    let shown = site.submit(&form, &form, "workload=%7B%22minimum%22%3A+7").await;
    assert_eq!(shown.status, StatusCode::CONFLICT, "{}", shown.body);
    assert!(shown.body.contains("{&quot;minimum&quot;: 7"), "{}", content_text(&shown.body));
    assert!(content_text(&shown.body).contains("workload is not valid JSON"));
}

#[tokio::test(start_paused = true)]
async fn the_form_of_a_fork_shows_the_variables_that_the_fork_begins_with() {
    let (site, execution) = failed().await;
    let shown = site.get(&format!("/ui/executions/{execution}/fork?at=13")).await;
    let text = content_text(&shown.body);
    assert!(text.contains("total\n42"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn lines_of_the_logs_are_found_by_their_text() {
    let (site, execution) = failed().await;
    let logs = format!("/ui/executions/{execution}?tab=logs");
    let found = site.get(&format!("{logs}&text=address")).await.body;
    let lines = found.split("class=\"log lines\"").nth(1).expect("lines");
    assert!(lines.contains("bill: no address"), "{found}");
    let none = site.get(&format!("{logs}&text=nowhere")).await.body;
    assert!(none.contains("No line contains the text.") && !none.contains("log lines"), "{none}");
}
