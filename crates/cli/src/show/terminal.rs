//! The output streams of a command: data on standard output, messages on standard error.
//!
//! Invariant: everything that is printed goes through [`shown`], so that no control character of a
//! step's output, a playbook or a server reaches the terminal.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Stderr, Stdout, Write};

use anstyle::{AnsiColor, Style};

use crate::args::ColorWhen;
use crate::config::Environment;
pub(crate) use escape::{LogForm, LogWriter, is_control, json_shown, shown, styled};

mod escape;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const CAREFUL: Style = AnsiColor::Yellow.on_default();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const STRONG: Style = Style::new().bold();

/// Returns a text in a style, for [`shown`].
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{}{text}{}", styled(&style.to_string()), styled(&format!("{style:#}")))
}

/// The output streams of a command.
pub(crate) struct Terminal {
    stdout: Stdout,
    stderr: Stderr,
    /// True if standard error is a terminal, so that progress may be animated.
    pub(crate) is_watched: bool,
    pub(crate) stdout_color: bool,
    pub(crate) stderr_color: bool,
}

impl Terminal {
    pub(crate) fn new(environment: &Environment, when: ColorWhen) -> Self {
        Self {
            stdout_color: environment.wants_color(when, io::stdout().is_terminal()),
            stderr_color: environment.wants_color(when, io::stderr().is_terminal()),
            is_watched: io::stderr().is_terminal(),
            stdout: io::stdout(),
            stderr: io::stderr(),
        }
    }

    /// Writes the data of a command, and ends its last line.
    pub(crate) fn data(&mut self, text: &str) -> io::Result<()> {
        let text = shown(text, self.stdout_color);
        write_whole(&mut self.stdout, &text)
    }

    /// Writes the content of a file: byte for byte, except to a terminal.
    pub(crate) fn file(&mut self, content: &str) -> io::Result<()> {
        if self.stdout.is_terminal() {
            return self.data(content);
        }
        write_whole(&mut self.stdout, content)
    }

    /// Writes a question; the answer follows on the same line.
    pub(crate) fn ask(&mut self, question: &str) {
        let text = shown(question, self.stderr_color);
        let _unread = write!(self.stderr, "{text}").and_then(|()| self.stderr.flush());
    }

    /// Writes a message; ignores a closed standard error.
    pub(crate) fn say(&mut self, line: impl Display) {
        let text = shown(&line.to_string(), self.stderr_color);
        let _unread = writeln!(self.stderr, "{text}");
    }
}

fn write_whole(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stream.write_all(b"\n")?;
    }
    stream.flush()
}
