//! `noetl test record`: writes a test from an execution.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use noetl_playbook::{Playbook, document_value, parse};
use noetl_playtest::{RecordedPlaybook, RecordedTest, record_test, run_test};

use super::report::fault_text;
use super::{history, load};
use crate::args::TestRecordArgs;
use crate::config::Config;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::output::{DocumentFormat, document};
use crate::show::terminal::{CAREFUL, GOOD, Terminal, paint};

/// The files of a recorded test.
struct TargetFiles {
    playbook: PathBuf,
    test: PathBuf,
}

pub(super) async fn record(
    args: &TestRecordArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (history, reader) = history::stored(&args.client, args.execution, config).await?;
    let text = match &args.playbook {
        Some(file) => String::from_utf8_lossy(&files::read(file)?).into_owned(),
        None => history::playbook_text(&history, &*reader).await?,
    };
    let shown = args.playbook.as_ref().map(|file| file.display().to_string());
    let checked = parse(&shown.unwrap_or_default(), text.as_bytes()).map_err(Failure::Invalid)?;
    let files = target_files(args, &checked.playbook);
    if files.test.exists() && !args.force {
        return Err(Failure::bad_input(anyhow!("{} exists", files.test.display()))
            .help("name another file with --out, or replace it with --force"));
    }
    let execution = history.execution;
    let name = args.name.clone().unwrap_or_else(|| format!("execution {execution}"));
    let named = named_playbook(&files);
    let recorded = RecordedPlaybook {
        playbook: &checked.playbook,
        document: &document_value(text.as_bytes()).unwrap_or_default(),
        file: named.as_deref(),
    };
    let recorded = record_test(recorded, &history.log, &history.values, &name);
    let recorded = recorded.map_err(Failure::broken)?;
    write(&files.test, &header(execution, &recorded))?;
    if !files.playbook.exists() {
        write(&files.playbook, &text)?;
        terminal.say(format!("wrote {}", files.playbook.display()));
    }
    tell(&files.test, &recorded, terminal)
}

/// Returns the files to write: the test beside its playbook.
fn target_files(args: &TestRecordArgs, playbook: &Playbook) -> TargetFiles {
    let directory = args.out.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let file = args.playbook.clone();
    let playbook =
        file.unwrap_or_else(|| directory.join(format!("{}.yaml", playbook.metadata.name)));
    let test = args.out.clone().unwrap_or_else(|| playbook.with_extension("test.yaml"));
    TargetFiles { playbook, test }
}

/// Returns the `playbook` of the test file; `None` if the names of both files agree.
fn named_playbook(files: &TargetFiles) -> Option<String> {
    if files.playbook.with_extension("test.yaml") == files.test {
        return None;
    }
    let directory = files.test.parent().unwrap_or(Path::new(""));
    let within = files.playbook.strip_prefix(directory);
    let shown = match within {
        Ok(within) => within.to_owned(),
        Err(_) => std::path::absolute(&files.playbook).unwrap_or_else(|_| files.playbook.clone()),
    };
    Some(shown.display().to_string())
}

fn header(execution: noetl_model::ExecutionId, recorded: &RecordedTest) -> String {
    let mut text = format!("# Recorded from execution {execution}.\n");
    if recorded.masked > 0 {
        text += &format!("# {} values are masked.\n", recorded.masked);
    }
    text + document(DocumentFormat::Yaml, &recorded.document).as_str()
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let written = std::fs::write(file, text);
    written.with_context(|| format!("cannot write {}", file.display())).map_err(Failure::bad_input)
}

/// Runs the new test, and says how it ends.
fn tell(file: &Path, recorded: &RecordedTest, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let loaded = load(file)?;
    let outcomes =
        loaded.tests.iter().map(|test| run_test(&loaded.playbook.playbook, &loaded.library, test));
    let faults: Vec<_> = outcomes.flat_map(|outcome| outcome.faults).collect();
    let shown = file.display();
    if recorded.masked > 0 {
        terminal.say(format!("masked {} values that look like secrets", recorded.masked));
    }
    if recorded.is_partial {
        let note = "the execution was ended from outside or still runs, which a test cannot repeat";
        terminal.say(format!("{} {note}", paint(CAREFUL, "note:")));
    }
    if faults.is_empty() {
        terminal.data(&format!("{} wrote {shown}, the test passes", paint(GOOD, "ok")))?;
        return Ok(Exit::Completed);
    }
    terminal.data(&format!("wrote {shown}; the test does not pass as recorded:"))?;
    for fault in &faults {
        terminal.data(&fault_text(fault))?;
    }
    terminal.say("edit the mocks or the expectations: times and masked values may differ");
    Ok(Exit::Failed)
}
