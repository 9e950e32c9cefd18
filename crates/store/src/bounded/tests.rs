//! Tests of the deadlines with a store that never answers, and of write faults with a full disk.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;

use super::*;
use crate::conformance::TestClock;
use crate::conformance::given::{A, start};

const DEADLINE: Duration = Duration::from_secs(5);

async fn fresh(clock: TestClock) -> (Bounded<MemoryStore>, ()) {
    (Bounded::new(Arc::new(MemoryStore::new(Arc::new(clock))), DEADLINE), ())
}

crate::conformance!(fresh);

/// A store that accepts every call and never answers.
struct Silent;

#[async_trait]
impl Timers for Silent {
    async fn due(&self, _: Timestamp, _: usize) -> Result<Vec<TimerRow>, StoreError> {
        pending().await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline() {
    let begun = Instant::now();
    let error = Bounded::new(Arc::new(Silent), DEADLINE).next_due().await.unwrap_err();
    assert!(matches!(error, StoreError::TimedOut { deadline: DEADLINE }), "{error:?}");
    assert_eq!(begun.elapsed(), DEADLINE);
}

/// A store whose disk is full until `has_room` is set.
#[derive(Default)]
struct Full {
    has_room: AtomicBool,
}

impl Full {
    fn write(&self) -> Result<(), StoreError> {
        if self.has_room.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (place, fault) = ("the database".to_owned(), WriteFault::Full);
        Err(StoreError::Unwritable { place, fault, source: "no space left on device".into() })
    }
}

#[async_trait]
impl EventLog for Full {
    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        Ok(batch.iter().map(|_| self.write().map_err(AppendError::from)).collect())
    }

    async fn read(&self, _: ExecutionId, _: Seq, _: usize) -> Result<Vec<Recorded>, StoreError> {
        Ok(Vec::new())
    }

    async fn find(&self, _: EventId) -> Result<Option<(ExecutionId, Recorded)>, StoreError> {
        Ok(None)
    }
}

#[async_trait]
impl Layout for Full {
    async fn count(&self, _: ExecutionStatus, _: u64) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn tables(&self) -> Result<Tables, StoreError> {
        Ok(Tables::default())
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        self.write()
    }
}

#[tokio::test]
async fn a_refused_write_is_remembered_until_a_check_finds_room() {
    let store = Bounded::new(Arc::new(Full::default()), DEADLINE);
    assert_eq!(store.write_fault(), None);
    let outcomes = store.append(&[start(A)]).await.unwrap();
    assert!(matches!(outcomes[..], [Err(AppendError::Unanswered(_))]), "{outcomes:?}");
    let full = Some("the database cannot be written: the disk is full".to_owned());
    assert_eq!(store.write_fault(), full);
    store.check_writable().await.unwrap_err();
    assert_eq!(store.write_fault(), full);
    store.store.has_room.store(true, Ordering::Relaxed);
    store.check_writable().await.unwrap();
    assert_eq!(store.write_fault(), None);
}
