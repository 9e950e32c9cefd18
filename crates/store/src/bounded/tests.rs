//! Tests of the deadlines with a store that never answers, and of write faults with a full disk.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;

use super::*;
use crate::conformance::TestClock;
use crate::conformance::given::{A, start};
use crate::{MemoryStore, WorkQueue as _, WriteFault};

const DEADLINE: Duration = Duration::from_secs(5);

async fn fresh(clock: TestClock) -> (Bounded<MemoryStore>, ()) {
    (Bounded::new(Arc::new(memory(clock)), DEADLINE), ())
}

fn memory(clock: TestClock) -> MemoryStore {
    MemoryStore::new(Arc::new(clock))
}

crate::conformance!(fresh);

/// A store that accepts every call and never answers.
struct Silent(MemoryStore);

impl Wrapper for Silent {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.0
    }

    async fn call<T: Send>(
        &self,
        _: Access,
        _: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline() {
    let begun = Instant::now();
    let store = Arc::new(Silent(memory(TestClock::default())));
    let error = Bounded::new(store, DEADLINE).next_due().await.unwrap_err();
    assert!(matches!(error, StoreError::TimedOut { deadline: DEADLINE }), "{error:?}");
    assert_eq!(begun.elapsed(), DEADLINE);
}

/// A store whose disk is full until `has_room` is set.
struct Full {
    store: MemoryStore,
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

impl Wrapper for Full {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.store
    }

    async fn call<T: Send>(
        &self,
        _: Access,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        answer.await
    }

    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        Ok(batch.iter().map(|_| self.write().map_err(AppendError::from)).collect())
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        self.write()
    }
}

#[tokio::test]
async fn a_refused_write_is_remembered_until_a_check_finds_room() {
    let full = Full { store: memory(TestClock::default()), has_room: AtomicBool::new(false) };
    let store = Bounded::new(Arc::new(full), DEADLINE);
    let (log, layout): (&dyn EventLog, &dyn Layout) = (&store, &store);
    assert_eq!(layout.write_fault(), None);
    let outcomes = log.append(&[start(A)]).await.unwrap();
    assert!(matches!(outcomes[..], [Err(AppendError::Unanswered(_))]), "{outcomes:?}");
    let full = Some("the database cannot be written: the disk is full".to_owned());
    assert_eq!(layout.write_fault(), full);
    layout.check_writable().await.unwrap_err();
    assert_eq!(layout.write_fault(), full);
    store.store.has_room.store(true, Ordering::Relaxed);
    layout.check_writable().await.unwrap();
    assert_eq!(layout.write_fault(), None);
}
