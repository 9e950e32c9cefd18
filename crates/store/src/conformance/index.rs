//! The index of executions.

use noetl_model::{
    CommandId, ExecutionId, INDEX_KEY_MAX, IndexChange, IndexEntry, IndexKey, IndexKind,
};

use super::Subject;
use super::given::{after, at, start};
use crate::{
    Append, AppendError, IndexOrder, IndexPage, IndexPlace, IndexRow, OpenIndexPlace, PAGE_MAX,
};

const A: ExecutionId = ExecutionId(11);
const B: ExecutionId = ExecutionId(12);

fn entry(kind: IndexKind, key: &str, command: Option<u64>) -> IndexEntry {
    IndexEntry::new(kind, key, command.map(CommandId))
}

fn label(key: &str) -> IndexEntry {
    entry(IndexKind::Label, key, None)
}

fn signal(key: &str, command: u64) -> IndexEntry {
    entry(IndexKind::Signal, key, Some(command))
}

fn added(entry: IndexEntry, seconds: u64) -> IndexChange {
    IndexChange::Add { entry, at: at(seconds) }
}

fn removed(entry: IndexEntry) -> IndexChange {
    IndexChange::Remove { entry }
}

impl Subject {
    /// Returns the entries of a kind and a key as (execution, command), oldest first.
    async fn indexed(&self, kind: IndexKind, key: &str) -> Vec<(i64, Option<u64>)> {
        let page = IndexPage { order: IndexOrder::OldestFirst, after: None, limit: PAGE_MAX };
        self.index_page(kind, key, page).await
    }

    async fn index_page(
        &self,
        kind: IndexKind,
        key: &str,
        page: IndexPage,
    ) -> Vec<(i64, Option<u64>)> {
        let rows = self.store.indexed(kind, &IndexKey::new(key), page).await;
        let rows = rows.expect("the store looks up the index").into_iter();
        let is_asked = |row: &IndexRow| row.entry.kind == kind && row.entry.key.as_str() == key;
        rows.inspect(|row| assert!(is_asked(row), "{row:?}"))
            .map(|row| (row.execution.0, row.entry.command.map(|command| command.0)))
            .collect()
    }

    /// Returns the open entries of a kind, read in pages of a size.
    async fn open_index(&self, kind: IndexKind, limit: usize) -> Vec<IndexRow> {
        let mut open: Vec<IndexRow> = Vec::new();
        loop {
            let after: Option<OpenIndexPlace> = open.last().and_then(IndexRow::open_place);
            let page = self.store.open_index(kind, after.as_ref(), limit).await;
            let page = page.expect("the store lists open entries");
            assert!(page.len() <= limit);
            if page.is_empty() {
                return open;
            }
            open.extend(page);
        }
    }

    async fn indexing(&self, append: Append, index: Vec<IndexChange>) {
        assert_eq!(self.append(Append { index, ..append }).await, Ok(()));
    }
}

pub async fn an_entry_is_found_by_its_kind_and_key_until_it_is_removed(subject: Subject) {
    let long = "x".repeat(INDEX_KEY_MAX);
    let keys = ["team:ops", "Team:ops", "a'b\"c\\", "münchen/東京", "", &long];
    let index = keys.iter().map(|key| added(label(key), 1)).collect();
    subject.indexing(start(A), index).await;
    let entries = vec![added(label("team:ops"), 2), added(signal("team:ops", 3), 2)];
    subject.indexing(start(B), entries).await;
    for key in ["Team:ops", "a'b\"c\\", "münchen/東京", "", &long] {
        assert_eq!(subject.indexed(IndexKind::Label, key).await, [(11, None)], "{key}");
    }
    assert_eq!(subject.indexed(IndexKind::Label, "team:ops").await, [(11, None), (12, None)]);
    assert_eq!(subject.indexed(IndexKind::Signal, "team:ops").await, [(12, Some(3))]);
    assert_eq!(subject.indexed(IndexKind::Approval, "team:ops").await, []);
    assert_eq!(subject.indexed(IndexKind::Label, "team").await, []);

    let missing = removed(signal("team:ops", 4));
    subject.indexing(after(B, 1), vec![removed(signal("team:ops", 3)), missing]).await;
    assert_eq!(subject.indexed(IndexKind::Signal, "team:ops").await, []);
    assert_eq!(subject.indexed(IndexKind::Label, "team:ops").await, [(11, None), (12, None)]);
}

