//! What a command leaves behind, without the secrets it was given.

use noetl_model::{Outcome, ToolError};
use noetl_secrets::Redactor;
use noetl_tools::{Ended, UsedCredentials};

/// Takes every secret that the command was given out of its output, its error and its logs.
pub(crate) fn redacted(mut ended: Ended, used: &UsedCredentials) -> Ended {
    let redactor = Redactor::of_credentials(&used.take());
    if redactor.is_idle() {
        return ended;
    }
    match &mut ended.outcome {
        Outcome::Completed { output } => redactor.json(output),
        Outcome::Failed { error, output } => {
            redact_error(&redactor, error);
            output.iter_mut().for_each(|output| redactor.json(output));
        }
    }
    for stream in [&mut ended.logs.stdout, &mut ended.logs.stderr] {
        *stream = redactor.text(stream).into_owned();
    }
    ended
}

fn redact_error(redactor: &Redactor, error: &mut ToolError) {
    error.message = redactor.text(&error.message).into_owned();
    if let Some(code) = &mut error.code {
        *code = redactor.text(code).into_owned();
    }
    if let Some(details) = &mut error.details {
        redactor.json(details);
    }
}
