//! Tests of jobs that a worker starts and a callback ends: the command of a job is parked.

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};

use super::stores::Backing;
use super::{Answer, HELLO, LEASE, Server};

/// A playbook with a step that starts a job, and a step that outputs its final state.
const JOB: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: job, path: tests/job}
workflow:
  - step: start
    tool: {kind: container, image: busybox}
    next: second
  - step: second
    tool: {kind: noop, message: '{{ start.terminal_state }}'}
";

/// A playbook whose job is waited for a second at most.
const LIMITED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: limited, path: tests/limited}
workflow:
  - step: start
    tool: {kind: container, image: busybox, timeout: 1}
    next: {arcs: [{step: late, when: '{{ event.name == \"step.failed\" }}'}]}
  - step: late
    tool: {kind: noop, message: '{{ start.error.message }}'}
";

/// A playbook whose job is started again if it fails.
const RETRIED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: retried, path: tests/retried}
workflow:
  - step: start
    tool:
      kind: container
      image: busybox
      spec:
        policy:
          rules: [{when: '{{ output.status == \"error\" }}', then: {do: retry, attempts: 3, delay: 0}}]
";

/// A playbook with two jobs of one step.
const LOOP: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: jobs, path: tests/jobs}
workflow:
  - step: start
    loop: {in: [a, b], iterator: it, spec: {mode: parallel}}
    tool: {kind: container, image: '{{ it }}'}
";

/// A worker of the public protocol.
struct Worker<'a> {
    server: &'a Server,
    name: &'static str,
}

impl Worker<'_> {
    /// Claims the command that was issued last.
    async fn claim(&self, execution: &str) -> Answer {
        let event = issued(self.server, execution).await.pop().expect("a command");
        self.claim_event(&event).await
    }

    async fn claim_event(&self, event: &str) -> Answer {
        let path = format!("/api/commands/{event}/claim");
        self.server.post(&path, json!({ "worker_id": self.name })).await
    }

    /// Posts that a claimed command is done, without a result.
    async fn done(&self, claimed: &Value, more: Value) -> Answer {
        let mut context =
            json!({ "command_id": claimed["meta"]["command_id"], "status": "success" });
        for (key, value) in more.as_object().expect("a map") {
            context[key] = value.clone();
        }
        let body = json!({
            "execution_id": claimed["execution_id"], "step": claimed["node_name"],
            "event_type": "command.completed", "status": "success", "worker_id": self.name,
            "context": context, "meta": { "attempts": 0 },
        });
        self.server.post("/api/events", body).await
    }

    /// Claims the latest command and starts its job, as a worker of release 5.31 does: it posts no
    /// result, only that it is done.
    async fn start_job(&self, execution: &str) -> Value {
        let claimed = self.claim(execution).await.body;
        assert_eq!(self.done(&claimed, json!({})).await.status, 200);
        claimed
    }
}

/// Returns the events that issued the commands of an execution.
async fn issued(server: &Server, execution: &str) -> Vec<String> {
    let page = server.get(&format!("/api/executions/{execution}/events")).await.body;
    let events = page["events"].as_array().expect("events");
    let issued = events.iter().filter(|it| it["event_type"] == "command.issued");
    issued.map(|it| it["event_id"].as_str().expect("an id").to_owned()).collect()
}

/// Returns a server on which a worker has started a job, and the job's execution.
async fn begun(server: Server) -> (Server, String) {
    server.register(JOB).await;
    let execution = server.start("tests/job").await;
    Worker { server: &server, name: "w" }.start_job(&execution).await;
    assert_eq!(server.status(&execution).await, "RUNNING");
    (server, execution)
}

async fn call_back(server: &Server, execution: &str, more: Value) -> Value {
    let path = format!("/api/internal/container-callback/{execution}/start");
    let mut body = json!({ "state": "succeeded", "job_name": "job-1" });
    for (key, value) in more.as_object().expect("a map") {
        body[key] = value.clone();
    }
    let answer = server.post(&path, body).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    answer.body
}

fn stale(reason: &str) -> Value {
    json!({ "status": "accepted_stale", "reason": reason })
}

