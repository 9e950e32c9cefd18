//! Output of a command: formats, overviews, live progress, exit codes.

pub(crate) mod failure;
pub(crate) mod output;
pub(crate) mod overview;
pub(crate) mod progress;
pub(crate) mod terminal;
pub(crate) mod watch;
