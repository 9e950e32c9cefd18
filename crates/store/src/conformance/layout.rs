//! Conformance cases of the operator's view of a store.

use noetl_model::{ExecutionId, ExecutionStatus};

use super::Subject;
use super::given::start;

pub async fn executions_are_counted_by_status_up_to_a_limit(subject: Subject) {
    for id in 1..=5 {
        let mut append = start(ExecutionId(id));
        append.summary.status = match id {
            1 => ExecutionStatus::Failed,
            _ => ExecutionStatus::Completed,
        };
        assert_eq!(subject.append(append).await, Ok(()));
    }
    let count = async |status, max| subject.store.count(status, max).await.expect("it counts");
    assert_eq!(count(ExecutionStatus::Failed, 100).await, 1);
    assert_eq!(count(ExecutionStatus::Completed, 100).await, 4);
    assert_eq!(count(ExecutionStatus::Completed, 3).await, 3);
    assert_eq!(count(ExecutionStatus::Running, 100).await, 0);
}

pub async fn no_table_is_missing_and_connections_add_up(subject: Subject) {
    let tables = subject.store.tables().await.expect("the store knows its tables");
    assert_eq!(tables.missing, [""; 0]);
    if let Some(it) = subject.store.connections() {
        assert!(it.min <= it.max && it.open <= it.max && it.idle <= it.open, "{it:?}");
        assert!(tables.found.iter().any(|name| name == "event"), "{tables:?}");
    }
    assert!(subject.store.shards() >= 1);
}

pub async fn a_store_with_room_can_be_written(subject: Subject) {
    for _ in 0..3 {
        subject.store.check_writable().await.expect("there is room");
    }
    assert_eq!(subject.store.write_fault(), None);
}
