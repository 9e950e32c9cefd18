//! Conformance cases of summaries, children and the search for stalled executions.

use std::time::Duration;

use noetl_model::{
    Actor, CatalogId, CommandId, ErrorKind, ExecutionId, ExecutionStatus, IndexChange, ItemCounts,
    Label, Labels, Message, Parent, Seq, StepCounts, StepName, Summary, TimerId, ToolError,
    first_id_at,
};
use serde_json::json;

use super::Subject;
use super::given::{A, B, C, add, after, at, park, remove, start, summary};
use crate::{
    Append, AppendError, ExecutionFilter, HistogramBar, HistogramSpan, PathFilter, TimerChange,
};

pub async fn a_summary_is_what_was_written_last(subject: Subject) {
    let find = async |execution| subject.store.summary(execution).await.expect("the store answers");
    assert_eq!(find(A).await, None);
    let first = Summary {
        parent: Some(Parent::of(B, Some(CommandId(3)))),
        current_step: Some(StepName::new("fetch")),
        ..summary(A, Seq(1))
    };
    let append = Append { summary: first.clone(), ..start(A) };
    assert_eq!(subject.append(append).await, Ok(()));
    assert_eq!(find(A).await.as_ref(), Some(&first));
    let second = Summary {
        status: ExecutionStatus::Failed,
        seq: Seq(2),
        ended_at: Some(at(9)),
        current_step: Some(StepName::new("größe")),
        steps: StepCounts { total: 4, running: 1, completed: 2, failed: 1 },
        items: ItemCounts { total: 1 << 40, completed: 1 << 33, failed: 7 },
        error: Some(
            ToolError::new(ErrorKind::Exception, "division by zero")
                .with_code("ZeroDivisionError")
                .with_details(json!({ "line": 3 })),
        ),
        ..first
    };
    let append = Append { summary: second.clone(), ..after(A, 1) };
    assert_eq!(subject.append(append).await, Ok(()));
    assert_eq!(find(A).await.as_ref(), Some(&second));
}

