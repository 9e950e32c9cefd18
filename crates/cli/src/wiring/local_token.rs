//! The token of a server with an embedded database: in a file beside the database that only its user
//! can read, so that commands of this user send it and other users and steps cannot.
//!
//! Invariant: a client sends the token only to the server that has the database open.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use noetl_private_files as private_files;
use url::Url;

use crate::config::{Config, NamedBy};
use crate::show::failure::Failure;
use crate::wiring::database;

/// The number of random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// Returns the token beside a database; creates it if there is none.
pub(crate) fn of_database(database: &Path) -> Result<String, Failure> {
    let path = file_of(database);
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).context("no random numbers").map_err(Failure::broken)?;
    let created = private_files::create_file_with(&path, URL_SAFE_NO_PAD.encode(bytes).as_bytes());
    match created {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            let context = format!("cannot write the token of this server to {}", path.display());
            return Err(Failure::broken(anyhow::Error::new(error).context(context)));
        }
        Ok(()) | Err(_) => {}
    }
    private_files::restrict(&path);
    read(&path).ok_or_else(|| {
        Failure::bad_input(anyhow!("{} is not a token of this user", path.display()))
            .help("remove the file; the server creates another one")
    })
}

/// Returns the token to send to a server: the configured one, else the one beside the database that
/// the server has open.
pub(crate) fn for_client(
    server: &Url,
    named: NamedBy,
    database: &Path,
    config: &Config,
) -> Result<Option<String>, Failure> {
    if let Some(token) = config.token_for(server, named)? {
        return Ok(Some(token.to_owned()));
    }
    Ok(file_for(server, database).and_then(|file| read(&file)))
}

/// Returns the file of the token for a server, if the server has this database open.
pub(crate) fn file_for(server: &Url, database: &Path) -> Option<PathBuf> {
    let is_served = database::served_at(database).is_some_and(|it| it.origin() == server.origin());
    is_served.then(|| file_of(database)).filter(|file| file.exists())
}

/// Reads a token that only this user or root may have written.
fn read(path: &Path) -> Option<String> {
    let owner = std::fs::metadata(path).ok()?.uid();
    if ![rustix::process::geteuid().as_raw(), 0].contains(&owner) {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let token = text.trim();
    let is_whole = URL_SAFE_NO_PAD.decode(token).is_ok_and(|bytes| bytes.len() == TOKEN_BYTES);
    is_whole.then(|| token.to_owned())
}

/// Returns the file of the token beside a database.
pub(crate) fn file_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".token");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::wiring::database::Announcement;

    fn sent(server: &str, database: &Path, variables: &[(&str, &str)]) -> Option<String> {
        let config = Config::of(variables);
        let server = server.parse().unwrap();
        for_client(&server, NamedBy::Settings, database, &config).unwrap_or_else(|_| panic!())
    }

    #[test]
    fn the_token_is_created_once_and_only_its_user_can_read_it() {
        let home = tempfile::tempdir().unwrap();
        let database = home.path().join("a.db");
        let first = of_database(&database).unwrap_or_else(|_| panic!());
        assert_eq!(of_database(&database).unwrap_or_else(|_| panic!()), first);
        let mode = std::fs::metadata(home.path().join("a.db.token")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(home.path().join("a.db.token"), "guess").unwrap();
        assert!(of_database(&database).is_err(), "a short token is not used");
    }

    #[test]
    fn the_token_is_sent_only_to_the_server_that_has_the_database_open() {
        let home = tempfile::tempdir().unwrap();
        let database = home.path().join("a.db");
        let token = of_database(&database).unwrap_or_else(|_| panic!());
        assert_eq!(sent("http://127.0.0.1:8082", &database, &[]), None, "no server has it open");
        let _open = Announcement::new(&database, "http://127.0.0.1:8082");
        assert_eq!(sent("http://127.0.0.1:8082/", &database, &[]), Some(token));
        assert_eq!(sent("http://127.0.0.1:8083", &database, &[]), None);
        assert_eq!(sent("https://127.0.0.1:8082", &database, &[]), None);
        assert_eq!(sent("http://evil.example:8082", &database, &[]), None);
        let own = [("NOETL_API_TOKEN", "own")];
        assert_eq!(sent("http://127.0.0.1:8082", &database, &own).as_deref(), Some("own"));
    }
}
