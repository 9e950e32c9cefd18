//! The text of every page for one seeded store, a file for each page.

use std::sync::Arc;

use expect_test::expect_file;
use noetl_api::WorkerNotice;
use noetl_api::wire::NewFeed;
use noetl_app::{BulkAction, BulkChoice, BulkRequest, LinkMaker, NewToken};
use noetl_control::{PauseCaller, PlaybookChoice, SignalByKey, StartRequest};
use noetl_model::{
    ChildExecutions, CommandId, CredentialPolicy, ErrorKind, ExecutionId, Outcome, Pool, ToolError,
    TrailFact, TrailOutcome, WorkerId,
};
use noetl_secrets::{NewCredential, PolicyChange};
use serde_json::{Map, json};

use super::execution::{ORDERS, work};
use super::text::content_text;
use super::{OneToken, Site};
use crate::state::SignIn;

const NIGHTLY: &str = "\
apiVersion: noetl.io/v1
kind: Schedule
metadata: {name: nightly, path: shop/nightly}
spec: {cron: '30 2 * * *', timezone: Europe/Berlin, dispatch: {playbook: shop/orders}}
";

const HOOK: &str = "\
apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: hook, path: shop/hook}
spec:
  source: webhook
  mode: push
  ingress: {gateway_path: /ingress/orders, verify: {type: bearer, secret: shop_hook}}
  dispatch: {playbook: shop/orders, payload_from: message.json}
";

/// A loop and a step for workers of another pool.
const TRAIN: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: train, path: models/train}
workload: {epochs: 3}
workflow:
  - step: train
    loop: {in: '{{ workload.epochs }}', iterator: epoch, spec: {mode: sequential}}
    tool: {kind: noop, result: '{{ epoch }}'}
";

/// A step of which one runs at a time, and labels.
const CRM: &str = include_str!("../../../cli/tests/it/browser/seed/crm.yaml");

/// A playbook that is paused.
const LETTERS: &str = include_str!("../../../cli/tests/it/browser/seed/letters.yaml");

/// An approval with a form.
pub(super) const RELEASE: &str = include_str!("../../../cli/tests/it/browser/seed/release.yaml");

pub(super) const CREDENTIAL_PURPOSE: &str = "Signs the messages of the shop.";

/// A store with something of everything, for tests that look at all pages.
pub(super) struct SeededPages {
    pub(super) site: Site,
    /// An execution that has failed.
    failed: ExecutionId,
    /// An execution whose pool has no worker.
    waiting: ExecutionId,
    pub(super) subscription: String,
    /// A bulk job that nobody carries out.
    bulk_job: String,
    /// An execution that waits for a person.
    approval: ExecutionId,
    /// The link of that approval.
    link: String,
    /// An execution that was deleted.
    deleted: ExecutionId,
    /// An execution that waits in the queue of a limit.
    queued: ExecutionId,
    /// An execution of a paused playbook.
    paused: ExecutionId,
}

async fn started(site: &Site, path: &str, pool: &str) -> ExecutionId {
    let playbook = PlaybookChoice::Path { path: path.to_owned(), version: None };
    let mut request = StartRequest::new(playbook, Map::new());
    request.input.pool = Pool::new(pool);
    site.app.start(request).await.expect("an execution").execution
}

pub(super) async fn seeded() -> SeededPages {
    let site = Site::new();
    let credential = NewCredential {
        name: "shop_hook".to_owned(),
        kind: "bearer".to_owned(),
        data: json!({ "token": "s3cr3t" }),
        meta: None,
        tags: Vec::new(),
        description: Some(CREDENTIAL_PURPOSE.to_owned()),
        policy: PolicyChange::Set(CredentialPolicy {
            paths: vec!["shop/*".to_owned(), "tests/*".to_owned()],
            hosts: vec!["db.shop.example:5432".parse().expect("a host")],
            ..CredentialPolicy::default()
        }),
    };
    site.app.put_credential(credential).await.expect("a credential");
    let changed = ORDERS.replace("minimum: 10", "minimum: 20");
    for document in [ORDERS, &changed, TRAIN, RELEASE, CRM, LETTERS, NIGHTLY, HOOK] {
        site.app.register(document).await.expect("a document");
    }
    let feed = json!({ "name": "audit", "from": "start" });
    let feed: NewFeed = serde_json::from_value(feed).expect("a feed");
    site.app.add_feed(feed).await.expect("a feed");
    let notice = WorkerNotice { worker: WorkerId::new("w"), pool: Pool::shared(), slots: 4 };
    site.app.announce_worker(&notice).await.expect("a worker");
    let failed = started(&site, "shop/orders", "shared").await;
    work(&site, Outcome::Completed { output: Arc::new(json!({ "total": 42 })) }, "").await;
    let error = ToolError::new(ErrorKind::Exception, "no address");
    work(&site, Outcome::Failed { error, output: None }, "bill: no address").await;
    let deleted = started(&site, "shop/orders", "shared").await;
    let children = ChildExecutions::Cancelled;
    site.app.cancel(deleted, None, children, None).await.expect("it is cancelled");
    site.send_messages().await;
    site.app.delete_execution(deleted, None).await.expect("it is deleted");
    let waiting = started(&site, "models/train", "gpu").await;
    started(&site, "sales/crm", "crm").await;
    let queued = started(&site, "sales/crm", "crm").await;
    let caller =
        PauseCaller { actor: Some("ada".to_owned()), reason: Some("broken printer".to_owned()) };
    site.app.pause_playbook("office/letters", caller).await.expect("a pause");
    let paused = started(&site, "office/letters", "shared").await;
    administered(&site).await;
    let subscriptions = site.app.list_subscriptions().await.expect("subscriptions");
    let subscription = subscriptions.subscriptions[0].subscription_id.clone();
    let request = BulkRequest {
        action: BulkAction::Cancel,
        choice: BulkChoice::Ids(vec![waiting]),
        reason: None,
    };
    let bulk_job = site.app.create_bulk(&request, None, None).await.expect("a bulk job").job_id;
    let approval = started(&site, "shop/release", "shared").await;
    let maker = LinkMaker::ForEveryone(None);
    let link =
        site.app.approval_link(approval, CommandId(0), Some("ada".to_owned()), None, &maker).await;
    let link = link.expect("a link").path.replace("/ui/decide/", "");
    SeededPages {
        site,
        failed,
        waiting,
        subscription,
        bulk_job,
        approval,
        link,
        deleted,
        queued,
        paused,
    }
}

