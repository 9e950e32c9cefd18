//! Logging to standard error, and export of spans to a collector if one is configured.

use std::io::{self, IsTerminal as _};

use anyhow::Context as _;
use noetl_otel::Exporter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt};

use crate::config::Config;
use crate::show::failure::Failure;
use crate::show::terminal::{LogForm, LogWriter};

/// Libraries limited to `info`: at lower levels they log the statements and requests of playbooks,
/// with the secrets in them.
const CAPPED_LIBRARIES: &[&str] =
    &["h2=info", "hyper=info", "hyper_util=info", "reqwest=info", "tokio_postgres=info"];

/// Starts logging; returns the exporter to run if spans are exported. A configured filter takes
/// precedence over `-v`.
pub(crate) fn start(config: &Config, verbose: u8) -> Result<Option<Exporter>, Failure> {
    // The NATS client logs every reconnection at `info`.
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
    let directives = CAPPED_LIBRARIES.iter().map(|it| it.parse().expect("a directive"));
    let filter = directives.fold(filter, EnvFilter::add_directive);
    // A closed standard error must not cause a panic.
    let is_terminal = io::stderr().is_terminal();
    let form = match (config.logs_json(), is_terminal) {
        (true, _) => LogForm::Json,
        (false, true) => LogForm::Styled,
        (false, false) => LogForm::Plain,
    };
    let lines = fmt::layer().with_writer(move || LogWriter(form)).log_internal_errors(false);
    let lines = if config.logs_json() {
        lines.json().flatten_event(true).with_ansi(false).boxed()
    } else {
        lines.with_ansi(is_terminal).compact().boxed()
    };
    let (traces, exporter) = match config.otel() {
        Some(settings) => {
            let (traces, exporter) = Exporter::new(&settings)
                .context("OTEL_EXPORTER_OTLP_HEADERS, or `otel.headers`, cannot be sent")
                .map_err(Failure::bad_input)?;
            (Some(traces.with_filter(LevelFilter::INFO)), Some(exporter))
        }
        None => (None, None),
    };
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(traces).init();
    Ok(exporter)
}
