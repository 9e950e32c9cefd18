//! Conformance cases of the search for words.

use noetl_model::{
    Actor, CatalogId, ExecutionId, ExecutionStatus, IndexChange, Labels, Parent, SearchText,
    word_index_entry,
};

use super::Subject;
use super::given::{after, at, start};
use crate::{Append, ExecutionFilter, HistogramSpan, PathFilter};

/// Starts an execution with a path, and with words as index entries.
fn with_words(id: i64, path: &str, status: ExecutionStatus, words: &[&str]) -> Append {
    let mut append = start(ExecutionId(id));
    append.summary.playbook.path = path.into();
    append.summary.status = status;
    append.index = words
        .iter()
        .map(|word| IndexChange::Add { entry: word_index_entry(word, status), at: at(1) })
        .collect();
    append
}

fn of(text: &str) -> ExecutionFilter {
    ExecutionFilter { text: text.parse::<SearchText>().ok(), ..Default::default() }
}

fn batch() -> Vec<Append> {
    use ExecutionStatus::{Cancelled, Completed, Failed, Running};
    let mut labelled = with_words(4, "demo/other", Running, &["ops", "größe"]);
    let label = "team:ops".parse().expect("a label");
    labelled.summary.labels = Labels::default().with([label]).expect("few labels");
    labelled.summary.actor = Actor::new("ada").ok();
    let mut child = with_words(5, "demo/orders", Failed, &["timeout"]);
    child.summary.parent = Some(Parent::of(ExecutionId(1), None));
    child.summary.playbook.catalog_id = CatalogId(77);
    vec![
        with_words(1, "demo/Orders_Nightly", Completed, &[]),
        with_words(2, "demo/orders", Failed, &["connection", "timeout", "db", "7"]),
        with_words(3, "demo/rates", Failed, &["timeout", "orders"]),
        labelled,
        child,
        with_words(6, "Größe/ÜBER", Cancelled, &["cancelled", "wrong", "orders"]),
    ]
}

pub async fn executions_are_listed_and_counted_by_words(subject: Subject) {
    use ExecutionStatus::{Completed, Failed, Running};
    assert!(subject.append_all(&batch()).await.iter().all(Result::is_ok));
    let span = HistogramSpan { from: 0, until: 100, origin: 0, width: 100, buckets: 1 };
    let team = vec!["team:ops".parse().expect("a label")];
    for (filter, expected) in [
        (of("orders"), vec![6, 5, 3, 2, 1]),
        (of("ORD"), vec![5, 2, 1]),
        (of("orders timeout"), vec![5, 3, 2]),
        (of("timeout 7"), vec![2]),
        (of("orders nightly"), vec![1]),
        (of("demo ops"), vec![4]),
        (of("GRÖSSE"), vec![]),
        (of("größe"), vec![6, 4]),
        (of("time"), vec![]),
        (of("100%"), vec![]),
        (ExecutionFilter { status: Some(Failed), ..of("orders") }, vec![5, 3, 2]),
        (ExecutionFilter { status: Some(Completed), ..of("orders") }, vec![1]),
        (ExecutionFilter { status: Some(Running), ..of("orders") }, vec![]),
        (ExecutionFilter { parent: Some(ExecutionId(1)), ..of("orders") }, vec![5]),
        (ExecutionFilter { catalog_id: Some(CatalogId(77)), ..of("timeout") }, vec![5]),
        (ExecutionFilter { labels: team.clone(), ..of("other") }, vec![4]),
        (ExecutionFilter { labels: team, ..of("orders") }, vec![]),
        (ExecutionFilter { actor: Actor::new("ada").ok(), ..of("demo") }, vec![4]),
        (ExecutionFilter { path: Some(PathFilter::Part("RATES".into())), ..of("orders") }, vec![3]),
        (
            ExecutionFilter {
                path: Some(PathFilter::Whole("demo/orders".into())),
                ..of("orders timeout")
            },
            vec![5, 2],
        ),
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

pub async fn words_are_found_at_the_status_of_their_execution(subject: Subject) {
    use ExecutionStatus::{Failed, Running};
    let started = with_words(1, "demo/orders", Running, &["ops"]);
    assert_eq!(subject.append(started.clone()).await, Ok(()));
    let mut ended = after(ExecutionId(1), 1);
    ended.summary.playbook = started.summary.playbook;
    ended.summary.status = Failed;
    let moved = word_index_entry("ops", Running);
    let added = ["ops", "timeout"].map(|word| word_index_entry(word, Failed));
    ended.index = added.map(|entry| IndexChange::Add { entry, at: at(2) }).to_vec();
    ended.index.push(IndexChange::Remove { entry: moved });
    assert_eq!(subject.append(ended).await, Ok(()));
    let listed = async |status, text| {
        subject.list(ExecutionFilter { status: Some(status), ..of(text) }, None, 10).await
    };
    assert!(listed(Running, "ops").await.is_empty());
    assert_eq!(listed(Failed, "ops timeout").await, [1]);
}