/// Adds a signal that no step has taken, a token and an entry of the audit log.
async fn administered(site: &Site) {
    let signal = SignalByKey {
        name: "paid".parse().expect("a name"),
        key: "A-1001".parse().expect("a key"),
        body: json!({ "amount": 12 }),
        sender: Some("shop".to_owned()),
        actor: None,
        once: None,
        kept_for: None,
    };
    site.app.signal_by_key(signal).await.expect("it is kept");
    let token = NewToken {
        name: "ci".parse().expect("a name"),
        owner: Some("Ada".to_owned()),
        grants: vec!["operator:shop/*".parse().expect("a role")],
        expires_at: None,
        created_by: None,
    };
    site.app.create_token(token).await.expect("a token");
    let fact = TrailFact {
        at: site.app.now(),
        actor: Some("ada".to_owned()),
        action: "POST /api/schedules/pause".to_owned(),
        subject: Some("/api/schedules/pause".to_owned()),
        source: Some("127.0.0.1".to_owned()),
        outcome: TrailOutcome::Refused,
        detail: Some("403".to_owned()),
    };
    site.app.audit(fact).await;
}

/// Names and addresses of the pages, below `/ui/`; the tests in a browser visit them too.
const PAGES: &str = include_str!("pages.txt");

impl SeededPages {
    /// Returns names and addresses of all pages.
    pub(super) fn pages(&self) -> Vec<(&'static str, String)> {
        let pages = PAGES.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
        pages.map(|(name, path)| (name, format!("/ui/{}", self.filled(path)))).collect()
    }

    fn filled(&self, path: &str) -> String {
        path.replace("{failed}", &self.failed.to_string())
            .replace("{failed_step}", "bill")
            .replace("{unserved}", &self.waiting.to_string())
            .replace("{subscription}", &self.subscription)
            .replace("{bulk_job}", &self.bulk_job)
            .replace("{deleted}", &self.deleted.to_string())
            .replace("{queued}", &self.queued.to_string())
            .replace("{paused}", &self.paused.to_string())
            .replace("{approval}", &self.approval.to_string())
            .replace("{link}", &self.link)
    }
}

/// Replaces ids and hashes, which differ from run to run.
fn without_ids(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(from.len());
        let (run, after) = from.split_at(end);
        plain.push_str(before);
        plain.push_str(if run.len() >= 15 { "<id>" } else { run });
        rest = after;
    }
    plain + rest
}

#[tokio::test(start_paused = true)]
async fn every_page_has_the_text_of_its_file() {
    let seeded = seeded().await;
    for (name, address) in seeded.pages() {
        let shown = seeded.site.get(&address).await;
        assert!(shown.body.contains("<main"), "{address}: {}", shown.status);
        assert!(!shown.body.contains("s3cr3t"), "{address} has no secret");
        // A browser drops the second of two attributes with the same name.
        let twice = shown
            .body
            .split('<')
            .find(|tag| tag.split('>').next().unwrap_or_default().matches(" class=\"").count() > 1);
        assert_eq!(twice, None, "{address}");
        let text = without_ids(&content_text(&shown.body));
        expect_file![format!("snapshots/{name}.txt")].assert_eq(&text);
    }
}

#[tokio::test(start_paused = true)]
async fn the_login_has_the_text_of_its_file() {
    let site = Site::with(SignIn::Token(Arc::new(OneToken)));
    let shown = site.get("/ui/login?next=/ui/system").await;
    expect_file!["snapshots/login.txt"].assert_eq(&content_text(&shown.body));
}

/// Addresses that answer with something else than a page, and the login, which has its own test.
const NO_PAGES: &[&str] =
    &["/ui", "/ui/executions/{id}/live", "/ui/executions/{id}/log.jsonl", "/ui/login"];

#[tokio::test(start_paused = true)]
async fn every_route_of_a_page_has_a_file() {
    let source: String = include_str!("../pages.rs").split_whitespace().collect();
    let routes = source.split(".route(\"").skip(1).filter_map(|route| route.split_once("\","));
    let routes = routes.filter(|(_, handler)| handler.starts_with("get(")).map(|it| it.0);
    let pages = seeded().await.pages();
    let is_of = |pattern: &str, path: &str| {
        let (pattern, path): (Vec<&str>, Vec<&str>) =
            (pattern.split('/').collect(), path.split('/').collect());
        let has_rest = pattern.last().is_some_and(|it| it.starts_with("{*"));
        let same =
            pattern.iter().zip(&path).all(|(name, part)| name.starts_with('{') || name == part);
        same && (pattern.len() == path.len() || has_rest && pattern.len() < path.len())
    };
    let mut count = 0;
    for pattern in routes.filter(|it| !NO_PAGES.contains(it)) {
        count += 1;
        let has_page = pages
            .iter()
            .any(|(_, address)| is_of(pattern, address.split('?').next().unwrap_or_default()));
        assert!(has_page, "no page of {pattern} is compared");
    }
    assert!(count > 15, "{count} routes were found");
}
