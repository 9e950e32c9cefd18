//! The memory budget of a process, which limits the values held by all tool calls together.
//!
//! A call reserves memory before it reads a body or builds a value, holds it until its report has
//! been answered, and waits while other calls hold the memory. One call at a time may proceed
//! without waiting, up to the limit of a call, from an amount set aside for that. So calls that
//! each hold some memory and want more cannot deadlock, and the total is never exceeded.

use std::sync::Arc;

use noetl_model::{
    ErrorKind, Footprint, Outcome, TooLarge, ToolError, Unmeasured, VALUE_ELEMENTS_MAX, ValueLimits,
};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use crate::run::call::ToolResult;

/// The default budget, in bytes.
pub(crate) const MEMORY_DEFAULT: usize = 1024 * 1024 * 1024;
/// The smallest budget, in bytes.
pub(crate) const MEMORY_MIN: usize = 16 * 1024 * 1024;
/// The number of bytes that a call may hold without a reservation, so that small calls never wait.
const FREE_BYTES_MAX: usize = 256 * 1024;
/// The number of bytes of one semaphore permit.
const UNIT_BYTES: usize = 1024;
/// The maximum ratio of a value's memory to the length of its JSON: `0,` is two bytes and one
/// value.
const GROWTH_MAX: usize = size_of::<Value>() / 2;

/// The memory budget of a process. Clones share it.
#[derive(Debug, Clone)]
pub struct MemoryBudget {
    /// The memory shared by all calls, in permits of [`UNIT_BYTES`].
    room: Arc<Semaphore>,
    /// The single permit to proceed without shared memory; its memory is set aside from the total.
    aside: Arc<Semaphore>,
    call_max: usize,
}

impl MemoryBudget {
    /// Creates a budget of `bytes`; one call may hold half of it.
    pub fn new(bytes: usize) -> Self {
        let bytes = bytes.max(MEMORY_MIN);
        let call_max = bytes / 2;
        let room = Semaphore::new((bytes - call_max) / UNIT_BYTES);
        Self { room: Arc::new(room), aside: Arc::new(Semaphore::new(1)), call_max }
    }

    /// Returns the default budget, or half of the memory of this machine or container if that is
    /// less.
    pub fn of_machine() -> Self {
        Self::new(memory_of_machine().map_or(MEMORY_DEFAULT, |all| (all / 2).min(MEMORY_DEFAULT)))
    }

    /// Returns the account of a call that is about to run.
    pub fn call(&self) -> CallMemory {
        let held = HeldMemory { bytes: 0, room: None, aside: None };
        CallMemory { budget: self.clone(), held: Arc::new(Mutex::new(held)) }
    }

    /// The unreserved shared memory, in bytes.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.room.available_permits() * UNIT_BYTES
    }
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self::new(MEMORY_DEFAULT)
    }
}

/// The memory held by one call. Clones share it; it is released when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct CallMemory {
    budget: MemoryBudget,
    held: Arc<Mutex<HeldMemory>>,
}

#[derive(Debug)]
struct HeldMemory {
    bytes: usize,
    room: Option<OwnedSemaphorePermit>,
    aside: Option<OwnedSemaphorePermit>,
}

impl CallMemory {
    /// The limits for one value of this call.
    pub(crate) fn limits(&self) -> ValueLimits {
        ValueLimits { elements_max: VALUE_ELEMENTS_MAX, memory_max: self.budget.call_max }
    }

    /// Reserves `bytes` more; waits until they are available. Fails if the call exceeds its limit.
    pub(crate) async fn reserve(&self, bytes: usize) -> Result<(), TooLarge> {
        let mut held = self.held.lock().await;
        let total = held.bytes.saturating_add(bytes);
        if total > self.budget.call_max {
            return Err(TooLarge::Memory { max: self.budget.call_max });
        }
        let more = held.more_for(total);
        if more > 0 && held.aside.is_none() {
            match self.budget.room.clone().try_acquire_many_owned(more) {
                Ok(room) => held.take_in(room),
                Err(_) => self.wait_for(more, &mut held).await,
            }
        }
        held.bytes = total;
        Ok(())
    }

    async fn wait_for(&self, more: u32, held: &mut HeldMemory) {
        let MemoryBudget { room, aside, call_max: _ } = &self.budget;
        tokio::select! {
            biased;
            room = room.clone().acquire_many_owned(more) => {
                held.take_in(room.expect("the semaphore is never closed"));
            }
            aside = aside.clone().acquire_owned() => {
                held.aside = Some(aside.expect("the semaphore is never closed"));
            }
        }
    }

    /// Reserves memory for stored values that are about to be fetched, by the length of their JSON.
    /// Always waits for shared memory, since a call that holds none yet cannot cause a deadlock.
    pub async fn reserve_inputs(&self, length: usize) {
        let mut held = self.held.lock().await;
        let total = length.saturating_mul(GROWTH_MAX).min(self.budget.call_max / 2);
        let more = held.more_for(total);
        if more > 0 {
            let room = self.budget.room.clone().acquire_many_owned(more).await;
            held.take_in(room.expect("the semaphore is never closed"));
        }
        held.bytes = total;
    }

