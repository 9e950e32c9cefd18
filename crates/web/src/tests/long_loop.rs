//! The page of an execution with a loop of thousands of items: the next step, items and failures that
//! are far from the position.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use noetl_api::LeaseRequest;
use noetl_control::{PlaybookChoice, StartRequest};
use noetl_model::{
    ErrorKind, ExecutionId, Lease, LeaseScope, Logs, Outcome, Pool, Report, ToolError, WorkerId,
};
use serde_json::{Map, json};

use super::Site;
use super::text::content_text;

const LOOP: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: many, path: tests/many}
workload: {items: 2000}
workflow:
  - step: price
    loop: {in: '{{ workload.items }}', iterator: number, spec: {mode: parallel, max_in_flight: 200}}
    tool:
      kind: python
      code: 'pass'
      spec: {policy: {rules: [{when: \"{{ output.status == 'error' }}\", then: {do: continue}}]}}
    next: {arcs: [{step: after}]}
  - step: after
    tool: {kind: python, code: 'pass'}
";

/// The items that fail.
const FAILED: [u64; 3] = [3, 900, 1700];
/// Number of commands that are leased at once.
const LEASED: usize = 200;

async fn leased(site: &Site) -> Vec<Lease> {
    let request = LeaseRequest {
        worker: WorkerId::new("w"),
        pool: Pool::new("shared"),
        scope: LeaseScope::All,
        max: LEASED,
        wait: Duration::ZERO,
    };
    site.app.lease_commands(request).await.expect("leases")
}

fn report(lease: &Lease) -> Report {
    let outcome = match lease.item {
        Some(item) if FAILED.contains(&item) => {
            let error = ToolError::new(ErrorKind::Exception, format!("no price for {item}"));
            Outcome::Failed { error, output: None }
        }
        Some(_) | None => Outcome::Completed { output: Arc::new(json!(1)) },
    };
    Report {
        execution: lease.execution,
        command: lease.command,
        attempt: lease.attempt,
        worker: WorkerId::new("w"),
        outcome,
        logs: Logs { stdout: format!("item {:?}", lease.item), stderr: String::new() },
        next: None,
    }
}

/// Returns a site with a completed execution whose loop had 2,000 items.
async fn completed() -> (Site, ExecutionId) {
    let (site, execution) = begun().await;
    loop {
        let leases = leased(&site).await;
        if leases.is_empty() {
            return (site, execution);
        }
        let reports = leases.iter().map(report).collect();
        site.app.report_commands(reports).await.expect("answers");
    }
}

/// Returns a site with an execution whose loop has begun.
async fn begun() -> (Site, ExecutionId) {
    let site = Site::new();
    site.app.register(LOOP).await.expect("a playbook");
    let playbook = PlaybookChoice::Path { path: "tests/many".to_owned(), version: None };
    let started = site.app.start(StartRequest::new(playbook, Map::new())).await;
    (site, started.expect("an execution").execution)
}

/// Returns the first address on a page that contains a text.
fn link(body: &str, part: &str) -> String {
    let links = body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let found = links.map(|it| it.replace("&amp;", "&")).find(|it| it.contains(part));
    found.unwrap_or_else(|| panic!("no link with {part}: {}", content_text(body)))
}

#[tokio::test(start_paused = true)]
async fn far_places_of_a_long_loop_are_reached_by_links() {
    let (site, execution) = completed().await;
    let base = format!("/ui/executions/{execution}");

    // The next step is thousands of events away.
    let shown = site.get(&format!("{base}?at=3")).await;
    let found = site.get(&link(&shown.body, "seek=step")).await;
    assert_eq!(found.status, StatusCode::SEE_OTHER, "{}", found.body);
    let entered = site.get(found.location()).await;
    let text = content_text(&entered.body);
    assert!(text.contains("step.entered after"), "{text}");

    // Every failed item is reached, one after another, and then the first again.
    let mut page = site.get(&format!("{base}?step=price")).await;
    for item in FAILED.into_iter().chain([FAILED[0]]) {
        let found = site.get(&link(&page.body, "seek=failed")).await;
        assert_eq!(found.location(), format!("{base}?step=price&item={item}"));
        page = site.get(found.location()).await;
        let text = content_text(&page.body);
        assert!(text.contains(&format!("no price for {item}")), "{text}");
    }

    // An item in the middle is shown, also one that completed.
    for (item, said) in
        [(0, "Item 0"), (450, "Item 450"), (1234, "Item 1,234"), (1999, "Item 1,999")]
    {
        let shown = site.get(&format!("{base}?step=price&item={item}")).await;
        let text = content_text(&shown.body).to_lowercase();
        assert!(text.contains(&format!("{}completed", said.to_lowercase())), "{item}: {text}");
    }
    let missing = site.get(&format!("{base}?step=price&item=2000")).await;
    assert!(content_text(&missing.body).contains("No command of this item"));

    // Groups of items in the timeline lead to their items and to those that failed.
    let shown = site.get(&format!("{base}?expand=price")).await;
    let first = link(&shown.body, "item=0");
    assert!(content_text(&site.get(&first).await.body).contains("item 0completed"));
    let found = site.get(&link(&shown.body, "seek=failed")).await;
    assert_eq!(found.location(), format!("{base}?step=price&item=3&expand=price"));
}

#[tokio::test(start_paused = true)]
async fn an_expression_is_evaluated_as_an_item_of_a_loop_sees_it() {
    let (site, execution) = begun().await;
    leased(&site).await;
    let base = format!("/ui/executions/{execution}");
    let tried = format!("{base}?tab=try&expression=iter.number*2");
    let outside = content_text(&site.get(&tried).await.body);
    assert!(outside.contains("As seen by"), "{outside}");
    let inside = content_text(&site.get(&format!("{tried}&by=price&by_item=7")).await.body);
    assert!(inside.contains("number\n14") || inside.contains("14"), "{inside}");
    assert!(!outside.contains("14\n"), "{outside}");
    let closed = site.get(&format!("{tried}&by=after")).await;
    assert_eq!(closed.status, StatusCode::OK);
    let text = content_text(&closed.body);
    assert!(text.contains("Step after has no open run at event"), "{text}");

    let variables = content_text(&site.get(&format!("{base}?tab=variables")).await.body);
    let own = variables.split("iter\n").nth(1).expect("the variables of items");
    assert!(own.contains("price item 0") && own.contains("number"), "{variables}");
}
