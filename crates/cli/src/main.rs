//! The `noetl` binary: parses the arguments, runs one command and returns its exit code.

mod args;
mod backend;
mod commands;
mod config;
#[cfg(test)]
mod deploy_files;
mod input;
mod show;
mod wiring;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};
use clap_complete::CompleteEnv;
use noetl_thread_memory::CountingAllocator;
use tokio_util::sync::CancellationToken;

use args::Arguments;
use config::{Config, Environment};
use show::terminal::Terminal;
use wiring::logging;

/// The time within which remaining tasks release their resources, such as processes.
const LET_GO: Duration = Duration::from_millis(500);

/// Timeout of sending the last spans.
const EXPORT_LAST: Duration = Duration::from_secs(3);

/// Counts the memory of each thread, which bounds the values of `rhai` scripts.
#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    // The launcher of a step's program has one thread and reads no settings.
    if let Some(code) = noetl_isolation::run_launcher() {
        return code;
    }
    let protected = noetl_isolation::protect_own_process();
    // Answers a completion request of a shell, and exits.
    CompleteEnv::with_factory(Arguments::command).complete();
    let arguments = Arguments::parse();
    let environment = Environment::read();
    let mut terminal = Terminal::new(&environment, arguments.color);
    let config = Config::load(environment, &arguments.flags());
    let begun = config.and_then(|config| {
        // The HTTP client of the exporter needs a crypto provider.
        rustls::crypto::ring::default_provider()
            .install_default()
            .expect("no other provider is installed before this one");
        logging::start(&config, arguments.verbose).map(|exporter| (config, exporter))
    });
    let (config, exporter) = match begun {
        Ok(begun) => begun,
        Err(failure) => {
            failure.explain(&mut terminal);
            return failure.exit().into();
        }
    };
    if let Err(error) = protected {
        tracing::warn!(%error, "other programs of this user can read the secrets of this process");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("the system gives us threads");
    let stop = CancellationToken::new();
    let exporting = exporter.map(|exporter| runtime.spawn(exporter.run(stop.clone())));
    let ended = runtime.block_on(commands::dispatch(&arguments.command, &config, &mut terminal));
    let exit = ended.unwrap_or_else(|failure| {
        failure.explain(&mut terminal);
        failure.exit()
    });
    stop.cancel();
    if let Some(exporting) = exporting {
        // The remaining spans are sent if the collector answers within the timeout.
        let _late = runtime.block_on(async { tokio::time::timeout(EXPORT_LAST, exporting).await });
    }
    runtime.shutdown_timeout(LET_GO);
    exit.into()
}
