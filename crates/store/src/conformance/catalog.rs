//! Conformance cases of the catalog, snapshots and saved replays.

use noetl_model::{CatalogId, EventId, Seq};

use super::Subject;
use super::given::{A, B, at};
use crate::{
    CatalogEntry, CatalogQuery, EntryContents, EntryState, NewPlaybook, ReplayBound, SavedReplay,
    Snapshot,
};

async fn register(subject: &Subject, id: i64, path: &str, content: &str) -> CatalogEntry {
    let playbook = NewPlaybook {
        catalog_id: CatalogId(id),
        path: path.into(),
        kind: "playbook".into(),
        content: content.into(),
        created_at: at(5),
    };
    subject.store.register(playbook).await.expect("the store keeps playbooks").entry
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
        // Returning to the content of an older version is a change.
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
        archived_at: None,
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
        let entries = subject.store.paths(&CatalogQuery::active(after, limit)).await;
        let entries = entries.expect("the store lists playbooks");
        assert!(entries.iter().all(|entry| entry.content.is_empty()));
        entries.into_iter().map(|entry| (entry.path, entry.version)).collect::<Vec<_>>()
    };
    assert_eq!(paths(None, 10).await, [("a".into(), 1), ("b".into(), 2)]);
    assert_eq!(paths(None, 1).await, [("a".into(), 1)]);
    assert_eq!(paths(Some("a"), 10).await, [("b".into(), 2)]);
    assert_eq!(paths(Some("b"), 10).await, []);
}

pub async fn an_archived_path_is_hidden_and_kept_until_it_is_restored(subject: Subject) {
    for (id, path, content) in [(1, "a", "one"), (2, "b", "one"), (3, "b", "two")] {
        register(&subject, id, path, content).await;
    }
    let set = async |path, time: Option<u64>| {
        let changed = subject.store.set_archived(path, time.map(at)).await;
        let newest = changed.expect("the store archives paths");
        newest.map(|entry| (entry.version, entry.archived_at))
    };
    let listed = async |state| {
        let query = CatalogQuery { state, ..CatalogQuery::active(None, 10) };
        let entries = subject.store.paths(&query).await.expect("the store lists playbooks");
        entries.into_iter().map(|entry| (entry.path, entry.version)).collect::<Vec<_>>()
    };
    assert_eq!(set("c", Some(7)).await, None);
    assert_eq!(set("b", Some(7)).await, Some((2, Some(at(7)))));
    assert_eq!(set("b", Some(8)).await, Some((2, Some(at(7)))), "the first time is kept");
    assert_eq!(listed(EntryState::Active).await, [("a".into(), 1)]);
    assert_eq!(listed(EntryState::Archived).await, [("b".into(), 2)]);
    let older = subject.store.by_path("b", Some(1)).await.expect("the store answers");
    assert_eq!(older.and_then(|entry| entry.archived_at), Some(at(7)));
    let by_id = subject.store.by_id(CatalogId(3)).await.expect("the store answers");
    assert_eq!(by_id.and_then(|entry| entry.archived_at), Some(at(7)));
    assert_eq!(set("b", None).await, Some((2, None)));
    assert_eq!(set("b", None).await, Some((2, None)));
    assert_eq!(listed(EntryState::Active).await, [("a".into(), 1), ("b".into(), 2)]);
    assert_eq!(listed(EntryState::Archived).await, []);
}

pub async fn registering_at_an_archived_path_restores_it(subject: Subject) {
    let register = async |id: i64, content: &str| {
        let (path, kind, content) = ("a".into(), "playbook".into(), content.into());
        let catalog_id = CatalogId(id);
        let playbook = NewPlaybook { catalog_id, path, kind, content, created_at: at(5) };
        let registered = subject.store.register(playbook).await.expect("the store answers");
        assert_eq!(registered.entry.archived_at, None);
        (registered.entry.version, registered.is_restored)
    };
    let archive = async || subject.store.set_archived("a", Some(at(7))).await.expect("an answer");
    assert_eq!(register(1, "one").await, (1, false));
    archive().await;
    assert_eq!(register(2, "two").await, (2, true));
    let first = subject.store.by_path("a", Some(1)).await.expect("the store answers");
    assert_eq!(first.expect("version 1").archived_at, None);
    archive().await;
    assert_eq!(register(3, "two").await, (2, true), "the same content restores too");
    assert_eq!(register(4, "two").await, (2, false));
}

