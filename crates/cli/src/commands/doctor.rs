//! `noetl doctor`: checks that everything noetl needs is present, with help if it is not.

mod clock;
mod database;
mod machine;
mod server;
mod settings;

use serde::Serialize;

use crate::args::DoctorArgs;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::table::table;
use crate::show::terminal::{BAD, CAREFUL, GOOD, Terminal, paint};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckStatus {
    Ok,
    /// Works, though perhaps not for long or not for all uses.
    Warn,
    Fail,
}

/// One check with its result.
#[derive(Debug, Serialize)]
struct DoctorCheck {
    name: &'static str,
    verdict: CheckStatus,
    found: String,
    /// The advice for a finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl DoctorCheck {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, verdict: CheckStatus::Ok, found: found.into(), help: None }
    }

    fn warn(name: &'static str, found: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name, verdict: CheckStatus::Warn, found: found.into(), help: Some(help.into()) }
    }

    fn fail(name: &'static str, found: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name, verdict: CheckStatus::Fail, found: found.into(), help: Some(help.into()) }
    }
}

pub(crate) async fn doctor(
    args: &DoctorArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let mut checks = vec![DoctorCheck::ok("version", concat!("noetl ", env!("CARGO_PKG_VERSION")))];
    checks.push(settings::check(config));
    if let Some(url) = &args.server {
        checks.extend(server::checks(url, config).await?);
    } else {
        let db = crate::wiring::database::path_of(&args.database, config);
        checks.extend(machine::checks(config, &db).await);
        checks.extend(database::checks(config, &db).await);
        checks.extend(clock::of_databases(config).await);
    }
    terminal.show(args.output, &checks, |checks| text(checks))?;
    let has_failed = checks.iter().any(|check| check.verdict == CheckStatus::Fail);
    Ok(if has_failed { Exit::Failed } else { Exit::Completed })
}

/// Formats an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn text(checks: &[DoctorCheck]) -> String {
    let rows: Vec<Vec<String>> = checks
        .iter()
        .map(|check| {
            let verdict = match check.verdict {
                CheckStatus::Ok => paint(GOOD, "ok"),
                CheckStatus::Warn => paint(CAREFUL, "warn"),
                CheckStatus::Fail => paint(BAD, "fail"),
            };
            let help = check.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
            vec![verdict, check.name.to_owned(), format!("{}{help}", check.found)]
        })
        .collect();
    table(&rows)
}
