//! Errors of a store.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

/// A failed store call. The requested change may or may not have happened, unless the variant says
/// otherwise.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store cannot be reached or is busy; a retry may work.
    #[error("the store is unavailable")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// The store did not answer within the deadline of the call; a retry may work.
    #[error("the store did not answer within {} s", deadline.as_secs_f32())]
    TimedOut { deadline: Duration },
    /// A part of the store accepts no connections; a retry may work once it does.
    #[error("{part} is out of reach")]
    OutOfReach { part: String },
    /// The store answers but cannot write; a retry works once the operator has removed the cause.
    #[error("{place} cannot be written: {fault}")]
    Unwritable {
        /// The name of the part that cannot be written, in words that clients may read.
        place: String,
        fault: WriteFault,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A stored row is damaged or was written by another program.
    #[error("stored data cannot be read: {what}")]
    Corrupt {
        what: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// The reason a store cannot write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFault {
    /// No space left, quota exceeded, or a file at its maximum size.
    Full,
    /// A read-only file system or database, or missing permission.
    ReadOnly,
    /// The disk reports I/O errors.
    Failing,
}

impl WriteFault {
    /// Classifies an I/O error; `None` if it is not a disk fault.
    pub fn of_io(error: &io::Error) -> Option<Self> {
        /// The error number of a failing device.
        const EIO: i32 = 5;
        match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Some(WriteFault::Full),
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Some(WriteFault::ReadOnly)
            }
            _ => (error.raw_os_error() == Some(EIO)).then_some(WriteFault::Failing),
        }
    }
}

impl fmt::Display for WriteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WriteFault::Full => "the disk is full",
            WriteFault::ReadOnly => "it is read-only",
            WriteFault::Failing => "the disk reports errors",
        })
    }
}

impl StoreError {
    /// True if the same call may succeed when it is repeated within seconds, without an operator.
    pub fn is_transient(&self) -> bool {
        match self {
            StoreError::Unavailable(_)
            | StoreError::TimedOut { .. }
            | StoreError::OutOfReach { .. } => true,
            StoreError::Unwritable { .. } | StoreError::Corrupt { .. } => false,
        }
    }

    /// Returns the error with `place` set to a named part of the store.
    #[must_use]
    pub fn of_part(self, part: &str) -> Self {
        match self {
            StoreError::Unwritable { fault, source, .. } => {
                StoreError::Unwritable { place: part.to_owned(), fault, source }
            }
            error @ (StoreError::Unavailable(_)
            | StoreError::TimedOut { .. }
            | StoreError::OutOfReach { .. }
            | StoreError::Corrupt { .. }) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_errors_are_recognised() {
        let fault = |code| WriteFault::of_io(&io::Error::from_raw_os_error(code));
        let (enospc, edquot, efbig, erofs, eacces, eio, econnreset) = (28, 122, 27, 30, 13, 5, 104);
        assert_eq!(fault(enospc), Some(WriteFault::Full));
        assert_eq!(fault(edquot), Some(WriteFault::Full));
        assert_eq!(fault(efbig), Some(WriteFault::Full));
        assert_eq!(fault(erofs), Some(WriteFault::ReadOnly));
        assert_eq!(fault(eacces), Some(WriteFault::ReadOnly));
        assert_eq!(fault(eio), Some(WriteFault::Failing));
        assert_eq!(fault(econnreset), None);
    }

    #[test]
    fn the_text_names_place_and_fault() {
        let source = "could not extend file".into();
        let place = "the database".to_owned();
        let full = StoreError::Unwritable { place, fault: WriteFault::Full, source };
        assert_eq!(full.to_string(), "the database cannot be written: the disk is full");
        let full = full.of_part("shard 3");
        assert_eq!(full.to_string(), "shard 3 cannot be written: the disk is full");
        let late = StoreError::TimedOut { deadline: Duration::from_millis(2500) };
        assert_eq!(late.to_string(), "the store did not answer within 2.5 s");
    }
}
