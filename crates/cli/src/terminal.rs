//! Where a command speaks: data on standard output, talk on standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Stderr, Stdout, Write as _};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use crate::args::ColorWhen;
use crate::config::Environment;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const CAREFUL: Style = AnsiColor::Yellow.on_default();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const STRONG: Style = Style::new().bold();

/// A text in a style. Streams without colours take the style out again.
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// The two streams of a command.
pub(crate) struct Terminal {
    stdout: AutoStream<Stdout>,
    stderr: AutoStream<Stderr>,
    /// Whether somebody watches standard error, so that it may move.
    pub(crate) is_watched: bool,
    pub(crate) stdout_color: bool,
    pub(crate) stderr_color: bool,
}

impl Terminal {
    pub(crate) fn new(environment: &Environment, when: ColorWhen) -> Self {
        let stdout_color = environment.wants_color(when, io::stdout().is_terminal());
        let stderr_color = environment.wants_color(when, io::stderr().is_terminal());
        Self {
            stdout: AutoStream::new(io::stdout(), choice(stdout_color)),
            stderr: AutoStream::new(io::stderr(), choice(stderr_color)),
            is_watched: io::stderr().is_terminal(),
            stdout_color,
            stderr_color,
        }
    }

    /// Writes what was asked for, and ends its last line.
    pub(crate) fn data(&mut self, text: &str) -> io::Result<()> {
        self.stdout.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            self.stdout.write_all(b"\n")?;
        }
        self.stdout.flush()
    }

    /// Says a line about it. Nothing depends on whether somebody listens.
    pub(crate) fn say(&mut self, line: impl Display) {
        let _unheard = writeln!(self.stderr, "{line}");
    }
}

fn choice(color: bool) -> ColorChoice {
    if color { ColorChoice::Always } else { ColorChoice::Never }
}
