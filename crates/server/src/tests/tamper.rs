//! Tests that every manipulation of the database is detected and named, on both kinds of database.

use noetl_compat::Replayer;
use noetl_engine::replay;
use noetl_model::{Digest, EventId, EventTag, ExecutionId, Recorded, Seq};
use noetl_store::{Append, ReplayBound, SavedReplay, Snapshot, Store};
use noetl_testkit::{PostgresServer, Story, StoryOptions};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};

use super::stores::Backing;
use super::{HELLO, Server};

/// A playbook that produces about a thousand events.
const LOOP: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: loop, path: tests/loop}
workflow:
  - step: start
    loop: {in: 250, iterator: n, spec: {mode: parallel, max_in_flight: 3}}
    tool: {kind: noop, result: 'item {{ n }}'}
";

/// A direct connection to a server's database.
enum Back {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Back {
    async fn of(backing: &Backing) -> Self {
        match backing {
            Backing::Sqlite(directory) => {
                let files = std::fs::read_dir(directory.path()).expect("a directory");
                let path = files
                    .map(|file| file.expect("a file").path())
                    .find(|path| path.extension().is_some_and(|it| it == "db"));
                let url = format!("sqlite://{}", path.expect("a database").display());
                Self::Sqlite(SqliteConnection::connect(&url).await.expect("a database"))
            }
            Backing::Postgres { databases, .. } => {
                let url = PostgresServer::shared().url(&databases[0]);
                Self::Postgres(PgConnection::connect(&url).await.expect("a database"))
            }
        }
    }

    /// Runs statements written for both databases: `TABLE(x)` is a table, `DIGEST` a digest of
    /// nothing, `TEXT(body)` the text of a JSON column, `FLIPPED` a blob with a changed byte,
    /// `TICK` the smallest time difference, `FAR` a late time.
    async fn does(&mut self, statements: &str) {
        match self {
            Self::Sqlite(connection) => {
                let statements = replaced(statements, |it| it.to_owned(), |it| it.to_owned())
                    .replace("TICK", "1")
                    .replace("FAR", "4102444800000000")
                    .replace(
                        "FLIPPED",
                        "CAST(substr(body, 1, 99) || '!' || substr(body, 101) AS BLOB)",
                    )
                    .replace("DIGEST", "zeroblob(32)");
                connection.execute(AssertSqlSafe(statements)).await.expect("it can be done");
            }
            Self::Postgres(connection) => {
                let text = |it: &str| format!("{it}::text");
                let table = |it: &str| match it {
                    "snapshot" => "noetl.projection_snapshot".to_owned(),
                    other => format!("noetl.{other}"),
                };
                let statements = replaced(statements, table, text)
                    .replace("TICK", "interval '1 microsecond'")
                    .replace("FAR", "timestamptz '2100-01-01T00:00:00Z'")
                    .replace("FLIPPED", "set_byte(body, 99, 33)")
                    .replace("DIGEST", "decode(repeat('00', 32), 'hex')");
                connection.execute(AssertSqlSafe(statements)).await.expect("it can be done");
            }
        }
    }

    fn json(&self, text: &str) -> String {
        match self {
            Self::Sqlite(_) => text.to_owned(),
            Self::Postgres(_) => format!("({text})::json"),
        }
    }
}

fn replaced(
    statements: &str,
    table: impl Fn(&str) -> String,
    text: impl Fn(&str) -> String,
) -> String {
    let mut statements = statements.replace("TEXT(body)", &text("body"));
    for name in ["event", "execution", "command", "timer", "snapshot", "replay_fold"] {
        statements = statements.replace(&format!("TABLE({name})"), &table(name));
    }
    statements
}

/// Returns the valid log for an execution, chained from its first event on.
fn log_of(story: &Story, execution: ExecutionId) -> Vec<Recorded> {
    let mut head = Digest::before(execution);
    let chain = story.log.iter().map(|recorded| {
        let event_id = EventId(execution.0 * 10_000 + recorded.event_id.0);
        let chained = Recorded { event_id, prev: Some(head), ..recorded.clone() };
        head = chained.digest_after(&head);
        chained
    });
    chain.collect()
}

async fn write(store: &dyn Store, execution: ExecutionId, events: Vec<Recorded>) {
    let state = replay(execution, events.clone()).expect("it is legal").expect("it has events");
    let append = Append {
        execution,
        expected: Seq::ZERO,
        events,
        summary: state.summary(),
        queue: Vec::new(),
        timers: Vec::new(),
        outbox: Vec::new(),
        index: Vec::new(),
        payloads: Vec::new(),
        key: None,
    };
    assert_eq!(store.append(&[append]).await.expect("the store appends"), [Ok(())]);
}

/// A server with many identical executions, and its database.
struct Tampering {
    server: Server,
    back: Back,
    story: Story,
    /// The next execution to manipulate.
    next: i64,
    /// An event in the middle of the log: the end of a command.
    middle: Seq,
}

impl Tampering {
    async fn on(backing: &Backing) -> Self {
        let server = backing.server().await;
        let back = Back::of(backing).await;
        let mut story = Story::begin(LOOP, StoryOptions::default());
        story.run();
        assert!(story.log.len() >= 1000, "{}", story.log.len());
        let mut later = story.log.iter().skip(500);
        let middle = later.find(|it| it.event.tag() == EventTag::CommandCompleted);
        let middle = middle.expect("commands end all the time").seq;
        Self { server, back, story, next: 1, middle }
    }

