//! The idle interpreters of one program. A returned interpreter serves the next waiting call, or is
//! kept idle up to a limit.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use noetl_isolation::Isolation;
use noetl_model::{ExecutionId, ToolError};
use tokio::sync::{Notify, Semaphore};

use super::interpreter::PythonInterpreter;

pub(super) struct InterpreterPool {
    program: String,
    environment: BTreeMap<String, String>,
    isolation: Isolation,
    idle_max: usize,
    idle: Mutex<Vec<PythonInterpreter>>,
    returned: Notify,
    /// Limits the number of interpreters that start at once to the number of processors. Starting
    /// one takes far longer than a short call, and another may be returned in the meantime.
    starting: Semaphore,
}

impl InterpreterPool {
    pub(super) fn new(
        program: String,
        environment: BTreeMap<String, String>,
        isolation: Isolation,
        idle_max: usize,
    ) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            program,
            environment,
            isolation,
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
                    return PythonInterpreter::start(
                        &self.program,
                        &self.environment,
                        &self.isolation,
                    )
                    .await;
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