pub async fn summaries_list_newest_first_with_filters_and_cursor(subject: Subject) {
    for (id, path, status, parent) in [
        (1, "demo/Hello", ExecutionStatus::Running, None),
        (2, "demo/HELLO_100%", ExecutionStatus::Completed, Some(1)),
        (3, "other", ExecutionStatus::Failed, Some(1)),
        (4, "Größe/ÜBER", ExecutionStatus::Completed, Some(2)),
        (5, "demo/hello", ExecutionStatus::Cancelled, None),
    ] {
        let execution = ExecutionId(id);
        let command = CommandId(u64::try_from(id).expect("ids here are positive"));
        let mut append = start(execution);
        append.summary.playbook.path = path.into();
        append.summary.playbook.catalog_id = CatalogId(id % 2);
        append.summary.status = status;
        append.summary.parent = parent.map(|parent| Parent::of(ExecutionId(parent), Some(command)));
        assert_eq!(subject.append(append).await, Ok(()));
    }
    let all = ExecutionFilter::default;
    let status = |status| ExecutionFilter { status: Some(status), ..all() };
    let path = |part: &str| ExecutionFilter { path: Some(PathFilter::Part(part.into())), ..all() };
    let whole =
        |path: &str| ExecutionFilter { path: Some(PathFilter::Whole(path.into())), ..all() };
    let catalog = |id| ExecutionFilter { catalog_id: Some(CatalogId(id)), ..all() };
    let parent = |id| ExecutionFilter { parent: Some(ExecutionId(id)), ..all() };

    assert_eq!(subject.list(all(), None, 10).await, [5, 4, 3, 2, 1]);
    assert_eq!(subject.list(all(), None, 2).await, [5, 4]);
    assert_eq!(subject.list(all(), Some(ExecutionId(4)), 2).await, [3, 2]);
    assert!(subject.list(all(), Some(ExecutionId(1)), 2).await.is_empty());
    assert_eq!(subject.list(status(ExecutionStatus::Completed), None, 10).await, [4, 2]);
    assert_eq!(
        subject.list(status(ExecutionStatus::Completed), Some(ExecutionId(4)), 10).await,
        [2]
    );
    assert_eq!(subject.list(path("hello"), None, 10).await, [5, 2, 1]);
    assert_eq!(subject.list(path("0%"), None, 10).await, [2]);
    assert_eq!(subject.list(path("%"), None, 10).await, [2]);
    assert!(subject.list(path("GRÖSSE"), None, 10).await.is_empty());
    assert_eq!(subject.list(path("größe/über"), None, 10).await, [4]);
    assert_eq!(subject.list(path("hello"), Some(ExecutionId(5)), 1).await, [2]);
    assert!(subject.list(path("nowhere"), None, 10).await.is_empty());
    assert_eq!(subject.list(whole("demo/Hello"), None, 10).await, [1]);
    assert_eq!(subject.list(whole("demo/hello"), None, 10).await, [5]);
    assert!(subject.list(whole("demo/Hell"), None, 10).await.is_empty());
    assert_eq!(subject.list(catalog(1), None, 10).await, [5, 3, 1]);
    assert_eq!(subject.list(catalog(1), Some(ExecutionId(5)), 1).await, [3]);
    assert_eq!(subject.list(parent(1), None, 10).await, [3, 2]);
    let both = ExecutionFilter {
        status: Some(ExecutionStatus::Completed),
        path: Some(PathFilter::Part("HELLO".into())),
        catalog_id: Some(CatalogId(0)),
        parent: Some(ExecutionId(1)),
        ..ExecutionFilter::default()
    };
    assert_eq!(subject.list(both, None, 10).await, [2]);
    let ended = ExecutionFilter { status: Some(ExecutionStatus::Cancelled), ..path("hello") };
    assert_eq!(subject.list(ended, None, 10).await, [5]);
    let ended = ExecutionFilter { status: Some(ExecutionStatus::Failed), ..catalog(1) };
    assert_eq!(subject.list(ended, None, 10).await, [3]);
    let ended = ExecutionFilter { status: Some(ExecutionStatus::Failed), ..parent(1) };
    assert_eq!(subject.list(ended, None, 10).await, [3]);
}

pub async fn a_version_is_listed_with_its_path_and_with_no_other(subject: Subject) {
    for (id, status) in [
        (1, ExecutionStatus::Failed),
        (2, ExecutionStatus::Completed),
        (3, ExecutionStatus::Failed),
        (4, ExecutionStatus::Running),
    ] {
        let mut append = start(ExecutionId(id));
        append.summary.playbook.catalog_id = CatalogId(9);
        append.summary.playbook.path = "demo/Hello".into();
        append.summary.status = status;
        assert_eq!(subject.append(append).await, Ok(()));
    }
    let of_version = |path: Option<PathFilter>, status: Option<ExecutionStatus>| ExecutionFilter {
        catalog_id: Some(CatalogId(9)),
        path,
        status,
        ..Default::default()
    };
    let part = |text: &str| Some(PathFilter::Part(text.into()));
    let whole = |text: &str| Some(PathFilter::Whole(text.into()));
    let failed = Some(ExecutionStatus::Failed);
    assert_eq!(subject.list(of_version(None, failed), None, 10).await, [3, 1]);
    assert_eq!(subject.list(of_version(None, failed), Some(ExecutionId(3)), 10).await, [1]);
    assert_eq!(subject.list(of_version(part("HELLO"), None), None, 3).await, [4, 3, 2]);
    assert_eq!(subject.list(of_version(whole("demo/Hello"), failed), None, 1).await, [3]);
    for other in [part("other"), whole("demo/hello")] {
        assert_eq!(subject.list(of_version(other, None), None, 10).await, [] as [i64; 0]);
    }
}

