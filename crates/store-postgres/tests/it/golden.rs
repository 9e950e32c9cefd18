//! The published log gives the published replay, whatever kept it.

use noetl_api::{DEFAULT_TENANT, ReplayQuestion, Replayer, Wanted};
use noetl_model::{Cutoff, EventId, ExecutionId, Seq};
use noetl_replay::Projection;
use noetl_store::conformance::TestClock;
use noetl_store::conformance::given::told_log;
use noetl_store::{READ_EVENTS_MAX, Store};
use serde_json::Value;

const LOG: &str = include_str!("../../../replay/tests/golden/replay_golden.json");
const AT_60: &str = include_str!("../../../replay/tests/golden/replay_golden_asof60_frame.json");

async fn check(store: &impl Store) {
    let golden: Value = serde_json::from_str(LOG).expect("JSON");
    let appended = store.append(&[told_log(&golden)]).await.expect("the store writes");
    assert_eq!(appended, [Ok(())]);
    let at_60: Value = serde_json::from_str(AT_60).expect("JSON");
    let replay = async |cutoff, projection| {
        let question = ReplayQuestion {
            execution: ExecutionId(990_001),
            tenant: DEFAULT_TENANT.to_owned(),
            organization: DEFAULT_TENANT.to_owned(),
            cutoff,
            projection,
            limit: 100,
        };
        let mut replayer = Replayer::new(&question);
        let log = store.read(question.execution, Seq::ZERO, READ_EVENTS_MAX).await;
        let log = log.expect("the store reads");
        let mut events = log.iter();
        while events.next().is_some_and(|event| replayer.see(event) == Wanted::More) {}
        serde_json::to_string(&replayer.finish()).expect("JSON")
    };
    let whole = replay(Cutoff::Latest, Projection::All).await;
    assert_eq!(whole, golden["state"].to_string());
    let part = replay(Cutoff::Event(EventId(60)), Projection::Frame).await;
    assert_eq!(part, at_60.to_string());
}

#[tokio::test]
async fn one_database_gives_the_published_replay() {
    let (store, _database) = crate::conformance::fresh(TestClock::default()).await;
    check(&store).await;
}

#[tokio::test]
async fn three_shards_give_the_published_replay() {
    let (store, _databases) = crate::shards::fresh(TestClock::default()).await;
    check(&store).await;
}
