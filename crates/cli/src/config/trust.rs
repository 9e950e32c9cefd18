//! The list of project files that the user trusts, by path and content digest, in the user's
//! configuration directory.
//!
//! Invariant: a file that has changed since it was trusted is not trusted.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use sha2::{Digest as _, Sha256};

use super::file::{CONTEXTS, SettingsFile};
use super::settings::{Setting, TOKEN_ACCESS};
use crate::show::failure::Failure;

/// The settings that any project file may set: none of them names a program, a server, a place for
/// data, a secret or an allowed address.
const OF_EVERY_PROJECT: &[Setting] = &[
    Setting::ServerDrain,
    Setting::ServerSnapshotAfter,
    Setting::WorkerPool,
    Setting::WorkerConcurrency,
    Setting::WorkerDrain,
    Setting::LintLevels,
    Setting::LogFilter,
    Setting::LogFormat,
    Setting::OtelService,
];

/// The SHA-256 of a file's content.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ContentDigest(String);

impl ContentDigest {
    pub(crate) fn of(content: &str) -> Self {
        Self(Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The user's trust in a project file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustLevel {
    Trusted,
    /// The file was trusted with another content.
    Changed,
    Unknown,
}

/// A project file whose settings are withheld until the user trusts it.
#[derive(Debug, Clone)]
pub(crate) struct Withheld {
    pub(crate) path: PathBuf,
    /// The keys that the file sets and may not set.
    pub(crate) keys: Vec<String>,
    standing: TrustLevel,
}

impl Withheld {
    /// Removes the settings that an untrusted project file may not set; `None` if there are none.
    pub(crate) fn of(
        path: &Path,
        standing: TrustLevel,
        content: &mut SettingsFile,
    ) -> Option<Self> {
        if standing == TrustLevel::Trusted {
            return None;
        }
        let keys = guarded(content);
        content.values.retain(|setting, value| is_of_every_project(*setting, value));
        content.contexts.clear();
        (!keys.is_empty()).then(|| Self { path: path.to_owned(), keys, standing })
    }

    /// Returns the failure of a command that must not run without the withheld settings.
    pub(crate) fn refusal(&self) -> Failure {
        Failure::bad_input(anyhow!("{self}")).help(Self::WAY_OUT)
    }

    pub(crate) const WAY_OUT: &str =
        "read the file, then run `noetl config trust`; or use another with --config FILE";
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, keys, standing } = self;
        let why = match standing {
            TrustLevel::Changed => "it has changed since you trusted it",
            TrustLevel::Unknown | TrustLevel::Trusted => "you have not trusted it",
        };
        write!(f, "{} sets {}, but {why}", path.display(), keys.join(", "))
    }
}

/// True if any project file may set a setting to this value. Requiring a token protects, so any file
/// may ask for it, and none may turn it off.
fn is_of_every_project(setting: Setting, value: &str) -> bool {
    OF_EVERY_PROJECT.contains(&setting)
        || (setting == Setting::ServerAccess && value == TOKEN_ACCESS)
}

/// Returns the keys of a file that only a trusted project file may set.
pub(crate) fn guarded(content: &SettingsFile) -> Vec<String> {
    let values =
        content.values.iter().filter(|(setting, value)| !is_of_every_project(**setting, value));
    let values = values.map(|(setting, _)| setting);
    let contexts = content.contexts.keys().map(|name| format!("{CONTEXTS}.{name}"));
    values.map(|setting| setting.row().key.to_owned()).chain(contexts).collect()
}

/// The list of trusted project files: a digest and a path per line.
#[derive(Debug)]
pub(crate) struct TrustList {
    path: PathBuf,
}

