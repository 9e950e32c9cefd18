//! `noetl register`: stores playbooks and other documents in the catalog.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use noetl_playbook::{Problems, parse_document};
use serde::Serialize;

use crate::args::RegisterArgs;
use crate::backend::{self, Backend};
use crate::config::Config;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::output::problems;
use crate::show::terminal::{GOOD, Terminal, paint};

/// The most files that one command registers.
const FILES_MAX: usize = 10_000;
/// The deepest level of directories searched.
const DEPTH_MAX: usize = 32;

/// A valid file of any kind.
struct Valid {
    file: PathBuf,
    content: String,
    warnings: Problems,
}

impl Valid {
    fn read(file: &Path) -> Result<Self, Failure> {
        let bytes = files::read(file)?;
        let document = parse_document(&file.display().to_string(), &bytes);
        let warnings = document.map_err(Failure::Invalid)?.into_warnings();
        let content = String::from_utf8(bytes).expect("what parses is UTF-8");
        Ok(Self { file: file.to_owned(), content, warnings })
    }
}

/// The catalog entry of a registered file.
#[derive(Serialize)]
struct RegisterEntry {
    file: String,
    path: String,
    version: u32,
    catalog_id: String,
}

pub(crate) async fn register(
    args: &RegisterArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let documents = documents_of(&args.paths, terminal)?;
    let registered = backend::with(&args.client, config, async |backend| {
        register_all(backend, &documents).await
    });
    terminal.show(args.output, &registered.await?, |entries| {
        let line = |it: &RegisterEntry| {
            format!("{} {}@{}  {}\n", paint(GOOD, "ok"), it.path, it.version, it.file)
        };
        entries.iter().map(line).collect()
    })
}

/// Reads and checks every file; reports the problems of all before any is registered.
fn documents_of(paths: &[PathBuf], terminal: &mut Terminal) -> Result<Vec<Valid>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        collect(path, DEPTH_MAX, &mut files)?;
    }
    let (mut documents, mut failed) = (Vec::new(), 0);
    for file in &files {
        match Valid::read(file) {
            Ok(document) => {
                if !document.warnings.is_empty() {
                    let warnings = problems::render(&document.warnings, terminal.stderr_color);
                    terminal.say(warnings.trim_end());
                }
                documents.push(document);
            }
            Err(failure) => {
                failure.explain(terminal);
                failed += 1;
            }
        }
    }
    if failed > 0 {
        let count = files.len();
        return Err(Failure::bad_input(anyhow!(
            "{failed} of {count} files cannot be registered, so none is"
        )));
    }
    Ok(documents)
}

/// Collects the playbook files of a path.
fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let before = files.len();
    files.extend(files::playbooks_in(path));
    if files.len() > FILES_MAX {
        return Err(Failure::bad_input(anyhow!("there are more than {FILES_MAX} files")));
    }
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    let directories = path.read_dir()?.flatten().filter(|entry| {
        // Links are not followed: they may lead in circles.
        entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    let mut directories: Vec<PathBuf> = directories.map(|entry| entry.path()).collect();
    directories.sort();
    for directory in directories {
        collect(&directory, depth, files)?;
    }
    if files.len() == before && depth == DEPTH_MAX - 1 {
        let shown = path.display();
        return Err(Failure::bad_input(anyhow!("there is no playbook file in {shown}")));
    }
    Ok(())
}

async fn register_all(
    backend: &dyn Backend,
    documents: &[Valid],
) -> Result<Vec<RegisterEntry>, Failure> {
    let mut entries = Vec::with_capacity(documents.len());
    for document in documents {
        let kept = backend.register(&document.file, &document.content).await?;
        entries.push(RegisterEntry {
            file: document.file.display().to_string(),
            path: kept.path,
            version: kept.version,
            catalog_id: kept.catalog_id.to_string(),
        });
    }
    Ok(entries)
}
