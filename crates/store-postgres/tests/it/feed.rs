//! Tests of the feed order when transactions commit in another order than they began.

use std::time::Duration;

use noetl_model::ExecutionId;
use noetl_store::conformance::TestClock;
use noetl_store::conformance::given::{A, B, start};
use noetl_store::{EventLog as _, FeedCursor, Feeds as _};
use noetl_store_postgres::PgStore;
use sqlx::Executor as _;
use tokio::time::Instant;

use crate::database::Database;

/// The longest time until a reader sees what was committed, on a busy machine with other tests, whose
/// transactions hold up readers too.
const STALL_MAX: Duration = Duration::from_secs(10);

/// Returns the executions after a cursor, and the next cursor.
async fn read(store: &PgStore, after: &FeedCursor) -> (Vec<i64>, FeedCursor) {
    let page = store.feed(after, 100).await.expect("the store reads");
    (page.items.iter().map(|item| item.execution.0).collect(), page.next)
}

#[tokio::test]
async fn events_after_an_open_transaction_are_not_shown() {
    let database = Database::migrated().await;
    let store = database.open(TestClock::default()).await;
    store.append(&[start(A)]).await.expect("an append")[0].as_ref().expect("a start");
    let mut beginning = read(&store, &FeedCursor::default()).await;
    while beginning.0.is_empty() {
        // Other tests may write to the same server.
        beginning = read(&store, &FeedCursor::default()).await;
    }
    let (shown, cursor) = beginning;
    assert_eq!(shown, [A.0]);

    // The slow transaction has its position but has not committed.
    let mut slow = database.connect().await;
    let batch = format!(
        "BEGIN; INSERT INTO noetl.feed_batch (position, executions, seqs, created_at)
         VALUES (noetl.feed_position(), ARRAY[{}], ARRAY[1], now())",
        A.0
    );
    slow.execute(sqlx::AssertSqlSafe(batch)).await.expect("a place");
    store.append(&[start(B)]).await.expect("an append")[0].as_ref().expect("a start");
    let (early, reached) = read(&store, &cursor).await;
    assert_eq!(early, [0; 0], "what was committed first has to wait");
    assert_eq!(reached, cursor, "nobody steps over what is to come");

    slow.execute("COMMIT").await.expect("its end");
    let mut all = Vec::new();
    let mut reached = cursor;
    while all.len() < 2 {
        let (more, next) = read(&store, &reached).await;
        all.extend(more);
        reached = next;
    }
    assert_eq!(all, [A.0, B.0], "in the order in which they began");
}

/// Every tenth transaction is rolled back after it has got its position, and every seventh append is
/// refused.
#[tokio::test]
async fn positions_of_aborted_transactions_hold_up_no_reader() {
    let database = Database::migrated().await;
    let store = database.open(TestClock::default()).await;
    let mut aborted = database.connect().await;
    let (mut cursor, mut shown) = (FeedCursor::default(), Vec::new());
    for number in 1..=100_i64 {
        if number % 10 == 0 {
            let batch =
                "BEGIN; INSERT INTO noetl.feed_batch (position, executions, seqs, created_at)
                 VALUES (noetl.feed_position(), ARRAY[999], ARRAY[1], now()); ROLLBACK";
            aborted.execute(batch).await.expect("it is rolled back");
        }
        if number % 7 == 0 {
            let again = store.append(&[start(ExecutionId(number - 1))]).await.expect("an answer");
            assert!(again[0].is_err(), "it exists already");
        }
        store.append(&[start(ExecutionId(number))]).await.expect("an append")[0]
            .as_ref()
            .expect("a start");
        let begun = Instant::now();
        while shown.last() != Some(&number) {
            assert!(begun.elapsed() < STALL_MAX, "{number} is not shown");
            let (more, next) = read(&store, &cursor).await;
            shown.extend(more);
            cursor = next;
        }
    }
    assert_eq!(shown, (1..=100).collect::<Vec<i64>>());
}
