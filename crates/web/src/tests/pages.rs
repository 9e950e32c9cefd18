//! The pages of an empty store and of a seeded one.

use axum::http::{StatusCode, header};
use expect_test::{Expect, expect};
use noetl_app::PAGE_MAX;
use noetl_control::{PlaybookChoice, StartRequest};
use serde_json::Map;
use tokio_util::sync::CancellationToken;

use super::text::content_text;
use super::{Site, snapshots};

const REFUND: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: refund, path: billing/refund}
workload: {amount: 42, customer: ACME, notify: true, lines: [1]}
workflow:
  - step: start
    tool: {kind: python, code: 'pass'}
";

/// A site with a playbook in two versions and an execution that waits for a worker.
pub(super) async fn seeded() -> Site {
    let site = Site::new();
    site.app.register(REFUND).await.expect("a playbook");
    site.app.register(&REFUND.replace("ACME", "Globex")).await.expect("a second version");
    let playbook = PlaybookChoice::Path { path: "billing/refund".to_owned(), version: None };
    site.app.start(StartRequest::new(playbook, Map::new())).await.expect("an execution");
    site
}

async fn check(site: &Site, path: &str, expected: Expect) {
    let shown = site.get(path).await;
    assert_eq!(shown.status, StatusCode::OK, "{path}: {}", shown.body);
    expected.assert_eq(&content_text(&shown.body));
}

