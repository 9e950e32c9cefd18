//! `noetl.toml`: finds the file and parses it.
//!
//! Invariant: an unknown key or a value of the wrong type is an error with line and column.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::kind::Kind;
use super::settings::{Setting, TABLE};
use super::trust::ContentDigest;
use crate::input::nearest::nearest;
use crate::show::failure::Failure;

pub(crate) const NAME: &str = "noetl.toml";
/// The most bytes in a settings file.
const BYTES_MAX: u64 = 1024 * 1024;
/// The table of named servers.
pub(super) const CONTEXTS: &str = "contexts";
/// The keys of a named server, and the settings they set.
const CONTEXT_KEYS: &[(&str, Setting)] =
    &[("server", Setting::ServerUrl), ("token", Setting::Token), ("ca", Setting::ServerCa)];

/// The content of a settings file.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingsFile {
    pub(crate) values: BTreeMap<Setting, String>,
    pub(crate) contexts: BTreeMap<String, BTreeMap<Setting, String>>,
}

/// Finds the project's file, in the working directory or a parent directory.
pub(crate) fn of_project(from: &Path) -> Option<PathBuf> {
    from.ancestors().map(|directory| directory.join(NAME)).find(|path| path.is_file())
}

/// Finds the user's file in the directory of the user's settings.
pub(crate) fn of_user(directory: &Path) -> Option<PathBuf> {
    Some(directory.join("noetl").join(NAME)).filter(|path| path.is_file())
}

