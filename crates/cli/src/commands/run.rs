//! `noetl run`: runs a file or a catalog path and prints the result of its last step.

use std::path::Path;

use anyhow::anyhow;
use noetl_control::{PlaybookChoice, StartRequest};
use noetl_model::Labels;
use noetl_playbook::{Playbook, TargetWorkers};
use serde_json::{Map, Value};

use super::conclude::Conclusion;
use super::run_pages::RunPages;
use super::ui::show;
use crate::args::RunArgs;
use crate::backend::local::{Session, UNKNOWN_PLAYBOOK_HELP, WorkerMode};
use crate::backend::{self, Backend, page_of};
use crate::config::Config;
use crate::input::called_playbooks::{PlaybookFile, called_by};
use crate::input::declared_inputs::{MissingInputs, fitted};
use crate::input::files;
use crate::input::workload::payload_of;
use crate::show::failure::{Exit, Failure};
use crate::show::output::problems;
use crate::show::terminal::{CAREFUL, Terminal, paint};

/// The playbook to run, read and checked before a database is opened.
enum Target {
    /// A file; the other documents are registered first.
    File {
        document: Box<PlaybookFile>,
        others: Vec<PlaybookFile>,
        missing: Vec<String>,
    },
    Catalog {
        choice: PlaybookChoice,
        others: Vec<PlaybookFile>,
    },
}

pub(crate) async fn run(
    args: &RunArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let payload = payload_of(&args.workload).map_err(Failure::bad_input)?;
    // A server may have other workers; an embedded database has only this program's.
    let is_far = !args.ephemeral && backend::server_of(&args.client, config)?.is_some();
    let target = target_of(args, if is_far { TargetWorkers::Any } else { TargetWorkers::Ours })?;
    let backend: Box<dyn Backend> = if args.ephemeral {
        Box::new(Session::ephemeral(config)?)
    } else {
        if let Target::Catalog { choice, others } = &target {
            expect_catalog(args, choice, others, config)?;
        }
        backend::open(&args.client, WorkerMode::Embedded, config).await?
    };
    let pages = match args.ui {
        true => Some(RunPages::open(&*backend, config).await?),
        false => None,
    };
    let mut conclusion = Conclusion::new(&*backend, &args.watch, config)?;
    let ended = run_in(&mut conclusion, args, target, payload, pages.as_ref(), terminal).await;
    if let Some(pages) = pages {
        let is_done = matches!(ended, Ok(Exit::Completed | Exit::Failed | Exit::Cancelled));
        pages.close(is_done, &mut conclusion, terminal).await;
    }
    // A user who wants to stop at once does not wait for the session to close.
    if !matches!(ended, Ok(Exit::Aborted)) {
        backend.close().await;
    }
    ended
}

async fn run_in(
    conclusion: &mut Conclusion<'_>,
    args: &RunArgs,
    target: Target,
    payload: Map<String, Value>,
    pages: Option<&RunPages>,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = conclusion.backend;
    let unfinished = backend.unfinished().await?.len();
    if unfinished > 0 && !args.watch.quiet {
        let plural = if unfinished == 1 { "execution" } else { "executions" };
        terminal.say(format!("{unfinished} unfinished {plural} from earlier: being continued"));
    }
    let payload = match known_playbook(backend, &target).await? {
        Some(playbook) => {
            let missing = MissingInputs::of(args.no_input);
            fitted(&playbook, &args.workload, payload, missing, terminal)?
        }
        None => payload,
    };
    let playbook = registered(backend, target, args.watch.quiet, terminal).await?;
    let mut request = StartRequest::new(playbook, payload);
    request.input.error_mode = args.error_mode;
    request.input.priority = args.priority;
    let labels = Labels::default().with(args.labels.iter().cloned());
    request.input.labels = labels.map_err(Failure::bad_input)?;
    let execution = backend.start(request).await?;
    if let Some(pages) = pages {
        let page = page_of(&pages.url, Some(execution.execution));
        show(&page, args.no_browser, conclusion.config, terminal);
    }
    conclusion.of_one(execution, terminal).await
}

