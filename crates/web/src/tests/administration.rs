//! Pages of administrators: tokens, the audit log, retention; and pauses with their reasons.

use axum::http::{StatusCode, header};
use noetl_app::AuditLogQuery;
use noetl_model::{TrailFact, TrailOutcome};

use super::Site;
use super::execution::{ORDERS, failed};
use super::text::content_text;

fn fact(site: &Site, number: u32) -> TrailFact {
    TrailFact {
        at: site.app.now(),
        actor: Some(if number.is_multiple_of(2) { "ada" } else { "eve" }.to_owned()),
        action: format!("POST /api/thing/{number}"),
        subject: Some(format!("/api/thing/{number}")),
        source: Some("127.0.0.1".to_owned()),
        outcome: TrailOutcome::Done,
        detail: Some("200".to_owned()),
    }
}

async fn with_entries(count: u32) -> Site {
    let site = Site::new();
    for number in 1..=count {
        site.app.audit(fact(&site, number)).await;
    }
    site
}

#[tokio::test(start_paused = true)]
async fn the_newest_entries_of_the_audit_log_come_first_and_older_ones_on_the_next_pages() {
    let site = with_entries(120).await;
    let mut address = "/ui/audit".to_owned();
    let mut numbers = Vec::new();
    loop {
        let shown = site.get(&address).await.body;
        let found = shown.split("<code>POST /api/thing/").skip(1);
        numbers.extend(found.filter_map(|rest| rest.split('<').next()?.parse::<u32>().ok()));
        let Some((before, _)) = shown.split_once("\" rel=\"next\"") else { break };
        address = before.rsplit("href=\"").next().expect("an address").replace("&amp;", "&");
    }
    assert_eq!(numbers, (1..=120).rev().collect::<Vec<u32>>());
}

#[tokio::test(start_paused = true)]
async fn the_audit_log_is_filtered_by_the_address_and_verified() {
    let site = with_entries(9).await;
    let shown = site.get("/ui/audit?actor=eve&action=thing/7").await.body;
    assert!(shown.contains("/api/thing/7") && !shown.contains("/api/thing/5"), "{shown}");
    let bad = site.get("/ui/audit?since=soon").await.body;
    assert!(bad.contains("is ignored") && bad.contains("/api/thing/9"), "{bad}");
    let verified = site.get("/ui/audit?verify=on").await.body;
    let said = content_text(&verified);
    assert!(said.contains("9 entries were compared with their digests."), "{said}");
}

#[tokio::test(start_paused = true)]
async fn entries_below_a_number_of_the_audit_log_are_read_newest_first() {
    let site = with_entries(9).await;
    let numbers = async |before, after| {
        let query = AuditLogQuery { after, limit: Some(3), ..AuditLogQuery::default() };
        let page = site.app.newest_audit(before, &query).await.expect("a page");
        (page.entries.iter().map(|it| it.number).collect::<Vec<u64>>(), page.next)
    };
    assert_eq!(numbers(None, 0).await, (vec![9, 8, 7], Some(7)));
    assert_eq!(numbers(Some(4), 0).await, (vec![3, 2, 1], None));
    assert_eq!(numbers(Some(5), 2).await, (vec![4, 3], None));
    assert_eq!(numbers(Some(1), 0).await, (vec![], None));
}

