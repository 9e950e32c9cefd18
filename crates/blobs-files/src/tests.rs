use std::sync::Arc;

use noetl_model::Seq;
use noetl_store::conformance::TestClock;
use noetl_store::conformance::given::{A, at, events_after, start};
use noetl_store::{Append, EventLog as _, Records as _};
use noetl_store_sqlite::SqliteStore;
use tempfile::TempDir;

use super::*;

const BODY: &[u8] = b"{\"large\": true}";

fn opened() -> (FileBlobs, TempDir) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    (FileBlobs::open(directory.path()).expect("it is ours"), directory)
}

fn far() -> Timestamp {
    Timestamp::from_micros(i64::MAX / 2)
}

/// Sets the modification time of a file far into the past.
fn age(blobs: &FileBlobs, digest: &Digest) {
    let file = File::options().write(true).open(blobs.place(digest).file).unwrap();
    file.set_times(FileTimes::new().set_modified(UNIX_EPOCH)).unwrap();
}

#[tokio::test]
async fn a_stored_value_is_read_back_and_stored_once() {
    let (blobs, directory) = opened();
    let digest = Digest::of(BODY);
    assert_eq!(blobs.get(&digest).await.unwrap(), None);
    for _ in 0..2 {
        blobs.put(&digest, BODY).await.unwrap();
        assert_eq!(blobs.get(&digest).await.unwrap().as_deref(), Some(BODY));
    }
    let below = directory.path().join(&digest.to_string()[..2]);
    assert_eq!(fs::read_dir(below).unwrap().count(), 1, "nothing else is left behind");
}

#[tokio::test]
async fn a_file_that_is_not_what_it_was_is_not_given_and_is_mended_by_putting_it() {
    let (blobs, _directory) = opened();
    let digest = Digest::of(BODY);
    blobs.put(&digest, BODY).await.unwrap();
    fs::write(blobs.place(&digest).file, b"{}").unwrap();
    assert!(matches!(blobs.get(&digest).await, Err(StoreError::Corrupt { .. })));
    blobs.put(&digest, BODY).await.unwrap();
    assert_eq!(blobs.get(&digest).await.unwrap().as_deref(), Some(BODY));
}

#[tokio::test]
async fn only_what_has_not_been_put_for_long_is_removed() {
    let (blobs, _directory) = opened();
    let digest = Digest::of(BODY);
    let first = digest.as_bytes()[0];
    blobs.put(&digest, BODY).await.unwrap();
    age(&blobs, &digest);
    assert_eq!(blobs.aged(first, at(0)).await.unwrap(), [digest]);
    blobs.put(&digest, BODY).await.unwrap();
    assert_eq!(blobs.aged(first, at(0)).await.unwrap(), []);
    assert!(!blobs.remove(&digest, at(0)).await.unwrap(), "it is young again");
    assert!(blobs.get(&digest).await.unwrap().is_some());
    assert!(blobs.remove(&digest, far()).await.unwrap());
    assert!(!blobs.remove(&digest, far()).await.unwrap());
    assert_eq!(blobs.get(&digest).await.unwrap(), None);
}

#[tokio::test]
async fn partial_files_of_a_killed_process_are_removed() {
    let (blobs, directory) = opened();
    let below = directory.path().join("ab");
    fs::create_dir_all(&below).unwrap();
    fs::write(below.join("x.part"), b"half").unwrap();
    fs::write(below.join("README"), b"not ours").unwrap();
    assert_eq!(blobs.aged(0xab, far()).await.unwrap(), []);
    let left: Vec<_> = fs::read_dir(below).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["README"]);
}

#[tokio::test]
async fn a_value_whose_removal_a_dying_process_began_is_read_and_kept_for_the_next() {
    let (blobs, _directory) = opened();
    let digest = Digest::of(BODY);
    let first = digest.as_bytes()[0];
    blobs.put(&digest, BODY).await.unwrap();
    age(&blobs, &digest);
    let place = blobs.place(&digest);
    fs::rename(&place.file, place.aside()).unwrap();
    assert_eq!(blobs.get(&digest).await.unwrap().as_deref(), Some(BODY));
    assert_eq!(blobs.aged(first, far()).await.unwrap(), [digest], "whether it goes is asked again");
    assert_eq!(blobs.get(&digest).await.unwrap().as_deref(), Some(BODY));
    fs::copy(&place.file, place.aside()).unwrap();
    assert!(blobs.remove(&digest, far()).await.unwrap());
    assert_eq!(blobs.get(&digest).await.unwrap(), None);
}

#[tokio::test]
async fn a_store_keeps_large_values_in_the_directory_and_none_in_its_file() {
    let (blobs, directory) = opened();
    let path = directory.path().join("history.db");
    let open = async || {
        let store = SqliteStore::open(&path, Arc::new(TestClock::default())).await.unwrap();
        store.with_blobs(Arc::new(blobs.clone()))
    };
    let store = open().await;
    let (kept, lost) = (Digest::of(BODY), Digest::of(b"[\"orphan\"]"));
    let payloads = vec![(kept, Arc::new(BODY.to_vec()))];
    let appended = store.append(&[Append { payloads, ..start(A) }]).await.unwrap();
    assert_eq!(appended, [Ok(())]);
    assert_eq!(store.payload(&kept).await.unwrap().as_deref(), Some(BODY));
    blobs.put(&lost, b"[\"orphan\"]").await.unwrap();
    [kept, lost].iter().for_each(|digest| age(&blobs, digest));
    let mut collected = 0;
    for first in 0..=u8::MAX {
        collected += store.collect_blobs(first, at(0)).await.unwrap();
    }
    assert_eq!(collected, 1, "what no row refers to");
    assert_eq!(store.payload(&kept).await.unwrap().as_deref(), Some(BODY));
    drop(store);
    let bytes = fs::read(&path).unwrap();
    assert!(!bytes.windows(BODY.len()).any(|window| window == BODY), "it is not in the file");
    let without = SqliteStore::open_read_only(&path).await.unwrap();
    let told = without.payload(&kept).await.unwrap_err();
    let StoreError::Unavailable(told) = told else { panic!("{told}") };
    assert!(told.to_string().contains("NOETL_PAYLOAD_DIR"), "{told}");
    drop(without);
    assert_eq!(open().await.read(A, Seq::ZERO, 10).await.unwrap().len(), 1);
    let more = events_after(A, Seq(1), 1);
    assert_eq!(open().await.append(&[more]).await.unwrap(), [Ok(())]);
}

#[tokio::test]
async fn other_users_can_enter_no_directory_and_open_no_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("values");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let blobs = FileBlobs::open(&directory).unwrap();
    let digest = Digest::of(b"[1]");
    blobs.put(&digest, b"[1]").await.unwrap();
    let place = blobs.place(&digest);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!((mode(&place.directory), mode(&place.file)), (0o700, 0o600));
}

#[tokio::test]
async fn an_unwritable_directory_is_reported_as_such() {
    let root = tempfile::tempdir().unwrap();
    let blobs = FileBlobs::open(&root.path().join("values")).unwrap();
    blobs.check_writable().await.unwrap();
    assert_eq!(fs::read_dir(&blobs.directory).unwrap().count(), 0, "nothing is left behind");
    let full = blobs.away::<()>(|| Err(ErrorKind::StorageFull.into())).await.unwrap_err();
    assert_eq!(
        full.to_string(),
        "the directory for large values cannot be written: the disk is full"
    );
}
