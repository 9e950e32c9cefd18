//! `noetl init`: writes a first playbook with its test, and the files that a project needs.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::{Context as _, anyhow};

use crate::args::InitArgs;
use crate::show::failure::{Exit, Failure};
use crate::show::output::pretty;
use crate::show::terminal::Terminal;

/// The longest name of a playbook.
const NAME_LEN_MAX: usize = 64;

const PLAYBOOK: &str = include_str!("init/playbook.yaml");
const TEST: &str = include_str!("init/playbook.test.yaml");
const SETTINGS: &str = include_str!("init/settings.toml");
const README: &str = include_str!("init/readme.md");

pub(crate) fn init(args: &InitArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    check_name(&args.name)?;
    let directory = &args.directory;
    let of_playbook = [
        (format!("{}.yaml", args.name), named(PLAYBOOK, &args.name)),
        (format!("{}.test.yaml", args.name), named(TEST, &args.name)),
    ];
    for (file, _) in &of_playbook {
        let path = directory.join(file);
        if path.exists() {
            let failure = Failure::bad_input(anyhow!("{} exists already", path.display()));
            return Err(failure.help("give another name with --name, or another directory"));
        }
    }
    let of_project = [
        ("playbook.schema.json".to_owned(), pretty(&noetl_playbook::schema())),
        ("test.schema.json".to_owned(), pretty(&noetl_playbook::test_schema())),
        ("noetl.toml".to_owned(), SETTINGS.to_owned()),
        ("README.md".to_owned(), named(README, &args.name)),
    ];
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))
        .map_err(Failure::bad_input)?;
    for (file, text) in of_playbook.iter().chain(&of_project) {
        let path = directory.join(file);
        let word = match create(&path, text)? {
            Created::Yes => "created",
            Created::Exists => "kept   ",
        };
        terminal.data(&format!("{word} {}\n", path.display()))?;
    }
    let go_there = match directory.as_os_str() {
        here if here.is_empty() || here == "." => String::new(),
        _ => format!("cd {} && ", directory.display()),
    };
    terminal.say(format!("Next: {go_there}noetl test && noetl run {}.yaml", args.name));
    Ok(Exit::Completed)
}

fn check_name(name: &str) -> Result<(), Failure> {
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let begins = name.starts_with(|it: char| it.is_ascii_alphanumeric());
    if begins && name.len() <= NAME_LEN_MAX && name.chars().all(is_word) {
        return Ok(());
    }
    let failure = Failure::bad_input(anyhow!("`{name}` is not a name for a playbook"));
    Err(failure.help("use letters, digits, `_` and `-`, and begin with a letter or digit"))
}

/// Puts the name of the playbook into a template; `NAME` of an environment variable stays.
fn named(template: &str, name: &str) -> String {
    let places = [
        ("name: NAME\n", format!("name: {name}\n")),
        ("path: NAME\n", format!("path: {name}\n")),
        ("NAME.yaml", format!("{name}.yaml")),
        ("NAME.test.yaml", format!("{name}.test.yaml")),
    ];
    let text = template.to_owned();
    places.iter().fold(text, |text, (place, name)| text.replace(place, name))
}

enum Created {
    Yes,
    Exists,
}

/// Writes a file unless it exists.
fn create(path: &Path, text: &str) -> Result<Created, Failure> {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => Ok(Created::Yes),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Created::Exists),
        Err(error) => {
            let context = format!("cannot write {}", path.display());
            Err(Failure::bad_input(anyhow::Error::new(error).context(context)))
        }
    }
}
