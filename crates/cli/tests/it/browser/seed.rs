//! A server with something to show: failures, a loop, a cycle, a wait, children, schedules, a
//! subscription, a feed, workers and credentials.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, eventually};
use crate::server::{Process, Server};

/// The documents of the catalog, in the order of their registration.
const DOCUMENTS: [&str; 13] = [
    include_str!("seed/orders.yaml"),
    include_str!("seed/sync.yaml"),
    include_str!("seed/train.yaml"),
    include_str!("seed/rates.yaml"),
    include_str!("seed/city.yaml"),
    include_str!("seed/cities.yaml"),
    include_str!("seed/nightly.yaml"),
    include_str!("seed/hourly.yaml"),
    include_str!("seed/hook.yaml"),
    include_str!("seed/release.yaml"),
    include_str!("seed/crm.yaml"),
    include_str!("seed/letters.yaml"),
    include_str!("seed/parcel.yaml"),
];

/// A running server with a seeded store.
pub(super) struct SeededSite {
    pub(super) server: Server,
    /// An execution that has completed: a loop, a retry, and three branches that join.
    pub(super) completed: String,
    /// An execution whose step `ship` has failed.
    pub(super) failed: String,
    /// An execution that went through a cycle and used a credential.
    pub(super) cycled: String,
    /// An execution that waits for the timer of a retry.
    pub(super) waiting: String,
    /// An execution whose pool has no worker.
    pub(super) unserved: String,
    /// An execution that was paused while it waited.
    pub(super) paused: String,
    /// An execution that was deleted.
    pub(super) deleted: String,
    /// An execution with children.
    pub(super) parent: String,
    pub(super) subscription: String,
    pub(super) bulk_job: String,
    /// An execution that waits for a person.
    pub(super) approval: String,
    /// The link of that approval.
    pub(super) link: String,
    /// An execution that waits in the queue of a limit.
    pub(super) queued: String,
    /// An execution that waits for a signal, with labels of its own.
    pub(super) labelled: String,
    _worker: Process,
    _sandbox: Sandbox,
}

impl SeededSite {
    pub(super) fn new() -> Self {
        let sandbox = Sandbox::new();
        let server = Server::new(&sandbox, &[]);
        let worker = sandbox.spawn(&["worker", "--server", &server.url(), "--pool", "reports"]);
        let worker = Process(worker);
        for name in ["warehouse_api", "shop_hook"] {
            let credential =
                json!({ "name": name, "type": "bearer", "data": { "token": "s3cr3t" } });
            server.call("POST", "/api/credentials", &credential);
        }
        DOCUMENTS.into_iter().for_each(|document| register(&server, document));
        let changed = DOCUMENTS[0].replace("review_above: 900", "review_above: 800");
        register(&server, &changed);
        server.call("POST", "/api/feeds", &json!({ "name": "audit", "from": "start" }));
        server.call("POST", "/api/schedules/pause", &json!({ "path": "warehouse/hourly" }));
        let subscriptions = server.call("GET", "/api/subscriptions", &Value::Null);
        let subscription = &subscriptions["subscriptions"][0]["subscription_id"];
        let subscription = subscription.as_str().unwrap_or_else(|| panic!("{subscriptions}"));
        let subscription = subscription.to_owned();
        server.call("POST", &format!("/api/subscriptions/{subscription}/activate"), &Value::Null);

        let cycled = started(&server, &json!({ "path": "warehouse/sync" }), "COMPLETED");
        let parent = started(&server, &json!({ "path": "travel/cities" }), "COMPLETED");
        let south =
            json!({ "path": "shop/orders", "version": 1, "payload": { "carrier": "south" } });
        started(&server, &south, "FAILED");
        let gpu = json!({ "path": "models/train", "execution_pool": "gpu" });
        let cancelled = started(&server, &gpu, "RUNNING");
        server.call("POST", &format!("/api/executions/{cancelled}/cancel"), &json!({}));
        let bulk = json!({ "action": "cancel", "execution_ids": [cancelled] });
        let bulk = server.call("POST", "/api/executions/bulk", &bulk);
        let bulk_job = bulk["job_id"].as_str().unwrap_or_else(|| panic!("{bulk}")).to_owned();
        let completed = started(&server, &json!({ "path": "shop/orders" }), "COMPLETED");
        let failing = json!({ "path": "shop/orders", "payload": { "carrier": "west" } });
        let failed = started(&server, &failing, "FAILED");
        let waiting = started(&server, &json!({ "path": "finance/rates" }), "RUNNING");
        let unserved = started(&server, &gpu, "RUNNING");
        let approval = started(&server, &json!({ "path": "shop/release" }), "RUNNING");
        let link = link_of(&server, &approval);
        let of_team = json!({ "path": "finance/rates", "labels": { "team": "ops" } });
        let paused = started(&server, &of_team, "RUNNING");
        server.call("POST", &format!("/api/executions/{paused}/pause"), &json!({}));
        let deleted = deleted(&server);
        let HeldExecutions { queued, labelled } = held(&server);
        eventually("the retry waits for its timer", || {
            let status =
                server.call("GET", &format!("/api/executions/{waiting}/events"), &Value::Null);
            status.to_string().contains("timer.set")
        });
        Self {
            server,
            completed,
            failed,
            cycled,
            waiting,
            unserved,
            paused,
            deleted,
            parent,
            subscription,
            bulk_job,
            approval,
            link,
            queued,
            labelled,
            _worker: worker,
            _sandbox: sandbox,
        }
    }