pub async fn paths_are_selected_by_a_text_of_their_newest_content(subject: Subject) {
    for (id, path, content) in
        [(1, "a", "name: x_y"), (2, "a", "name: z"), (3, "b", "Name: x_y"), (4, "c", "- x_y %")]
    {
        register(&subject, id, path, content).await;
    }
    let listed = async |contents| {
        let query = CatalogQuery { contents, ..CatalogQuery::active(None, 10) };
        let entries = subject.store.paths(&query).await.expect("the store lists playbooks");
        entries.into_iter().map(|entry| (entry.path, entry.content)).collect::<Vec<_>>()
    };
    let (a, b, c) = ("name: z".to_owned(), "Name: x_y".to_owned(), "- x_y %".to_owned());
    let expected = [("a".to_owned(), a), ("b".to_owned(), b), ("c".to_owned(), c)];
    assert_eq!(listed(EntryContents::Included).await, expected);
    let containing = async |text: &str| listed(EntryContents::Containing(text.into())).await;
    assert_eq!(containing("x_y").await, expected[1..]);
    assert_eq!(containing("name").await, expected[..1]);
    assert_eq!(containing("%").await, expected[2..]);
    assert_eq!(containing("x%y").await, []);
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

pub async fn the_furthest_replay_within_a_bound_is_found(subject: Subject) {
    let replay = |seq: u64, shape: u32| SavedReplay {
        seq: Seq(seq),
        last_id: EventId(i64::try_from(seq).expect("small") * 10),
        last_at: at(seq),
        shape,
        body: vec![0, 255, u8::try_from(seq).expect("small")],
    };
    let bound = |seq| ReplayBound { shape: 1, seq: Seq(seq), last_id: None, last_at: None };
    let furthest = async |execution, projection: &str, bound| {
        let found = subject.store.furthest_replay(execution, projection, bound).await;
        found.expect("the store answers")
    };
    assert_eq!(furthest(A, "all", bound(99)).await, None);
    for (seq, shape) in [(20, 1), (10, 1), (30, 2)] {
        let saved = subject.store.save_replay(A, "all", &replay(seq, shape)).await;
        saved.expect("the store saves replays");
    }
    assert_eq!(furthest(A, "all", bound(99)).await, Some(replay(20, 1)));
    assert_eq!(furthest(A, "all", bound(20)).await, Some(replay(20, 1)));
    assert_eq!(furthest(A, "all", bound(19)).await, Some(replay(10, 1)));
    assert_eq!(furthest(A, "all", bound(9)).await, None);
    let by_id = ReplayBound { last_id: Some(EventId(199)), ..bound(99) };
    assert_eq!(furthest(A, "all", by_id).await, Some(replay(10, 1)));
    let by_time = ReplayBound { last_at: Some(at(19)), ..bound(99) };
    assert_eq!(furthest(A, "all", by_time).await, Some(replay(10, 1)));
    let of_other_shape = ReplayBound { shape: 2, ..bound(99) };
    assert_eq!(furthest(A, "all", of_other_shape).await, Some(replay(30, 2)));
    assert_eq!(furthest(A, "loop", bound(99)).await, None);
    assert_eq!(furthest(B, "all", bound(99)).await, None);
    let again = SavedReplay { body: b"anew".to_vec(), ..replay(20, 1) };
    subject.store.save_replay(A, "all", &again).await.expect("the store saves replays");
    assert_eq!(furthest(A, "all", bound(99)).await, Some(again));
}

pub async fn saved_replays_are_listed(subject: Subject) {
    for (execution, projection, seq, shape) in
        [(A, "loop", 10, 1), (A, "all", 20, 2), (A, "all", 10, 1), (B, "all", 30, 1)]
    {
        let (seq, last_id, last_at) = (Seq(seq), EventId(1), at(1));
        let replay = SavedReplay { seq, last_id, last_at, shape, body: vec![1] };
        let saved = subject.store.save_replay(execution, projection, &replay).await;
        saved.expect("the store saves replays");
    }
    let listed = subject.store.saved_replays(A).await.expect("the store answers");
    let listed: Vec<_> =
        listed.iter().map(|mark| (mark.projection.as_str(), mark.seq.0, mark.shape)).collect();
    assert_eq!(listed, [("all", 10, 1), ("all", 20, 2), ("loop", 10, 1)]);
}

pub async fn documents_are_listed_by_their_kind(subject: Subject) {
    let add = async |id, path: &str, kind: &str| {
        let (path, kind, content) = (path.into(), kind.into(), format!("{id}: ü"));
        let (catalog_id, created_at) = (CatalogId(id), at(5));
        let document = NewPlaybook { catalog_id, path, kind, content, created_at };
        subject.store.register(document).await.expect("the store keeps documents");
    };
    for (id, path, kind) in [
        (1, "b", "Notification"),
        (2, "a", "Notification"),
        (3, "c", "Playbook"),
        (4, "b", "Notification"),
        (5, "d", "Notification"),
        // Another kind of document takes the place of this one.
        (6, "d", "Schedule"),
    ] {
        add(id, path, kind).await;
    }
    let listed = async |state| {
        let entries = subject.store.entries_of_kind("Notification", state).await;
        let entries = entries.expect("the store lists documents").into_iter();
        entries.map(|it| (it.path, it.version, it.content)).collect::<Vec<_>>()
    };
    let (a, b) = (("a".into(), 1, "2: ü".into()), ("b".into(), 2, "4: ü".into()));
    assert_eq!(listed(EntryState::Active).await, [a.clone(), b.clone()]);
    assert_eq!(listed(EntryState::Archived).await, []);
    subject.store.set_archived("a", Some(at(6))).await.expect("the store archives");
    assert_eq!(listed(EntryState::Active).await, [b]);
    assert_eq!(listed(EntryState::Archived).await, [a]);
}