    /// Adjusts the reservation to the actual size of the inputs.
    pub async fn hold_inputs<'v>(
        &self,
        inputs: impl Iterator<Item = &'v Value>,
    ) -> Result<(), ToolError> {
        let found = inputs.map(Footprint::of).fold(Footprint::default(), Footprint::and);
        self.hold(found.memory).await.map_err(|limit| too_large("the inputs", &limit))
    }

    /// Reserves memory for the rendered configuration and arguments.
    pub(crate) async fn reserve_rendered(
        &self,
        config: &Map<String, Value>,
        input: &Map<String, Value>,
    ) -> Result<(), ToolError> {
        let found = config.values().chain(input.values()).map(Footprint::of);
        let found = found.fold(Footprint::default(), Footprint::and);
        self.reserve(found.memory).await.map_err(|limit| too_large("the inputs", &limit))
    }

    /// Sets the reservation to exactly `bytes`.
    async fn hold(&self, bytes: usize) -> Result<(), TooLarge> {
        self.shrink_to(bytes).await;
        let has = self.held.lock().await.bytes;
        self.reserve(bytes.saturating_sub(has)).await
    }

    async fn shrink_to(&self, bytes: usize) {
        let mut held = self.held.lock().await;
        held.bytes = held.bytes.min(bytes);
        let (has, wanted) = (held.has(), units(held.bytes));
        if let Some(room) = &mut held.room {
            drop(room.split(has.saturating_sub(wanted)));
        }
        if held.has() >= wanted {
            held.aside = None;
        }
    }

    /// Parses JSON text of which the output will hold `copies` copies. The text is measured and the
    /// memory reserved before the value is built.
    pub(crate) async fn json(&self, text: &[u8], copies: usize) -> Result<Value, Unmeasured> {
        let found = Footprint::of_json(text, self.limits())?.times(copies);
        self.limits().check(found).map_err(Unmeasured::TooLarge)?;
        self.reserve(found.memory).await.map_err(Unmeasured::TooLarge)?;
        serde_json::from_slice(text).map_err(Unmeasured::NotJson)
    }

    /// Parses JSON text; returns a string if it is not valid JSON.
    pub(crate) async fn json_or_text(&self, text: &[u8]) -> Result<Value, ToolError> {
        match self.json(text, 1).await {
            Ok(value) => Ok(value),
            Err(Unmeasured::TooLarge(limit)) => Err(too_large("the value", &limit)),
            Err(Unmeasured::NotJson(_)) => {
                self.reserve(text.len()).await.map_err(|limit| too_large("the text", &limit))?;
                Ok(Value::String(String::from_utf8_lossy(text).into_owned()))
            }
        }
    }

    /// Reduces the reservation to the output of a finished call. Turns the result into a failure if
    /// the output exceeds the limits; the output of a failure is dropped instead.
    pub(crate) async fn settle(&self, mut ended: ToolResult) -> ToolResult {
        let output = match &ended.outcome {
            Outcome::Completed { output } => Some(output),
            Outcome::Failed { output, .. } => output.as_ref(),
        };
        let found = output.map_or_else(Footprint::default, |output| Footprint::of(output));
        let held = match self.limits().check(found) {
            Ok(()) => self.hold(found.memory).await,
            Err(limit) => Err(limit),
        };
        let Err(limit) = held else { return ended };
        self.shrink_to(0).await;
        match &mut ended.outcome {
            Outcome::Completed { .. } => {
                let error = too_large("the output", &limit);
                ended.outcome = Outcome::Failed { error, output: None };
            }
            Outcome::Failed { output, .. } => *output = None,
        }
        ended
    }
}

impl HeldMemory {
    fn has(&self) -> usize {
        self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits)
    }

    /// Returns the permits needed for `bytes` in addition to those held.
    fn more_for(&self, bytes: usize) -> u32 {
        u32::try_from(units(bytes).saturating_sub(self.has())).unwrap_or(u32::MAX)
    }

    fn take_in(&mut self, room: OwnedSemaphorePermit) {
        match &mut self.room {
            Some(has) => has.merge(room),
            None => self.room = Some(room),
        }
    }
}

/// Returns the number of permits for `bytes`.
fn units(bytes: usize) -> usize {
    bytes.saturating_sub(FREE_BYTES_MAX).div_ceil(UNIT_BYTES)
}

/// Returns the memory of this machine, or of the container if it is limited, in bytes.
fn memory_of_machine() -> Option<usize> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?.to_owned();
        line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kib| kib * 1024)
    });
    let container = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse().ok());
    machine.into_iter().chain(container).min()
}

