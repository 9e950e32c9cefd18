//! The Unix sockets of the PostgreSQL server, which steps must not reach: a server on the same machine
//! often lets the user of noetl in without a password.

use std::path::{Path, PathBuf};

use url::Url;

/// The directories of sockets if an address names no host.
const USUAL_DIRECTORIES: &[&str] = &["/var/run/postgresql", "/run/postgresql", "/tmp"];
/// Directories that are not hidden as a whole, because steps use them.
const SHARED_DIRECTORIES: &[&str] = &["/", "/tmp", "/var/tmp", "/run", "/var/run"];
const PORT: &str = "5432";

/// Returns what to hide for the addresses in a setting: URLs separated by spaces or commas, also
/// after a name and `=`.
pub(super) fn of_urls(text: &str) -> Vec<PathBuf> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    let urls = words.filter_map(|word| {
        let at = word.find("postgres://").or_else(|| word.find("postgresql://"))?;
        Url::parse(&word[at..]).ok()
    });
    urls.flat_map(|url| of_url(&url)).collect()
}

fn of_url(url: &Url) -> Vec<PathBuf> {
    let param = |name: &str| {
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    let host = param("host").or_else(|| {
        let host = url.host_str().unwrap_or_default();
        Some(host.replace("%2F", "/").replace("%2f", "/")).filter(|host| !host.is_empty())
    });
    let port = param("port").or_else(|| url.port().map(|port| port.to_string()));
    let port = port.as_deref().unwrap_or(PORT);
    match host {
        None => USUAL_DIRECTORIES.iter().map(|directory| socket(directory, port)).collect(),
        Some(host) => of_host(&host, port),
    }
}

/// Returns what to hide for a host; nothing if it is not the directory of a socket.
pub(super) fn of_host(host: &str, port: &str) -> Vec<PathBuf> {
    if !host.starts_with('/') {
        return Vec::new();
    }
    let directory = host.trim_end_matches('/');
    let is_shared = directory.is_empty()
        || SHARED_DIRECTORIES.contains(&directory)
        || Path::new(directory) == std::env::temp_dir();
    // A server that restarts makes a new socket; only a hidden directory hides it as well.
    vec![if is_shared { socket(directory, port) } else { PathBuf::from(directory) }]
}

fn socket(directory: &str, port: &str) -> PathBuf {
    Path::new(directory).join(format!(".s.PGSQL.{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(setting: &str, expected: &[&str]) {
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(of_urls(setting), expected, "{setting}");
    }

    #[test]
    fn the_socket_of_every_spelling_of_an_address_is_found() {
        check("postgres://u@%2Fvar%2Frun%2Fpg/d", &["/var/run/pg"]);
        check("postgresql://u@localhost/d?host=/srv/pg/", &["/srv/pg"]);
        check("postgres:///d?host=/tmp&port=6000", &["/tmp/.s.PGSQL.6000"]);
        check("a=postgres://x/d?host=/srv/a,b=postgres://y/d?host=/srv/b", &["/srv/a", "/srv/b"]);
    }

    #[test]
    fn an_address_without_a_host_means_the_usual_sockets() {
        check(
            "postgres:///d",
            &[
                "/var/run/postgresql/.s.PGSQL.5432",
                "/run/postgresql/.s.PGSQL.5432",
                "/tmp/.s.PGSQL.5432",
            ],
        );
    }

    #[test]
    fn a_host_of_the_network_has_no_socket() {
        check("postgres://db.example:5432/d", &[]);
        check("", &[]);
    }
}
