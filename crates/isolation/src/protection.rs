//! The protections of a step's programs and their states.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A protection of the server and of other steps against the programs of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// Programs run as a user of their own.
    User,
    /// Programs have no capabilities, also if they run as root.
    Capabilities,
    /// Programs cannot gain privileges by set-user-id files.
    NoNewPrivileges,
    /// Programs see and reach only their own processes; all of them end with the step.
    ProcessNamespace,
    /// The files of the server are covered in the programs' view of the file system.
    MountNamespace,
    /// The kernel refuses access to the files of the server, and signals to and inspection of other
    /// processes.
    Landlock,
    /// The kernel refuses system calls that inspect other processes or change the system.
    Seccomp,
    /// Limits on processor time, memory, open files, processes and file size.
    Limits,
    /// Processes that a program leaves behind are killed with it.
    ProcessTree,
}

impl Protection {
    pub const ALL: [Protection; 9] = [
        Protection::User,
        Protection::Capabilities,
        Protection::NoNewPrivileges,
        Protection::ProcessNamespace,
        Protection::MountNamespace,
        Protection::Landlock,
        Protection::Seccomp,
        Protection::Limits,
        Protection::ProcessTree,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Protection::User => "user",
            Protection::Capabilities => "capabilities",
            Protection::NoNewPrivileges => "no_new_privileges",
            Protection::ProcessNamespace => "process_namespace",
            Protection::MountNamespace => "mount_namespace",
            Protection::Landlock => "landlock",
            Protection::Seccomp => "seccomp",
            Protection::Limits => "limits",
            Protection::ProcessTree => "process_tree",
        }
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The state of a protection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "reason")]
pub enum ProtectionState {
    Active,
    /// Not applied, with the reason.
    Inactive(String),
    /// Not needed here, with the reason; `required` does not ask for it.
    NotNeeded(String),
}

/// A protection with its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectionStatus {
    pub protection: Protection,
    #[serde(flatten)]
    pub state: ProtectionState,
}

/// The states of all protections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IsolationReport {
    pub protections: Vec<ProtectionStatus>,
}

impl IsolationReport {
    /// Returns a report with the same state for every protection.
    pub(crate) fn uniform(state: &ProtectionState) -> Self {
        let protections = Protection::ALL
            .map(|protection| ProtectionStatus { protection, state: state.clone() })
            .into();
        Self { protections }
    }

    pub(crate) fn set(&mut self, protection: Protection, state: ProtectionState) {
        match self.protections.iter_mut().find(|status| status.protection == protection) {
            Some(status) => status.state = state,
            None => self.protections.push(ProtectionStatus { protection, state }),
        }
    }

    pub fn state(&self, protection: Protection) -> Option<&ProtectionState> {
        let found = self.protections.iter().find(|status| status.protection == protection);
        found.map(|status| &status.state)
    }

    pub fn is_active(&self, protection: Protection) -> bool {
        self.state(protection) == Some(&ProtectionState::Active)
    }

    /// Returns the names of the active protections, separated by commas.
    pub fn active_text(&self) -> String {
        let active = self.protections.iter().filter(|it| it.state == ProtectionState::Active);
        active.map(|status| status.protection.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the protections that are not active, with the reasons.
    pub fn inactive(&self) -> impl Iterator<Item = (Protection, &str)> {
        self.protections.iter().filter_map(|status| match &status.state {
            ProtectionState::Active | ProtectionState::NotNeeded(_) => None,
            ProtectionState::Inactive(reason) => Some((status.protection, reason.as_str())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_active_and_inactive_protections() {
        let mut report = IsolationReport::uniform(&ProtectionState::Inactive("off".into()));
        report.set(Protection::Landlock, ProtectionState::Active);
        report.set(Protection::User, ProtectionState::NotNeeded("not root".into()));
        assert_eq!(report.active_text(), "landlock");
        assert!(report.is_active(Protection::Landlock));
        assert_eq!(report.inactive().count(), Protection::ALL.len() - 2);
    }
}