/// Reads a file that only this user or root can have written, since it decides where tokens are
/// sent. Returns the digest of the content too.
pub(crate) fn read(path: &Path) -> Result<(SettingsFile, ContentDigest), Failure> {
    let shown = path.display();
    let unread = |error: io::Error| {
        Failure::bad_input(anyhow::Error::new(error).context(format!("cannot read {shown}")))
    };
    let metadata = std::fs::metadata(path).map_err(unread)?;
    let us = rustix::process::geteuid().as_raw();
    if ![us, 0].contains(&metadata.uid()) {
        return Err(Failure::bad_input(anyhow!("{shown} belongs to another user"))
            .help("name a file of your own with --config FILE"));
    }
    if metadata.len() > BYTES_MAX {
        return Err(Failure::bad_input(anyhow!("{shown} has more than {BYTES_MAX} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(unread)?;
    let digest = ContentDigest::of(&text);
    parse(&text).map(|content| (content, digest)).map_err(|problem| {
        let failure = Failure::bad_input(anyhow!("{shown}:{}", problem.said));
        match problem.help {
            Some(help) => failure.help(help),
            None => failure,
        }
    })
}

/// A parse error, beginning with its line and column.
#[derive(Debug, PartialEq, Eq)]
struct ConfigProblem {
    said: String,
    help: Option<String>,
}

type FileEntry<'a> = (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>);

fn parse(text: &str) -> Result<SettingsFile, ConfigProblem> {
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        ConfigProblem { said: format!("{}: {}", place(text, at), error.message()), help: None }
    })?;
    let mut file = SettingsFile::default();
    for entry in document.get_ref() {
        match (entry.0.get_ref().as_ref(), entry.1.get_ref()) {
            (CONTEXTS, DeValue::Table(contexts)) => {
                for (name, context) in contexts {
                    let values = read_context(text, name.get_ref(), context)?;
                    file.contexts.insert(name.get_ref().to_string(), values);
                }
            }
            (prefix, DeValue::Table(table)) if is_section(prefix) => {
                for inner in table {
                    let key = format!("{prefix}.{}", inner.0.get_ref());
                    take(text, &key, inner, &mut file.values)?;
                }
            }
            (key, _) => take(text, key, entry, &mut file.values)?,
        }
    }
    Ok(file)
}

fn is_section(prefix: &str) -> bool {
    TABLE.iter().any(|row| row.key.split_once('.').is_some_and(|(section, _)| section == prefix))
}

fn take(
    text: &str,
    key: &str,
    (name, value): FileEntry<'_>,
    values: &mut BTreeMap<Setting, String>,
) -> Result<(), ConfigProblem> {
    let Some(row) = TABLE.iter().find(|row| row.key == key) else {
        let known = TABLE.iter().map(|row| row.key).chain([CONTEXTS]);
        return Err(unknown(text, name, key, known));
    };
    values.insert(row.setting, value_of(text, key, row.kind, value)?);
    Ok(())
}

fn read_context(
    text: &str,
    name: &str,
    context: &Spanned<DeValue<'_>>,
) -> Result<BTreeMap<Setting, String>, ConfigProblem> {
    let path = format!("{CONTEXTS}.{name}");
    let DeValue::Table(table) = context.get_ref() else {
        return Err(wrong(text, &path, "a table with `server`", context));
    };
    let mut values = BTreeMap::new();
    for (key, value) in table {
        let known = CONTEXT_KEYS.iter().find(|(known, _)| known == key.get_ref());
        let Some((_, setting)) = known else {
            let keys = CONTEXT_KEYS.iter().map(|(known, _)| *known);
            return Err(unknown(text, key, key.get_ref(), keys));
        };
        let path = format!("{path}.{}", key.get_ref());
        values.insert(*setting, value_of(text, &path, setting.row().kind, value)?);
    }
    if !values.contains_key(&Setting::ServerUrl) {
        return Err(wrong(text, &path, "a table with `server`", context));
    }
    Ok(values)
}

/// Converts a value to the text that its environment variable would have.
fn value_of(
    text: &str,
    key: &str,
    kind: Kind,
    value: &Spanned<DeValue<'_>>,
) -> Result<String, ConfigProblem> {
    let said = match (kind, value.get_ref()) {
        (Kind::Text | Kind::Url | Kind::OneOf(_), DeValue::String(said)) => said.to_string(),
        (Kind::Number { .. }, DeValue::Integer(said)) if said.radix() == 10 => {
            said.as_str().replace('_', "")
        }
        (Kind::List, DeValue::Array(items)) => {
            let items = items.iter().map(|item| match item.get_ref() {
                DeValue::String(item) => Ok(item.to_string()),
                _ => Err(wrong(text, key, &kind.to_string(), value)),
            });
            items.collect::<Result<Vec<String>, ConfigProblem>>()?.join(",")
        }
        _ => return Err(wrong(text, key, &kind.to_string(), value)),
    };
    kind.check(&said).map_err(|expected| wrong(text, key, &expected, value))?;
    Ok(said)
}

fn wrong(text: &str, key: &str, expected: &str, value: &Spanned<DeValue<'_>>) -> ConfigProblem {
    let at = place(text, value.span().start);
    ConfigProblem { said: format!("{at}: `{key}` is {expected}"), help: None }
}

fn unknown<'a>(
    text: &str,
    name: &Spanned<impl Sized>,
    key: &str,
    known: impl Iterator<Item = &'a str>,
) -> ConfigProblem {
    let said = format!("{}: there is no setting `{key}`", place(text, name.span().start));
    let help = match nearest(key, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`noetl config show` lists those there are".to_owned(),
    };
    ConfigProblem { said, help: Some(help) }
}

/// Returns `LINE:COLUMN` of a byte offset, both counted from 1.
fn place(text: &str, at: usize) -> String {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    format!("{line}:{column}")
}

/// Returns the directory of the user's settings; `None` for a user without a home. A relative
/// `XDG_CONFIG_HOME` is ignored, as its specification asks.
pub(crate) fn user_directory(xdg: Option<&str>, home: Option<&str>) -> Option<PathBuf> {
    let xdg = xdg.map(PathBuf::from).filter(|path| path.is_absolute());
    let home = home.map(PathBuf::from).filter(|path| path.is_absolute());
    xdg.or_else(|| home.map(|home| home.join(".config")))
}

/// Returns the working directory, where the search begins.
pub(crate) fn working_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().context("there is no working directory").map_err(Failure::broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(Setting, &str)]) {
        let values = parse(text).expect("it is right").values;
        let values: Vec<(Setting, &str)> =
            values.iter().map(|(key, value)| (*key, value.as_str())).collect();
        assert_eq!(values, expected);
    }

    #[track_caller]
    fn check_refused(text: &str, said: &str, help: Option<&str>) {
        let problem = parse(text).expect_err("it is wrong");
        assert_eq!(
            problem,
            ConfigProblem { said: said.to_owned(), help: help.map(str::to_owned) },
            "{text}"
        );
    }

    #[test]
    fn keys_may_be_dotted_or_in_tables() {
        let expected = [(Setting::Db, "x.db"), (Setting::ServerPort, "9000")];
        check("db = \"x.db\"\n[server]\nport = 9_000\n", &expected);
        check("db = \"x.db\"\nserver.port = 9000\n", &expected);
    }

    #[test]
    fn a_list_becomes_what_the_environment_would_say() {
        check(
            "egress.allow = [\"10.0.0.0/8\", \"db\"]",
            &[(Setting::EgressAllow, "10.0.0.0/8,db")],
        );
    }

    #[test]
    fn an_unknown_key_has_its_place_and_the_nearest_name() {
        let list = "`noetl config show` lists those there are";
        check_refused(
            "\n  dbb = \"x\"\n",
            "2:3: there is no setting `dbb`",
            Some("did you mean `db`?"),
        );
        check_refused(
            "[server]\nprot = 1\n",
            "2:1: there is no setting `server.prot`",
            Some("did you mean `server.port`?"),
        );
        check_refused("[nonsense]\na = 1\n", "1:2: there is no setting `nonsense`", Some(list));
        check_refused(
            "[contexts.a]\nserver = \"http://a\"\ntokn = \"x\"\n",
            "3:1: there is no setting `tokn`",
            Some("did you mean `token`?"),
        );
    }

    #[test]
    fn a_value_of_the_wrong_kind_has_its_place() {
        check_refused("db = 1\n", "1:6: `db` is a text", None);
        check_refused(
            "[server]\nport = \"x\"\n",
            "2:8: `server.port` is a number from 0 to 65535",
            None,
        );
        check_refused(
            "server.port = 70000\n",
            "1:15: `server.port` is a number from 0 to 65535",
            None,
        );
        check_refused("log.format = \"xml\"\n", "1:14: `log.format` is one of text, json", None);
        check_refused("egress.allow = [1]\n", "1:16: `egress.allow` is a list of texts", None);
        check_refused(
            "[contexts.a]\ntoken = \"x\"\n",
            "1:1: `contexts.a` is a table with `server`",
            None,
        );
    }

    #[test]
    fn a_file_that_is_no_toml_has_the_place_too() {
        let problem = parse("db = \"x\"\nserver = [\n").expect_err("it is wrong");
        assert!(problem.said.starts_with("2:"), "{problem:?}");
    }

    #[test]
    fn contexts_are_named_servers() {
        let file =
            parse("[contexts.prod]\nserver = \"https://p\"\ntoken = \"t\"\n").expect("right");
        assert_eq!(file.contexts["prod"][&Setting::ServerUrl], "https://p");
        assert_eq!(file.contexts["prod"][&Setting::Token], "t");
    }

    #[test]
    fn the_nearest_file_is_the_projects() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        assert_eq!(of_project(&deep), None);
        for file in [root.path().join(NAME), deep.join(NAME)] {
            std::fs::write(&file, "").unwrap();
            assert_eq!(of_project(&deep), Some(file));
        }
    }

    #[test]
    fn a_user_without_a_home_has_no_settings_in_the_working_directory() {
        assert_eq!(user_directory(None, None), None);
        assert_eq!(user_directory(Some("x"), Some("y")), None);
        assert_eq!(user_directory(Some("x"), Some("/h")), Some("/h/.config".into()));
        assert_eq!(user_directory(Some("/x"), Some("/h")), Some("/x".into()));
    }
}
