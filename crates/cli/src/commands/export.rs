//! `noetl export`: writes executions to a bundle.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use noetl_app::{BUNDLE_EVENTS_MAX, Bundle, BundledExecution, BundledPlaybook};
use noetl_model::{CatalogId, Digest, Event, ExecutionId, PlaybookRef, Recorded, Seq, Summary};
use noetl_playtest::stored_references;
use noetl_replay::ReadOn;

use crate::args::{Chosen, ExportArgs};
use crate::backend::{self, BackendReader};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

pub(crate) async fn export(
    args: &ExportArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    if args.to.exists() {
        return Err(Failure::bad_input(anyhow!("{} exists already", args.to.display()))
            .help("choose another name with --to, or remove the file"));
    }
    let reader = backend::open_reader(&args.client, config).await?;
    let mut export = Export {
        reader: &*reader,
        playbooks: BTreeMap::new(),
        events: 0,
        bundle: Bundle {
            exported_at: reader.now().await?,
            playbooks: Vec::new(),
            payloads: BTreeMap::new(),
            executions: Vec::new(),
        },
    };
    for chosen in &args.executions {
        let summary = reader.chosen_here(*chosen).await?;
        export.add_with_origins(summary).await?;
    }
    let bundle = export.finish(terminal).await?;
    write(&bundle, &args.to)
        .with_context(|| format!("cannot write {}", args.to.display()))
        .map_err(Failure::broken)?;
    let Bundle { executions, playbooks, payloads, .. } = &bundle;
    let events: usize = executions.iter().map(|it| it.events.len()).sum();
    terminal.say(format!(
        "{}: {} executions, {events} events, {} values, {} playbooks",
        args.to.display(),
        executions.len(),
        payloads.len(),
        playbooks.len(),
    ));
    Ok(Exit::Completed)
}

/// Writes a bundle under another name first, so that a file with the name of a bundle is whole. Only
/// the user who exports can read it.
fn write(bundle: &Bundle, file: &Path) -> std::io::Result<()> {
    let part = file.with_added_extension("part");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut output = BufWriter::new(options.open(&part)?);
    bundle.write(&mut output)?;
    output.flush()?;
    output.get_ref().sync_all()?;
    fs::rename(&part, file)
}

/// A bundle that is being made.
struct Export<'a> {
    reader: &'a dyn BackendReader,
    bundle: Bundle,
    /// The playbook versions that the logs name.
    playbooks: BTreeMap<CatalogId, PlaybookRef>,
    events: usize,
}

impl Export<'_> {
    /// Adds an execution after the origins of which it is a fork.
    async fn add_with_origins(&mut self, summary: Summary) -> Result<(), Failure> {
        let mut chain = vec![summary];
        while let Some(fork) = chain.last().and_then(|fork| fork.fork) {
            chain.push(self.reader.chosen_here(Chosen::Id(fork.execution)).await?);
        }
        for summary in chain.into_iter().rev() {
            if self.bundle.executions.iter().all(|it| it.execution != summary.execution) {
                self.add(&summary).await?;
            }
        }
        Ok(())
    }

    async fn add(&mut self, summary: &Summary) -> Result<(), Failure> {
        let execution = summary.execution;
        let begins_after = summary.fork.map_or(Seq::ZERO, |fork| fork.seq);
        let (mut events, room) = (Vec::new(), BUNDLE_EVENTS_MAX - self.events);
        self.reader
            .read(execution, |recorded| {
                if recorded.seq > begins_after {
                    events.push(recorded.clone());
                }
                Ok(if events.len() > room { ReadOn::No } else { ReadOn::Yes })
            })
            .await?;
        if events.len() > room {
            return Err(Failure::bad_input(anyhow!(
                "the executions have more than {BUNDLE_EVENTS_MAX} events"
            ))
            .help("export fewer executions at once"));
        }
        self.events += events.len();
        let head = self.head(execution, &events).await?;
        self.add_values(&events).await?;
        self.name_playbooks(&events);
        let fork = summary.fork;
        self.bundle.executions.push(BundledExecution { execution, fork, head, events });
        Ok(())
    }

    /// Returns the digest of the last event after the log has been verified where it is stored.
    async fn head(
        &self,
        execution: ExecutionId,
        events: &[Recorded],
    ) -> Result<Option<Digest>, Failure> {
        let found = self.reader.verify(execution, None, &|_| {}).await?;
        if !found.valid {
            let why = found.fault.unwrap_or_default();
            return Err(Failure::broken(anyhow!("execution {execution} is damaged: {why}"))
                .help(format!("`noetl verify {execution}` shows the fault")));
        }
        let last = events.last().and_then(|last| Some(last.digest_after(&last.prev?)));
        Ok(last)
    }

    /// Adds the values that events store elsewhere.
    async fn add_values(&mut self, events: &[Recorded]) -> Result<(), Failure> {
        for reference in stored_references(events) {
            if self.bundle.payloads.contains_key(&reference.digest) {
                continue;
            }
            let value = self.reader.payload(&reference).await?;
            let json = serde_json::to_string(&value).map_err(Failure::broken)?;
            if Digest::of(json.as_bytes()) != reference.digest {
                let digest = reference.digest;
                return Err(Failure::broken(anyhow!("the value {digest} is not as it was stored")));
            }
            self.bundle.payloads.insert(reference.digest, json);
        }
        Ok(())
    }

    fn name_playbooks(&mut self, events: &[Recorded]) {
        for recorded in events {
            let named = if let Event::ExecutionStarted { playbook, .. } = &recorded.event {
                Some(playbook)
            } else if let Event::ExecutionForked { playbook, .. } = &recorded.event {
                playbook.as_ref()
            } else {
                None
            };
            if let Some(playbook) = named {
                self.playbooks.insert(playbook.catalog_id, playbook.clone());
            }
        }
    }

    /// Adds the texts of the playbooks; says which are no longer in the catalog.
    async fn finish(self, terminal: &mut Terminal) -> Result<Bundle, Failure> {
        let Self { reader, mut bundle, playbooks, .. } = self;
        for PlaybookRef { catalog_id, path, version } in playbooks.into_values() {
            let found = reader.playbook(&path, Some(version)).await?;
            match found.and_then(|found| found.content) {
                Some(content) => {
                    bundle.playbooks.push(BundledPlaybook { catalog_id, path, version, content });
                }
                None => terminal.say(format!(
                    "version {version} of playbook {path} is not in the catalog; the bundle has the \
                     events without it"
                )),
            }
        }
        Ok(bundle)
    }
}
