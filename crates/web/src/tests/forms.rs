//! Forms: their effects, their tokens, and the login.

use std::sync::Arc;

use axum::http::StatusCode;
use noetl_model::ExecutionStatus;

use super::{OneToken, Site};
use crate::state::SignIn;

#[tokio::test(start_paused = true)]
async fn the_example_runs_with_one_click() {
    let site = Site::new();
    let shown = site.submit("/ui/", "/ui/example", "").await;
    assert_eq!(shown.status, StatusCode::SEE_OTHER, "{}", shown.body);
    assert!(shown.location().starts_with("/ui/executions/"), "{}", shown.location());
    let newest = site.app.newest_executions().await.expect("executions").executions;
    assert_eq!(newest[0].playbook.path, "examples/hello_world");
}

#[tokio::test(start_paused = true)]
async fn an_execution_is_started_with_the_values_of_the_form_and_cancelled() {
    let site = Site::new();
    site.submit("/ui/", "/ui/example", "").await;
    let run = "action=run&workload.name=you";
    let page = "/ui/playbooks/examples/hello_world";
    let started = site.submit(page, page, run).await;
    assert_eq!(started.status, StatusCode::SEE_OTHER, "{}", started.body);
    let action = format!("{}/cancel", started.location());
    let cancelled = site.submit("/ui/executions", &action, "").await;
    assert_eq!(cancelled.location(), "/ui/executions");
    let newest = site.app.newest_executions().await.expect("executions").executions;
    assert_eq!(newest[0].status, ExecutionStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_form_without_its_token_or_of_another_browser_has_no_effect() {
    let site = Site::new();
    let (one, other) = (site.get("/ui/").await, site.get("/ui/").await);
    let token = one.between("name=\"form_token\" value=\"", "\"");
    for (cookie, token) in
        [(one.cookie(), String::new()), (one.cookie(), "guess".to_owned()), (other.cookie(), token)]
    {
        let shown = site.post("/ui/example", &cookie, format!("form_token={token}")).await;
        assert_eq!(shown.status, StatusCode::FORBIDDEN);
        assert!(shown.body.contains("out of date"));
    }
    assert!(site.app.newest_executions().await.expect("executions").executions.is_empty());
}

#[tokio::test(start_paused = true)]
async fn choices_are_kept_in_a_cookie() {
    let site = Site::new();
    let shown = site.submit("/ui/", "/ui/preferences", "theme=dark&language=de&times=utc").await;
    assert_eq!(shown.cookie(), "noetl_preferences=dark.de.utc");
}

#[tokio::test(start_paused = true)]
async fn a_login_trades_a_token_for_a_session() {
    let site = Site::with(SignIn::Token(Arc::new(OneToken)));
    let refused = site.submit("/ui/login", "/ui/login", "token=wrong").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert!(!refused.body.contains("wrong"), "the token is not shown");
    let admitted = site.submit("/ui/login", "/ui/login", "token=right&next=/ui/system").await;
    assert_eq!(admitted.location(), "/ui/system");
    assert!(admitted.cookie().starts_with("noetl_session="), "{}", admitted.cookie());
    let elsewhere = site.submit("/ui/login", "/ui/login", "token=right&next=//evil.example").await;
    assert_eq!(elsewhere.location(), "/ui/");
}

#[tokio::test(start_paused = true)]
async fn the_connection_of_a_credential_is_tested_by_an_execution() {
    let site = Site::new();
    let page = "/ui/credentials";
    for (name, kind) in [("orders", "postgres"), ("other", "vault")] {
        let fields = format!("action=put&name={name}&type={kind}&data=%7B%22host%22%3A%22db%22%7D");
        let stored = site.submit(page, page, &fields).await;
        assert_eq!(stored.status, StatusCode::SEE_OTHER, "{}", stored.body);
    }
    let started = site.submit(page, page, "action=test&name=orders").await;
    assert!(started.location().starts_with("/ui/executions/"), "{}", started.body);
    let newest = site.app.newest_executions().await.expect("executions").executions;
    assert_eq!(newest[0].playbook.path, "connection_test/postgres");
    let refused = site.submit(page, page, "action=test&name=other").await;
    assert!(refused.body.contains("There is no test for a credential of type vault."));
}
