//! What happens inside, on standard error: warnings, and more if asked.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

use crate::config::Config;

/// Starts logging. `RUST_LOG` wins over the number of `-v`.
pub(crate) fn start(config: &Config, verbose: u8) {
    let default = match verbose {
        0 => "warn",
        1 => "warn,noetl=info",
        2 => "info,noetl=debug",
        _ => "trace",
    };
    let filter = config.log_filter().and_then(|filter| filter.parse::<EnvFilter>().ok());
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|| EnvFilter::new(default)))
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .compact()
        .init();
}
