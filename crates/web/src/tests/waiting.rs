//! The page of what waits for a person: paging, and the name under which a visitor acts.

use noetl_app::{KeptSignalFilter, LinkMaker, StatedNames};
use noetl_control::{PlaybookChoice, SignalByKey, StartRequest};
use noetl_model::{CommandId, Event, Seq};
use serde_json::{Map, Value, json};

use super::Site;

const SIGNALS: &str = "
  - {step: start, loop: {in: 120, iterator: it, spec: {mode: parallel, max_in_flight: 200}}, tool: {kind: wait, signal: 'go', key: '{{ it }}'}}
";
const APPROVALS: &str = "
  - {step: start, loop: {in: 70, iterator: it, spec: {mode: parallel, max_in_flight: 200}}, tool: {kind: approval, title: 'Region {{ it }}'}}
";

async fn started(site: &Site, path: &str, workflow: &str) -> noetl_model::ExecutionId {
    let text = format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: t, path: {path}}}\nworkflow:{workflow}"
    );
    site.app.register(&text).await.expect("it is valid");
    let choice = PlaybookChoice::Path { path: path.to_owned(), version: None };
    let request = StartRequest::new(choice, Map::new());
    site.app.control().start(request).await.expect("a start")
}

/// Follows the links `More` of one section from page to page; returns the number of entries of both
/// kinds on each page.
async fn pages(site: &Site, section: &str) -> Vec<(usize, usize)> {
    let mut counts = Vec::new();
    let mut address = "/ui/waiting".to_owned();
    loop {
        let shown = site.get(&address).await.body;
        let approvals = shown.matches("<h3>Region ").count();
        let signals = shown.matches("<h3>Signal ").count();
        counts.push((approvals, signals));
        let is_first = !shown.contains("href=\"/ui/waiting\">← The oldest");
        assert_eq!(is_first, counts.len() == 1, "a later page leads back");
        let Some((_, rest)) = shown.split_once(&format!("<h2>{section}</h2>")) else {
            return counts;
        };
        let rest = rest.split("</section>").next().unwrap_or_default();
        let Some((_, link)) = rest.split_once("class=\"button\" href=\"") else { return counts };
        address = link.split('"').next().unwrap_or_default().replace("&amp;", "&");
        assert!(counts.len() < 9, "the pages do not end");
    }
}

#[tokio::test(start_paused = true)]
async fn every_wait_is_on_one_page_and_the_last_page_has_no_next() {
    let site = Site::new();
    started(&site, "t/approvals", APPROVALS).await;
    started(&site, "t/signals", SIGNALS).await;
    assert_eq!(pages(&site, "Approvals").await, [(50, 50), (20, 50)]);
    assert_eq!(pages(&site, "Signals").await, [(50, 50), (50, 50), (50, 20)]);
}

#[tokio::test(start_paused = true)]
async fn a_visitor_with_a_name_acts_under_it() {
    let mut site = Site::new();
    site.visitor.actor = Some("ada".parse().expect("a name"));
    let execution = started(&site, "t/approvals", APPROVALS).await;
    let page = format!("/ui/executions/{execution}");
    let paused = site.submit(&page, &format!("{page}/pause"), "").await;
    assert!(paused.status.is_redirection(), "{}", paused.body);
    let address = format!("/ui/waiting/{execution}/0");
    let decided = site.submit("/ui/waiting", &address, "decision=approve&actor=eve").await;
    assert!(decided.status.is_redirection(), "{}", decided.body);
    let events = site.app.control().events(execution, Seq::ZERO, 1000).await.expect("events");
    let named: Vec<(Option<String>, bool)> = events
        .into_iter()
        .filter_map(|recorded| match recorded.event {
            Event::ExecutionPaused { actor, .. } => Some((actor, false)),
            Event::ApprovalDecided { actor, actor_stated, .. } => Some((actor, actor_stated)),
            _ => None,
        })
        .collect();
    let ada = (Some("ada".to_owned()), false);
    assert_eq!(named, [ada.clone(), ada]);
}

const FOR_ADA: &str = "
  - {step: start, tool: {kind: approval, title: 'Region', approvers: [ada]}}
";

#[tokio::test(start_paused = true)]
async fn a_visitor_without_a_checked_name_decides_for_an_approver_only_by_a_link() {
    let mut site = Site::new();
    let execution = started(&site, "t/ada", FOR_ADA).await;
    site.visitor.names = StatedNames::Refused;
    let address = format!("/ui/waiting/{execution}/0");
    let refused = site.submit("/ui/waiting", &address, "decision=approve&actor=ada").await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(refused.body.contains("the name of the caller is not checked"), "{}", refused.body);
    let maker = LinkMaker::ForEveryone(Some("root".to_owned()));
    let link = site.app.approval_link(execution, CommandId(0), Some("ada".into()), None, &maker);
    let link = link.await.expect("a link").path;
    let decided = site.submit(&link, &link, "decision=approve").await;
    assert!(decided.status.is_redirection(), "{}", decided.body);
    let events = site.app.control().events(execution, Seq::ZERO, 1000).await.expect("events");
    let decided = events.into_iter().find_map(|recorded| match recorded.event {
        Event::ApprovalDecided { actor, link_by, .. } => Some((actor, link_by)),
        _ => None,
    });
    assert_eq!(decided, Some((Some("ada".to_owned()), Some("root".to_owned()))));
}

