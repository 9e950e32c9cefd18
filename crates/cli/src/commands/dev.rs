//! `noetl dev`: serves a directory of playbooks while they are written.
//!
//! Documents are checked and registered whenever a file changes, and the tests of the directory are
//! run. A document with errors is not registered: the last valid version stays.

use std::path::{Path, PathBuf};

use noetl_app::App;
use noetl_playbook::{LintLevels, LintedDocument, Severity};
use tokio_util::sync::CancellationToken;

use super::server::{Serving, serve_beside};
use super::test;
use super::ui::show;
use crate::args::{DevArgs, ServerArgs};
use crate::backend::page_of;
use crate::config::Config;
use crate::input::code_syntax::CodeSyntax;
use crate::input::file_watch::FileWatch;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::output::problems;
use crate::show::terminal::{BAD, FAINT, GOOD, Terminal, paint};

pub(crate) async fn dev(
    args: &DevArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    // A directory that cannot be read is an error now, not a message in the loop.
    files::yaml_files(std::slice::from_ref(&args.directory))?;
    let levels = config.lint_levels()?;
    let server = ServerArgs {
        listen: args.listen.clone(),
        no_worker: false,
        insecure: false,
        postgres: None,
        nats: None,
        payload_dir: None,
        database: args.database.clone(),
    };
    let listening = async |serving: Serving<'_>, terminal: &mut Terminal| {
        show(&page_of(serving.url, None), args.no_browser, config, terminal);
        Ok(())
    };
    let beside = async |app: &App, terminal: &mut Terminal, stop: CancellationToken| {
        let rules = DevRules { syntax: CodeSyntax::new(config.python()), levels };
        watch(args, (app, &rules), terminal, stop).await;
    };
    serve_beside(&server, config, terminal, listening, beside).await
}

/// The checks of a document before it is registered.
struct DevRules {
    syntax: CodeSyntax,
    levels: LintLevels,
}

/// Checks, registers and tests the files of a directory whenever one of them changes, until `stop`.
async fn watch(
    args: &DevArgs,
    (app, rules): (&App, &DevRules),
    terminal: &mut Terminal,
    stop: CancellationToken,
) {
    let mut watch = FileWatch::default();
    while let Some(changed) = watch.changed(|| files_in(&args.directory), &stop).await {
        // Only files that have changed are read.
        let documents = changed.iter().filter(|it| !files::is_test_file(it));
        for file in documents.filter(|file| files::is_document(file)) {
            register(file, app, rules, terminal).await;
        }
        if !args.no_tests
            && watch.has(|file| files::is_test_file(file))
            && let Err(failure) = test::run_all(&args.directory, terminal)
        {
            failure.explain(terminal);
        }
        terminal.say(paint(FAINT, "waiting for a change; Ctrl-C ends"));
    }
}

/// Returns the YAML files of a directory, test files included.
fn files_in(directory: &Path) -> Vec<PathBuf> {
    // A directory that disappears for a moment has no files then.
    let paths = [directory.to_owned()];
    let documents = files::yaml_files(&paths).unwrap_or_default();
    let tests = test::test_files(&paths).unwrap_or_default();
    documents.into_iter().chain(tests).collect()
}

/// Shows the problems of a document, and registers it unless it has errors.
async fn register(file: &Path, app: &App, rules: &DevRules, terminal: &mut Terminal) {
    let name = file.display().to_string();
    let source = match files::read(file) {
        Ok(source) => source,
        Err(failure) => return failure.explain(terminal),
    };
    let mut document = LintedDocument::new(&name, &source);
    // Other tasks of this thread, such as requests of the server, move to another one.
    let notes = tokio::task::block_in_place(|| rules.syntax.check(&mut [&mut document]));
    for note in notes {
        terminal.say(note);
    }
    let found = document.finish_at(&rules.levels);
    if !found.is_empty() {
        terminal.say(problems::render(&found, terminal.stderr_color).trim_end());
    }
    if found.count(Severity::Error) > 0 {
        terminal.say(format!("{} {name} is not registered", paint(BAD, "error")));
        return;
    }
    match app.register_file(&name, &String::from_utf8_lossy(&source)).await {
        Ok(kept) => {
            terminal.say(format!(
                "{} {}@{}  {name}",
                paint(GOOD, "ok"),
                kept.entry.path,
                kept.entry.version
            ));
        }
        Err(error) => Failure::broken(error).explain(terminal),
    }
}
