//! A pool of threads that run scripts.
//!
//! Scripts need a deeper stack than the threads of the runtime have, and may block. A thread is
//! started if none is idle, up to a limit; further scripts wait in a queue.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::engine::RhaiInterpreter;

/// The maximum number of scripts that run at once.
pub(super) const THREADS_MAX: usize = 256;
/// The time for which an idle thread waits for work before it ends.
const IDLE_WAIT: Duration = Duration::from_secs(10);
/// The stack size, sufficient for deep recursion of the interpreter in an unoptimized build.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// Work for a thread. The returned function is called when the thread is free again.
pub(super) type Job = Box<dyn FnOnce(&mut RhaiInterpreter) -> Completion + Send>;
pub(super) type Completion = Box<dyn FnOnce() + Send>;

/// The threads of a worker. Clones share them; they end when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Threads {
    shared: Arc<SharedQueue>,
    /// Ends the threads when the last clone is dropped.
    _end: Arc<EndWhenDropped>,
}

struct SharedQueue {
    state: Mutex<QueueState>,
    work: Condvar,
    threads_max: usize,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// The number of threads started so far.
    started: usize,
    ended: bool,
}

struct EndWhenDropped(Arc<SharedQueue>);

impl Drop for EndWhenDropped {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.work.notify_all();
    }
}

impl Threads {
    pub(super) fn new(threads_max: usize) -> Self {
        let shared =
            Arc::new(SharedQueue { state: Mutex::default(), work: Condvar::new(), threads_max });
        Self { _end: Arc::new(EndWhenDropped(shared.clone())), shared }
    }

    /// Runs a job on a thread, at once or when one is free.
    pub(super) fn run(&self, job: Job) -> io::Result<()> {
        let mut state = self.shared.lock();
        let is_busy = state.waiting.len() >= state.idle;
        if is_busy && state.threads < self.shared.threads_max {
            match self.start() {
                Ok(()) => {
                    state.threads += 1;
                    state.started += 1;
                }
                // Existing threads run the job later; without any thread it would never run.
                Err(error) if state.threads == 0 => return Err(error),
                Err(error) => tracing::warn!(%error, "no further thread for scripts"),
            }
        }
        state.waiting.push_back(job);
        drop(state);
        self.shared.work.notify_one();
        Ok(())
    }

    fn start(&self) -> io::Result<()> {
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name("rhai".into()).stack_size(STACK_BYTES);
        thread.spawn(move || {
            let mut interpreter = RhaiInterpreter::new();
            shared.lock().idle += 1;
            while let Some(job) = shared.next() {
                let done = catch_unwind(AssertUnwindSafe(|| job(&mut interpreter)));
                shared.lock().idle += 1;
                match done {
                    Ok(reply) => reply(),
                    Err(_panic) => interpreter = RhaiInterpreter::new(),
                }
            }
        })?;
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn started(&self) -> usize {
        self.shared.lock().started
    }
}

impl SharedQueue {
    /// Waits for a job as an idle thread. Returns `None` after [`IDLE_WAIT`], or when the pool
    /// ends.
    fn next(&self) -> Option<Job> {
        let waiting = self.work.wait_timeout_while(self.lock(), IDLE_WAIT, |state| {
            state.waiting.is_empty() && !state.ended
        });
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner).0;
        state.idle -= 1;
        let job = state.waiting.pop_front();
        if job.is_none() {
            state.threads -= 1;
        }
        job
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
