//! Two executions side by side, and the ways that lead there.

use std::sync::Arc;

use axum::http::StatusCode;
use expect_test::{Expect, expect};
use noetl_model::Outcome;
use serde_json::json;

use super::execution::{ORDERS, failed, start, work};
use super::text::content_text;
use super::{Shown, Site};

async fn check(site: &Site, path: &str, expected: Expect) {
    let shown = site.get(path).await;
    assert_eq!(shown.status, StatusCode::OK, "{path}: {}", shown.body);
    assert!(!shown.body.contains("<b>"), "{path}");
    expected.assert_eq(&content_text(&shown.body));
}

/// A site with a failed execution, and one of a second version that does not fail.
async fn failed_and_repaired() -> (Site, String) {
    let (site, failed) = failed().await;
    let second = ORDERS.replace("  - step: alert\n", "  - step: warn\n").replace("alert", "warn");
    site.app.register(&second).await.expect("a second version");
    let repaired = start(&site).await;
    work(&site, Outcome::Completed { output: Arc::new(json!({ "total": 43 })) }, "").await;
    work(&site, Outcome::Completed { output: Arc::new(json!({ "id": 7 })) }, "").await;
    (site, format!("/ui/executions/{failed}/compare?to={repaired}"))
}

#[tokio::test(start_paused = true)]
async fn two_executions_are_shown_with_the_event_at_which_they_part() {
    let (site, address) = failed_and_repaired().await;
    check(&site, &address, expect![[r#"
        Compare
        Swap
        <id>
        shop/orders v1
        Started <date> 08:00:00 UTC · Took 0 ms
        Event 13 of 13
        no address <b>
        <id>
        shop/orders v2
        Started <date> 08:00:00 UTC · Took 0 ms
        Event 13 of 13
        Event of the first
        Second execution
        Event of the second
        Show
        The executions are of different versions of the playbook: v1 and v2. Show the difference of the versions
        Where they part
        Event 5 command.completed +0 ms
        Event 5 command.completed +0 ms
        Compare both at this event
        Steps
        Steps
        | Step | <id> | <id>
        | load |
        completed 0 ms
        {1}
        total42 |
        completed 0 ms
        {1}
        total43
        | bill |
        failed 0 ms
        exceptionno address <b> |
        completed 0 ms
        {1}
        id7
        | alert |
        not reached | This version has no such step.
        | warn | This version has no such step. |
        not reached
        ctx
        ctx
        | Name | <id> | <id>
        | total |
        42 |
        43
        Workload
        No difference.
        1 value is the same
        workload
        {1}
        minimum10
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn two_positions_of_one_execution_are_compared() {
    let (site, execution) = failed().await;
    check(
        &site,
        &format!("/ui/executions/{execution}/compare?at=13&to=3"),
        expect![[r#"
            Compare
            Swap
            <id>
            shop/orders v1
            Started <date> 08:00:00 UTC · Took 0 ms
            Event 13 of 13
            no address <b>
            <id>
            shop/orders v1
            Started <date> 08:00:00 UTC · Took 0 ms
            Event 3 of 13
            Event of the first
            Second execution
            Event of the second
            Show
            Steps
            Steps
            | Step | Event 13 | Event 3
            | load |
            completed 0 ms
            {1}
            total42 |
            running
            | bill |
            failed 0 ms
            exceptionno address <b> |
            not reached
            1 step is the same
            alert not reached
            ctx
            ctx
            | Name | Event 13 | Event 3
            | total |
            42 | no value
            Workload
            No difference.
            1 value is the same
            workload
            {1}
            minimum10
        "#]],
    )
    .await;
}

fn link<'a>(shown: &'a Shown, part: &str) -> &'a str {
    let links = shown.body.split("href=\"").skip(1).filter_map(|it| it.split('"').next());
    let found = links.clone().find(|it| it.contains(part));
    found.unwrap_or_else(|| panic!("no {part} in {:?}", links.collect::<Vec<_>>()))
}

#[tokio::test(start_paused = true)]
async fn a_retry_and_a_run_again_lead_to_the_comparison_with_the_original() {
    let (site, execution) = failed().await;
    let base = format!("/ui/executions/{execution}");
    for action in ["retry", "rerun"] {
        let made = site.submit(&base, &format!("{base}/{action}"), "").await;
        let shown = site.get(made.location()).await;
        let address = link(&shown, "/compare?to=").replace("&amp;", "&");
        assert!(address.starts_with(&base), "{action}: {address}");
        let compared = site.get(&address).await;
        assert_eq!(compared.status, StatusCode::OK, "{action}: {}", compared.body);
        let is_fork = compared.body.contains("Both share their first");
        assert_eq!(is_fork, action == "retry", "{action}: {}", content_text(&compared.body));
    }
}

#[tokio::test(start_paused = true)]
async fn two_executions_are_chosen_in_the_list() {
    let (site, first) = failed().await;
    let second = start(&site).await;
    let list = site.get("/ui/executions?status=").await;
    let chosen = link(&list, &format!("compare={first}")).to_owned();
    let list = site.get(&chosen).await;
    assert!(list.body.contains("Choose the execution to compare with"), "{}", list.body);
    let expected = format!("/ui/executions/{first}/compare?to={second}");
    assert_eq!(link(&list, "/compare?"), expected);
    assert_eq!(site.get(&expected).await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn an_execution_that_does_not_exist_is_not_compared() {
    let (site, execution) = failed().await;
    for to in ["999999999999", "x", "12&to_at=99"] {
        let shown = site.get(&format!("/ui/executions/{execution}/compare?to={to}")).await;
        let expected = if to.starts_with("12") { StatusCode::OK } else { StatusCode::NOT_FOUND };
        assert_eq!(shown.status, expected, "{to}");
    }
}
