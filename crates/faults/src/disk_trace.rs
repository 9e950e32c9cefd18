//! Every change and flush of the files below a directory, recorded by strace.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::strace::{SystemCall, bytes_of, path_of, system_calls};

/// The calls that change files or flush them.
const CALLS: &str = "openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,\
    fallocate,copy_file_range,sendfile,fsync,fdatasync,sync_file_range,rename,renameat,renameat2,\
    link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir";

/// A change of a file or directory, with paths relative to the recorded directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskChange {
    /// The file exists from here on, empty if it is new.
    Create {
        path: String,
        is_emptied: bool,
    },
    /// Bytes at an offset; `None` means the end of the file.
    Write {
        path: String,
        offset: Option<usize>,
        bytes: Vec<u8>,
    },
    SetLen {
        path: String,
        len: usize,
    },
    /// Everything written to the file, or every entry of the directory, is on the disk.
    Flush {
        path: String,
    },
    Rename {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
    MakeDirectory {
        path: String,
    },
}

/// A change, and when it began and ended. Two changes overlap if neither ends before the other
/// begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskOp {
    pub change: DiskChange,
    pub begun: usize,
    pub ended: usize,
}

/// The changes of a program, in the order in which they began.
#[derive(Debug, Clone)]
pub struct DiskTrace {
    pub ops: Vec<DiskOp>,
}

impl DiskTrace {
    /// Runs a program to its end and records its changes below a directory. Returns the reason if
    /// programs cannot be traced here.
    ///
    /// # Panics
    ///
    /// If the program fails, or makes a change that is not understood.
    pub fn record(program: &Command, directory: &Path) -> Result<Self, String> {
        let output = directory.with_extension("strace");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-y", "-xx", "-s", "4194304", "-e"]).arg(format!("trace={CALLS}"));
        strace.arg("-o").arg(&output).arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => strace.env(name, value),
                None => strace.env_remove(name),
            };
        }
        if let Some(directory) = program.get_current_dir() {
            strace.current_dir(directory);
        }
        let ended = strace.output().map_err(|error| format!("strace does not run: {error}"))?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        if said.contains("PTRACE_TRACEME") || said.contains("ptrace(") {
            return Err(said);
        }
        let printed = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "the recorded program failed: {said}\n{printed}");
        let text = std::fs::read_to_string(&output).expect("strace writes its file");
        Ok(Self::parse(&text, directory))
    }

    /// Reads the changes below a directory from the output of strace.
    fn parse(text: &str, directory: &Path) -> Self {
        let below = Below(directory.to_owned());
        Self { ops: system_calls(text).iter().flat_map(|call| below.ops(call)).collect() }
    }

    /// Returns the trace without the flushes of the files for which `is_lost` returns true, as if
    /// the program had not made them.
    #[must_use]
    pub fn without_flushes(&self, is_lost: impl Fn(&str) -> bool) -> Self {
        let is_kept =
            |op: &&DiskOp| !matches!(&op.change, DiskChange::Flush { path } if is_lost(path));
        Self { ops: self.ops.iter().filter(is_kept).cloned().collect() }
    }
}

/// The recorded directory.
struct Below(PathBuf);

impl Below {
    /// Returns a path relative to the directory; `None` if it is not below it. Memory shared by
    /// the processes of a database is no file that survives.
    fn relative(&self, arg: &str) -> Option<String> {
        let path = path_of(arg)?;
        let path = path.strip_suffix(" (deleted)").unwrap_or(&path);
        let path = Path::new(path).strip_prefix(&self.0).ok()?.to_str()?.to_owned();
        (!path.ends_with("-shm")).then_some(path)
    }

    fn ops(&self, call: &SystemCall) -> Vec<DiskOp> {
        if call.result < 0 {
            return Vec::new();
        }
        let op = |change| DiskOp { change, begun: call.begun, ended: call.ended };
        self.changes(call).into_iter().map(op).collect()
    }

    fn changes(&self, call: &SystemCall) -> Option<DiskChange> {
        let arg = |index: usize| call.args.get(index).map(String::as_str).unwrap_or_default();
        let number = |index: usize| arg(index).parse::<usize>().ok();
        let written = || usize::try_from(call.result).expect("it is not negative");
        let first = || self.relative(arg(0));
        Some(match call.name.as_str() {
            "openat" if arg(2).contains("O_CREAT") => {
                let path = self.relative(arg(1))?;
                DiskChange::Create { path, is_emptied: arg(2).contains("O_TRUNC") }
            }
            "openat" => return None,
            "write" | "pwrite64" => {
                let path = first()?;
                let mut bytes = bytes_of(arg(1)).expect("strace prints every byte");
                bytes.truncate(written());
                DiskChange::Write { path, offset: number(3), bytes }
            }
            "ftruncate" => DiskChange::SetLen { path: first()?, len: number(1).expect("a length") },
            "fsync" | "fdatasync" => DiskChange::Flush { path: first()? },
            "rename" => DiskChange::Rename { from: first()?, to: self.relative(arg(1))? },
            "renameat" | "renameat2" => {
                DiskChange::Rename { from: self.relative(arg(1))?, to: self.relative(arg(3))? }
            }
            "unlink" => DiskChange::Remove { path: first()? },
            "unlinkat" => DiskChange::Remove { path: self.relative(arg(1))? },
            "mkdir" => DiskChange::MakeDirectory { path: first()? },
            "mkdirat" => DiskChange::MakeDirectory { path: self.relative(arg(1))? },
            name => {
                let is_ours = call.args.iter().any(|arg| self.relative(arg).is_some());
                assert!(!is_ours, "a call that is not understood: {name} {:?}", call.args);
                return None;
            }
        })
    }
}