#[tokio::test(start_paused = true)]
async fn the_overview_of_a_new_machine_offers_an_example() {
    check(
        &Site::new(),
        "/ui/",
        expect![[r#"
        Overview
        No execution yet
        An execution is one run of a playbook.
        Run an example
        Or in a terminal:
        noetl run examples/hello_world.yaml
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_overview_names_a_pool_without_a_worker_first() {
    check(
        &seeded().await,
        "/ui/",
        expect![[r#"
            Overview
            Needs attention
            No worker is connected for pool shared: 1 command waiting.
            noetl worker --pool shared
            Running nowAll
            Executions
            | Status | Playbook | Execution | Started | Took | Now | Actions
            | Running | billing/refund v2 | <id> | <date> 08:00:00 UTC | 0 ms | Step start |
            Cancel
            Its running steps and its children are cancelled too.
            Cancel the execution
            Last 24 hoursExecutions by start and status
            Running 12027-01-15 08:00 UTC: Running 1
            <date> 08:30:00 UTC2027-01-15 08:30:00 UTC
            Drag over the bars to choose a time; or move with the arrow keys, hold Shift to extend, and press Enter.
            As a table
            Executions by start and status
            | Started | Failed | Cancelled | Running | Completed
            | <date> 08:00:00 UTC – <date> 08:30:00 UTC | 0 | 0 | 1 | 0
            Recent executionsAll
            Executions
            | Status | Playbook | Execution | Started | Took | Now | Actions
            | Running | billing/refund v2 | <id> | <date> 08:00:00 UTC | 0 ms | Step start |
            Cancel
            Its running steps and its children are cancelled too.
            Cancel the execution
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn executions_are_listed_with_the_step_they_are_at() {
    check(
        &seeded().await,
        "/ui/executions?status=RUNNING",
        expect![[r#"
            Executions
            Status
            Any
            Running
            Completed
            Failed
            Cancelled
            Playbook
            Text
            Label
            From (UTC)
            Until (UTC)
            More filters
            Started by
            Parent
            Live
            ShowClearExecutions by start and status
            Running 12027-01-15 08:00 UTC: Running 1
            <date> 08:30:00 UTC2027-01-15 08:30:00 UTC
            Drag over the bars to choose a time; or move with the arrow keys, hold Shift to extend, and press Enter.
            As a table
            Executions by start and status
            | Started | Failed | Cancelled | Running | Completed
            | <date> 08:00:00 UTC – <date> 08:30:00 UTC | 0 | 0 | 1 | 0
            All on this pageTicked executions, or all that match the filter:
            Cancel <id>
            Retry <id>
            Run again <id> jobs
            Executions
            | Select | Status | Playbook | Execution | Started | Took | Now | Actions
            |
            | Running | billing/refund v2 | <id> | <date> 08:00:00 UTC | 0 ms | Step start | Compare
            Cancel
            Its running steps and its children are cancelled too.
            Cancel the execution
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_bar_of_the_histogram_is_a_link_to_its_time_with_a_pattern_and_words() {
    let site = seeded().await;
    let shown = site.get("/ui/executions?status=RUNNING&live=on").await;
    let bar = shown.between("</defs>", "</a>");
    let link = "href=\"/ui/executions?status=RUNNING&amp;from=2027-01-15T08:00\
        &amp;until=2027-01-15T08:30&amp;live=on\"";
    assert!(bar.contains(link), "{bar}");
    assert!(bar.contains("aria-label=\"2027-01-15 08:00 UTC: Running 1\""), "{bar}");
    assert!(bar.contains("fill=\"url(#bar-running)\""), "{bar}");
    let listed = site.get("/ui/executions?from=2027-01-15T08:00&until=2027-01-15T08:30").await;
    assert!(listed.body.contains("billing/refund"), "{}", listed.body);
    let earlier = site.get("/ui/executions?from=2027-01-15T07:00&until=2027-01-15T08:00").await;
    assert!(!earlier.body.contains("data-histogram"), "{}", earlier.body);
}

#[tokio::test(start_paused = true)]
async fn a_filter_without_a_match_says_so() {
    check(
        &seeded().await,
        "/ui/executions?status=FAILED&playbook=x",
        expect![[r#"
            Executions
            Status
            Any
            Running
            Completed
            Failed
            Cancelled
            Playbook
            Text
            Label
            From (UTC)
            Until (UTC)
            More filters
            Started by
            Parent
            Live
            ShowClear
            No execution matches
            Widen the filter or clear it.
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_catalog_is_a_tree() {
    check(
        &seeded().await,
        "/ui/playbooks",
        expect![[r#"
            Playbooks
            New playbook
            Path
            Archived
            Show
            billing/ 1
            refundv22027-01-15 08:00:00 UTC
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_playbook_shows_the_difference_of_versions_and_a_form() {
    check(&seeded().await, "/ui/playbooks/billing/refund?compare=1", expect![[r#"
        billing/refundv2 · playbook · <date> 08:00:00 UTC
        Edit
        Pause
        Reason
        Pause
        Archive
        An archived playbook is not listed and starts nothing until it is restored. Its executions stay.
        Archive
        Source
        Version
        v2
        v1
        Compare with
        –
        v1
        Show
        | 1 | 1 |   apiVersion: noetl.io/v2
        | 2 | 2 |   kind: Playbook
        | 3 | 3 |   metadata: {name: refund, path: billing/refund}
        | 4 |  | − workload: {amount: 42, customer: ACME, notify: true, lines: [1]}
        |  | 4 | + workload: {amount: 42, customer: Globex, notify: true, lines: [1]}
        | 5 | 5 |   workflow:
        | 6 | 6 |     - step: start
        | 7 | 7 |       tool: {kind: python, code: 'pass'}
        Run
        amount
        customer
        notify
        lines
        [
        1
        ]
        Worker pool
        Labels
        Start
        Steps
        startstart
        Last executions
        Executions
        | Status | Playbook | Execution | Started | Took | Now | Actions
        | Running | billing/refund v2 | <id> | <date> 08:00:00 UTC | 0 ms | Step start |
        Cancel
        Its running steps and its children are cancelled too.
        Cancel the execution
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn workers_begin_with_the_pool_that_has_none() {
    check(
        &seeded().await,
        "/ui/workers",
        expect![[r#"
            Workers
            No worker is connected for pool shared: 1 command waiting.
            noetl worker --pool shared
            Pools
            Pools
            | Pool | Status | Waiting commands | Oldest waits | Workers | Actions
            | shared | No worker | 1 | 0 ms | 0 |
            Pause
            Reason
            Pause
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn empty_places_say_how_to_fill_them() {
    let site = Site::new();
    for place in
        ["executions", "playbooks", "schedules", "subscriptions", "feeds", "workers", "credentials"]
    {
        let shown = site.get(&format!("/ui/{place}")).await;
        assert_eq!(shown.status, StatusCode::OK, "{place}");
        assert!(shown.body.contains("class=\"empty\""), "{place}");
        assert!(shown.body.contains("<code>noetl "), "{place}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_system_shows_its_parts() {
    check(
        &Site::new(),
        "/ui/system",
        expect![[r#"
            Systemnoetl 0.1.0
            Database
            Answers | Yes
            Can be written | Yes
            Shards | 1
            Running | 0
            Completed | 0
            Failed | 0
            Cancelled | 0
            Server
            Message bus | Inside this process
            Outbox | 0 messages
            Workers | 0
            Playbooks | 0
            Clock of the database | <date> 08:00:00 UTC
            Encryption key | <key>
            API | /api/docs
            Retention
            No rule: ended executions are kept. The setting executions.retention deletes them after some days.
            This server has not looked for expired executions yet; one server of a cluster does.
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_page_has_the_policy_and_no_code_or_style_inside() {
    let site = seeded().await;
    for path in
        ["/ui/", "/ui/executions", "/ui/playbooks/billing/refund", "/ui/none", "/ui/components"]
    {
        let shown = site.get(path).await;
        let policy = shown.headers[header::CONTENT_SECURITY_POLICY].to_str().expect("text");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{path}");
        for inline in [" style=", " onclick=", "<style", "javascript:", "://"] {
            assert!(!shown.body.contains(inline), "{path} has {inline}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_follows_the_language_of_the_browser() {
    let site = Site::new();
    let request = axum::http::Request::get("/ui/executions").header(header::ACCEPT_LANGUAGE, "de");
    let shown = site.send(request.body(axum::body::Body::empty()).expect("a request")).await;
    assert!(shown.body.contains("<html lang=\"de\"") && shown.body.contains("Ausführungen"));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_page_is_an_error_page() {
    let shown = Site::new().get("/ui/nowhere").await;
    assert_eq!(shown.status, StatusCode::NOT_FOUND);
    assert!(shown.body.contains("There is no such page"));
}

#[tokio::test(start_paused = true)]
async fn search_finds_pages_playbooks_and_executions() {
    let site = seeded().await;
    let shown = site.get("/ui/find?q=refund").await;
    assert!(shown.body.contains("href=\"/ui/playbooks/billing/refund\""));
    let newest = site.app.newest_executions().await.expect("executions").executions;
    let id = newest[0].execution;
    let shown = site.get(&format!("/ui/find?q={id}")).await;
    assert!(shown.body.contains(&format!("href=\"/ui/executions/{id}\"")));
    assert_eq!(newest.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn search_leads_to_the_page_of_a_schedule_and_of_a_subscription() {
    let seeded = snapshots::seeded().await;
    let shown = seeded.site.get("/ui/find?q=shop/").await;
    for address in [
        "/ui/schedules/shop/nightly".to_owned(),
        format!("/ui/subscriptions/{}", seeded.subscription),
        "/ui/playbooks/shop/orders".to_owned(),
    ] {
        assert!(shown.body.contains(&format!("href=\"{address}\"")), "{address}: {}", shown.body);
        assert_eq!(seeded.site.get(&address).await.status, StatusCode::OK, "{address}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bulk_action_shows_the_count_and_what_it_applies_to() {
    check(
        &seeded().await,
        "/ui/executions/bulk?action=cancel&status=RUNNING&playbook=refund",
        expect![[r#"
            Cancel executions
            1 execution will be cancelled.
            Running executions are cancelled, with their running steps and their children.
            Status | Running
            Playbook | refund
            Executions that start from now on are not included. The work continues if this page is closed.
            Reason
            Cancel executions (1)
            Back to the executions
        "#]],
    )
    .await;
    check(&seeded().await, "/ui/executions/bulk?action=retry", expect![[r#"
        Retry executions
        No execution to act on
        Failed and cancelled executions are retried where they failed; each retry is a new execution.
        Back to the executions
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_bulk_action_names_every_condition() {
    check(
        &seeded().await,
        "/ui/executions/bulk?action=cancel&status=RUNNING&label=team:ops&actor=ann",
        expect![[r#"
            Cancel executions
            No execution to act on
            Running executions are cancelled, with their running steps and their children.
            Status | Running
            Label | team:ops
            Started by | ann
            Back to the executions
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_cannot_be_read_selects_nothing() {
    let site = seeded().await;
    for (field, text) in
        [("status", "DONE"), ("from", "soon"), ("parent", "x"), ("label", "team"), ("id", "1,x")]
    {
        let question = format!("/ui/executions/bulk?action=cancel&{field}={text}");
        let shown = site.get(&question).await;
        assert_eq!(shown.status, StatusCode::CONFLICT, "{question}");
        let fields = format!("action=cancel&key={field}&{field}={text}");
        let created = site.submit("/ui/executions", "/ui/executions/bulk", &fields).await;
        assert_eq!(created.status, StatusCode::CONFLICT, "{fields}");
        let listed = site.get(&format!("/ui/executions?{field}={text}")).await;
        assert_eq!(listed.status, StatusCode::OK);
        assert_eq!(listed.body.contains("is ignored"), field != "id", "{field}");
    }
    let running = site.get("/ui/executions?status=RUNNING").await;
    assert!(running.body.contains("name=\"id\" value=\""), "nothing was cancelled");
}

#[tokio::test(start_paused = true)]
async fn every_playbook_of_a_large_catalog_is_found_and_listed() {
    let site = seeded().await;
    for number in 0..PAGE_MAX + 2 {
        let document = REFUND.replace("path: billing/refund", &format!("path: many/p{number:04}"));
        site.app.register(&document).await.expect("a playbook");
    }
    let last = format!("many/p{:04}", PAGE_MAX + 1);
    let found = site.get(&format!("/ui/find?q={last}")).await;
    assert!(found.body.contains(&last), "{}", found.body);
    let first = site.get("/ui/playbooks").await;
    assert!(!first.body.contains(&last));
    let after = first.between("<a href=\"/ui/playbooks?after=", "\"");
    let second = site.get(&format!("/ui/playbooks?after={after}")).await;
    assert!(second.body.contains(&last), "{}", second.body);
    assert!(!second.body.contains("rel=\"next\""));
    let narrow = site.get(&format!("/ui/playbooks?q={}", last.to_uppercase())).await;
    assert!(narrow.body.contains(&last));
}

#[tokio::test(start_paused = true)]
async fn a_bulk_job_is_created_from_ticked_executions_and_shows_its_progress() {
    let site = seeded().await;
    let listed = site.get("/ui/executions").await;
    let id = listed.between("name=\"id\" value=\"", "\"");
    let question = format!("/ui/executions/bulk?action=cancel&id={id}");
    let asked = site.get(&question).await;
    assert_eq!(asked.between("name=\"id\" value=\"", "\""), id);
    let fields = format!("action=cancel&id={id}&key=once");
    let created = site.submit(&question, "/ui/executions/bulk", &fields).await;
    assert_eq!(created.status, StatusCode::SEE_OTHER, "{}", created.body);
    let job = created.location().to_owned();
    let again = site.submit(&question, "/ui/executions/bulk", &fields).await;
    assert_eq!(again.location(), job, "a form that is sent twice creates one job");
    check(
        &site,
        &job,
        expect![[r#"
        Cancel executions
        Stop
        The executions that are left are not touched.
        Stop
        Running 0 of 1
        Done 0 · Unchanged 0 · Failed 0 · Created <date> 08:00:00 UTCAllDoneUnchangedFailed
        No results yet.
        Back to the executions · Bulk jobs
    "#]],
    )
    .await;
    let stop = CancellationToken::new();
    while site.get(&job).await.body.contains("data-refresh") {
        site.app.advance_bulk_jobs("one", &stop).await.expect("the store answers");
    }
    check(&site, &job, expect![[r#"
        Cancel executions
        Completed 1 of 1
        Done 1 · Unchanged 0 · Failed 0 · Created <date> 08:00:00 UTC · Ended <date> 08:00:00 UTCAllDoneUnchangedFailed
        Results
        | Result | Execution | New execution | Why
        | Done | <id> |  |
        Back to the executions · Bulk jobs
    "#]]).await;
    check(
        &site,
        "/ui/executions/bulk",
        expect![[r#"
        Bulk jobs
        Bulk jobs
        | Action | Status | Created | Done | Unchanged | Failed
        | Cancel executions | Completed | <date> 08:00:00 UTC | 1 | 0 | 0
        Back to the executions
    "#]],
    )
    .await;
    let stopped = site.submit(&question, &format!("{job}/stop"), "").await;
    assert_eq!(stopped.location(), job);
}