#[track_caller]
fn assert_in_flight(answer: &Value) {
    assert_eq!(answer["status"], "accepted_in_flight", "{answer}");
    assert!(answer["event_id"].is_string(), "{answer}");
}

/// Returns the leases that a connected worker of the native protocol gets at once.
async fn ready(server: &Server) -> Value {
    let body = json!({ "worker": "n", "pool": "shared", "max": 5, "wait_ms": 0 });
    server.post("/api/worker/lease", body).await.body["leases"].clone()
}

/// Waits for a command as a worker of the native protocol and completes it. Returns its lease.
async fn work_off(server: &Server) -> Value {
    let body = json!({ "worker": "live", "pool": "shared", "max": 1, "wait_ms": 20_000 });
    let lease = server.post("/api/worker/lease", body).await.body["leases"][0].clone();
    let mut report = lease.clone();
    report["worker"] = json!("live");
    report["outcome"] = json!({ "status": "completed", "output": null });
    let answer = server.post("/api/worker/report", json!({ "reports": [report] })).await;
    assert_eq!(answer.body, json!({ "answers": ["accepted"] }), "{lease}");
    lease
}

pub(super) async fn a_callback_lets_the_execution_go_on_and_telling_it_again_changes_nothing(
    server: Server,
) {
    let (server, execution) = begun(server).await;
    assert_in_flight(&call_back(&server, &execution, json!({ "job_uid": "u-1" })).await);
    let again = call_back(&server, &execution, json!({ "job_uid": "u-1" })).await;
    assert_eq!(again, stale("the callback of job u-1 was recorded before"));
    let unnamed = call_back(&server, &execution, json!({})).await;
    assert_eq!(unnamed, stale("no command of step `start` waits for a callback"));
    server.work().await;
    expect![[r#"
        playbook_started tests/job STARTED
        step.enter start ENTERED
        command.issued start PENDING
        command.claimed start RUNNING
        command.parked start WAITING
        command.completed start COMPLETED
        step.exit start COMPLETED
        step.enter second ENTERED
        command.issued second PENDING
        command.claimed second RUNNING
        command.completed second COMPLETED
        step.exit second COMPLETED
        playbook.completed playbook COMPLETED
    "#]]
    .assert_eq(&server.story(&execution).await);
}

pub(super) async fn a_job_that_failed_fails_its_step(server: Server) {
    let (server, execution) = begun(server).await;
    let failed = json!({ "state": "failed_oom", "reason": "OOMKilled" });
    assert_in_flight(&call_back(&server, &execution, failed).await);
    assert_eq!(server.status(&execution).await, "FAILED");
    let shown = server.get(&format!("/api/executions/{execution}")).await.body;
    let error = shown["error"].as_str().expect("an error").to_owned();
    assert!(error.contains("job job-1 ended as failed_oom: OOMKilled"), "{error}");
}

pub(super) async fn a_callback_that_nothing_waits_for_is_accepted_all_the_same(server: Server) {
    assert_eq!(call_back(&server, "1", json!({})).await["status"], "accepted_stale");
    let (server, execution) = begun(server).await;
    server.post(&format!("/api/executions/{execution}/cancel"), json!({})).await;
    let late = call_back(&server, &execution, json!({ "job_uid": "u-1" })).await;
    assert_eq!(late, stale("the execution has ended as CANCELLED"));
    assert_eq!(server.status(&execution).await, "CANCELLED");
    assert_eq!(ready(&server).await, json!([]));
}

pub(super) async fn an_end_that_is_not_known_is_refused(server: Server) {
    let body = json!({ "state": "vanished", "job_name": "job-1" });
    let refused = server.post("/api/internal/container-callback/1/start", body).await;
    assert_eq!(refused.problem(), "422 invalid-body");
}

pub(super) async fn a_parked_command_is_given_to_nobody_and_says_what_it_waits_for(server: Server) {
    let (server, execution) = begun(server).await;
    assert_eq!(ready(&server).await, json!([]));
    for name in ["w", "other"] {
        let again = Worker { server: &server, name }.claim(&execution).await;
        assert_eq!(again.problem(), "409 active-claim", "{name}");
    }
    let shown = server.get(&format!("/api/executions/{execution}/position")).await.body;
    let part = &shown["open"]["parts"][0];
    assert_eq!(part["step"], "start", "{shown}");
    assert_eq!(part["wait"]["for"], "callback", "{shown}");
    assert_eq!(part["wait"]["worker"], "w", "{shown}");
    let status = server.get(&format!("/api/executions/{execution}/status")).await.body;
    let hint = status["hint"].as_str().unwrap_or_else(|| panic!("{status}"));
    assert!(hint.starts_with("Waiting for the callback of step `start` since 20"), "{hint}");
}

pub(super) async fn a_worker_may_wait_for_the_callback_of_any_tool(server: Server) {
    server.register(HELLO).await;
    let execution = server.start("tests/hello").await;
    let worker = Worker { server: &server, name: "w" };
    let claimed = worker.claim(&execution).await.body;
    assert_eq!(claimed["action"], "python");
    let pending = json!({ "pending_callback": true });
    assert_eq!(worker.done(&claimed, pending.clone()).await.status, 200);
    assert_eq!(worker.done(&claimed, pending).await.status, 200, "it may be repeated");
    assert_eq!(worker.done(&claimed, json!({})).await.status, 200, "it brings no result");
    assert_eq!(ready(&server).await, json!([]));
    assert_in_flight(&call_back(&server, &execution, json!({ "exit_code": 0 })).await);
    let story = server.story(&execution).await;
    assert_eq!(story.matches("command.parked start").count(), 1, "{story}");
    assert_eq!(story.matches("command.completed start").count(), 1, "{story}");
    server.work().await;
    assert_eq!(server.status(&execution).await, "COMPLETED");
}

pub(super) async fn a_callback_that_is_faster_than_its_worker_is_not_lost(server: Server) {
    server.register(JOB).await;
    let execution = server.start("tests/job").await;
    let worker = Worker { server: &server, name: "w" };
    let claimed = worker.claim(&execution).await.body;
    assert_in_flight(&call_back(&server, &execution, json!({ "job_uid": "u-1" })).await);
    assert_eq!(worker.done(&claimed, json!({})).await.status, 200);
    server.work().await;
    assert_eq!(server.status(&execution).await, "COMPLETED");
    let story = server.story(&execution).await;
    assert_eq!(story.matches("command.completed start").count(), 1, "{story}");
    assert_eq!(story.matches("command.parked").count(), 0, "{story}");
}

pub(super) async fn a_callback_that_does_not_come_in_time_fails_the_task(server: Server) {
    server.register(LIMITED).await;
    let execution = server.start("tests/limited").await;
    Worker { server: &server, name: "w" }.start_job(&execution).await;
    // The next step is ready once the time is over.
    server.work().await;
    assert_eq!(server.status(&execution).await, "COMPLETED");
    let story = server.story(&execution).await;
    assert!(story.contains("timer.fired") && story.contains("command.failed start"), "{story}");
    let late = call_back(&server, &execution, json!({ "job_uid": "u-1" })).await;
    assert_eq!(late, stale("the execution has ended as COMPLETED"));
}

pub(super) async fn the_repeated_callback_of_one_job_does_not_end_the_next(server: Server) {
    server.register(RETRIED).await;
    let execution = server.start("tests/retried").await;
    let worker = Worker { server: &server, name: "w" };
    worker.start_job(&execution).await;
    let failed = json!({ "state": "failed", "job_uid": "u-1" });
    assert_in_flight(&call_back(&server, &execution, failed.clone()).await);
    worker.start_job(&execution).await;
    let again = call_back(&server, &execution, failed).await;
    assert_eq!(again, stale("the callback of job u-1 was recorded before"));
    assert_eq!(server.status(&execution).await, "RUNNING");
    assert_in_flight(&call_back(&server, &execution, json!({ "job_uid": "u-2" })).await);
    assert_eq!(server.status(&execution).await, "COMPLETED");
}

pub(super) async fn a_callback_may_name_its_command(server: Server) {
    server.register(LOOP).await;
    let execution = server.start("tests/jobs").await;
    let worker = Worker { server: &server, name: "w" };
    let mut commands = Vec::new();
    for event in issued(&server, &execution).await {
        let claimed = worker.claim_event(&event).await.body;
        assert_eq!(worker.done(&claimed, json!({})).await.status, 200);
        commands.push(claimed["meta"]["command_id"].clone());
    }
    for (command, job) in commands.iter().zip(["a", "b"]).rev() {
        let named = json!({ "command_id": command, "job_name": job });
        assert_in_flight(&call_back(&server, &execution, named).await);
    }
    let named = json!({ "command_id": commands[0] });
    let late = call_back(&server, &execution, named).await;
    assert_eq!(late, stale("the execution has ended as COMPLETED"));
    let path = format!("/api/executions/{execution}/position/value?name=steps.start");
    let output = server.get(&path).await.body;
    let jobs: Vec<&Value> = output["value"]["results"]
        .as_array()
        .unwrap_or_else(|| panic!("{output}"))
        .iter()
        .map(|result| &result["job_name"])
        .collect();
    assert_eq!(jobs, ["a", "b"]);
    let path = format!("/api/internal/container-callback/{execution}/start");
    let body = json!({ "state": "succeeded", "job_name": "x", "command_id": "1:start:2" });
    assert_eq!(server.post(&path, body).await.problem(), "422 no-command");
}

pub(super) async fn a_late_callback_that_names_its_command_does_not_end_the_next(server: Server) {
    server.register(RETRIED).await;
    let execution = server.start("tests/retried").await;
    let worker = Worker { server: &server, name: "w" };
    let first = worker.start_job(&execution).await["meta"]["command_id"].clone();
    // The command ends without a callback of its job, as by a timeout.
    let failed = json!({ "state": "failed", "command_id": first });
    assert_in_flight(&call_back(&server, &execution, failed).await);
    worker.start_job(&execution).await;
    let late = json!({ "command_id": first, "job_uid": "u-1" });
    let late = call_back(&server, &execution, late).await;
    assert_eq!(late["status"], "accepted_stale", "{late}");
    assert_eq!(server.status(&execution).await, "RUNNING");
    // Without the command's name, the step is all that a callback tells.
    assert_in_flight(&call_back(&server, &execution, json!({ "job_uid": "u-1" })).await);
    assert_eq!(server.status(&execution).await, "COMPLETED");
}

/// Checks that a job survives its worker: the worker ends, its lease expires, and another worker,
/// which is connected and takes over whatever else the first one held, does not get the command.
async fn check_survival(server: Server, after_lease: impl AsyncFnOnce()) {
    server.register(JOB).await;
    server.register(HELLO).await;
    let (job, canary) = (server.start("tests/job").await, server.start("tests/hello").await);
    let dead = Worker { server: &server, name: "dead" };
    dead.start_job(&job).await;
    assert_eq!(dead.claim(&canary).await.status, 200);
    after_lease().await;
    // Another worker is connected: it gets what the first one held, once the lease has expired.
    let taken = work_off(&server).await;
    assert_eq!(taken["execution"].to_string(), canary, "{taken}");
    assert_eq!(taken["attempt"], 2, "{taken}");
    assert_eq!(work_off(&server).await["execution"].to_string(), canary);
    assert_eq!(server.status(&canary).await, "COMPLETED");
    assert_eq!(ready(&server).await, json!([]), "a second job would start");
    assert_in_flight(&call_back(&server, &job, json!({ "job_uid": "u-1" })).await);
    assert_eq!(work_off(&server).await["execution"].to_string(), job);
    assert_eq!(server.status(&job).await, "COMPLETED");
    let story = server.story(&job).await;
    assert_eq!(story.matches("command.claimed start").count(), 1, "{story}");
    assert_eq!(story.matches("command.completed start").count(), 1, "{story}");
    let checked = server.get(&format!("/api/executions/{job}/verify")).await;
    assert_eq!(checked.body["valid"], true, "{}", checked.body);
}

#[tokio::test(start_paused = true)]
async fn a_job_survives_the_worker_that_started_it() {
    let after_lease = async || tokio::time::advance(LEASE).await;
    check_survival(Server::new(), after_lease).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_survives_the_worker_that_started_it_on_postgresql() {
    let backing = Backing::postgres(1).await;
    let server = backing.leasing_server(Duration::from_secs(1)).await;
    check_survival(server, async || ()).await;
}