pub async fn a_part_is_found_in_few_paths_and_in_many(subject: Subject) {
    let many = 40;
    for id in 1..=2 * many {
        let mut append = start(ExecutionId(id));
        append.summary.playbook.path = format!("some/path_{}", id % many);
        assert_eq!(subject.append(append).await, Ok(()));
    }
    let part = |text: &str| ExecutionFilter {
        path: Some(PathFilter::Part(text.into())),
        ..Default::default()
    };
    let last = 2 * many;
    assert_eq!(subject.list(part("SOME/"), None, 2).await, [last, last - 1]);
    assert_eq!(subject.list(part("Path_3"), None, 3).await, [many + 39, many + 38, many + 37]);
    assert_eq!(subject.list(part("path_7"), None, 9).await, [many + 7, 7]);
    assert_eq!(subject.list(part("path_7"), Some(ExecutionId(many + 7)), 9).await, [7]);
    let mut failed = start(ExecutionId(last + 1));
    failed.summary.playbook.path = "some/path_5".into();
    failed.summary.status = ExecutionStatus::Failed;
    assert_eq!(subject.append(failed).await, Ok(()));
    let at = |status| ExecutionFilter { status: Some(status), ..part("path_") };
    assert_eq!(subject.list(at(ExecutionStatus::Failed), None, 9).await, [last + 1]);
    assert_eq!(subject.list(at(ExecutionStatus::Running), None, 1).await, [last]);
    assert_eq!(subject.list(at(ExecutionStatus::Completed), None, 9).await, [] as [i64; 0]);
    assert_eq!(subject.list(part("path_5"), None, 2).await, [last + 1, many + 5]);
}

/// Starts an execution `minute` minutes after the beginning of a test, with its place in that
/// millisecond.
async fn started_at_minute(
    subject: &Subject,
    (minute, place): (u64, i64),
    status: ExecutionStatus,
    change: impl FnOnce(&mut Summary),
) {
    let mut append = start(ExecutionId(first_id_at(at(60 * minute)) + place));
    append.summary.status = status;
    change(&mut append.summary);
    assert_eq!(subject.append(append).await, Ok(()));
}

/// Returns the bars of a histogram as (bucket, status, count).
async fn bars(
    subject: &Subject,
    filter: &ExecutionFilter,
    span: &HistogramSpan,
    count_max: u64,
) -> Vec<(u32, ExecutionStatus, u64)> {
    let bars = subject.store.histogram(filter, span, count_max).await.expect("the store counts");
    let bar = |HistogramBar { bucket, status, count }| (bucket, status, count);
    bars.into_iter().map(bar).collect()
}

pub async fn executions_are_counted_by_time_and_status(subject: Subject) {
    use ExecutionStatus::{Cancelled, Completed, Failed, Running};
    for (when, status, path, catalog, parent) in [
        ((0, 0), Completed, "demo/Hello", 1, None),
        ((0, 1), Completed, "demo/hello", 2, None),
        ((5, 0), Failed, "demo/Hello", 1, Some(7)),
        ((10, 0), Running, "other", 3, Some(7)),
        ((19, 0), Cancelled, "demo/Hello", 1, Some(8)),
        ((20, 0), Failed, "other", 3, None),
    ] {
        started_at_minute(&subject, when, status, |summary| {
            summary.playbook.path = path.into();
            summary.playbook.catalog_id = CatalogId(catalog);
            summary.parent = parent.map(|id| Parent::Named { execution: ExecutionId(id) });
        })
        .await;
    }
    let span = HistogramSpan::new(at(0), at(30 * 60), 10 * 60 * 1000);
    let check = async |filter: ExecutionFilter, expected: &[(u32, ExecutionStatus, u64)]| {
        assert_eq!(bars(&subject, &filter, &span, 100).await, expected, "{filter:?}");
    };
    let all = ExecutionFilter::default;
    let part = |text: &str| Some(PathFilter::Part(text.into()));
    let whole = |text: &str| Some(PathFilter::Whole(text.into()));
    let every =
        [(0, Completed, 2), (0, Failed, 1), (1, Running, 1), (1, Cancelled, 1), (2, Failed, 1)];
    check(all(), &every).await;
    let failed = Some(Failed);
    check(ExecutionFilter { status: failed, ..all() }, &[(0, Failed, 1), (2, Failed, 1)]).await;
    let hello = [(0, Completed, 2), (0, Failed, 1), (1, Cancelled, 1)];
    check(ExecutionFilter { path: part("HELLO"), ..all() }, &hello).await;
    check(ExecutionFilter { path: part("e"), ..all() }, &every).await;
    check(ExecutionFilter { path: part("nowhere"), ..all() }, &[]).await;
    let exact = [(0, Completed, 1), (0, Failed, 1), (1, Cancelled, 1)];
    check(ExecutionFilter { path: whole("demo/Hello"), ..all() }, &exact).await;
    check(ExecutionFilter { catalog_id: Some(CatalogId(1)), ..all() }, &exact).await;
    let other = ExecutionFilter { catalog_id: Some(CatalogId(1)), path: part("other"), ..all() };
    check(other, &[]).await;
    let of_seven = ExecutionFilter { parent: Some(ExecutionId(7)), ..all() };
    check(of_seven.clone(), &[(0, Failed, 1), (1, Running, 1)]).await;
    check(ExecutionFilter { path: part("other"), ..of_seven.clone() }, &[(1, Running, 1)]).await;
    check(ExecutionFilter { status: failed, ..of_seven }, &[(0, Failed, 1)]).await;
}

