//! A clock that is wrong, for one program, by libfaketime.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The places where Debian installs the library.
const LIBRARIES: &str = "/usr/lib";
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// The time of day that a program sees; its monotonic clock stays right.
#[derive(Debug, Clone)]
pub struct WrongClock {
    library: PathBuf,
    /// The file with the time, which the library reads with every look at the clock.
    file: PathBuf,
}

impl WrongClock {
    /// Makes a clock that is right until it is set. Returns the reason if the library is missing.
    pub fn new(directory: &Path, name: &str) -> Result<Self, String> {
        let entries = fs::read_dir(LIBRARIES).map_err(|error| format!("{LIBRARIES}: {error}"))?;
        let library = entries
            .flatten()
            .map(|entry| entry.path().join(LIBRARY))
            .find(|library| library.exists())
            .ok_or_else(|| format!("{LIBRARY} is not installed"))?;
        let clock = Self { library, file: directory.join(format!("{name}.clock")) };
        clock.set_offset(0);
        Ok(clock)
    }

    /// Gives a program this clock.
    pub fn give(&self, command: &mut Command) {
        command.envs(self.variables());
    }

    /// Returns the environment of a program that has this clock.
    pub fn variables(&self) -> [(&'static str, String); 6] {
        [
            ("LD_PRELOAD", self.library.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DISABLE_SHM", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }

    /// Sets the clock to the right time plus some seconds.
    pub fn set_offset(&self, seconds: i64) {
        self.write(&format!("{seconds:+}\n"));
    }

    /// Lets the clock stand still at a time such as `2026-01-31 12:00:00`, in UTC.
    pub fn stand_still(&self, at: &str) {
        self.write(&format!("{at}\n"));
    }

    fn write(&self, text: &str) {
        let new = self.file.with_extension("new");
        fs::write(&new, text).expect("the directory is the test's");
        fs::rename(&new, &self.file).expect("the directory is the test's");
    }
}
