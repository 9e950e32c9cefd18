//! Tests of replays.

use noetl_app::LargeReplayPermit;
use noetl_compat::{DEFAULT_TENANT, Projection, ReplayRequest, Replayer};
use noetl_engine::{begin, evolve};
use noetl_model::{Cutoff, Digest, ExecutionId, Recorded, Seq};
use noetl_replay::ReadOn;
use noetl_sim::ExecutionLog;
use noetl_store::conformance::given::told_log;
use noetl_store::{Append, ReplayBound, SavedReplay};
use serde_json::{Value, json};

use super::{HELLO, Server};

/// Starts an execution of `tests/hello`.
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

pub(super) async fn posted_events_are_folded_and_found_by_their_business_object(server: Server) {
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
    assert_eq!(resolution["error"], "the value is not stored by this server");
}

pub(super) async fn the_published_log_gives_the_published_answer(server: Server) {
    let golden: Value =
        serde_json::from_str(include_str!("../../../compat/tests/golden/replay_golden.json"))
            .unwrap();
    let written = server.store.append(&[told_log(&golden)]).await.unwrap();
    assert_eq!(written, [Ok(())]);
    // The order of keys survives parsing, so the comparison covers the bytes.
    let answer = state(&server, "execution_id=990001").await;
    assert_eq!(answer.to_string(), golden["state"].to_string());
    let at_60 = include_str!("../../../compat/tests/golden/replay_golden_asof60_frame.json");
    let at_60: Value = serde_json::from_str(at_60).unwrap();
    let query = "execution_id=990001&as_of_event_id=60&projection=frame";
    assert_eq!(state(&server, query).await.to_string(), at_60.to_string());
}

fn question(id: &str) -> ReplayRequest {
    ReplayRequest {
        execution: id.parse().expect("an id"),
        tenant: DEFAULT_TENANT.to_owned(),
        organization: DEFAULT_TENANT.to_owned(),
        cutoff: Cutoff::Latest,
        projection: Projection::All,
        limit: 100,
    }
}

/// Replays an execution and holds the permit for large replays.
async fn held_replay(server: &Server, id: &str) -> LargeReplayPermit {
    let replayed = server.state.app().replay(&question(id)).await.expect("a replay");
    replayed.permit.expect("every replay with entries counts as large")
}

#[tokio::test(start_paused = true)]
async fn a_large_replay_waits_until_it_is_alone() {
    let (server, id) = begun(Server::new()).await;
    let query = format!("/api/replay/state?execution_id={id}");
    let other = held_replay(&server, &id).await;
    let problem = server.get(&query).await;
    assert_eq!(problem.problem(), "503 replays-busy");
    assert_eq!(problem.headers["retry-after"], "10");
    let nothing_is_held = server.get(&format!("{query}&projection=execution")).await;
    assert_eq!(nothing_is_held.body["event_count"], 3);
    let (answer, ()) = tokio::join!(server.get(&query), async {
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        drop(other);
    });
    assert_eq!(answer.body["event_count"], 3);
    assert_eq!(server.get(&query).await.status, 200, "it has let others in");
}

#[tokio::test(start_paused = true)]
async fn an_unread_replay_does_not_block_other_replays() {
    let (server, id) = begun(Server::new()).await;
    let held = held_replay(&server, &id).await;
    let unread = crate::response::large::large_json(vec![7; 1_000_000], held);
    let question = question(&id);
    let mut next = Box::pin(server.state.app().replay(&question));
    loop {
        tokio::select! {
            answer = &mut next => match answer {
                Ok(_) => break,
                Err(_) => next = Box::pin(server.state.app().replay(&question)),
            },
            () = tokio::time::advance(std::time::Duration::from_secs(1)) => {}
        }
    }
    drop(unread);
}

/// Converts a whole execution to one append.
fn written(history: &ExecutionLog) -> Append {
    let expected = history.summary.fork.map_or(Seq::ZERO, |fork| fork.seq);
    Append {
        execution: history.summary.execution,
        expected,
        events: history.log.iter().filter(|it| it.seq > expected).cloned().collect(),
        summary: history.summary.clone(),
        queue: Vec::new(),
        timers: Vec::new(),
        outbox: Vec::new(),
        index: Vec::new(),
        payloads: Vec::new(),
        key: None,
    }
}

/// Returns the executions of a simulated world with all kinds of faults.
fn histories(seed: u64) -> Vec<ExecutionLog> {
    let world = std::thread::spawn(move || noetl_sim::histories(seed));
    world.join().expect("it does not panic").expect("a world in order")
}

/// Replays the events of an execution directly.
fn expected(history: &ExecutionLog, cutoff: Cutoff, projection: Projection) -> Value {
    let mut replayer = Replayer::new(&ReplayRequest {
        execution: history.summary.execution,
        tenant: DEFAULT_TENANT.to_owned(),
        organization: DEFAULT_TENANT.to_owned(),
        cutoff,
        projection,
        limit: u64::MAX,
    });
    for recorded in &history.log {
        if replayer.see(recorded) == ReadOn::No {
            break;
        }
    }
    serde_json::to_value(replayer.finish()).expect("JSON")
}

