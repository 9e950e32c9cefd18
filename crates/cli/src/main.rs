//! The `noetl` binary: reads the arguments, carries out one command, ends with its exit code.

mod args;
mod candidates;
mod catalog;
mod commands;
mod config;
mod database;
#[cfg(test)]
mod deploy_files;
mod door;
mod edge;
mod embedded;
mod failure;
mod files;
mod foundation;
mod history;
mod intake;
mod keys;
mod logging;
mod nearest;
mod neighbours;
mod output;
mod overview;
mod plane;
mod progress;
mod remote;
mod session;
mod statements;
mod terminal;
mod tools;
mod watch;
mod workload;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};
use clap_complete::CompleteEnv;
use tokio_util::sync::CancellationToken;

use args::Arguments;
use config::{Config, Environment};
use terminal::Terminal;

/// How long tasks that are left may take to let go of what they have, such as processes.
const LET_GO: Duration = Duration::from_millis(500);

/// How long the last spans may take to be sent.
const EXPORT_LAST: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    // Answers a shell that asks what could stand next, and ends.
    CompleteEnv::with_factory(Arguments::command).complete();
    let arguments = Arguments::parse();
    let environment = Environment::read();
    let mut terminal = Terminal::new(&environment, arguments.color);
    let config = Config::load(environment, &arguments.flags());
    let begun = config.and_then(|config| {
        // A client of the exporter needs it.
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
        // What is left is sent if the collector is there; nobody waits for one that is not.
        let _late = runtime.block_on(async { tokio::time::timeout(EXPORT_LAST, exporting).await });
    }
    runtime.shutdown_timeout(LET_GO);
    exit.into()
}
