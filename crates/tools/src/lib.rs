//! One module per tool kind, and how a command's templates become a tool's configuration.
//!
//! A [`Registry`] holds the tools a worker has. It renders a lease's templates, runs the tool and
//! ends it when its time is over. What a tool needs of its surroundings (environment, credentials,
//! network policy) comes in through [`Settings`].
//!
//! Invariant: whatever a tool started has ended once its run has ended, be it by itself, by
//! time-out or by cancellation. Output, errors and logs leave a [`Registry`] without the secrets that the
//! tool was given, and are cut to their limits only after that.

mod artifact;
mod call;
mod capture;
mod credentials;
mod duckdb;
mod group;
mod http;
mod intake;
mod keys;
mod memory;
mod nats;
mod noop;
mod outgoing;
mod postgres;
mod prepare;
mod python;
mod redactor;
mod registry;
mod results;
mod rhai;
mod script;
mod secrets;
mod settings;
mod shell;
mod source;
mod sql;
mod sqlite;
mod subscription;
mod transfer;

#[cfg(test)]
mod testing;

pub use call::{Call, Ended, Tool};
pub use credentials::{Credentials, FixedCredentials, UsedCredentials};
pub use intake::{Fetched, Receipt, Source, Sources, StandardSources};
pub use memory::{CallMemory, MemoryBudget};
pub use outgoing::{Egress, Exception, NoException};
pub use redactor::{REDACTED, Redactor, SECRET_MIN};
pub use registry::{Registry, TIMEOUT_DEFAULT};
pub use results::{NoResults, Reference, Results};
pub use settings::{Settings, Whereabouts, library_place};