    /// Writes an execution with a thousand events, and its snapshot.
    async fn honest(&mut self) -> ExecutionId {
        let execution = ExecutionId(self.next);
        self.next += 1;
        write(&*self.server.store, execution, log_of(&self.story, execution)).await;
        let saved = self.server.state.control().advance_projection(execution).await;
        assert_eq!(saved.expect("it is saved").events, length(&self.story));
        execution
    }

    /// Writes an execution, and saves replays of its first events.
    async fn replayed(&mut self) -> ExecutionId {
        let execution = self.honest().await;
        for projection in ["all", "loop"] {
            let query = format!("execution_id={execution}&limit=16&projection={projection}");
            let answer = self.server.get(&format!("/api/replay/state?{query}")).await;
            assert_eq!(answer.body["event_count"], 16, "{}", answer.body);
        }
        let saved = self.server.store.saved_replays(execution).await;
        assert_eq!(saved.expect("the store answers").len(), 6);
        execution
    }

    /// Manipulates an execution and checks the reported fault; in the statements, `ID` is its id,
    /// `MID` an event in the middle and `LAST` the last one.
    async fn check(&mut self, statements: &str, expected: &str) {
        let execution = self.honest().await;
        self.check_one(execution, statements, expected).await;
    }

    async fn check_one(&mut self, execution: ExecutionId, statements: &str, expected: &str) {
        assert_eq!(self.found(execution).await, "nothing");
        let middle = self.middle.to_string();
        let forged = r#"'{"type":"reported","name":"forged","body":null}'"#;
        let statements = statements
            .replace("FORGED", &self.back.json(forged))
            .replace("BODY", &self.back.json("replace(TEXT(body), 'item ', 'Item ')"))
            .replace("MID", &middle)
            .replace("ID", &execution.to_string());
        self.back.does(&statements).await;
        let found = self.found(execution).await;
        let expected = self.spelled_out(expected);
        assert!(found.starts_with(&expected), "{statements}\nfound: {found}\nnot:   {expected}");
    }

    /// Returns the fault or note of an execution's verification.
    async fn found(&self, execution: ExecutionId) -> String {
        let found = self.server.get(&format!("/api/executions/{execution}/verify")).await.body;
        let said = |key: &str| found[key].as_str().map(without_ids);
        said("fault").or_else(|| said("note")).unwrap_or_else(|| "nothing".to_owned())
    }

