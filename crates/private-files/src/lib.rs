//! Files and directories that only the user who runs noetl can read (modes 0600 and 0700). Existing
//! ones with wider permissions are restricted when they are opened.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// The mode of a file that only its owner reads and writes.
const FILE: u32 = 0o600;
/// The mode of a directory that only its owner uses.
const DIRECTORY: u32 = 0o700;
/// The mode bits that grant access to other users.
const OTHERS: u32 = 0o077;

/// Creates a directory and its missing parents with owner-only mode, and flushes their names to the
/// disk. Existing directories keep their mode.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let is_missing = |it: &&Path| !it.as_os_str().is_empty() && !it.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    DirBuilder::new().recursive(true).mode(DIRECTORY).create(path)?;
    missing.into_iter().try_for_each(flush_name)
}

/// Flushes the name of a file or directory to the disk, so that it is there after a power loss.
pub fn flush_name(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Opens a file for writing with owner-only mode, creating it if it is missing.
pub fn open_file(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).write(true).truncate(false).mode(FILE).open(path)?;
    restrict(path);
    Ok(file)
}

/// Creates an empty file with owner-only mode; an existing file is restricted. An existing file is
/// not opened, because closing it would release the locks that this process holds on it.
pub fn create_file(path: &Path) -> io::Result<()> {
    match File::options().create_new(true).write(true).mode(FILE).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            restrict(path);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Creates a file with its content and owner-only mode. It is there as a whole or not at all, also
/// after a power loss; an existing file is an error ([`ErrorKind::AlreadyExists`]) and stays.
pub fn create_file_with(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_added_extension(format!("{}.new", std::process::id()));
    let made = write_new(&new, content).and_then(|()| fs::hard_link(&new, path));
    let removed = fs::remove_file(&new);
    made.and(removed)?;
    flush_name(path)
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::options().create(true).write(true).truncate(true).mode(FILE).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Removes the access of other users to a file or directory, and logs the change.
pub fn restrict(path: &Path) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    let mode = metadata.permissions().mode();
    if mode & OTHERS == 0 || metadata.is_symlink() {
        return;
    }
    let shown = path.display();
    let wanted = if metadata.is_dir() { DIRECTORY } else { FILE };
    match fs::set_permissions(path, Permissions::from_mode(wanted)) {
        Ok(()) => log::warn!(
            "other users could open {shown} (mode {:04o}); now only its owner can ({wanted:04o})",
            mode & 0o7777
        ),
        Err(error) => log::warn!(
            "other users can open {shown} (mode {:04o}), and this cannot be changed: {error}",
            mode & 0o7777
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn created_files_and_directories_are_for_the_owner_only() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("a/b");
        create_directory(&directory).unwrap();
        assert_eq!((mode(&root.path().join("a")), mode(&directory)), (DIRECTORY, DIRECTORY));
        let (opened, created) = (directory.join("opened"), directory.join("created"));
        open_file(&opened).unwrap();
        create_file(&created).unwrap();
        assert_eq!((mode(&opened), mode(&created)), (FILE, FILE));
    }

    #[test]
    fn a_file_is_created_with_its_content_and_never_replaced() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("key");
        create_file_with(&file, b"first").unwrap();
        let again = create_file_with(&file, b"second").unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&file).unwrap(), b"first");
        assert_eq!(mode(&file), FILE);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn wider_permissions_of_existing_files_are_restricted() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "kept").unwrap();
        for restrict in [|path: &Path| open_file(path).map(drop), create_file] {
            fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
            restrict(&file).unwrap();
            assert_eq!(mode(&file), FILE);
        }
        assert_eq!(fs::read(&file).unwrap(), b"kept");
        fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
        restrict(root.path());
        assert_eq!(mode(root.path()), DIRECTORY);
        restrict(&root.path().join("nothing"));
    }
}
