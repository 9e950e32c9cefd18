//! Blob storage in a directory: one file for each payload, named by its digest, in a subdirectory
//! named by the first byte.
//!
//! A file is created atomically, and its content and its name are flushed to the disk before anything
//! refers to it. Bytes are checked against their digest when they are read. Any number of processes may share a directory, also over a
//! network.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use noetl_model::{Digest, Timestamp};
use noetl_private_files as private_files;
use noetl_store::{Blobs, StoreError, WRITE_CHECK_LEN, WriteFault};

/// The suffix of a file that is being written.
const TEMPORARY: &str = ".part";

/// The suffix of a file that is being removed.
const ASIDE: &str = ".old";

/// A directory of large payloads.
#[derive(Debug, Clone)]
pub struct FileBlobs {
    directory: PathBuf,
    flushed: Arc<FlushedNames>,
}

/// The subdirectories whose names this process has flushed to the disk.
#[derive(Debug, Default)]
struct FlushedNames(Mutex<BTreeSet<PathBuf>>);

impl FlushedNames {
    fn names(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileBlobs {
    /// Opens a directory, creating it if it is missing, and restricts it to its owner.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let directory = std::path::absolute(directory)?;
        private_files::create_directory(&directory)?;
        private_files::restrict(&directory);
        Ok(Self { directory, flushed: Arc::default() })
    }

    fn place(&self, digest: &Digest) -> BlobLocation {
        let name = digest.to_string();
        let directory = self.directory.join(&name[..2]);
        BlobLocation {
            file: directory.join(&name),
            directory,
            root: self.directory.clone(),
            flushed: Arc::clone(&self.flushed),
        }
    }

    /// Runs disk work on a blocking thread.
    async fn away<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let done = tokio::task::spawn_blocking(work).await;
        let failed = |error: io::Error| {
            let source = format!("the directory {}: {error}", self.directory.display()).into();
            match WriteFault::of_io(&error) {
                Some(fault) => {
                    let place = "the directory for large values".to_owned();
                    StoreError::Unwritable { place, fault, source }
                }
                None => StoreError::Unavailable(source),
            }
        };
        done.map_err(|error| StoreError::Unavailable(error.into()))?.map_err(failed)
    }
}

/// The location of a payload.
struct BlobLocation {
    root: PathBuf,
    directory: PathBuf,
    file: PathBuf,
    flushed: Arc<FlushedNames>,
}

impl BlobLocation {
    /// Updates the modification time of an existing file. Returns false if there is no file of this
    /// length.
    fn renew(&self, length: u64) -> io::Result<bool> {
        let file = match File::options().write(true).open(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() != length {
            return Ok(false);
        }
        file.set_times(FileTimes::new().set_modified(SystemTime::now()))?;
        // Another process may have named the file and not have flushed the name.
        self.flush_names()?;
        // A concurrent removal may not have seen the new modification time.
        Ok(self.file.exists())
    }

    /// Flushes the name of the file, and that of its directory unless this process has done that.
    fn flush_names(&self) -> io::Result<()> {
        File::open(&self.directory)?.sync_all()?;
        if !self.flushed.names().contains(&self.directory) {
            File::open(&self.root)?.sync_all()?;
            self.flushed.names().insert(self.directory.clone());
        }
        Ok(())
    }

    fn aside(&self) -> PathBuf {
        self.file.with_added_extension(&ASIDE[1..])
    }

    /// Returns the content; also that of a file whose removal a process has not finished.
    fn read(&self) -> io::Result<Option<Vec<u8>>> {
        for file in [&self.file, &self.aside(), &self.file] {
            match fs::read(file) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                read => return read.map(Some),
            }
        }
        Ok(None)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        private_files::create_directory(&self.directory)?;
        let mut file = tempfile::Builder::new().suffix(TEMPORARY).tempfile_in(&self.directory)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(&self.file)?;
        self.flush_names()
    }

    /// Removes a file unless it was modified since `before`. Returns true if this call removed it.
    fn remove(&self, before: SystemTime) -> io::Result<bool> {
        let aside = self.aside();
        match fs::rename(&self.file, &aside) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            renamed => renamed?,
        }
        // After the rename, no writer can update the modification time, so this check is final. If
        // another process has given the file its name back, that one decides.
        let modified = match fs::metadata(&aside) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            metadata => metadata?.modified()?,
        };
        if modified < before {
            fs::remove_file(&aside)?;
            return Ok(true);
        }
        fs::rename(&aside, &self.file)?;
        Ok(false)
    }
}

/// Returns the files of a directory that were last stored before an instant.
fn aged(directory: &Path, before: SystemTime) -> io::Result<Vec<Digest>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let modified = match entry.metadata().and_then(|metadata| metadata.modified()) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            modified => modified?,
        };
        if before <= modified {
            continue;
        }
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(TEMPORARY) {
            // A crashed process was writing it.
            fs::remove_file(entry.path())?;
        } else if let Some(digest) = name.strip_suffix(ASIDE) {
            // A crashed process was removing it, but may have seen that it is in use again.
            found.extend(put_back(&entry.path(), directory, digest)?);
        } else {
            found.extend(name.parse::<Digest>().ok());
        }
    }
    Ok(found)
}

/// Gives a file its name back, unless there is another one by now; returns its digest.
fn put_back(aside: &Path, directory: &Path, name: &str) -> io::Result<Option<Digest>> {
    let file = directory.join(name);
    if file.exists() {
        fs::remove_file(aside)?;
        return Ok(None);
    }
    fs::rename(aside, file)?;
    Ok(name.parse().ok())
}

fn system_time(at: Timestamp) -> SystemTime {
    let micros = u64::try_from(at.as_micros()).unwrap_or_default();
    UNIX_EPOCH + Duration::from_micros(micros)
}

#[async_trait]
impl Blobs for FileBlobs {
    async fn put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        let (place, bytes) = (self.place(digest), bytes.to_vec());
        self.away(move || {
            let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if place.renew(length)? { Ok(()) } else { place.write(&bytes) }
        })
        .await
    }

    async fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let place = self.place(digest);
        let bytes = self.away(move || place.read()).await?;
        match &bytes {
            Some(bytes) if Digest::of(bytes) != *digest => Err(StoreError::Corrupt {
                what: format!("the file of the value {digest}"),
                source: "its content is another".into(),
            }),
            Some(_) | None => Ok(bytes),
        }
    }

    async fn aged(&self, first: u8, before: Timestamp) -> Result<Vec<Digest>, StoreError> {
        let directory = self.directory.join(format!("{first:02x}"));
        self.away(move || aged(&directory, system_time(before))).await
    }

    async fn remove(&self, digest: &Digest, before: Timestamp) -> Result<bool, StoreError> {
        let place = self.place(digest);
        self.away(move || place.remove(system_time(before))).await
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        let directory = self.directory.clone();
        self.away(move || {
            let mut file = tempfile::Builder::new().suffix(TEMPORARY).tempfile_in(directory)?;
            file.write_all(&[0; WRITE_CHECK_LEN])?;
            file.as_file().sync_all()?;
            file.close()
        })
        .await
    }
}

#[cfg(test)]
mod tests;
