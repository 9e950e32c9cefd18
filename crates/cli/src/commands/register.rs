//! `noetl register`: stores playbooks and other documents in the catalog.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use noetl_playbook::{AnalysisLevel, ParseOptions, Problems, TargetWorkers, parse_document_with};
use serde::Serialize;

use crate::args::RegisterArgs;
use crate::backend::{self, Backend};
use crate::config::Config;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::output::problems;
use crate::show::terminal::{GOOD, Terminal, paint};

/// A valid file of any kind.
struct Valid {
    file: PathBuf,
    content: String,
    warnings: Problems,
}

impl Valid {
    fn read(file: &Path) -> Result<Self, Failure> {
        let bytes = files::read(file)?;
        let options = ParseOptions { workers: TargetWorkers::Any, analysis: AnalysisLevel::Warn };
        let document = parse_document_with(options, &file.display().to_string(), &bytes);
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
    let files = files::yaml_files(paths)?;
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
