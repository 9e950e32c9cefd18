//! The names and values that are not in a document: of a server, a database or an execution.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use lsp_server::Response;
use noetl_playbook::editing::{OutsideName, TemplatePath};

/// The most requests that wait for the context.
const WAITING_MAX: usize = 32;

/// The source of names and values outside of documents. A call may take as long as a network needs: it
/// delays no other request. An error or a missing value is the same as none.
pub trait EditorContext: Send {
    /// Returns the names of the things of a kind.
    fn names(&mut self, kind: OutsideName) -> Vec<String>;

    /// True if an execution is chosen whose values are shown.
    fn has_values(&self) -> bool;

    /// Returns the value of a path in the chosen execution, as Markdown.
    fn value(&mut self, path: &TemplatePath) -> Option<String>;
}

/// A context without names and values.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfflineContext;

impl EditorContext for OfflineContext {
    fn names(&mut self, _: OutsideName) -> Vec<String> {
        Vec::new()
    }

    fn has_values(&self) -> bool {
        false
    }

    fn value(&mut self, _: &TemplatePath) -> Option<String> {
        None
    }
}

/// A request that needs the context.
pub(crate) type ContextQuestion = Box<dyn FnOnce(&mut dyn EditorContext) -> Response + Send>;

/// The queue of requests that need the context.
pub(crate) struct ContextQueue {
    questions: SyncSender<ContextQuestion>,
    pub(crate) has_values: bool,
}

impl ContextQueue {
    /// Starts the thread that asks the context, one request after another; `answered` sends an answer
    /// and returns false if nobody listens any more.
    pub(crate) fn start(
        mut context: Box<dyn EditorContext>,
        answered: impl Fn(Response) -> bool + Send + 'static,
    ) -> Self {
        let has_values = context.has_values();
        let (questions, waiting): (_, Receiver<ContextQuestion>) = sync_channel(WAITING_MAX);
        std::thread::spawn(move || {
            for question in waiting {
                if !answered(question(&mut *context)) {
                    return;
                }
            }
        });
        Self { questions, has_values }
    }

    /// Queues a request; answers it without the context if too many wait.
    pub(crate) fn ask(&self, question: ContextQuestion) -> Option<Response> {
        let refused = self.questions.try_send(question).err()?;
        let question = match refused {
            std::sync::mpsc::TrySendError::Full(question)
            | std::sync::mpsc::TrySendError::Disconnected(question) => question,
        };
        Some(question(&mut OfflineContext))
    }
}
