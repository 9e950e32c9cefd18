//! Conformance cases of schedules.

use noetl_model::{
    CatalogId, ExecutionId, Firing, InstantSkipReason, ScheduleEvent, ScheduleState,
    ScheduleStatus, Seq, Timestamp,
};

use super::Subject;
use super::given::at;
use crate::{ScheduleRecord, ScheduleRow};

fn row(path: &str, seq: u64, next: Option<u64>) -> ScheduleRow {
    ScheduleRow {
        path: path.to_owned(),
        seq: Seq(seq),
        standing: ScheduleStatus {
            catalog_id: CatalogId(7),
            state: ScheduleState::Active,
            reached: at(seq),
            queued: None,
            last: None,
            trouble: None,
        },
        playbook: "tests/größe".to_owned(),
        timing: "every 1m".to_owned(),
        next_at: next.map(at),
        updated_at: at(seq),
    }
}

fn registered() -> ScheduleEvent {
    ScheduleEvent::Registered { catalog_id: CatalogId(7) }
}

async fn record(subject: &Subject, row: &ScheduleRow, event: &ScheduleEvent) -> bool {
    subject.store.record_schedule(row, event).await.expect("the store records")
}

fn paths(rows: &[ScheduleRow]) -> Vec<&str> {
    rows.iter().map(|row| row.path.as_str()).collect()
}

pub async fn a_schedule_is_what_happened_to_it_last(subject: Subject) {
    let first = row("schedules/größe", 1, Some(60));
    let mut second = row("schedules/größe", 2, None);
    second.standing = ScheduleStatus {
        state: ScheduleState::Paused,
        queued: Some(at(9)),
        last: Some(Firing { instant: at(8), execution: ExecutionId(11) }),
        trouble: Some("no playbook".to_owned()),
        ..second.standing
    };
    let passed = ScheduleEvent::Passed { until: at(2), reason: InstantSkipReason::Missed };
    assert!(record(&subject, &first, &registered()).await);
    assert!(record(&subject, &second, &passed).await);
    let store = &subject.store;
    assert_eq!(store.schedule("schedules/größe").await.expect("it reads"), Some(second));
    assert_eq!(store.schedule("schedules/other").await.expect("it reads"), None);
    let told = |seq: u64, event: &ScheduleEvent| ScheduleRecord {
        seq: Seq(seq),
        event: event.clone(),
        at: at(seq),
    };
    let events = store.schedule_events("schedules/größe", None, 10).await.expect("it reads");
    assert_eq!(events, [told(2, &passed), told(1, &registered())]);
    let older = store.schedule_events("schedules/größe", Some(Seq(2)), 10).await;
    assert_eq!(older.expect("it reads"), [told(1, &registered())]);
    let newest = store.schedule_events("schedules/größe", None, 1).await.expect("it reads");
    assert_eq!(newest, [told(2, &passed)]);
}

pub async fn of_two_that_move_a_schedule_at_once_one_comes_too_late(subject: Subject) {
    assert!(record(&subject, &row("s", 1, Some(1)), &registered()).await);
    assert!(!record(&subject, &row("s", 1, Some(2)), &registered()).await);
    assert!(record(&subject, &row("s", 2, None), &ScheduleEvent::Paused).await);
    assert!(!record(&subject, &row("s", 2, None), &ScheduleEvent::Resumed).await);
    assert!(!record(&subject, &row("s", 4, None), &ScheduleEvent::Resumed).await);
    let events = subject.store.schedule_events("s", None, 10).await.expect("it reads");
    assert_eq!(events.len(), 2);
    let moving = (0..8).map(|_| {
        let subject = subject.clone();
        tokio::spawn(
            async move { record(&subject, &row("s", 3, None), &ScheduleEvent::Resumed).await },
        )
    });
    let mut moved = 0;
    for it in moving.collect::<Vec<_>>() {
        moved += usize::from(it.await.expect("nobody panics"));
    }
    assert_eq!(moved, 1);
}

pub async fn schedules_come_due_in_order_and_the_first_is_known(subject: Subject) {
    let store = &subject.store;
    assert_eq!(store.next_schedule().await.expect("it reads"), None);
    for (path, next) in [("a", Some(30)), ("b", None), ("c", Some(10)), ("d", Some(20))] {
        assert!(record(&subject, &row(path, 1, next), &registered()).await);
    }
    assert_eq!(store.next_schedule().await.expect("it reads"), Some(at(10)));
    let due =
        async |now: Timestamp, limit| store.due_schedules(now, limit).await.expect("it reads");
    assert!(due(at(9), 10).await.is_empty());
    assert_eq!(paths(&due(at(20), 10).await), ["c", "d"]);
    assert_eq!(paths(&due(at(99), 1).await), ["c"]);
    assert!(record(&subject, &row("c", 2, Some(40)), &ScheduleEvent::Resumed).await);
    assert_eq!(paths(&due(at(99), 10).await), ["d", "a", "c"]);
}

pub async fn schedules_are_listed_by_path_and_those_that_wait_apart(subject: Subject) {
    for path in ["b", "a/2", "c", "a/1"] {
        assert!(record(&subject, &row(path, 1, Some(1)), &registered()).await);
    }
    for path in ["c", "a/2"] {
        let mut waits = row(path, 2, Some(1));
        waits.standing.queued = Some(at(5));
        assert!(record(&subject, &waits, &ScheduleEvent::Queued { instant: at(5) }).await);
    }
    let store = &subject.store;
    let listed = store.list_schedules(None).await.expect("it lists");
    assert_eq!(paths(&listed), ["a/1", "a/2", "b", "c"]);
    let after = store.list_schedules(Some("a/2")).await.expect("it lists");
    assert_eq!(paths(&after), ["b", "c"]);
    let waiting = store.waiting_schedules(None).await.expect("it lists");
    assert_eq!(paths(&waiting), ["a/2", "c"]);
    let after = store.waiting_schedules(Some("a/2")).await.expect("it lists");
    assert_eq!(paths(&after), ["c"]);
}