pub async fn a_histogram_counts_up_to_a_limit_and_within_its_span(subject: Subject) {
    use ExecutionStatus::{Completed, Failed};
    for place in 0..9 {
        started_at_minute(&subject, (5, place), Completed, |_| ()).await;
    }
    for minute in [1, 4, 6, 24, 26, 31] {
        started_at_minute(&subject, (minute, 0), Failed, |_| ()).await;
    }
    let all = ExecutionFilter::default();
    // The first and the last bucket are cut: minutes 4 to 10 and 20 to 26.
    let span = HistogramSpan::new(at(4 * 60), at(26 * 60), 10 * 60 * 1000);
    let expected = [(0, Completed, 9), (0, Failed, 2), (2, Failed, 1)];
    assert_eq!(bars(&subject, &all, &span, 100).await, expected);
    let expected = [(0, Completed, 4), (0, Failed, 2), (2, Failed, 1)];
    assert_eq!(bars(&subject, &all, &span, 4).await, expected);
    let part = ExecutionFilter { path: Some(PathFilter::Part("".into())), ..all.clone() };
    let least = bars(&subject, &part, &span, 4).await;
    assert!(least.iter().all(|(_, _, count)| *count <= 4), "{least:?}");
    assert!(least.iter().any(|(_, _, count)| *count == 4), "{least:?}");
    let none = HistogramSpan::new(at(60 * 60), at(60 * 60), 1000);
    assert_eq!(bars(&subject, &all, &none, 4).await, []);
}

pub async fn stalled_finds_only_executions_with_nothing_under_way(subject: Subject) {
    let [ready, parked, timed, owed, ended, recent, stalled] =
        [1, 2, 3, 4, 5, 6, 7].map(ExecutionId);
    let timer = TimerChange::Set { timer: TimerId(1), due_at: at(1000) };
    let message = Message::CommandCancelled { command: CommandId(1) };
    let mut of_ended = start(ended);
    of_ended.summary.status = ExecutionStatus::Completed;
    let mut of_recent = start(recent);
    of_recent.events[0].at = at(50);
    let batch = [
        Append { queue: vec![add(1)], ..start(ready) },
        Append { queue: vec![add(1), park(1)], ..start(parked) },
        Append { timers: vec![timer], ..start(timed) },
        Append { outbox: vec![message], ..start(owed) },
        of_ended,
        of_recent,
        start(stalled),
    ];
    assert!(subject.append_all(&batch).await.iter().all(Result::is_ok));
    let stalled_before = async |seconds, limit| {
        subject.store.stalled(at(seconds), limit).await.expect("the store lists executions")
    };
    assert_eq!(stalled_before(50, 10).await, [stalled]);
    assert_eq!(stalled_before(0, 10).await, []);
    assert_eq!(stalled_before(51, 10).await, [stalled, recent]);
    assert_eq!(stalled_before(51, 1).await, [stalled]);

    let taken = subject.take(Duration::from_secs(10)).await;
    assert_eq!(stalled_before(50, 10).await, [stalled], "a message that is taken is still owed");
    subject.store.sent(&[taken[0].id]).await.expect("the store forgets messages");
    let mut of_ready = Append { queue: vec![remove(1)], ..after(ready, 1) };
    of_ready.events[0].at = at(1);
    assert_eq!(subject.append(of_ready).await, Ok(()));
    assert_eq!(stalled_before(50, 10).await, [owed, stalled, ready]);
}