pub async fn entries_of_a_key_are_listed_in_both_directions_a_page_at_a_time(subject: Subject) {
    let mut expected: Vec<(i64, Option<u64>)> = Vec::new();
    for id in 1..=5 {
        let mut index = vec![added(signal("paid", 2), 1), added(signal("paid", 7), 1)];
        index.push(added(entry(IndexKind::Signal, "paid", None), 1));
        index.push(added(signal("paid too", 2), 1));
        subject.indexing(start(ExecutionId(id)), index).await;
        expected.extend([(id, None), (id, Some(2)), (id, Some(7))]);
    }
    for order in [IndexOrder::OldestFirst, IndexOrder::NewestFirst] {
        let mut listed: Vec<(i64, Option<u64>)> = Vec::new();
        loop {
            let after = listed.last().map(|(execution, command)| IndexPlace {
                execution: ExecutionId(*execution),
                command: command.map(CommandId),
            });
            let page = IndexPage { order, after, limit: 4 };
            let page = subject.index_page(IndexKind::Signal, "paid", page).await;
            assert!(page.len() <= 4);
            if page.is_empty() {
                break;
            }
            listed.extend(page);
        }
        assert_eq!(listed, expected, "{order:?}");
        expected.reverse();
    }
}

pub async fn open_entries_of_a_kind_are_listed_oldest_first(subject: Subject) {
    let approval = |key, command| entry(IndexKind::Approval, key, Some(command));
    let first = vec![
        added(approval("late", 1), 30),
        added(approval("b", 2), 10),
        added(approval("a", 2), 10),
        added(signal("other", 1), 5),
        added(label("team:ops"), 5),
    ];
    subject.indexing(start(B), first).await;
    let second = vec![added(approval("first", 9), 1), added(approval("b", 2), 10)];
    subject.indexing(start(A), second).await;
    let expected: Vec<IndexRow> = [
        (A, approval("first", 9), 1),
        (A, approval("b", 2), 10),
        (B, approval("a", 2), 10),
        (B, approval("b", 2), 10),
        (B, approval("late", 1), 30),
    ]
    .map(|(execution, entry, seconds)| IndexRow { execution, entry, at: at(seconds) })
    .into();
    for limit in [1, 2, 10] {
        assert_eq!(subject.open_index(IndexKind::Approval, limit).await, expected, "{limit}");
    }
    // Adding an entry again changes its time.
    subject.indexing(after(A, 1), vec![added(approval("first", 9), 40)]).await;
    let open = subject.open_index(IndexKind::Approval, 10).await;
    let last = IndexRow { execution: A, entry: approval("first", 9), at: at(40) };
    assert_eq!(open.last(), Some(&last));
    assert_eq!(subject.open_index(IndexKind::Label, 10).await, []);
}

pub async fn executions_that_wait_for_their_own_slot_are_open_entries(subject: Subject) {
    let awaited = |key, command| IndexEntry::new(IndexKind::AwaitedSlot, key, command);
    let command = Some(CommandId(0));
    let first = vec![added(awaited("crm", command), 7), added(awaited("playbook:p", None), 7)];
    subject.indexing(start(A), first).await;
    subject.indexing(start(B), vec![added(awaited("playbook:p", None), 3)]).await;
    let row = |execution, key, command, second| IndexRow {
        execution,
        entry: awaited(key, command),
        at: at(second),
    };
    let expected =
        [row(B, "playbook:p", None, 3), row(A, "playbook:p", None, 7), row(A, "crm", command, 7)];
    for limit in [1, 2, 10] {
        assert_eq!(subject.open_index(IndexKind::AwaitedSlot, limit).await, expected, "{limit}");
    }
    subject.indexing(after(B, 1), vec![removed(awaited("playbook:p", None))]).await;
    assert_eq!(subject.open_index(IndexKind::AwaitedSlot, 10).await, expected[1..]);
}

pub async fn changes_of_one_batch_follow_each_other(subject: Subject) {
    let back = vec![
        removed(signal("one", 1)),
        added(signal("one", 1), 3),
        added(signal("two", 1), 3),
        removed(signal("two", 1)),
    ];
    let batch = [
        Append {
            index: vec![added(signal("one", 1), 1), added(signal("three", 1), 1)],
            ..start(A)
        },
        Append { index: back, ..after(A, 1) },
        Append { index: vec![removed(signal("three", 1))], ..after(A, 2) },
    ];
    assert_eq!(subject.append_all(&batch).await, [Ok(()), Ok(()), Ok(())]);
    let open = subject.open_index(IndexKind::Signal, 10).await;
    assert_eq!(open, [IndexRow { execution: A, entry: signal("one", 1), at: at(3) }]);
}

pub async fn a_refused_append_changes_no_entry(subject: Subject) {
    subject.indexing(start(A), vec![added(signal("one", 1), 1)]).await;
    let late = Append { index: vec![removed(signal("one", 1)), added(label("x"), 2)], ..start(A) };
    let other = Append { index: vec![added(label("x"), 2)], ..start(B) };
    let answers = subject.append_all(&[late, other]).await;
    assert_eq!(answers, [Err(AppendError::Conflict), Ok(())]);
    assert_eq!(subject.indexed(IndexKind::Signal, "one").await, [(11, Some(1))]);
    assert_eq!(subject.indexed(IndexKind::Label, "x").await, [(12, None)]);
}