impl TrustList {
    /// Returns the list in a user's configuration directory.
    pub(crate) fn of_user(directory: &Path) -> Self {
        Self { path: directory.join("noetl").join("trusted") }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn standing(&self, file: &Path, digest: &ContentDigest) -> io::Result<TrustLevel> {
        let file = file.canonicalize()?;
        let entries = self.read()?;
        let entry = entries.iter().find(|(_, path)| *path == file);
        Ok(match entry {
            Some((known, _)) if known == digest => TrustLevel::Trusted,
            Some(_) => TrustLevel::Changed,
            None => TrustLevel::Unknown,
        })
    }

    /// Trusts a file with this content; replaces an earlier entry of the file.
    pub(crate) fn add(&self, file: &Path, digest: ContentDigest) -> io::Result<()> {
        let file = file.canonicalize()?;
        if file.to_str().is_none_or(|path| path.contains('\n')) {
            return Err(io::Error::other("a path that is not one line of text cannot be trusted"));
        }
        let mut entries = self.read()?;
        entries.retain(|(_, path)| *path != file);
        entries.push((digest, file));
        self.write(&entries)
    }

    /// Removes a file from the list; true if it was trusted.
    pub(crate) fn remove(&self, file: &Path) -> io::Result<bool> {
        let file = file.canonicalize()?;
        let mut entries = self.read()?;
        let before = entries.len();
        entries.retain(|(_, path)| *path != file);
        self.write(&entries)?;
        Ok(entries.len() < before)
    }

    /// Reads the entries; fails if the list belongs to another user.
    fn read(&self) -> io::Result<Vec<(ContentDigest, PathBuf)>> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        if std::fs::metadata(&self.path)?.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("it belongs to another user"));
        }
        let entries = text.lines().filter_map(|line| line.split_once("  "));
        Ok(entries
            .map(|(digest, path)| (ContentDigest(digest.to_owned()), PathBuf::from(path)))
            .collect())
    }

    fn write(&self, entries: &[(ContentDigest, PathBuf)]) -> io::Result<()> {
        if let Some(directory) = self.path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let draft = self.path.with_extension(format!("new-{}", std::process::id()));
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        for (digest, path) in entries {
            writeln!(file, "{}  {}", digest.0, path.display())?;
        }
        file.sync_all()?;
        std::fs::rename(&draft, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_trusted_with_its_content_and_its_path() {
        let root = tempfile::tempdir().unwrap();
        let (file, other) = (root.path().join("noetl.toml"), root.path().join("other.toml"));
        std::fs::write(&file, "").unwrap();
        std::fs::write(&other, "").unwrap();
        let list = TrustList::of_user(&root.path().join("user"));
        let (first, second) = (ContentDigest::of("a"), ContentDigest::of("b"));
        let check = |digest, expected| assert_eq!(list.standing(&file, digest).unwrap(), expected);
        check(&first, TrustLevel::Unknown);
        list.add(&file, first.clone()).unwrap();
        check(&first, TrustLevel::Trusted);
        check(&second, TrustLevel::Changed);
        assert_eq!(list.standing(&other, &first).unwrap(), TrustLevel::Unknown);
        list.add(&other, first.clone()).unwrap();
        list.add(&file, second.clone()).unwrap();
        check(&second, TrustLevel::Trusted);
        check(&first, TrustLevel::Changed);
        assert!(list.remove(&file).unwrap() && !list.remove(&file).unwrap());
        check(&second, TrustLevel::Unknown);
        let mode = std::fs::metadata(list.path()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn settings_that_name_programs_servers_secrets_or_paths_are_withheld() {
        let mut content = SettingsFile::default();
        for setting in [Setting::ToolsPython, Setting::WorkerConcurrency, Setting::Token] {
            content.values.insert(setting, "1".to_owned());
        }
        content.contexts.insert("prod".to_owned(), Default::default());
        let withheld = Withheld::of(Path::new("/p/noetl.toml"), TrustLevel::Unknown, &mut content);
        assert_eq!(
            withheld.map(|it| it.to_string()).as_deref(),
            Some(
                "/p/noetl.toml sets token, tools.python, contexts.prod, but you have not trusted it"
            )
        );
        assert_eq!(content.values.keys().collect::<Vec<_>>(), [&Setting::WorkerConcurrency]);
        assert!(content.contexts.is_empty());
        assert!(Withheld::of(Path::new("x"), TrustLevel::Unknown, &mut content).is_none());
    }
}
