//! Faults of the machine for tests: power loss, failing disks, clocks that are wrong.
//!
//! A [`DiskTrace`] has every write and flush of a program, recorded by strace. [`PowerLoss`]
//! constructs the files that a power loss at any moment could have left. [`FailingCalls`] lets
//! system calls of a running program fail, [`WrongClock`] gives a program a clock that a test sets.
//! [`fuzz`] checks a parser with mutated inputs.

mod chance;
mod clock;
mod disk_trace;
mod failing_calls;
mod fuzz;
mod power_loss;
mod size;
mod strace;

pub use chance::Chance;
pub use clock::WrongClock;
pub use disk_trace::{DiskChange, DiskOp, DiskTrace};
pub use failing_calls::{CallFault, FailingCalls};
pub use fuzz::fuzz;
pub use power_loss::{DiskState, PowerLoss, Unflushed};
pub use size::{is_full_size, tell_skipped};