fn target_of(args: &RunArgs, workers: TargetWorkers) -> Result<Target, Failure> {
    let mut others = args
        .with
        .iter()
        .map(|file| PlaybookFile::read(file, workers))
        .collect::<Result<Vec<PlaybookFile>, Failure>>()?;
    if !files::is_file_name(&args.target) {
        let (path, version) = choice_of(&args.target)?;
        let (called, _) = called_by(&others, workers)?;
        others.extend(called);
        return Ok(Target::Catalog { choice: PlaybookChoice::Path { path, version }, others });
    }
    let document = PlaybookFile::read(Path::new(&args.target), workers)?;
    others.insert(0, document);
    let (called, missing) = called_by(&others, workers)?;
    let document = others.remove(0);
    others.extend(called);
    Ok(Target::File { document: Box::new(document), others, missing })
}

/// Parses `PATH` or `PATH@VERSION`.
pub(super) fn choice_of(text: &str) -> Result<(String, Option<u32>), Failure> {
    let (path, version) = match text.rsplit_once('@') {
        None => (text, None),
        Some((path, version)) => {
            let number = version.parse().map_err(|_| {
                Failure::bad_input(anyhow!("`{version}` is not a version"))
                    .help("write PATH@NUMBER, or only PATH for the newest version")
            })?;
            (path, Some(number))
        }
    };
    Ok((path.to_owned(), version))
}

/// Returns the playbook of the target; `None` if it is missing or invalid, which its start reports.
async fn known_playbook(
    backend: &dyn Backend,
    target: &Target,
) -> Result<Option<Playbook>, Failure> {
    let (path, version, others) = match target {
        Target::File { document, .. } => return Ok(Some(document.playbook.clone())),
        Target::Catalog {
            choice:
                PlaybookChoice::Path { path, version } | PlaybookChoice::Named { name: path, version },
            others,
        } => (path, *version, others),
        Target::Catalog { choice: PlaybookChoice::Id(_), .. } => return Ok(None),
    };
    let along = others.iter().find(|it| version.is_none() && it.playbook.metadata.path == *path);
    if let Some(document) = along {
        return Ok(Some(document.playbook.clone()));
    }
    let Some(known) = backend.reader().playbook(path, version).await? else { return Ok(None) };
    let content = known.content.unwrap_or_default();
    let checked = noetl_playbook::parse_for(TargetWorkers::Any, path, content.as_bytes());
    Ok(checked.ok().map(|checked| checked.playbook))
}

/// Registers the documents of the target.
async fn registered(
    backend: &dyn Backend,
    target: Target,
    is_quiet: bool,
    terminal: &mut Terminal,
) -> Result<PlaybookChoice, Failure> {
    match target {
        Target::Catalog { choice, others } => {
            for other in &others {
                backend.register(&other.file, &other.content).await?;
            }
            Ok(choice)
        }
        Target::File { document, others, missing } => {
            for other in &others {
                backend.register(&other.file, &other.content).await?;
            }
            for path in missing {
                if backend.reader().playbook(&path, None).await?.is_none() {
                    let warning = paint(CAREFUL, "warning:");
                    terminal.say(format!(
                        "{warning} a step calls the playbook {path}, which is neither beside \
                         {} nor in the catalog; --with FILE adds it",
                        document.file.display(),
                    ));
                }
            }
            let registered = backend.register(&document.file, &document.content).await?;
            let warnings = &document.warnings;
            if !warnings.is_empty() && !is_quiet {
                terminal.say(problems::render(warnings, terminal.stderr_color).trim_end());
            }
            Ok(PlaybookChoice::Id(registered.catalog_id))
        }
    }
}

/// Fails if the database does not exist: a catalog path cannot be found in a new one.
fn expect_catalog(
    args: &RunArgs,
    choice: &PlaybookChoice,
    others: &[PlaybookFile],
    config: &Config,
) -> Result<(), Failure> {
    let path = match choice {
        PlaybookChoice::Path { path, .. } | PlaybookChoice::Named { name: path, .. } => path,
        PlaybookChoice::Id(_) => return Ok(()),
    };
    let comes_along = others.iter().any(|other| other.playbook.metadata.path == *path);
    if comes_along || backend::exists(&args.client, config) {
        return Ok(());
    }
    Err(Failure::bad_input(anyhow!("there is no file and no playbook {path}"))
        .help(UNKNOWN_PLAYBOOK_HELP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, path: &str, version: Option<u32>) {
        assert_eq!(choice_of(text).unwrap(), (path.to_owned(), version));
    }

    #[test]
    fn a_version_comes_after_the_last_at_sign() {
        check("a/b", "a/b", None);
        check("a/b@3", "a/b", Some(3));
        check("a@b@3", "a@b", Some(3));
        assert!(choice_of("a@new").is_err());
    }
}
