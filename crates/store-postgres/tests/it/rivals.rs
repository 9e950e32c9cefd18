//! Tests of concurrent writers from several servers on one database.

use std::time::Duration;

use noetl_model::{CommandId, ExecutionId, Parent, Pool, Seq, WorkerId};
use noetl_store::conformance::TestClock;
use noetl_store::conformance::given::{A, B, add, after, held, lease, remove, start};
use noetl_store::{
    Append, AppendError, Catalog as _, EventLog as _, Held, NewPlaybook, Outbox as _,
    OutboxConsumer, Take, WorkQueue as _,
};
use noetl_store_postgres::PgStore;

use crate::database::Database;

async fn servers(count: usize) -> (Vec<PgStore>, Database) {
    let database = Database::migrated().await;
    let mut servers = Vec::new();
    for _ in 0..count {
        servers.push(database.open(TestClock::default()).await);
    }
    (servers, database)
}

/// Runs the same closure on every server in parallel.
async fn at_once<T, F>(servers: &[PgStore], run: impl Fn(PgStore, usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let running: Vec<_> = servers
        .iter()
        .enumerate()
        .map(|(index, server)| tokio::spawn(run(server.clone(), index)))
        .collect();
    let mut results = Vec::new();
    for running in running {
        results.push(running.await.expect("nobody panics"));
    }
    results
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_servers_that_start_one_execution_one_does() {
    let (servers, _keep) = servers(6).await;
    for round in 0..5 {
        let answers = at_once(&servers, |server, _| async move {
            server.append(&[start(ExecutionId(round)), start(B)]).await.unwrap().remove(0)
        });
        let started = answers.await.into_iter().filter(Result::is_ok).count();
        assert_eq!(started, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_servers_that_start_a_child_one_does() {
    let (servers, _keep) = servers(6).await;
    let answers = at_once(&servers, |server, index| async move {
        let mut append = start(ExecutionId(i64::try_from(index).unwrap() + 1));
        append.summary.parent = Some(Parent::of(A, Some(CommandId(1))));
        server.append(&[append]).await.unwrap().remove(0)
    });
    let answers = answers.await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    let exists =
        |answer: &&Result<(), AppendError>| matches!(answer, Err(AppendError::ChildExists { .. }));
    assert_eq!(answers.iter().filter(exists).count(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_over_the_same_executions_in_any_order_do_not_block_each_other() {
    let (servers, _keep) = servers(4).await;
    let ids: Vec<i64> = (1..=20).collect();
    let batch: Vec<Append> = ids.iter().map(|id| start(ExecutionId(*id))).collect();
    servers[0].append(&batch).await.unwrap();
    let written = at_once(&servers, |server, index| async move {
        let mut written = 0;
        for seq in 1..=10 {
            let mut batch: Vec<Append> = (1..=20)
                .map(|id| Append { queue: vec![add(seq)], ..after(ExecutionId(id), seq) })
                .collect();
            if index % 2 == 1 {
                batch.reverse();
            }
            let answers = server.append(&batch).await.unwrap();
            written += answers.into_iter().filter(Result::is_ok).count();
        }
        written
    });
    assert_eq!(written.await.into_iter().sum::<usize>(), 200);
    for id in ids {
        assert_eq!(servers[0].read(ExecutionId(id), Seq::ZERO, 100).await.unwrap().len(), 11);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heartbeats_and_ends_of_the_same_commands_do_not_block_each_other() {
    let (servers, _keep) = servers(3).await;
    let commands = 1..=20u64;
    let queue = commands.clone().flat_map(|command| [add(command), lease(command, 1, 30)]);
    servers[0].append(&[Append { queue: queue.collect(), ..start(A) }]).await.unwrap();
    let beats: Vec<Held> = commands.rev().map(|command| held(A, command, 1)).collect();
    let done = at_once(&servers, |server, index| {
        let beats = beats.clone();
        async move {
            for round in 1..=20 {
                match index {
                    0 => {
                        let queue = vec![remove(round), remove(round + 1)];
                        let append = Append { queue, ..after(A, round) };
                        assert_eq!(server.append(&[append]).await.unwrap(), [Ok(())]);
                    }
                    1 => {
                        let answers = server.extend(&beats, Duration::from_secs(30)).await.unwrap();
                        assert_eq!(answers.len(), beats.len());
                    }
                    _ => {
                        server.renew(&WorkerId::new("worker-1"), Duration::ZERO).await.unwrap();
                    }
                }
            }
        }
    });
    done.await;
    assert_eq!(servers[0].ready_count(&Pool::shared()).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_taken_by_one_relay() {
    let (servers, _keep) = servers(4).await;
    let message = noetl_model::Message::CommandCancelled { command: CommandId(1) };
    let outbox = vec![message; 100];
    servers[0].append(&[Append { outbox, ..start(A) }]).await.unwrap();
    let taken = at_once(&servers, |server, _| async move {
        let mut ids = Vec::new();
        loop {
            let hold = Duration::from_secs(10);
            let take = Take { consumer: OutboxConsumer::Relay, limit: 7, hold };
            let rows = server.take(take).await.unwrap();
            if rows.is_empty() {
                return ids;
            }
            ids.extend(rows.iter().map(|row| row.id));
        }
    });
    let mut ids = taken.await.concat();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), count), (100, 100));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_of_a_playbook_are_counted_one_by_one() {
    let (servers, _keep) = servers(6).await;
    let versions = at_once(&servers, |server, index| async move {
        let playbook = NewPlaybook {
            catalog_id: noetl_model::CatalogId(i64::try_from(index).unwrap()),
            path: "demo/hello".into(),
            kind: "playbook".into(),
            content: format!("content {index}"),
            created_at: noetl_store::conformance::given::T0,
        };
        server.register(playbook).await.unwrap().entry.version
    });
    let mut versions = versions.await;
    versions.sort_unstable();
    assert_eq!(versions, [1, 2, 3, 4, 5, 6]);
}
