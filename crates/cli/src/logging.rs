//! What happens inside, on standard error: warnings, and more if asked.

use std::io::{self, IsTerminal as _};

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use crate::config::Config;
use crate::failure::Failure;

/// Starts logging. A filter that is configured wins over the number of `-v`.
pub(crate) fn start(config: &Config, verbose: u8) -> Result<(), Failure> {
    // The client of NATS tells every reconnection as if it were news to the user.
    let default = match verbose {
        0 => "warn",
        1 => "warn,noetl=info,async_nats=warn",
        2 => "info,noetl=debug,async_nats=warn",
        _ => "trace",
    };
    let filter = config.log_filter().unwrap_or(default);
    let filter = filter
        .parse::<EnvFilter>()
        .context("RUST_LOG, or `log.filter`, is not a filter such as info,noetl_control=debug")
        .map_err(Failure::bad_input)?;
    // Whoever read standard error may have gone: that is no reason to panic.
    let logging = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .log_internal_errors(false);
    if config.logs_json() {
        logging.json().flatten_event(true).with_ansi(false).init();
    } else {
        logging.with_ansi(io::stderr().is_terminal()).compact().init();
    }
    Ok(())
}
