//! Tests of several databases as one store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use noetl_model::{CommandId, Digest, ExecutionId, Message, Parent, Pool, Seq, shard_of};
use noetl_store::conformance::given::{add, after, at, held, lease, start};
use noetl_store::conformance::{Subject, TestClock};
use noetl_store::{
    Append, AppendError, EventLog as _, ExecutionFilter, Executions as _, HeldAnswer, Outbox as _,
    OutboxConsumer, Page, Take, WorkQueue as _,
};
use noetl_store_postgres::{ClusterSettings, PgStore, Shards, TimeSource};
use noetl_testkit::PostgresServer;
use tokio::time::timeout;

use crate::database::Database;

const SHARDS: usize = 3;
/// Executions in shards 1, 0, 0, 0, 1, 0, 2.
const EXECUTIONS: [ExecutionId; 7] = [
    ExecutionId(1),
    ExecutionId(2),
    ExecutionId(3),
    ExecutionId(4),
    ExecutionId(5),
    ExecutionId(6),
    ExecutionId(7),
];

/// Opens three databases with an operator's settings.
pub(crate) async fn fresh(clock: TestClock) -> (Shards, Vec<Database>) {
    let mut databases = Vec::new();
    for _ in 0..SHARDS {
        databases.push(Database::migrated().await);
    }
    (open(&databases, clock).await, databases)
}

async fn open(databases: &[Database], clock: TestClock) -> Shards {
    let urls: Vec<String> =
        databases.iter().map(|database| PostgresServer::shared().url(&database.name)).collect();
    let settings = ClusterSettings::from_env(|name| match name {
        "NOETL_SHARDS" => Some(urls.join(",")),
        "POSTGRES_MIN_CONNECTIONS" => Some("0".to_owned()),
        _ => None,
    });
    let settings = settings.expect("the settings are right");
    Shards::connect(settings, TimeSource::Clock(Arc::new(clock))).await.expect("the shards open")
}

async fn subject() -> (Subject, Vec<Database>) {
    let clock = TestClock::default();
    let (shards, databases) = fresh(clock.clone()).await;
    (Subject::new(shards, clock), databases)
}

#[tokio::test]
async fn each_execution_lives_in_its_shard_and_nowhere_else() {
    let (subject, databases) = subject().await;
    let batch: Vec<Append> = EXECUTIONS.iter().map(|execution| start(*execution)).collect();
    assert!(subject.append_all(&batch).await.iter().all(Result::is_ok));
    for (index, database) in databases.iter().enumerate() {
        let alone: PgStore = database.open(subject.clock.clone()).await;
        for execution in EXECUTIONS {
            let found = alone.summary(execution).await.unwrap().is_some();
            assert_eq!(found, shard_of(execution, SHARDS) == index, "{execution} in {index}");
        }
    }
    let all = subject.list(ExecutionFilter::default(), None, 4).await;
    assert_eq!(all, [7, 6, 5, 4]);
    let older = subject.list(ExecutionFilter::default(), Some(ExecutionId(4)), 4).await;
    assert_eq!(older, [3, 2, 1]);
}

#[tokio::test]
async fn a_batch_is_answered_in_its_own_order() {
    let (subject, _keep) = subject().await;
    assert_eq!(subject.append(start(ExecutionId(2))).await, Ok(()));
    let batch = [7, 2, 1, 3, 7].map(|id| start(ExecutionId(id)));
    let conflict = Err(AppendError::Conflict);
    let expected = [Ok(()), conflict.clone(), Ok(()), Ok(()), conflict];
    assert_eq!(subject.append_all(&batch).await, expected);
}