    fn spelled_out(&self, expected: &str) -> String {
        let last = length(&self.story);
        expected
            .replace("PRIOR", &(last - 1).to_string())
            .replace("BEYOND", &(last + 7).to_string())
            .replace("NEXT", &self.middle.next().to_string())
            .replace("MID", &self.middle.to_string())
            .replace("LAST", &last.to_string())
    }
}

fn length(story: &Story) -> u64 {
    story.log.len().try_into().expect("a count in memory fits")
}

/// Removes the event ids from a fault.
fn without_ids(fault: &str) -> String {
    let mut parts = fault.split(", id ");
    let first = parts.next().unwrap_or_default().to_owned();
    let is_id = |c: char| c.is_ascii_digit() || c == '-';
    parts.fold(first, |text, part| text + part.trim_start_matches(is_id))
}

async fn every_change_is_named(backing: Backing) {
    let mut it = Tampering::on(&backing).await;
    let of_log = "execution_id = ID AND seq";
    it.check(
        &format!("UPDATE TABLE(event) SET body = BODY WHERE {of_log} = MID"),
        "event MID (command.completed) is not what was written",
    )
    .await;
    it.check(
        &format!("UPDATE TABLE(event) SET created_at = created_at + TICK WHERE {of_log} = MID"),
        "event MID (command.completed) is not what was written",
    )
    .await;
    it.check(&format!("DELETE FROM TABLE(event) WHERE {of_log} = MID"), "event MID is missing")
        .await;
    let last = "(SELECT max(seq) FROM TABLE(event) WHERE execution_id = ID)";
    it.check(&format!("DELETE FROM TABLE(event) WHERE {of_log} = {last}"), "event LAST is missing")
        .await;
    it.check(
        &format!(
            "UPDATE TABLE(event) SET seq = seq + 100000 WHERE {of_log} >= MID; \
             UPDATE TABLE(event) SET seq = seq - 99999 WHERE {of_log} > 100000; \
             INSERT INTO TABLE(event) (execution_id, seq, event_id, event_type, node_name, \
             created_at, body, prev_digest) SELECT ID, MID, -ID, 'reported', NULL, created_at, \
             FORGED, prev_digest FROM TABLE(event) WHERE {of_log} = MID + 1"
        ),
        "event MID (reported) was inserted",
    )
    .await;
    it.check(
        &format!(
            "UPDATE TABLE(event) SET seq = 100000 WHERE {of_log} = MID; \
             UPDATE TABLE(event) SET seq = MID WHERE {of_log} = MID + 1; \
             UPDATE TABLE(event) SET seq = MID + 1 WHERE {of_log} = 100000"
        ),
        "event MID (iteration.completed) and event NEXT (command.completed) have changed places",
    )
    .await;
    rows_in_any_order(&mut it).await;
    beside_the_log(&mut it).await;
    to_the_snapshot(&mut it).await;
    to_saved_replays(&mut it).await;
    to_open_commands(&mut it).await;
}

/// The physical order of the rows does not matter: they are ordered by seq.
async fn rows_in_any_order(it: &mut Tampering) {
    let execution = it.honest().await;
    let path = format!("/api/replay/state?execution_id={execution}&limit=2000");
    let before = it.server.get(&path).await.body;
    assert_eq!(before["event_count"], length(&it.story));
    let turned = "CREATE TEMPORARY TABLE turned AS SELECT * FROM TABLE(event) \
         WHERE execution_id = ID ORDER BY seq DESC; \
         DELETE FROM TABLE(event) WHERE execution_id = ID; \
         INSERT INTO TABLE(event) SELECT * FROM turned ORDER BY seq DESC; \
         DROP TABLE turned";
    it.check_one(execution, turned, "nothing").await;
    assert_eq!(it.server.get(&path).await.body, before);
}

async fn beside_the_log(it: &mut Tampering) {
    let of_it = "WHERE execution_id = ID";
    it.check(
        &format!("UPDATE TABLE(execution) SET status = 'FAILED' {of_it}"),
        r#"the summary says that `status` is "FAILED"; by the log it is "COMPLETED""#,
    )
    .await;
    it.check(
        &format!("UPDATE TABLE(execution) SET steps_failed = 1 {of_it}"),
        "the summary says that `steps` is ",
    )
    .await;
    it.check(
        &format!("UPDATE TABLE(execution) SET head_digest = DIGEST {of_it}"),
        "event LAST (execution.completed) or the digest that is kept of it is not what was written",
    )
    .await;
    it.check(
        &format!("UPDATE TABLE(execution) SET head_digest = NULL {of_it}"),
        "event LAST (execution.completed) or the digest that is kept of it is not what was written",
    )
    .await;
    it.check(
        "INSERT INTO TABLE(timer) (execution_id, timer_id, due_at) VALUES (ID, 9, FAR)",
        "timer 9 is due at 2100-01-01",
    )
    .await;
    it.check(
        "INSERT INTO TABLE(command) (execution_id, command_id, pool, step_name, attempt, status, \
         created_at) VALUES (ID, 9, 'other', 'start', 0, 'ISSUED', FAR)",
        "by the queue, command 9 is waiting in pool other; by the log it is not there",
    )
    .await;
}

async fn to_the_snapshot(it: &mut Tampering) {
    let of_it = "WHERE execution_id = ID";
    it.check(
        &format!("UPDATE TABLE(snapshot) SET body = FLIPPED {of_it}"),
        "the snapshot at event LAST is invalid: its checksum does not match",
    )
    .await;
    it.check(
        &format!("UPDATE TABLE(snapshot) SET seq = seq - 1 {of_it}"),
        "the snapshot at event PRIOR is invalid: it is of another execution or moment",
    )
    .await;
    it.check(
        &format!("UPDATE TABLE(snapshot) SET seq = seq + 7 {of_it}"),
        "the snapshot at event BEYOND is invalid: it covers more than is written, which is up to \
         LAST",
    )
    .await;
    it.check(
        &format!("UPDATE TABLE(snapshot) SET shape = shape + 1 {of_it}"),
        "the snapshot at event LAST was saved by another version",
    )
    .await;
    // A snapshot with a valid checksum that is not the fold of the log.
    let execution = it.honest().await;
    let store = &*it.server.store;
    let saved = store.latest(execution).await.expect("the store answers").expect("it was saved");
    let text = String::from_utf8(saved.body[32..].to_vec()).expect("JSON is text");
    assert!(text.contains("\"Completed\"") || text.contains("\"COMPLETED\""), "{text}");
    let text = text.replace("\"COMPLETED\"", "\"FAILED\"").replace("\"Completed\"", "\"Failed\"");
    let body = [Digest::of(text.as_bytes()).as_bytes(), text.as_bytes()].concat();
    store.save(execution, &Snapshot { body, ..saved }).await.expect("it is saved");
    let expected = it.spelled_out("the snapshot at event LAST is not the fold of the log");
    let found = it.found(execution).await;
    assert!(found.starts_with(&expected), "{found}");
}

async fn to_saved_replays(it: &mut Tampering) {
    let of_it = "WHERE execution_id = ID AND seq = 10";
    for (change, expected) in [
        ("UPDATE TABLE(replay_fold) SET body = FLIPPED", "10 is invalid: its checksum does not"),
        ("UPDATE TABLE(replay_fold) SET seq = 11", "11 is invalid: it is of another execution"),
        (
            "UPDATE TABLE(replay_fold) SET seq = 99999",
            "99999 is invalid: it covers more than is written",
        ),
        (
            "UPDATE TABLE(replay_fold) SET last_event_id = last_event_id - 1",
            "10 is invalid: it is not what the log shows up to there",
        ),
        ("UPDATE TABLE(replay_fold) SET shape = shape + 1", "10 was saved by another version"),
        ("DELETE FROM TABLE(replay_fold)", "nothing"),
    ] {
        let execution = it.replayed().await;
        let expected = match expected {
            "nothing" => expected.to_owned(),
            what => format!("the replay of `all` saved at event {what}"),
        };
        it.check_one(execution, &format!("{change} {of_it}"), &expected).await;
    }
    let execution = it.replayed().await;
    it.check_one(
        execution,
        "UPDATE TABLE(replay_fold) SET projection = 'none' WHERE execution_id = ID AND seq = 5 \
         AND projection = 'all'",
        "the replay of `none` saved at event 5 is invalid: there is no such projection",
    )
    .await;
    // A saved replay with a valid checksum that differs from the log.
    let execution = it.replayed().await;
    let store = &*it.server.store;
    let bound = ReplayBound { shape: Replayer::SHAPE, seq: Seq(10), last_id: None, last_at: None };
    let saved = store.furthest_replay(execution, "all", bound).await.expect("the store answers");
    let saved = saved.expect("it was saved");
    let text = String::from_utf8(saved.body[32..].to_vec()).expect("JSON is text");
    assert!(text.contains("PENDING"), "{text}");
    let text = text.replace("PENDING", "RUNNING");
    let body = [Digest::of(text.as_bytes()).as_bytes(), text.as_bytes()].concat();
    let forged = SavedReplay { body, ..saved };
    store.save_replay(execution, "all", &forged).await.expect("it is saved");
    let found = it.found(execution).await;
    let expected = "the replay of `all` saved at event 10 is invalid: it is not what the log shows";
    assert!(found.starts_with(expected), "{found}");
}

/// Manipulates a waiting command, and a command that a worker holds.
async fn to_open_commands(it: &mut Tampering) {
    it.server.register(HELLO).await;
    let of_it = "WHERE execution_id = ID";
    let held = "status = 'CLAIMED', worker_id = 'mallory', lease_until = FAR, attempt = 1";
    for (change, expected) in [
        (format!("DELETE FROM TABLE(command) {of_it}"), "not there; by the log it is WAITING"),
        (
            format!("UPDATE TABLE(command) SET {held} {of_it}"),
            "held by mallory as attempt 1 in pool shared; by the log it is WAITING",
        ),
        (
            format!("UPDATE TABLE(command) SET pool = 'theirs' {of_it}"),
            "waiting in pool theirs; by the log it is WAITING",
        ),
        (
            format!("UPDATE TABLE(command) SET attempt = 2 {of_it}"),
            "waiting as attempt 2 in pool shared; by the log it is WAITING",
        ),
    ] {
        let execution = it.server.start("tests/hello").await.parse().expect("an id");
        let expected = expected.replace("WAITING", "waiting in pool shared");
        it.check_one(execution, &change, &format!("by the queue, command 0 is {expected}")).await;
    }
    let execution = it.server.start("tests/hello").await.parse().expect("an id");
    let wish = json!({ "worker": "honest", "pool": "shared", "max": 9, "wait_ms": 100 });
    it.server.post("/api/worker/lease", wish).await;
    it.check_one(
        execution,
        &format!("UPDATE TABLE(command) SET worker_id = 'mallory' {of_it}"),
        "by the queue, command 0 is held by mallory as attempt 1 in pool shared; by the log it is \
         held by honest as attempt 1 in pool shared",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_to_a_database_file_is_found_and_named() {
    every_change_is_named(Backing::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_to_a_postgresql_database_is_found_and_named() {
    every_change_is_named(Backing::postgres(1).await).await;
}