    pub(super) fn url(&self) -> String {
        self.server.url()
    }
}

/// Executions that wait for a slot and for a signal.
struct HeldExecutions {
    queued: String,
    labelled: String,
}

/// Starts executions that wait, pauses a playbook, and creates a token.
fn held(server: &Server) -> HeldExecutions {
    let crm = json!({ "path": "sales/crm", "execution_pool": "crm" });
    started(server, &crm, "RUNNING");
    let queued = started(server, &crm, "RUNNING");
    let parcel = json!({ "path": "shop/parcel", "labels": { "parcel": "p-17" } });
    let labelled = started(server, &parcel, "RUNNING");
    let pause = json!({ "path": "office/letters", "reason": "broken printer" });
    server.call("POST", "/api/catalog/pause", &pause);
    started(server, &json!({ "path": "office/letters" }), "RUNNING");
    let token = json!({ "name": "ci", "owner": "Ada", "roles": ["operator:shop/*"] });
    server.call("POST", "/api/tokens", &token);
    HeldExecutions { queued, labelled }
}

/// Makes a link for the approval of an execution.
fn link_of(server: &Server, execution: &str) -> String {
    let path = format!("/api/approvals/{execution}/0/link");
    let made = server.call("POST", &path, &json!({ "actor": "ada" }));
    let path = made["path"].as_str().unwrap_or_else(|| panic!("{made}"));
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Runs an execution and deletes it.
fn deleted(server: &Server) -> String {
    let ended = started(server, &json!({ "path": "warehouse/sync" }), "COMPLETED");
    let path = format!("/api/executions/{ended}");
    eventually("the execution is deleted", || {
        server.call("DELETE", &path, &Value::Null).to_string().contains("deleted")
    });
    ended
}

fn register(server: &Server, document: &str) {
    let registered = server.call("POST", "/api/catalog/register", &json!({ "content": document }));
    assert_eq!(registered["status"], "success", "{registered}");
}

/// Starts an execution and waits for its status.
fn started(server: &Server, request: &Value, expected: &str) -> String {
    let started = server.call("POST", "/api/execute", request);
    let id = started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    eventually(&format!("{request} is {expected}"), || {
        let status = server.call("GET", &format!("/api/executions/{id}/status"), &Value::Null);
        status["status"] == expected
    });
    id
}