#[tokio::test(start_paused = true)]
async fn the_secret_of_a_token_is_in_one_answer_and_the_token_can_be_revoked() {
    let site = Site::new();
    let page = "/ui/tokens";
    let fields = "action=create&name=ci&owner=Ada&role=operator&paths=team-a/*,+shared/report";
    let created = site.submit(page, page, fields).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.body);
    assert_eq!(created.headers[header::CACHE_CONTROL], "no-store");
    assert!(!created.headers.contains_key(header::LOCATION), "the secret is in no address");
    let secret = created.between("<code>noetl_", "<");
    let listed = site.get(page).await.body;
    assert!(!listed.contains(&secret), "the secret is shown once");
    let roles = "<code>operator:team-a/*</code> <code>operator:shared/report</code>";
    assert!(listed.contains(roles), "{listed}");
    let again = site.submit(page, page, fields).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(again.body.contains("value=\"team-a/*, shared/report\""), "the fields are kept");
    let revoked = site.submit(page, page, "action=revoke&name=ci").await;
    assert_eq!(revoked.location(), page);
    assert!(site.app.list_tokens("", 10).await.expect("tokens").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_token_that_cannot_be_created_says_why() {
    let site = Site::new();
    let page = "/ui/tokens";
    for (fields, reason) in [
        ("name=+&role=viewer", "has 1 to"),
        ("name=ci&role=king", "is no role"),
        ("name=ci&role=admin&paths=team-a/*", "has no paths"),
        ("name=ci&role=viewer&expires_at=soon", "is not a time"),
        ("name=ci&role=viewer&expires_at=2001-01-01T00:00", "would have expired"),
    ] {
        let refused = site.submit(page, page, &format!("action=create&{fields}")).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{fields}");
        assert!(refused.body.contains(reason), "{fields}: {}", refused.body);
    }
    assert!(site.app.list_tokens("", 10).await.expect("tokens").is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_execution_is_kept_then_deleted_and_its_page_tells_who_did_it() {
    let (mut site, execution) = failed().await;
    site.visitor.actor = Some("ada".parse().expect("a name"));
    let page = format!("/ui/executions/{execution}/retention");
    let kept = site.submit(&page, &page, "action=keep&reason=for+the+audit").await;
    assert_eq!(kept.location(), page, "{}", kept.body);
    let shown = content_text(&site.get(&page).await.body);
    assert!(shown.contains("· ada · for the audit"), "{shown}");
    assert!(!shown.contains("cannot be restored"), "a kept execution has no button to delete it");
    let refused = site.submit(&page, &page, "action=delete").await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.body);
    site.submit(&page, &page, "action=end").await;
    site.send_messages().await;
    let deleted = site.submit(&page, &page, "action=delete").await;
    let address = format!("/ui/executions/{execution}");
    assert_eq!(deleted.location(), address, "{}", deleted.body);
    let gone = site.get(&address).await;
    assert_eq!(gone.status, StatusCode::GONE);
    let said = content_text(&gone.body);
    for part in ["Deleted execution", "By | ada", "shop/orders", "Digest of the last event | "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(site.get(&page).await.status, StatusCode::GONE, "the other pages say it too");
}

#[tokio::test(start_paused = true)]
async fn the_system_shows_the_rules_of_the_retention_and_its_last_round() {
    let site = Site::new();
    let none = content_text(&site.get("/ui/system").await.body);
    assert!(none.contains("No rule: ended executions are kept."), "{none}");
    assert!(none.contains("has not looked for expired executions yet"), "{none}");
    let stop = tokio_util::sync::CancellationToken::new();
    let (app, until) = (site.app.clone(), stop.clone());
    let rounds = tokio::spawn(async move { app.run_retention("one".to_owned(), until).await });
    while site.app.last_retention().is_none() {
        tokio::time::advance(std::time::Duration::from_secs(30)).await;
    }
    stop.cancel();
    rounds.await.expect("it ends");
    let said = content_text(&site.get("/ui/system").await.body);
    assert!(said.contains("0 executions deleted · 0 rows removed"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn pauses_of_pools_and_playbooks_are_listed_with_their_reason_and_end_there() {
    let mut site = Site::new();
    site.visitor.actor = Some("ada".parse().expect("a name"));
    site.app.register(ORDERS).await.expect("a playbook");
    let (workers, playbook) = ("/ui/workers", "/ui/playbooks/shop/orders");
    site.submit(playbook, playbook, "action=pause&reason=new+prices").await;
    // The page of workers has no form yet, so the token is that of another page.
    site.submit(playbook, workers, "action=pause&pool=gpu&reason=maintenance").await;
    let said = content_text(&site.get(workers).await.body);
    for part in ["Playbook shop/orders | ada | new prices |", "Pool gpu | ada | maintenance |"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let listed = content_text(&site.get("/ui/playbooks").await.body);
    assert!(listed.contains("Paused"), "{listed}");
    let shown = content_text(&site.get(playbook).await.body);
    assert!(shown.contains("by ada · new prices"), "{shown}");
    site.submit(workers, workers, "action=resume_playbook&playbook=shop/orders").await;
    site.submit(workers, workers, "action=resume&pool=gpu").await;
    assert!(site.app.pause_list().await.expect("pauses").pauses.iter().all(|it| it.is_ending));
}

/// Starts two executions of a step that runs once at a time, and waits until one holds the limit.
async fn site_with_a_queue() -> Site {
    let site = Site::new();
    site.app
        .register(include_str!("../../../cli/tests/it/browser/seed/crm.yaml"))
        .await
        .expect("a playbook");
    let address = "/ui/playbooks/sales/crm";
    for labels in ["customer:initech", "customer:acme"] {
        let fields = format!("action=run&pool=crm&labels={labels}");
        let started = site.submit(address, address, &fields).await;
        assert!(started.location().starts_with("/ui/executions/"), "{}", started.body);
    }
    let stop = tokio_util::sync::CancellationToken::new();
    let (control, until) = (site.app.control().clone(), stop.clone());
    let loops = tokio::spawn(async move { control.run(until).await });
    let crm = "crm".parse().expect("a name");
    for _ in 0..1000 {
        let limit = site.app.limit_detail(&crm).await.expect("an answer");
        if limit.is_some_and(|it| (it.slots.len(), it.queue.len()) == (1, 1)) {
            break;
        }
        tokio::time::advance(std::time::Duration::from_millis(10)).await;
    }
    stop.cancel();
    loops.await.expect("they end");
    site
}

#[tokio::test(start_paused = true)]
async fn a_limit_shows_its_holder_and_its_queue() {
    let site = site_with_a_queue().await;
    let workers = site.get("/ui/workers").await.body;
    assert!(workers.contains("<a href=\"/ui/limits/crm\"><code>crm</code></a>"), "{workers}");
    let shown = site.get("/ui/limits/crm").await.body;
    let rows = shown.split("<section>").skip(1).map(|section| section.matches("<tr").count() - 1);
    assert_eq!(rows.collect::<Vec<usize>>(), [1, 1], "{shown}");
    let said = content_text(&shown);
    for part in ["Allows | 1 at a time", "Holders | 1", "Waiting | 1", "| sales/crm | Command 0 |"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let listed = content_text(&site.get("/ui/executions?label=customer:acme").await.body);
    assert!(listed.contains("for limit crm, number 1 in its queue."), "{listed}");
    assert_eq!(
        listed.matches("sales/crm").count(),
        1,
        "the label of the form selects one: {listed}"
    );
}

#[tokio::test(start_paused = true)]
async fn labels_that_cannot_be_read_start_nothing_and_stay_in_the_form() {
    let site = Site::new();
    site.app.register(ORDERS).await.expect("a playbook");
    let address = "/ui/playbooks/shop/orders";
    let refused = site.submit(address, address, "action=run&labels=team").await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        refused.body.contains("name=\"labels\" placeholder=\"team:ops, env:test\" value=\"team\"")
    );
    assert!(site.app.newest_executions().await.expect("executions").executions.is_empty());
}
