//! The idle interpreters of one program. A returned interpreter serves the next waiting call, or is
//! kept idle up to a limit.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use noetl_model::{ExecutionId, ToolError};
use tokio::process::Command;
use tokio::sync::{Notify, OnceCell, Semaphore};

use super::interpreter::{InterpreterSettings, PythonInterpreter};

/// Prints the directories of an interpreter and of its packages.
const PREFIXES: &str = "import sys; print(sys.prefix, sys.base_prefix, sep='\\0', end='')";
/// The time to ask an interpreter for its directories.
const ASK_WAIT: Duration = Duration::from_secs(30);

pub(super) struct InterpreterPool {
    program: String,
    settings: InterpreterSettings,
    /// The settings with which the directories of the interpreter are read-only for its processes.
    protected: OnceCell<InterpreterSettings>,
    idle_max: usize,
    idle: Mutex<Vec<PythonInterpreter>>,
    returned: Notify,
    /// Limits the number of interpreters that start at once to the number of processors. Starting
    /// one takes far longer than a short call, and another may be returned in the meantime.
    starting: Semaphore,
}

impl InterpreterPool {
    pub(super) fn new(program: String, settings: InterpreterSettings, idle_max: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            program,
            settings,
            protected: OnceCell::new(),
            idle_max,
            idle: Mutex::new(Vec::new()),
            returned: Notify::new(),
            starting: Semaphore::new(processors),
        }
    }

    /// Returns an interpreter, preferably the one of the last call of the same execution.
    pub(super) async fn take(
        &self,
        execution: ExecutionId,
    ) -> Result<PythonInterpreter, ToolError> {
        loop {
            if let Some(interpreter) = self.take_idle(execution) {
                return Ok(interpreter);
            }
            tokio::select! {
                () = self.returned.notified() => {}
                permit = self.starting.acquire() => {
                    let _permit = permit.expect("the semaphore is never closed");
                    if let Some(interpreter) = self.take_idle(execution) {
                        return Ok(interpreter);
                    }
                    let settings = self.protected.get_or_init(|| async {
                        protected(&self.program, &self.settings).await
                    });
                    return PythonInterpreter::start(&self.program, settings.await).await;
                }
            }
        }
    }

    /// Returns an interpreter to the pool if it can be reused; otherwise drops it.
    pub(super) fn give_back(&self, mut interpreter: PythonInterpreter) {
        if !interpreter.is_fit() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.idle_max {
            idle.push(interpreter);
            drop(idle);
            self.returned.notify_one();
        }
    }

    fn take_idle(&self, execution: ExecutionId) -> Option<PythonInterpreter> {
        loop {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let own = idle.iter().rposition(|interpreter| interpreter.is_of(execution));
            let mut found = match own {
                Some(own) => idle.remove(own),
                None => idle.pop()?,
            };
            drop(idle);
            if found.is_fit() {
                return Some(found);
            }
        }
    }
}

/// Returns the settings with which an interpreter cannot change its own directories: what one process
/// writes there, the next one would run. An interpreter that does not tell them starts as it is and
/// reports its own error.
async fn protected(program: &str, settings: &InterpreterSettings) -> InterpreterSettings {
    let InterpreterSettings { environment, isolation, .. } = settings;
    let told = async {
        if !isolation.has_launcher() {
            return None;
        }
        let arguments = ["-I", "-c", PREFIXES].map(str::to_owned);
        let launched = isolation.command(program, &arguments, environment, None).ok()?;
        let mut command = Command::from(launched.into_parts().0);
        command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let ended = tokio::time::timeout(ASK_WAIT, command.output()).await.ok()?.ok()?;
        String::from_utf8(ended.stdout).ok()
    };
    let told = told.await.unwrap_or_default();
    let prefixes: Vec<PathBuf> = told.split('\0').map(PathBuf::from).collect();
    let isolation = isolation.with_read_only(&prefixes);
    InterpreterSettings { isolation, ..settings.clone() }
}