#[tokio::test]
async fn commands_wait_in_one_line_across_shards() {
    let (subject, _keep) = subject().await;
    for (second, execution) in [(3, 1), (1, 2), (2, 7)] {
        subject.at(second);
        let queue = vec![add(1), lease(1, 1, 10 - second)];
        let append = Append { queue, ..start(ExecutionId(execution)) };
        assert_eq!(subject.append(append).await, Ok(()));
    }
    let held = [held(ExecutionId(7), 1, 1), held(ExecutionId(1), 1, 2), held(ExecutionId(2), 1, 1)];
    let answers = subject.store.extend(&held, Duration::from_secs(30)).await.unwrap();
    use HeldAnswer::{Extended, Superseded};
    assert_eq!(answers, [Extended, Superseded, Extended]);
    subject.at(60);
    assert_eq!(subject.ready().await, [(1, 1, 1), (2, 1, 1), (7, 1, 1)]);
    let first = subject.store.ready(&Pool::shared(), Some(ExecutionId(1)), 2).await.unwrap();
    assert_eq!(first.iter().map(|row| row.execution.0).collect::<Vec<_>>(), [2, 7]);
    // The lease that was not extended expires first.
    let exhausted = subject.store.exhausted(1, 0, 10).await.unwrap();
    assert_eq!(exhausted.iter().map(|held| held.execution.0).collect::<Vec<_>>(), [1, 2, 7]);
}

#[tokio::test]
async fn messages_of_all_shards_are_taken_and_sent_once() {
    let (subject, _keep) = subject().await;
    for execution in EXECUTIONS {
        let message = Message::CommandCancelled { command: CommandId(1) };
        let outbox = vec![message.clone(), message];
        assert_eq!(subject.append(Append { outbox, ..start(execution) }).await, Ok(()));
    }
    let visibility = Duration::from_secs(10);
    let mut ids = Vec::new();
    for expected in [5, 5, 4, 0] {
        let take = Take { consumer: OutboxConsumer::Relay, limit: 5, hold: visibility };
        let rows = subject.store.take(take).await.unwrap();
        assert_eq!(rows.len(), expected);
        ids.extend(rows.iter().map(|row| row.id));
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 14, "every message has an identity of its own");
    subject.store.sent(&ids[1..]).await.unwrap();
    assert_eq!(subject.owed().await, 1);
    subject.at(10);
    let left: Vec<i64> = subject.take(visibility).await.iter().map(|row| row.id).collect();
    assert_eq!(left, ids[..1]);
}

#[tokio::test]
async fn a_value_is_found_whichever_shard_has_it() {
    let (subject, _keep) = subject().await;
    let bytes = b"\"large\"".to_vec();
    let digest = Digest::of(&bytes);
    let payloads = vec![(digest, Arc::new(bytes.clone()))];
    assert_eq!(subject.append(Append { payloads, ..start(ExecutionId(7)) }).await, Ok(()));
    assert_eq!(subject.store.payload(&digest).await.unwrap(), Some(bytes));
}

fn child(execution: i64) -> Append {
    let parent = Parent::of(ExecutionId(9), Some(CommandId(4)));
    let mut append = start(ExecutionId(execution));
    append.summary.parent = Some(parent);
    append
}

#[tokio::test]
async fn a_command_has_one_child_even_if_another_shard_holds_it() {
    let (subject, _keep) = subject().await;
    assert_eq!(subject.append(child(1)).await, Ok(()));
    let exists = Err(AppendError::ChildExists { child: ExecutionId(1) });
    for other in [2, 5, 7] {
        assert_eq!(subject.append(child(other)).await, exists, "{other}");
    }
    assert_eq!(subject.append(child(1)).await, Err(AppendError::Conflict));
    let found = subject.store.child_of(ExecutionId(9), CommandId(4)).await.unwrap();
    assert_eq!(found, Some(ExecutionId(1)));
}

