//! The keys that encrypt secrets: from the environment, else from a file beside the embedded
//! database.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use noetl_private_files as private_files;
use noetl_secrets::{EncryptionKey, Keyring};

use crate::config::Config;
use crate::show::failure::Failure;

const KEY: &str = "NOETL_ENCRYPTION_KEY";
const KEYS_OLD: &str = "NOETL_ENCRYPTION_KEYS_OLD";
const ALLOW_INSECURE: &str = "NOETL_ALLOW_INSECURE_DEFAULT_KEY";
/// Help text: how to create a key.
const MAKE_ONE: &str = "make one with `openssl rand -base64 32` and give it to every server";

/// Returns the keys of an embedded database. Without a key in the environment, one is generated
/// once and stored beside the database.
pub(crate) fn embedded(database: &Path, config: &Config) -> Result<Keyring, Failure> {
    let mut file = database.as_os_str().to_owned();
    file.push(".key");
    let file = PathBuf::from(file);
    let mut earlier = old(config)?;
    let Some(current) = current(config)? else {
        return Ok(Keyring::new(kept(&file).map_err(Failure::broken)?, earlier));
    };
    // Secrets encrypted before the environment had a key can still be decrypted.
    if file.exists() {
        earlier.push(kept(&file).map_err(Failure::broken)?);
    }
    Ok(Keyring::new(current, earlier))
}

/// Returns the keys of a database shared by servers; they must be configured.
pub(crate) fn shared(config: &Config) -> Result<Keyring, Failure> {
    let earlier = old(config)?;
    if let Some(current) = current(config)? {
        return Ok(Keyring::new(current, earlier));
    }
    let allowed = config.variable(ALLOW_INSECURE).is_some_and(|said| {
        ["1", "true", "yes", "on"].contains(&said.to_ascii_lowercase().as_str())
    });
    if !allowed {
        let error = anyhow!("a server that shares its database seals secrets under {KEY}");
        return Err(Failure::bad_input(error).help(MAKE_ONE));
    }
    tracing::warn!(
        "{ALLOW_INSECURE} is set and {KEY} is not: secrets that are stored now cannot be opened \
         after a restart, nor by other servers"
    );
    Ok(Keyring::new(EncryptionKey::generate(), earlier))
}

fn current(config: &Config) -> Result<Option<EncryptionKey>, Failure> {
    let Some(text) = config.variable(KEY) else { return Ok(None) };
    let key = EncryptionKey::parse(&text).with_context(|| format!("{KEY} is not a key"));
    key.map(Some).map_err(|error| Failure::bad_input(error).help(MAKE_ONE))
}

/// Returns the former keys, separated by commas.
fn old(config: &Config) -> Result<Vec<EncryptionKey>, Failure> {
    let said = config.variable(KEYS_OLD).unwrap_or_default();
    let keys = said.split(',').map(str::trim).filter(|text| !text.is_empty());
    keys.map(|text| {
        EncryptionKey::parse(text).with_context(|| format!("{KEYS_OLD} holds what is no key"))
    })
    .collect::<Result<_, _>>()
    .map_err(Failure::bad_input)
}

/// Reads the key in a file; generates it if the file is missing.
fn kept(file: &Path) -> anyhow::Result<EncryptionKey> {
    let key = EncryptionKey::generate();
    match private_files::create_file_with(file, key.encode().as_bytes()) {
        Ok(()) => return Ok(key),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => {
            return Err(error).with_context(|| format!("cannot make {}", file.display()));
        }
    }
    let mode = std::fs::metadata(file)
        .with_context(|| format!("cannot look at {}", file.display()))?
        .mode();
    if mode & 0o077 != 0 {
        let path = file.display();
        return Err(anyhow!("others can read the key in {path}: chmod 600 {path}"));
    }
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    EncryptionKey::parse(&text).with_context(|| format!("{} holds no key", file.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn version(keyring: &Keyring) -> String {
        keyring.current().version()
    }

    #[test]
    fn an_embedded_database_keeps_a_key_that_only_its_owner_can_read() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("a.db");
        let config = Config::of(&[]);
        let first = embedded(&database, &config).unwrap();
        let file = directory.path().join("a.db.key");
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(version(&embedded(&database, &config).unwrap()), version(&first));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(embedded(&database, &config).is_err(), "others can read it");
    }

    #[test]
    fn the_environment_wins_over_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("a.db");
        let key = EncryptionKey::generate();
        let config = Config::of(&[(KEY, &key.encode())]);
        assert_eq!(version(&embedded(&database, &config).unwrap()), key.version());
        assert!(!directory.path().join("a.db.key").exists(), "none is made");
    }

    #[test]
    fn a_shared_database_requires_a_key_unless_the_risk_is_accepted_explicitly() {
        assert!(shared(&Config::of(&[])).is_err());
        assert!(shared(&Config::of(&[(ALLOW_INSECURE, "no")])).is_err());
        assert!(shared(&Config::of(&[(ALLOW_INSECURE, "true")])).is_ok());
        let key = EncryptionKey::generate();
        let keyring = shared(&Config::of(&[(KEY, &key.encode())])).unwrap();
        assert_eq!(version(&keyring), key.version());
    }

    #[test]
    fn an_invalid_key_is_refused() {
        assert!(shared(&Config::of(&[(KEY, "hunter2")])).is_err());
        let key = EncryptionKey::generate();
        assert!(shared(&Config::of(&[(KEY, &key.encode()), (KEYS_OLD, "x")])).is_err());
        assert!(shared(&Config::of(&[(KEY, &key.encode()), (KEYS_OLD, " , ")])).is_ok());
    }
}