/// Returns the error of a call that exceeds a limit; `thing` names the value that is too large.
pub(crate) fn too_large(thing: &str, limit: &TooLarge) -> ToolError {
    let message = format!(
        "{thing} cannot be held: {limit}; ask for less at once, or raise `tools.memory_mb`"
    );
    ToolError::new(ErrorKind::StorageQuota, message)
}

#[cfg(test)]
mod tests {
    use noetl_model::Outcome;
    use serde_json::json;

    use super::*;

    const MIB: usize = 1024 * 1024;

    /// 16 MiB: one call may hold 8 MiB, and all others share 8 MiB.
    fn budget() -> MemoryBudget {
        MemoryBudget::new(16 * MIB)
    }

    #[tokio::test]
    async fn a_call_waits_for_the_room_that_another_holds() {
        let budget = budget();
        let (first, second, third) = (budget.call(), budget.call(), budget.call());
        first.reserve(7 * MIB).await.unwrap();
        // One call proceeds with the memory that is set aside.
        second.reserve(7 * MIB).await.unwrap();
        let waiting = third.reserve(7 * MIB);
        tokio::pin!(waiting);
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(first);
        assert!(futures::poll!(&mut waiting).is_ready());
    }

    #[tokio::test]
    async fn calls_that_all_hold_some_and_want_more_all_get_it() {
        let budget = budget();
        let calls: Vec<CallMemory> = (0..4).map(|_| budget.call()).collect();
        for call in &calls {
            call.reserve(2 * MIB).await.unwrap();
        }
        // Each call wants more than is left, and releases everything once it has it.
        let growing = calls.into_iter().map(|call| async move { call.reserve(4 * MIB).await });
        assert!(futures::future::join_all(growing).await.into_iter().all(|grown| grown.is_ok()));
        assert_eq!(budget.free(), 8 * MIB);
    }

    #[tokio::test]
    async fn small_calls_take_no_room() {
        let budget = budget();
        let all = budget.call();
        all.reserve(8 * MIB).await.unwrap();
        let small: Vec<CallMemory> = (0..100).map(|_| budget.call()).collect();
        for call in &small {
            assert_eq!(call.json(b"[1, 2, 3]", 2).await.unwrap(), json!([1, 2, 3]));
        }
    }

    #[tokio::test]
    async fn a_value_is_measured_before_it_is_built() {
        let budget = budget();
        let call = budget.call();
        // 1 MB of text, 36 MB as a value.
        let text = format!("[{}0]", "0,".repeat(MIB / 2));
        let refused = call.json(text.as_bytes(), 1).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "it takes more than 8 MiB of memory, the limit for one call"
        );
        assert_eq!(budget.free(), 8 * MIB, "nothing was reserved for it");
        let half = format!("[{}0]", "0,".repeat(40_000));
        call.json(half.as_bytes(), 2).await.unwrap();
        assert!(budget.free() < 3 * MIB, "two of it take 5.8 MB");
    }

    #[tokio::test]
    async fn an_output_beyond_the_limits_is_a_failure() {
        let call = budget().call();
        let ended = ToolResult::completed(json!(vec![0; 200_000]));
        let Outcome::Failed { error, output: None } = call.settle(ended).await.outcome else {
            panic!("it completed");
        };
        assert_eq!(error.kind, ErrorKind::StorageQuota);
        assert_eq!(
            error.message,
            "the output cannot be held: it takes more than 8 MiB of memory, the limit for one \
             call; ask for less at once, or raise `tools.memory_mb`"
        );
        let failed = ToolError::new(ErrorKind::NotFound, "404");
        let ended =
            call.settle(ToolResult::failed_with(failed.clone(), json!(vec![0; 200_000]))).await;
        assert_eq!(ended.outcome, Outcome::Failed { error: failed, output: None });
    }

    #[tokio::test]
    async fn the_memory_of_a_result_is_reserved_until_its_report_is_answered() {
        let budget = budget();
        let call = budget.call();
        call.reserve(7 * MIB).await.unwrap();
        let ended = call.settle(ToolResult::completed(json!(vec![0; 40_000]))).await;
        let free = budget.free();
        assert!((5 * MIB..6 * MIB).contains(&free), "{free}: the output takes 2.9 MB");
        drop((ended, call));
        assert_eq!(budget.free(), 8 * MIB);
    }

    #[tokio::test]
    async fn inputs_wait_for_room_and_are_then_held_as_they_are() {
        let budget = budget();
        let (first, second) = (budget.call(), budget.call());
        first.reserve(7 * MIB).await.unwrap();
        let waiting = second.reserve_inputs(100_000);
        tokio::pin!(waiting);
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(first);
        waiting.await;
        assert!(budget.free() < 6 * MIB, "100 kB of JSON may become 3.6 MB");
        second.hold_inputs([json!("x".repeat(100_000))].iter()).await.unwrap();
        assert_eq!(budget.free(), 8 * MIB, "a text takes its length, which is less than is free");
    }
}
