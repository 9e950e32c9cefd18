//! Operations of existing workers, which name a command by the event that issued it and do not
//! name their attempt.

mod callback;
mod issued;
mod posted_event;

pub use callback::CallbackError;
pub use issued::{IssuedCommandError, SecretInputs};
pub use posted_event::PostEventError;
