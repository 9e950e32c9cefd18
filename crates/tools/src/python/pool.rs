//! Warm interpreters of one program. An interpreter that comes back goes to whoever waits; only if
//! none does, and there is room, it is kept.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use noetl_model::ToolError;
use tokio::sync::{Notify, Semaphore};

use super::interpreter::Interpreter;

pub(super) struct Pool {
    program: String,
    environment: BTreeMap<String, String>,
    idle_max: usize,
    idle: Mutex<Vec<Interpreter>>,
    returned: Notify,
    /// Starting an interpreter costs far more than a short call, so that no more start at once than
    /// there are processors; meanwhile others may come back.
    starting: Semaphore,
}

impl Pool {
    pub(super) fn new(
        program: String,
        environment: BTreeMap<String, String>,
        idle_max: usize,
    ) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            program,
            environment,
            idle_max,
            idle: Mutex::new(Vec::new()),
            returned: Notify::new(),
            starting: Semaphore::new(processors),
        }
    }

    pub(super) async fn take(&self) -> Result<Interpreter, ToolError> {
        loop {
            if let Some(interpreter) = self.take_idle() {
                return Ok(interpreter);
            }
            tokio::select! {
                () = self.returned.notified() => {}
                permit = self.starting.acquire() => {
                    let _permit = permit.expect("the semaphore is never closed");
                    if let Some(interpreter) = self.take_idle() {
                        return Ok(interpreter);
                    }
                    return Interpreter::start(&self.program, &self.environment).await;
                }
            }
        }
    }

    /// Keeps an interpreter for the next call if it is fit for one; else this is its end.
    pub(super) fn give_back(&self, mut interpreter: Interpreter) {
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

    fn take_idle(&self) -> Option<Interpreter> {
        loop {
            let mut found = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if found.is_fit() {
                return Some(found);
            }
        }
    }
}
