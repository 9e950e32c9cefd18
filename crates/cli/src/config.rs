//! What the environment says. This is the only place that reads it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::args::ColorWhen;

/// What the environment says, read once.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    variables: BTreeMap<String, String>,
}

impl Config {
    pub(crate) fn from_environment() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self { variables }
    }

    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        let pairs = variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Self { variables: pairs.collect() }
    }

    /// Every variable, for the tools, which choose what they need.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        self.variables.iter().map(|(name, value)| (name.clone(), value.clone()))
    }

    /// The database that is used unless one is named.
    pub(crate) fn database(&self) -> PathBuf {
        match self.get("NOETL_DB") {
            Some(path) => PathBuf::from(path),
            None => self.data_directory().join("noetl.db"),
        }
    }

    /// Where this user's data lives. A relative `XDG_DATA_HOME` counts as none, as its
    /// specification asks.
    fn data_directory(&self) -> PathBuf {
        let home = || PathBuf::from(self.get("HOME").unwrap_or(".")).join(".local").join("share");
        let data = self.get("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        data.unwrap_or_else(home).join("noetl")
    }

    /// What a variable is set to, for settings that have a reader of their own.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// Whether the environment names a PostgreSQL database.
    pub(crate) fn names_postgres(&self) -> bool {
        ["NOETL_SHARDS", "DATABASE_URL", "POSTGRES_HOST"].iter().any(|it| self.get(it).is_some())
    }

    /// Where workers reach a server that listens at `address`.
    pub(crate) fn public_url(&self, address: SocketAddr) -> String {
        let public = self.get("NOETL_PUBLIC_SERVER_URL").map(str::to_owned);
        let scheme = if self.get("NOETL_TLS_CERT").is_some() { "https" } else { "http" };
        public.unwrap_or_else(|| format!("{scheme}://localhost:{}", address.port()))
    }

    /// The secret that clients of a server show.
    pub(crate) fn api_token(&self) -> Option<&str> {
        self.get("NOETL_API_TOKEN")
    }

    /// The Python interpreter that steps run in.
    pub(crate) fn python(&self) -> &str {
        self.get("NOETL_PYTHON").unwrap_or("python3")
    }

    /// The name of this machine, as far as it is known.
    pub(crate) fn host(&self) -> String {
        let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let named = named.as_deref().or(self.get("HOSTNAME")).unwrap_or("localhost");
        named.trim().to_owned()
    }

    /// What the log filter is, if one is set.
    pub(crate) fn log_filter(&self) -> Option<&str> {
        self.get("RUST_LOG")
    }

    /// Whether a stream is written in colours.
    pub(crate) fn wants_color(&self, when: ColorWhen, is_terminal: bool) -> bool {
        match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => {
                is_terminal && self.get("NO_COLOR").is_none() && self.get("TERM") != Some("dumb")
            }
        }
    }

    /// A path as the user would write it.
    pub(crate) fn short(&self, path: &Path) -> String {
        let below = self.get("HOME").and_then(|home| path.strip_prefix(home).ok());
        match below {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }

    /// A variable that is set to something.
    fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_database(variables: &[(&str, &str)], expected: &str) {
        assert_eq!(Config::of(variables).database(), Path::new(expected));
    }

    #[test]
    fn the_database_is_where_the_nearest_variable_says() {
        let home = ("HOME", "/home/ada");
        check_database(&[home], "/home/ada/.local/share/noetl/noetl.db");
        check_database(&[home, ("XDG_DATA_HOME", "/data")], "/data/noetl/noetl.db");
        check_database(&[home, ("XDG_DATA_HOME", "/data"), ("NOETL_DB", "x.db")], "x.db");
    }

    #[test]
    fn empty_and_relative_variables_count_as_unset() {
        let home = ("HOME", "/home/ada");
        let expected = "/home/ada/.local/share/noetl/noetl.db";
        check_database(&[home, ("XDG_DATA_HOME", "data")], expected);
        check_database(&[home, ("XDG_DATA_HOME", ""), ("NOETL_DB", "")], expected);
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let wants = |variables: &[(&str, &str)], when, is_terminal| {
            Config::of(variables).wants_color(when, is_terminal)
        };
        assert!(wants(&[], ColorWhen::Auto, true));
        assert!(!wants(&[], ColorWhen::Auto, false));
        assert!(!wants(&[("NO_COLOR", "1")], ColorWhen::Auto, true));
        assert!(!wants(&[("TERM", "dumb")], ColorWhen::Auto, true));
        assert!(wants(&[("NO_COLOR", "1")], ColorWhen::Always, false));
        assert!(!wants(&[], ColorWhen::Never, true));
    }

    #[test]
    fn a_path_below_home_is_shortened() {
        let config = Config::of(&[("HOME", "/home/ada")]);
        assert_eq!(config.short(Path::new("/home/ada/x.db")), "~/x.db");
        assert_eq!(config.short(Path::new("/tmp/x.db")), "/tmp/x.db");
    }
}
