//! Conformance cases of the event feed and of named feeds.

use std::collections::BTreeMap;

use noetl_model::{ExecutionId, Seq};
use serde_json::json;

use super::Subject;
use super::given::{A, B, C, T0, after, at, events_after, sized, start};
use crate::{
    Append, FailedStanding, FeedCursor, FeedDelivery, FeedItem, FeedPoint, NamedFeed,
    READ_BYTES_MAX,
};

async fn point(subject: &Subject, point: FeedPoint) -> FeedCursor {
    subject.store.feed_point(&point).await.expect("the store finds a point")
}

/// Waits until the feed shows `count` events, because other tests may write to the same server.
async fn settled(subject: &Subject, count: usize) {
    while read_on(subject, &FeedCursor::default(), 100).await.len() < count {
        tokio::task::yield_now().await;
    }
}

/// Reads everything after a cursor, `limit` events at a time.
async fn read_on(subject: &Subject, from: &FeedCursor, limit: usize) -> Vec<FeedItem> {
    let mut cursor = from.clone();
    let mut items = Vec::new();
    loop {
        let page = subject.store.feed(&cursor, limit).await.expect("the store reads");
        assert!(page.items.len() <= limit, "no more than asked for");
        if page.items.is_empty() {
            assert_eq!(page.next, cursor, "nothing to pass over");
            return items;
        }
        assert_eq!(page.items.last().map(|item| &item.cursor), Some(&page.next));
        cursor = page.next;
        items.extend(page.items);
    }
}

fn places(items: &[FeedItem]) -> Vec<(i64, u64)> {
    items.iter().map(|item| (item.execution.0, item.recorded.seq.0)).collect()
}

/// Returns the seqs of each execution, in the order they were read.
fn by_execution(items: &[FeedItem]) -> BTreeMap<i64, Vec<u64>> {
    let mut read = BTreeMap::<i64, Vec<u64>>::new();
    for (execution, seq) in places(items) {
        read.entry(execution).or_default().push(seq);
    }
    read
}

pub async fn a_feed_shows_every_event_once_in_the_order_of_its_execution(subject: Subject) {
    let batch = [start(A), events_after(B, Seq::ZERO, 3), after(A, 1)];
    assert_eq!(subject.append_all(&batch).await, [Ok(()), Ok(()), Ok(())]);
    assert_eq!(subject.append(start(C)).await, Ok(()));
    assert_eq!(subject.append_all(&[after(A, 2), after(A, 9)]).await[0], Ok(()));
    settled(&subject, 7).await;
    for limit in [1, 2, 100] {
        let items = read_on(&subject, &FeedCursor::default(), limit).await;
        let expected = [(A.0, vec![1, 2, 3]), (B.0, vec![1, 2, 3]), (C.0, vec![1])];
        assert_eq!(by_execution(&items), expected.into_iter().collect(), "by {limit}");
    }
    let items = read_on(&subject, &FeedCursor::default(), 100).await;
    let of_a: Vec<_> = items.iter().filter(|item| item.execution == A).collect();
    let told: Vec<_> = of_a.iter().map(|item| item.recorded.clone()).collect();
    assert_eq!(told, subject.read(A).await);
    assert_eq!(of_a[0].path, "demo/Hello");
}

pub async fn a_feed_goes_on_after_any_event_that_it_has_shown(subject: Subject) {
    for execution in [A, B, C] {
        let batch = events_after(execution, Seq::ZERO, 4);
        assert_eq!(subject.append(batch).await, Ok(()));
    }
    settled(&subject, 12).await;
    let all = read_on(&subject, &FeedCursor::default(), 100).await;
    assert_eq!(all.len(), 12);
    for (read, item) in all.iter().enumerate() {
        let written = item.cursor.to_string().parse().expect("it is a cursor");
        let rest = read_on(&subject, &written, 5).await;
        assert_eq!(places(&rest), places(&all[read + 1..]));
    }
}

pub async fn a_page_of_a_feed_ends_with_the_event_that_fills_it(subject: Subject) {
    let mut append = events_after(A, Seq::ZERO, 4);
    append.events[1].event = sized(READ_BYTES_MAX);
    assert_eq!(subject.append(append).await, Ok(()));
    settled(&subject, 4).await;
    let page = subject.store.feed(&FeedCursor::default(), 9).await.expect("the store reads");
    assert_eq!(places(&page.items), [(A.0, 1), (A.0, 2)]);
    let rest = subject.store.feed(&page.next, 9).await.expect("the store reads");
    assert_eq!(places(&rest.items), [(A.0, 3), (A.0, 4)]);
}