pub async fn one_child_per_parent_command(subject: Subject) {
    let child = |execution, command| {
        let mut append = start(execution);
        append.summary.parent = Some(Parent::of(A, Some(CommandId(command))));
        append
    };
    let child_of = async |command| {
        subject.store.child_of(A, CommandId(command)).await.expect("the store answers")
    };
    assert_eq!(subject.append(child(B, 1)).await, Ok(()));
    assert_eq!(subject.append(child(C, 1)).await, Err(AppendError::ChildExists { child: B }));
    assert_eq!(subject.read(C).await, []);
    assert_eq!(subject.append(child(B, 1)).await, Err(AppendError::Conflict));
    assert_eq!(subject.append(child(C, 2)).await, Ok(()));
    let mut more = after(B, 1);
    more.summary.parent = Some(Parent::of(A, Some(CommandId(1))));
    assert_eq!(subject.append(more).await, Ok(()));
    assert_eq!((child_of(1).await, child_of(2).await, child_of(3).await), (Some(B), Some(C), None));
}

pub async fn any_number_of_executions_may_name_one_above_them(subject: Subject) {
    let below = |execution| {
        let mut append = start(execution);
        append.summary.parent = Some(Parent::of(A, None));
        append
    };
    assert_eq!(subject.append(below(B)).await, Ok(()));
    assert_eq!(subject.append(below(C)).await, Ok(()));
    let mut more = after(B, 1);
    more.summary.parent = Some(Parent::of(A, None));
    assert_eq!(subject.append(more).await, Ok(()));
    let filter = ExecutionFilter { parent: Some(A), ..ExecutionFilter::default() };
    assert_eq!(subject.list(filter, None, 10).await, [C.0, B.0]);
    let kept = subject.store.summary(B).await.expect("the store answers").expect("a summary");
    assert_eq!(kept.parent, Some(Parent::Named { execution: A }));
    let child = subject.store.child_of(A, CommandId(0)).await;
    assert_eq!(child.expect("the store answers"), None, "no command waits");
}

fn label(text: &str) -> Label {
    text.parse().expect("a label")
}

/// Starts an execution with labels and an actor, and with their index entries.
fn with_labels(id: i64, status: ExecutionStatus, labels: &[&str], actor: &str) -> Append {
    let mut append = start(ExecutionId(id));
    let labels = Labels::default().with(labels.iter().map(|text| label(text)));
    let (labels, actor) = (labels.expect("few labels"), Actor::new(actor).expect("a name"));
    let entries = labels.iter().map(|label| label.index_entry(status));
    let entries = entries.chain([actor.index_entry(status)]);
    append.index = entries.map(|entry| IndexChange::Add { entry, at: at(1) }).collect();
    (append.summary.labels, append.summary.actor) = (labels, Some(actor));
    append.summary.status = status;
    append
}

