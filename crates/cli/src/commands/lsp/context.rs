//! The names and values that an editor shows besides a document: of the configured server, else of the
//! embedded database.
//!
//! Both are read when an editor asks for them, and kept for a moment. Without a connection or a database
//! there are none: an editor works offline.

use std::future::Future;
use std::time::{Duration, Instant};

use noetl_app::EntryState;
use noetl_lsp::EditorContext;
use noetl_playbook::editing::{OutsideName, TemplatePath};
use noetl_playbook::{Playbook, parse};
use noetl_playtest::value_in_history;
use tokio::runtime::Handle;

use crate::args::{Chosen, ClientArgs, LspArgs};
use crate::backend;
use crate::commands::test::{History, playbook_text, stored};
use crate::config::Config;
use crate::show::failure::Failure;

/// The time for which names and a history are kept.
const KEPT: Duration = Duration::from_secs(15);
/// The longest time that a request takes.
const ANSWER_MAX: Duration = Duration::from_secs(3);
/// The most characters of a value that are shown.
const VALUE_CHARS_MAX: usize = 2_000;

/// A value with the time at which it was read.
struct Fresh<T> {
    value: T,
    read_at: Instant,
}

impl<T> Fresh<T> {
    fn now(value: T) -> Self {
        Self { value, read_at: Instant::now() }
    }

    fn is_old(&self) -> bool {
        self.read_at.elapsed() > KEPT
    }
}

/// The execution whose values are shown.
struct ShownExecution {
    history: History,
    playbook: Playbook,
}

/// The context of the configured server or database.
pub(super) struct BackendContext {
    runtime: Handle,
    config: Config,
    client: ClientArgs,
    execution: Option<Chosen>,
    credentials: Option<Fresh<Vec<String>>>,
    playbooks: Option<Fresh<Vec<String>>>,
    shown: Option<Fresh<Option<ShownExecution>>>,
}

impl BackendContext {
    /// Must be called in the runtime.
    pub(super) fn new(args: &LspArgs, config: &Config) -> Self {
        Self {
            runtime: Handle::current(),
            config: config.clone(),
            client: args.client.clone(),
            execution: args.execution,
            credentials: None,
            playbooks: None,
            shown: None,
        }
    }

    /// Waits for an answer; `None` if there is none in time.
    fn answer<T>(&self, asked: impl Future<Output = Result<T, Failure>>) -> Option<T> {
        if !backend::exists(&self.client, &self.config) {
            return None;
        }
        let answered =
            self.runtime.block_on(async { tokio::time::timeout(ANSWER_MAX, asked).await });
        match answered {
            Ok(Ok(value)) => Some(value),
            Ok(Err(failure)) => {
                tracing::debug!(?failure, "the editor's request has no answer");
                None
            }
            Err(_) => None,
        }
    }

    fn credential_names(&self) -> Vec<String> {
        let asked = async {
            let reader = backend::open_reader(&self.client, &self.config).await?;
            reader.credential_names().await
        };
        self.answer(asked).unwrap_or_default()
    }

    fn playbook_paths(&self) -> Vec<String> {
        let asked = async {
            let reader = backend::open_reader(&self.client, &self.config).await?;
            reader.playbooks(EntryState::Active, None).await
        };
        let found = self.answer(asked).unwrap_or_default();
        found.into_iter().map(|playbook| playbook.path).collect()
    }

    fn load_execution(&self) -> Option<ShownExecution> {
        let execution = self.execution?;
        let asked = async {
            let (history, reader) = stored(&self.client, execution, &self.config).await?;
            let text = playbook_text(&history, &*reader).await?;
            let playbook = parse("playbook", text.as_bytes()).map_err(Failure::bad_input)?.playbook;
            Ok(ShownExecution { history, playbook })
        };
        self.answer(asked)
    }
}

impl EditorContext for BackendContext {
    fn names(&mut self, kind: OutsideName) -> Vec<String> {
        let kept = match kind {
            OutsideName::Credential => &self.credentials,
            OutsideName::Playbook => &self.playbooks,
        };
        if let Some(kept) = kept.as_ref().filter(|kept| !kept.is_old()) {
            return kept.value.clone();
        }
        let found = match kind {
            OutsideName::Credential => self.credential_names(),
            OutsideName::Playbook => self.playbook_paths(),
        };
        let kept = match kind {
            OutsideName::Credential => &mut self.credentials,
            OutsideName::Playbook => &mut self.playbooks,
        };
        *kept = Some(Fresh::now(found.clone()));
        found
    }

    fn has_values(&self) -> bool {
        self.execution.is_some()
    }

    fn value(&mut self, path: &TemplatePath) -> Option<String> {
        if self.shown.as_ref().is_none_or(Fresh::is_old) {
            self.shown = Some(Fresh::now(self.load_execution()));
        }
        let ShownExecution { history, playbook } = self.shown.as_ref()?.value.as_ref()?;
        // Another document may have steps and variables of the same names.
        if path.playbook.as_deref() != Some(playbook.metadata.path.as_str()) {
            return None;
        }
        let History { execution, log, values } = history;
        let read = (path.step.as_deref(), path.path.as_str());
        let found = value_in_history(playbook, *execution, log, values, read).ok()??;
        let json = serde_json::to_string_pretty(&found.value).ok()?;
        let mut shown: String = json.chars().take(VALUE_CHARS_MAX).collect();
        if shown.len() < json.len() {
            shown.push('…');
        }
        let after = found.after;
        Some(format!(
            "`{}` in execution {execution}, event {after}\n\n````json\n{shown}\n````",
            path.path
        ))
    }
}
