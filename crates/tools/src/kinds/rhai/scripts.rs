//! A cache of recently used compiled scripts, since the same step runs many times.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::rhai::{AST, EvalAltResult};
use lru::LruCache;
use noetl_model::Digest;

use super::engine::RhaiInterpreter;

/// The maximum number of compiled scripts kept.
const SCRIPTS_MAX: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// The maximum length of a cached script; a longer one is compiled each time.
const SCRIPT_BYTES_MAX: usize = 64 * 1024;

pub(super) struct Scripts {
    kept: Mutex<LruCache<Digest, Arc<AST>>>,
    compiled: AtomicUsize,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self { kept: Mutex::new(LruCache::new(SCRIPTS_MAX)), compiled: AtomicUsize::new(0) }
    }

    /// Returns the compiled script, from the cache if possible.
    pub(super) fn get(
        &self,
        code: &str,
        interpreter: &RhaiInterpreter,
    ) -> Result<Arc<AST>, Box<EvalAltResult>> {
        if code.len() > SCRIPT_BYTES_MAX {
            return self.compile(code, interpreter);
        }
        let digest = Digest::of(code.as_bytes());
        if let Some(script) = self.lock().get(&digest) {
            return Ok(script.clone());
        }
        let script = self.compile(code, interpreter)?;
        self.lock().put(digest, script.clone());
        Ok(script)
    }

    fn compile(
        &self,
        code: &str,
        interpreter: &RhaiInterpreter,
    ) -> Result<Arc<AST>, Box<EvalAltResult>> {
        self.compiled.fetch_add(1, Ordering::Relaxed);
        interpreter.compile(code).map(Arc::new)
    }

    /// The number of compilations so far.
    #[cfg(test)]
    pub(super) fn compiled(&self) -> usize {
        self.compiled.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Digest, Arc<AST>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