pub async fn a_feed_begins_at_the_start_at_the_end_or_at_an_instant(subject: Subject) {
    let since = |seconds| FeedPoint::Since(at(seconds));
    assert_eq!(read_on(&subject, &point(&subject, FeedPoint::End).await, 9).await, []);
    for (seconds, execution) in [(10, A), (20, B), (30, C)] {
        subject.at(seconds);
        assert_eq!(subject.append(start(execution)).await, Ok(()));
    }
    settled(&subject, 3).await;
    let read = async |from: FeedPoint| {
        let mut read = places(&read_on(&subject, &point(&subject, from).await, 9).await);
        read.sort_unstable();
        read
    };
    assert_eq!(read(FeedPoint::Start).await, [(A.0, 1), (B.0, 1), (C.0, 1)]);
    assert_eq!(read(since(20)).await, [(B.0, 1), (C.0, 1)]);
    assert_eq!(read(since(31)).await, []);
    let end = point(&subject, FeedPoint::End).await;
    assert_eq!(subject.append(after(B, 1)).await, Ok(()));
    settled(&subject, 4).await;
    assert_eq!(places(&read_on(&subject, &end, 9).await), [(B.0, 2)]);
}

pub async fn a_reader_misses_nothing_while_many_write(subject: Subject) {
    const WRITERS: i64 = 4;
    const EACH: u64 = 25;
    let writers = (0..WRITERS).map(|writer| {
        let subject = subject.clone();
        tokio::spawn(async move {
            for number in 0..EACH {
                let id = ExecutionId(5000 + writer);
                let append: Append = if number == 0 { start(id) } else { after(id, number) };
                assert_eq!(subject.append(append).await, Ok(()));
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut cursor = FeedCursor::default();
    let mut read = BTreeMap::<i64, Vec<u64>>::new();
    let wanted = usize::try_from(WRITERS).expect("small") * usize::try_from(EACH).expect("small");
    while read.values().map(Vec::len).sum::<usize>() < wanted {
        let page = subject.store.feed(&cursor, 7).await.expect("the store reads");
        for (execution, seq) in places(&page.items) {
            read.entry(execution).or_default().push(seq);
        }
        cursor = page.next;
        tokio::task::yield_now().await;
    }
    for writer in writers {
        writer.await.expect("a writer writes");
    }
    let expected: Vec<u64> = (1..=EACH).collect();
    assert!(read.values().all(|seqs| *seqs == expected), "{read:?}");
}

fn named(name: &str) -> NamedFeed {
    NamedFeed {
        name: name.to_owned(),
        filter: json!({ "types": ["playbook.completed"], "path": "größe" }),
        cursor: FeedCursor::default(),
        created_at: T0,
        moved_at: T0,
        delivery: FeedDelivery::Working,
    }
}

pub async fn a_named_feed_keeps_its_cursor_and_is_moved_by_one_at_a_time(subject: Subject) {
    let store = &subject.store;
    let found = async |name: &str| store.find_feed(name).await.expect("the store finds feeds");
    assert_eq!(found("audit").await, None);
    assert!(store.add_feed(&named("audit")).await.expect("the store keeps feeds"));
    let other = NamedFeed { filter: json!({}), ..named("audit") };
    assert!(!store.add_feed(&other).await.expect("the store keeps feeds"));
    assert_eq!(found("audit").await, Some(named("audit")));

    let here: FeedCursor = "7.2-1.0".parse().expect("it is a cursor");
    subject.at(5);
    let moved = async |from: &FeedCursor, to: &FeedCursor| {
        store.move_feed("audit", from, to).await.expect("the store moves feeds")
    };
    assert!(moved(&FeedCursor::default(), &here).await);
    assert!(!moved(&FeedCursor::default(), &here).await, "it is not there any more");
    let expected = NamedFeed { cursor: here, moved_at: at(5), ..named("audit") };
    assert_eq!(found("audit").await, Some(expected.clone()));

    assert!(store.add_feed(&named("all")).await.expect("the store keeps feeds"));
    let listed = store.list_feeds().await.expect("the store lists feeds");
    assert_eq!(listed, [named("all"), expected]);
    for is_there in [true, false] {
        let removed = store.remove_feed("audit").await.expect("the store forgets feeds");
        assert_eq!(removed, is_there);
    }
}

pub async fn a_named_feed_keeps_why_it_is_not_delivered(subject: Subject) {
    let store = &subject.store;
    let found = async |name: &str| store.find_feed(name).await.expect("the store finds feeds");
    let note = async |name: &str, delivery: &FeedDelivery| {
        store.put_feed_delivery(name, delivery).await.expect("the store keeps the delivery")
    };
    assert!(!note("audit", &FeedDelivery::Working).await, "there is no such feed");
    for name in ["all", "audit"] {
        assert!(store.add_feed(&named(name)).await.expect("the store keeps feeds"));
    }
    for standing in [FailedStanding::Waiting { until: at(9) }, FailedStanding::Dead] {
        let reason = "no stream takes `größe`".to_owned();
        let delivery = FeedDelivery::Failed { failures: 3, reason, standing };
        assert!(note("audit", &delivery).await);
        let expected = NamedFeed { delivery, ..named("audit") };
        assert_eq!(found("audit").await, Some(expected.clone()));
        let listed = store.list_feeds().await.expect("the store lists feeds");
        assert_eq!(listed, [named("all"), expected]);
    }
    assert!(note("audit", &FeedDelivery::Working).await);
    assert_eq!(found("audit").await, Some(named("audit")));
}
