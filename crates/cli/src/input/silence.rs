//! A terminal that does not show what is typed, for secrets.

use std::io;

/// Standard input without echo, until this is dropped.
pub(crate) struct Silence {
    #[cfg(unix)]
    before: rustix::termios::Termios,
}

impl Silence {
    #[cfg(unix)]
    pub(crate) fn begin() -> io::Result<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self { before })
    }

    /// Fails: the answer would be shown.
    #[cfg(not(unix))]
    pub(crate) fn begin() -> io::Result<Self> {
        let reason = "a secret cannot be typed here unseen; give it with --payload @FILE";
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }
}

#[cfg(unix)]
impl Drop for Silence {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // A terminal that is gone shows nothing.
        let _gone = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}
