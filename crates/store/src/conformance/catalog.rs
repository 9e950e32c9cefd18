//! Rules of the catalog and of snapshots.

use noetl_model::{CatalogId, Seq};

use super::Subject;
use super::given::{A, B, at};
use crate::{CatalogEntry, NewPlaybook, Snapshot};

async fn register(subject: &Subject, id: i64, path: &str, content: &str) -> CatalogEntry {
    let playbook = NewPlaybook {
        catalog_id: CatalogId(id),
        path: path.into(),
        kind: "playbook".into(),
        content: content.into(),
        created_at: at(5),
    };
    subject.store.register(playbook).await.expect("the store keeps playbooks")
}

pub async fn catalog_versions_count_up_and_identical_content_is_not_registered_again(
    subject: Subject,
) {
    let mut answers = Vec::new();
    for (id, path, content) in [
        (1, "a", "one"),
        (2, "a", "one"),
        (3, "a", "two"),
        (4, "b", "two"),
        // Going back to what an older version said is a change.
        (5, "a", "one"),
        (6, "a", "one"),
    ] {
        let entry = register(&subject, id, path, content).await;
        answers.push((entry.catalog_id.0, entry.version));
    }
    assert_eq!(answers, [(1, 1), (1, 1), (3, 2), (4, 1), (5, 3), (5, 3)]);
}

pub async fn a_playbook_is_found_by_id_by_path_and_by_version(subject: Subject) {
    let first = register(&subject, 1, "demo/hello", "one: ü\n").await;
    let second = register(&subject, 2, "demo/hello", "two").await;
    let expected = CatalogEntry {
        catalog_id: CatalogId(1),
        path: "demo/hello".into(),
        version: 1,
        kind: "playbook".into(),
        content: "one: ü\n".into(),
        created_at: at(5),
    };
    assert_eq!(first, expected);
    let by_id = async |id| subject.store.by_id(CatalogId(id)).await.expect("the store answers");
    assert_eq!(by_id(1).await.as_ref(), Some(&first));
    assert_eq!(by_id(2).await.as_ref(), Some(&second));
    assert_eq!(by_id(3).await, None);
    let by_path = async |path, version| {
        subject.store.by_path(path, version).await.expect("the store answers")
    };
    assert_eq!(by_path("demo/hello", None).await.as_ref(), Some(&second));
    assert_eq!(by_path("demo/hello", Some(1)).await.as_ref(), Some(&first));
    assert_eq!(by_path("demo/hello", Some(3)).await, None);
    assert_eq!(by_path("demo", None).await, None);
}

pub async fn paths_are_listed_at_their_newest_version_without_contents(subject: Subject) {
    for (id, path, content) in [(1, "b", "one"), (2, "a", "one"), (3, "b", "two")] {
        register(&subject, id, path, content).await;
    }
    let paths = async |after, limit| {
        let entries = subject.store.paths(after, limit).await.expect("the store lists playbooks");
        assert!(entries.iter().all(|entry| entry.content.is_empty()));
        entries.into_iter().map(|entry| (entry.path, entry.version)).collect::<Vec<_>>()
    };
    assert_eq!(paths(None, 10).await, [("a".into(), 1), ("b".into(), 2)]);
    assert_eq!(paths(None, 1).await, [("a".into(), 1)]);
    assert_eq!(paths(Some("a"), 10).await, [("b".into(), 2)]);
    assert_eq!(paths(Some("b"), 10).await, []);
}

pub async fn snapshots_never_go_back(subject: Subject) {
    let snapshot = |seq, shape, body: &[u8]| Snapshot { seq: Seq(seq), shape, body: body.to_vec() };
    let save = async |snapshot: &Snapshot| {
        subject.store.save(A, snapshot).await.expect("the store saves snapshots");
        subject.store.latest(A).await.expect("the store answers").expect("one was saved")
    };
    assert_eq!(subject.store.latest(A).await.expect("the store answers"), None);
    let fifth = snapshot(5, 1, &[0, 255, 7]);
    assert_eq!(save(&fifth).await, fifth);
    assert_eq!(save(&snapshot(4, 1, b"older")).await, fifth);
    let other_shape = snapshot(5, 2, b"the same fold, written anew");
    assert_eq!(save(&other_shape).await, other_shape);
    let ninth = snapshot(9, 2, b"");
    assert_eq!(save(&ninth).await, ninth);
    assert_eq!(subject.store.latest(B).await.expect("the store answers"), None);
}