#[tokio::test]
async fn of_two_children_in_one_batch_one_is_started() {
    let (subject, _keep) = subject().await;
    let answers = subject.append_all(&[child(7), child(1), start(ExecutionId(2))]).await;
    assert_eq!(answers, [Ok(()), Err(AppendError::Conflict), Ok(())]);
    let again = subject.append(child(1)).await;
    assert_eq!(again, Err(AppendError::ChildExists { child: ExecutionId(7) }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_servers_that_start_a_child_at_once_one_does() {
    let (first, databases) = subject().await;
    let second = open(&databases, first.clock.clone()).await;
    let servers = [first.store, Arc::new(second)];
    let starts: Vec<_> = (0..12)
        .map(|number| {
            let server = servers[number % 2].clone();
            let append = child(i64::try_from(number).unwrap() + 1);
            tokio::spawn(async move { server.append(&[append]).await.unwrap().remove(0) })
        })
        .collect();
    let mut started = 0;
    for start in starts {
        match start.await.unwrap() {
            Ok(()) => started += 1,
            Err(error) => assert!(matches!(error, AppendError::ChildExists { .. }), "{error}"),
        }
    }
    assert_eq!(started, 1);
}

#[tokio::test]
async fn partitions_are_kept_in_every_shard() {
    let mut databases = Vec::new();
    for _ in 0..SHARDS {
        databases.push(Database::own().await);
    }
    let shards = open(&databases, TestClock::default()).await;
    assert_eq!(shards.shards(), SHARDS);
    assert_eq!(shards.upkeep(at(0)).await.unwrap(), 0, "they were made when it opened");
    let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM noetl.partitioned")
        .fetch_one(&mut databases[0].connect().await)
        .await
        .unwrap();
    let made = shards.upkeep(at(31 * 24 * 3600)).await.unwrap();
    assert_eq!(i64::from(made), 3 * tables, "one month of each table in each shard");
    // December and January have expired; later months are not touched.
    assert_eq!(shards.drop_expired(at(32 * 24 * 3600)).await.unwrap(), ["2025_12", "2026_01"]);
    assert_eq!(shards.append(&[start(ExecutionId(7))]).await.unwrap(), [Ok(())]);
    assert_eq!(shards.read(ExecutionId(7), Seq::ZERO, 1).await.unwrap().len(), 1);
}

/// Opens a store on three servers, one of which is stopped later.
async fn on_servers(servers: &[PostgresServer]) -> Shards {
    let urls: Vec<String> = servers.iter().map(|server| server.url("postgres")).collect();
    let settings = ClusterSettings::from_env(|name| match name {
        "NOETL_SHARDS" => Some(urls.join(",")),
        _ => None,
    });
    let settings = settings.expect("the settings are right");
    Shards::connect(settings, TimeSource::Database).await.expect("the shards open")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_is_down_stops_its_own_executions_and_no_others() {
    let servers: Vec<PostgresServer> = (0..SHARDS).map(|_| PostgresServer::private()).collect();
    let shards = on_servers(&servers).await;
    let owing = |id| Append {
        queue: vec![add(1)],
        outbox: vec![Message::CommandCancelled { command: CommandId(1) }],
        ..start(ExecutionId(id))
    };
    assert_eq!(
        shards.append(&[owing(1), owing(2), owing(7)]).await.unwrap(),
        [const { Ok(()) }; 3]
    );
    // Shards 1, 0 and 2 have one execution each; the third server stops.
    servers[2].stop();
    let begun = Instant::now();
    let batch = [start(ExecutionId(5)), after(EXECUTIONS[6], 1), start(ExecutionId(3))];
    let answers = shards.append(&batch).await.unwrap();
    assert!(
        matches!(answers[..], [Ok(()), Err(AppendError::Unanswered(_)), Ok(())]),
        "{answers:?}"
    );
    let ready = shards.ready(&Pool::shared(), None, 10).await.unwrap();
    assert_eq!(ready.iter().map(|row| row.execution.0).collect::<BTreeSet<_>>(), [1, 2].into());
    let take = Take { consumer: OutboxConsumer::Relay, limit: 5, hold: Duration::ZERO };
    let rows = shards.take(take).await.unwrap();
    assert_eq!(rows.len(), 2);
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    assert_eq!(shards.sent(&ids).await.unwrap().marked, 2);
    assert!(shards.append(&[after(EXECUTIONS[6], 1)]).await.is_err());
    assert!(
        shards.list(&ExecutionFilter::default(), Page { before: None, limit: 9 }).await.is_err()
    );
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    servers[2].start_again();
    let back = async {
        while shards.append(&[after(EXECUTIONS[6], 1)]).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(30), back).await.expect("the shard is back");
    assert_eq!(shards.ready(&Pool::shared(), None, 10).await.unwrap().len(), 3);
}
