//! The size limit of one page of events, in bytes.

use std::io::{self, Write};

use serde::Serialize;

/// A page of events ends with the event that brings its bodies to this many bytes, so that reading
/// a log with large events takes bounded memory.
pub const READ_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The space that is left in a page of events.
#[derive(Debug)]
pub struct PageSpace {
    left: usize,
}

impl Default for PageSpace {
    fn default() -> Self {
        Self { left: READ_BYTES_MAX }
    }
}

impl PageSpace {
    /// Subtracts the length of a body. Returns true if there is space for another event.
    #[must_use]
    pub fn take(&mut self, len: usize) -> bool {
        self.left = self.left.saturating_sub(len);
        self.left > 0
    }
}

/// Returns the length of a value's JSON.
pub fn json_len(value: &impl Serialize) -> usize {
    let mut counted = Counted(0);
    serde_json::to_writer(&mut counted, value).expect("counting does not fail");
    counted.0
}

struct Counted(usize);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