/// Two waits for the same signal, each with a key.
const KEYED: &str = "
  - {step: start, loop: {in: [a, c], iterator: it, spec: {mode: parallel, max_in_flight: 2}}, tool: {kind: wait, signal: 'go', key: '{{ it }}'}}
";

/// Sends the form of the wait with a key, as often as told; returns the keys that still wait.
async fn keys_after(site: &Site, key: &str, times: usize) -> Vec<String> {
    let shown = site.get("/ui/waiting").await;
    let (token, cookie) = (shown.between("name=\"form_token\" value=\"", "\""), shown.cookie());
    let cards = shown.body.split("<article").skip(1);
    let card = cards.into_iter().find(|card| card.contains(&format!("<code>{key}</code>")));
    let card = card.expect("a card of the key");
    let value = |before: &str| {
        let rest = card.split_once(before).expect("the field").1;
        rest.split('"').next().unwrap_or_default().to_owned()
    };
    let mut body = format!("form_token={token}&return_to=/ui/waiting&body=1");
    for name in ["key", "once"] {
        body += &format!("&{name}={}", value(&format!("name=\"{name}\" value=\"")));
    }
    for _ in 0..times {
        let sent = site.post(&value("action=\""), &cookie, body.clone()).await;
        assert!(sent.status.is_redirection(), "{}", sent.body);
    }
    let waits = site.app.open_signal_waits(None, 10).await.expect("waits").waits;
    waits.into_iter().filter_map(|wait| wait.key).collect()
}

#[tokio::test(start_paused = true)]
async fn the_form_of_a_wait_with_a_key_ends_the_wait_of_that_key() {
    let site = Site::new();
    started(&site, "t/keyed", KEYED).await;
    assert_eq!(keys_after(&site, "c", 1).await, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_form_of_a_signal_that_is_sent_twice_sends_one_signal() {
    let site = Site::new();
    for _ in 0..2 {
        started(&site, "t/keyed", KEYED).await;
    }
    assert_eq!(keys_after(&site, "a", 2).await, ["c", "a", "c"], "one of two waits has ended");
    let unkeyed = "
  - {step: start, tool: {kind: wait, signal: 'go'}, next: {arcs: [{step: again}]}}
  - {step: again, tool: {kind: wait, signal: 'go'}}
";
    let site = Site::new();
    let execution = started(&site, "t/unkeyed", unkeyed).await;
    let shown = site.get("/ui/waiting").await;
    let (token, cookie) = (shown.between("name=\"form_token\" value=\"", "\""), shown.cookie());
    let once = shown.between("name=\"once\" value=\"", "\"");
    let action = format!("/ui/waiting/{execution}/signals/go");
    for _ in 0..2 {
        let body = format!("form_token={token}&return_to=/ui/waiting&body=1&once={once}");
        assert!(site.post(&action, &cookie, body).await.status.is_redirection());
    }
    let waits = site.app.open_signal_waits(None, 10).await.expect("waits").waits;
    assert_eq!(waits.len(), 1, "the second wait waits for its own signal");
}

#[tokio::test(start_paused = true)]
async fn a_signal_that_no_step_has_taken_is_shown_and_dropped() {
    let site = Site::new();
    for body in [json!({ "amount": 12 }), json!("x".repeat(5000))] {
        site.app.signal_by_key(by_key(body)).await.expect("it is kept");
    }
    let shown = site.get("/ui/waiting").await;
    assert!(shown.body.contains("amount") && shown.body.contains("The body has 5002 bytes."));
    let address = shown.between("action=\"/ui/waiting/kept-signals/", "\"");
    let address = format!("/ui/waiting/kept-signals/{address}");
    let dropped = site.submit("/ui/waiting", &address, "return_to=/ui/waiting").await;
    assert!(dropped.status.is_redirection(), "{}", dropped.body);
    let left = site.app.kept_signals(&KeptSignalFilter::default()).await.expect("signals").signals;
    assert_eq!(left.iter().map(|it| it.body_bytes).collect::<Vec<_>>(), [5002]);
    let again = site.submit("/ui/waiting", &address, "return_to=/ui/waiting").await;
    assert!(again.status.is_client_error(), "{}", again.status);
}

fn by_key(body: Value) -> SignalByKey {
    let (name, key) = ("paid".parse().expect("a name"), "A-1".parse().expect("a key"));
    let (sender, actor, once, kept_for) = (Some("shop".to_owned()), None, None, None);
    SignalByKey { name, key, body, sender, actor, once, kept_for }
}