pub async fn executions_are_listed_and_counted_by_labels_and_actor(subject: Subject) {
    use ExecutionStatus::{Completed, Failed, Running};
    let quoted = r#"note:it's "a" \\ b"#;
    let mut child = with_labels(6, Running, &["team:ops"], "bob");
    child.summary.parent = Some(Parent::of(ExecutionId(1), None));
    child.summary.playbook.path = "other/path".into();
    let batch = [
        with_labels(1, Completed, &["team:ops", "env:prod"], "ada"),
        with_labels(2, Failed, &["team:ops", "env:test"], "ada"),
        with_labels(3, Running, &["team:dev", "env:prod"], "bob"),
        with_labels(4, Running, &["team:ops", "env:prod", quoted], "ada"),
        start(ExecutionId(5)),
        child,
    ];
    assert!(subject.append_all(&batch).await.iter().all(Result::is_ok));
    let stored = subject.store.summary(ExecutionId(4)).await.expect("the store answers");
    assert_eq!(stored.as_ref(), Some(&batch[3].summary));

    let of = |labels: &[&str]| ExecutionFilter {
        labels: labels.iter().map(|text| label(text)).collect(),
        ..Default::default()
    };
    let ada = ExecutionFilter { actor: Actor::new("ada").ok(), ..Default::default() };
    let span = HistogramSpan { from: 0, until: 100, origin: 0, width: 100, buckets: 1 };
    for (filter, expected) in [
        (of(&["team:ops"]), vec![6, 4, 2, 1]),
        (of(&["team:ops", "env:prod"]), vec![4, 1]),
        (of(&["env:prod", "team:ops", quoted]), vec![4]),
        (of(&["team:ops", "team:dev"]), vec![]),
        (of(&["team:op"]), vec![]),
        (ExecutionFilter { status: Some(Failed), ..of(&["team:ops"]) }, vec![2]),
        (ExecutionFilter { status: Some(Running), ..of(&["team:ops"]) }, vec![6, 4]),
        (ExecutionFilter { parent: Some(ExecutionId(1)), ..of(&["team:ops"]) }, vec![6]),
        (ExecutionFilter { parent: Some(ExecutionId(1)), ..of(&["team:dev"]) }, vec![]),
        (ExecutionFilter { parent: Some(ExecutionId(1)), ..ada.clone() }, vec![]),
        (
            ExecutionFilter {
                path: Some(PathFilter::Whole("other/path".into())),
                ..of(&["team:ops"])
            },
            vec![6],
        ),
        (
            ExecutionFilter { path: Some(PathFilter::Part("HELLO".into())), ..of(&["env:prod"]) },
            vec![4, 3, 1],
        ),
        (ada.clone(), vec![4, 2, 1]),
        (ExecutionFilter { labels: vec![label("env:prod")], ..ada.clone() }, vec![4, 1]),
        (ExecutionFilter { status: Some(Completed), ..ada }, vec![1]),
    ] {
        assert_eq!(subject.list(filter.clone(), None, 10).await, expected, "{filter:?}");
        let first: Vec<i64> = expected.iter().take(1).copied().collect();
        assert_eq!(subject.list(filter.clone(), None, 1).await, first, "{filter:?}");
        let rest: Vec<i64> = expected.iter().filter(|id| **id < 4).copied().collect();
        let before = Some(ExecutionId(4));
        assert_eq!(subject.list(filter.clone(), before, 10).await, rest, "{filter:?}");
        let bars = subject.store.histogram(&filter, &span, 100).await.expect("the store counts");
        let count: u64 = bars.iter().map(|bar| bar.count).sum();
        assert_eq!(usize::try_from(count), Ok(expected.len()), "{filter:?}: {bars:?}");
    }
}

pub async fn a_status_moves_the_index_entries_of_labels(subject: Subject) {
    use ExecutionStatus::{Failed, Running};
    let started = with_labels(1, Running, &["team:ops"], "ada");
    assert_eq!(subject.append(started.clone()).await, Ok(()));
    let labels = started.summary.labels.clone();
    let mut ended = after(ExecutionId(1), 1);
    ended.summary = Summary { status: Failed, seq: Seq(2), ..started.summary };
    ended.index = labels
        .iter()
        .flat_map(|label| {
            let (old, new) = (label.index_entry(Running), label.index_entry(Failed));
            [IndexChange::Remove { entry: old }, IndexChange::Add { entry: new, at: at(2) }]
        })
        .collect();
    assert_eq!(subject.append(ended).await, Ok(()));
    let of = |status| ExecutionFilter {
        status: Some(status),
        labels: vec![label("team:ops")],
        ..Default::default()
    };
    assert!(subject.list(of(Running), None, 10).await.is_empty());
    assert_eq!(subject.list(of(Failed), None, 10).await, [1]);
}