/// Checks that the served state equals the direct replay at every cutoff.
async fn is_the_same_at_every_cutoff(server: &Server, history: &ExecutionLog) {
    let execution = history.summary.execution;
    let mut folded = None;
    for (place, recorded) in history.log.iter().enumerate() {
        let Recorded { seq, event_id, at, .. } = recorded;
        match &mut folded {
            None => folded = Some(begin(execution, recorded).expect("a log in order")),
            Some(folded) => evolve(folded, recorded).expect("a log in order"),
        }
        let served = server.state.control().state(execution, Cutoff::Seq(*seq)).await;
        assert_eq!(served.ok().as_ref(), folded.as_ref(), "{execution} at {seq}");
        let projection = Projection::ALL[place % Projection::ALL.len()];
        for (cutoff, words) in [
            (Cutoff::Seq(*seq), format!("as_of_position={seq}")),
            (Cutoff::Event(*event_id), format!("as_of_event_id={event_id}")),
            (Cutoff::Time(*at), format!("as_of_time={at}")),
        ] {
            let query = format!("execution_id={execution}&projection={projection}&{words}");
            let expected = expected(history, cutoff, projection);
            assert_eq!(state(server, &query).await, expected, "{execution} {words}");
        }
        let query = format!("execution_id={execution}&as_of_position={seq}");
        let whole = expected(history, Cutoff::Seq(*seq), Projection::All);
        assert_eq!(state(server, &query).await, whole, "{execution} at {seq}");
    }
}

pub(super) async fn executions_of_chance_are_replayed_alike_on_every_store(server: Server) {
    let worlds = std::env::var("NOETL_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    for seed in 1..=worlds.unwrap_or(1) {
        for history in histories(seed) {
            let answers = server.store.append(&[written(&history)]).await;
            assert_eq!(answers.expect("the store appends"), [Ok(())]);
            is_the_same_at_every_cutoff(&server, &history).await;
        }
    }
}

/// Runs an execution to its end; returns its id, its replay and a saved replay.
async fn replayed(server: &Server) -> (String, Value, SavedReplay) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    server.work().await;
    server.work().await;
    let query = format!("execution_id={id}");
    let whole = state(server, &query).await;
    assert_eq!(
        (&whole["event_count"], &whole["execution"]["status"]),
        (&json!(12), &json!("COMPLETED"))
    );
    let bound = ReplayBound { shape: Replayer::SHAPE, seq: Seq(9), last_id: None, last_at: None };
    let execution = ExecutionId(id.parse().expect("an id"));
    let saved = server.store.furthest_replay(execution, "all", bound).await;
    let saved = saved.expect("the store answers").expect("it was saved");
    assert_eq!(saved.seq, Seq(5));
    (id, whole, saved)
}

/// Saves a replay with its text changed and a matching checksum.
async fn forge(server: &Server, id: &str, saved: &SavedReplay, from: &str, to: &str) {
    let text = std::str::from_utf8(&saved.body[32..]).expect("JSON after a checksum");
    assert!(text.contains(from), "{text}");
    let text = text.replace(from, to);
    let body = [Digest::of(text.as_bytes()).as_bytes(), text.as_bytes()].concat();
    keep(server, id, SavedReplay { body, ..saved.clone() }).await;
}

async fn keep(server: &Server, id: &str, saved: SavedReplay) {
    let execution = ExecutionId(id.parse().expect("an id"));
    for seq in [saved.seq, Seq(2 * saved.seq.0)] {
        let saved = SavedReplay { seq, ..saved.clone() };
        server.store.save_replay(execution, "all", &saved).await.expect("it is saved");
    }
}

pub(super) async fn a_replay_goes_on_from_where_an_earlier_one_was_saved(server: Server) {
    let (id, whole, saved) = replayed(&server).await;
    let again = state(&server, &format!("execution_id={id}")).await;
    assert_eq!(again, whole, "with the same checksums");
    let cut = state(&server, &format!("execution_id={id}&limit=7")).await;
    assert_eq!((&cut["event_count"], &cut["truncated"]), (&json!(7), &json!(true)));
    let earlier = state(&server, &format!("execution_id={id}&as_of_position=4")).await;
    assert_eq!(earlier["event_count"], 4);
    // Events before a saved replay are not read again, so the forged text appears.
    forge(&server, &id, &saved, r#""worker_id":"w""#, r#""worker_id":"forged""#).await;
    let seven = state(&server, &format!("execution_id={id}&as_of_position=7")).await;
    assert!(seven["commands"].to_string().contains("forged"), "{seven}");
    let four = state(&server, &format!("execution_id={id}&as_of_position=4")).await;
    assert_eq!(four, earlier);
}

pub(super) async fn a_damaged_saved_replay_is_not_used(server: Server) {
    let (id, whole, saved) = replayed(&server).await;
    let query = format!("execution_id={id}");
    let mut flipped = saved.clone();
    flipped.body[100] ^= 1;
    keep(&server, &id, flipped).await;
    assert_eq!(state(&server, &query).await, whole, "a byte is another");
    let short = SavedReplay { body: saved.body[..20].to_vec(), ..saved.clone() };
    keep(&server, &id, short).await;
    assert_eq!(state(&server, &query).await, whole, "most of it is missing");
    let head = r#""head":""#;
    forge(&server, &id, &saved, head, &format!("{head}00")).await;
    assert_eq!(state(&server, &query).await, whole, "it is not one");
    forge(&server, &id, &saved, r#""event_count":5"#, r#""event_count":6"#).await;
    assert_eq!(state(&server, &query).await, whole, "it is of another moment");
    let text = std::str::from_utf8(&saved.body[32..]).expect("JSON after a checksum");
    let (_, after) = text.split_once(head).expect("it knows its last event");
    forge(&server, &id, &saved, &after[..64], &Digest::UNKNOWN.to_string()).await;
    assert_eq!(state(&server, &query).await, whole, "it is of another log");
}
