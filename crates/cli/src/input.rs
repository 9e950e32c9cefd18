//! Input of a command: playbook files, workload values, suggestions for misspelt names.

pub(crate) mod called_playbooks;
pub(crate) mod candidates;
pub(crate) mod code_syntax;
pub(crate) mod declared_inputs;
pub(crate) mod file_watch;
pub(crate) mod files;
pub(crate) mod nearest;
pub(crate) mod silence;
pub(crate) mod workload;
