//! The contract of looking back in time.

use noetl_api::{DEFAULT_TENANT, ReplayQuestion, Replayer};
use noetl_engine::{begin, evolve};
use noetl_model::{Cutoff, Recorded, Seq};
use noetl_replay::Projection;
use noetl_sim::History;
use noetl_store::Append;
use noetl_store::conformance::given::told_log;
use serde_json::{Value, json};

use super::{HELLO, Server};

/// An execution that has been run to its end by an existing worker.
async fn begun(server: Server) -> (Server, String) {
    server.register(HELLO).await;
    let execution = server.start("tests/hello").await;
    (server, execution)
}

async fn state(server: &Server, query: &str) -> Value {
    let answer = server.get(&format!("/api/replay/state?{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

pub(super) async fn an_execution_is_replayed_up_to_a_cutoff(server: Server) {
    let (server, id) = begun(server).await;
    let latest = state(&server, &format!("execution_id={id}")).await;
    assert_eq!(latest["event_count"], 3);
    assert_eq!(latest["execution"]["status"], "RUNNING");
    let command = latest["commands"].as_object().unwrap().values().next().unwrap();
    assert_eq!(command["status"], "PENDING");
    let by_place = state(&server, &format!("execution_id={id}&as_of_position=2")).await;
    let event = by_place["last_event_id"].to_string();
    let by_event = state(&server, &format!("execution_id={id}&as_of_event_id={event}")).await;
    assert_eq!(by_place, by_event);
    let as_position = state(&server, &format!("execution_id={id}&as_of_position={event}")).await;
    assert_eq!(by_place, as_position);
    let before = format!("execution_id={id}&as_of_time=2001-01-01T00:00:00Z");
    assert_eq!(state(&server, &before).await["execution"]["status"], "UNKNOWN");
}

pub(super) async fn truncation_is_said(server: Server) {
    let (server, id) = begun(server).await;
    let cut = state(&server, &format!("execution_id={id}&limit=2")).await;
    assert_eq!((&cut["event_count"], &cut["truncated"]), (&json!(2), &json!(true)));
    let whole = state(&server, &format!("execution_id={id}&limit=3")).await;
    assert_eq!(whole.get("truncated"), None);
}

pub(super) async fn another_tenant_and_an_unknown_execution_show_nothing(server: Server) {
    let (server, id) = begun(server).await;
    for query in [format!("execution_id={id}&tenant_id=acme"), "execution_id=5".to_owned()] {
        let nothing = state(&server, &query).await;
        assert_eq!((&nothing["event_count"], nothing.get("last_event_id")), (&json!(0), None));
    }
}

pub(super) async fn questions_that_cannot_be_meant_are_refused(server: Server) {
    let (server, id) = begun(server).await;
    let problem = async |query: &str| {
        server.get(&format!("/api/replay/{query}&execution_id={id}")).await.problem()
    };
    assert_eq!(problem("state?as_of_event_id=1&as_of_position=1").await, "400 several-cutoffs");
    let two = "state?as_of_position=1&as_of_time=2026-01-01T00:00:00Z";
    assert_eq!(problem(two).await, "400 several-cutoffs");
    assert_eq!(problem("state?projection=garbage").await, "400 unknown-projection");
    assert_eq!(problem("state?as_of_time=noon").await, "400 invalid-cutoff");
    assert_eq!(problem("diff?from=noon").await, "400 invalid-cutoff");
    assert_eq!(server.get("/api/replay/state").await.problem(), "400 invalid-query");
    let unknown = server.get("/api/replay/timeline?execution_id=5").await;
    assert_eq!(unknown.problem(), "404 unknown-execution");
}

pub(super) async fn two_moments_are_compared(server: Server) {
    let (server, id) = begun(server).await;
    let answer = server.get(&format!("/api/replay/diff?execution_id={id}&from=2&to=3")).await;
    assert_eq!(answer.body["from"]["event_count"], 2);
    assert_eq!(
        answer.body["text"],
        "+ commands.start#0: {\"tool\":\"python\",\"status\":\"PENDING\",\"attempts\":0}\n"
    );
    assert_eq!(answer.body["patch"][0]["op"], "add");
}

#[tokio::test(start_paused = true)]
async fn a_timeline_says_what_is_waited_for() {
    let (server, id) = begun(Server::new()).await;
    tokio::time::advance(std::time::Duration::from_secs(5)).await;
    let timeline = server.get(&format!("/api/replay/timeline?execution_id={id}")).await.body;
    assert_eq!(timeline["critical_path"], json!(["start"]));
    let waited = timeline["spent"]["waiting_for_worker_seconds"].as_f64().unwrap();
    assert!(waited >= 5.0, "{timeline}");
    assert_eq!(timeline["commands"][0]["claimed_at"], Value::Null);
}

pub(super) async fn what_others_post_is_folded_and_what_it_refers_to_is_looked_up(server: Server) {
    let (server, id) = begun(server).await;
    let posted = json!({
        "execution_id": id, "event_type": "customer.created",
        "meta": { "business_object": { "type": "customer", "id": "42" } },
        "result": { "status": "ok", "reference": { "uri": "s3://b/k" } },
    });
    assert_eq!(server.post("/api/events", posted).await.status, 200);
    let query = format!("execution_id={id}&projection=business_object&resolve_payloads=true");
    let answer = state(&server, &query).await;
    assert_eq!(answer["business_objects"]["customer/42"]["status"], "ACTIVE");
    assert_eq!(answer["payload_resolution_summary"]["unresolved"], 1);
    let resolution = &answer["payload_resolution"][0]["resolution"];
    assert_eq!(resolution["error"], "not a value that this server keeps");
}

#[tokio::test(start_paused = true)]
async fn the_published_log_gives_the_published_answer() {
    let golden: Value =
        serde_json::from_str(include_str!("../../../replay/tests/golden/replay_golden.json"))
            .unwrap();
    let server = Server::new();
    let written = server.state.store().append(&[told_log(&golden)]).await.unwrap();
    assert_eq!(written, [Ok(())]);
    let answer = state(&server, "execution_id=990001").await;
    assert_eq!(answer.to_string(), golden["state"].to_string());
}

/// At how many places of a log the past is looked at.
const CUTOFFS_MAX: usize = 12;

/// A whole execution as one append.
fn written(history: &History) -> Append {
    let expected = history.summary.fork.map_or(Seq::ZERO, |fork| fork.seq);
    Append {
        execution: history.summary.execution,
        expected,
        events: history.log.iter().filter(|it| it.seq > expected).cloned().collect(),
        summary: history.summary.clone(),
        queue: Vec::new(),
        timers: Vec::new(),
        outbox: Vec::new(),
        payloads: Vec::new(),
        key: None,
    }
}

/// The executions of a world that went through all kinds of faults.
fn histories(seed: u64) -> Vec<History> {
    let world = std::thread::spawn(move || noetl_sim::histories(seed));
    world.join().expect("it does not panic").expect("a world in order")
}

/// What a store gives back of an execution is at any cutoff what its events come to.
async fn is_the_same_at_any_cutoff(server: &Server, history: &History) {
    let execution = history.summary.execution;
    let mut replayer = Replayer::new(&ReplayQuestion {
        execution,
        tenant: DEFAULT_TENANT.to_owned(),
        organization: DEFAULT_TENANT.to_owned(),
        cutoff: Cutoff::Latest,
        projection: Projection::All,
        limit: u64::MAX,
    });
    let mut folded = None;
    let step = history.log.len().div_ceil(CUTOFFS_MAX).max(1);
    for (place, recorded) in history.log.iter().enumerate() {
        let Recorded { seq, .. } = recorded;
        replayer.see(recorded);
        match &mut folded {
            None => folded = Some(begin(execution, recorded).expect("a log in order")),
            Some(folded) => evolve(folded, recorded).expect("a log in order"),
        }
        if place % step > 0 && place + 1 < history.log.len() {
            continue;
        }
        let query = format!("execution_id={execution}&as_of_position={seq}");
        let expected = serde_json::to_value(replayer.clone().finish()).expect("JSON");
        assert_eq!(state(server, &query).await, expected, "{execution} at {seq}");
        let served = server.state.control().state(execution, Cutoff::Seq(*seq)).await;
        assert_eq!(served.ok().as_ref(), folded.as_ref(), "{execution} at {seq}");
    }
}

pub(super) async fn executions_of_chance_are_replayed_alike_on_every_store(server: Server) {
    let worlds = std::env::var("NOETL_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    for seed in 1..=worlds.unwrap_or(1) {
        for history in histories(seed) {
            let answers = server.state.store().append(&[written(&history)]).await;
            assert_eq!(answers.expect("the store appends"), [Ok(())]);
            is_the_same_at_any_cutoff(&server, &history).await;
        }
    }
}
