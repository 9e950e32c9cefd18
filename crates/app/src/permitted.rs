//! Operations for callers who are permitted some paths of playbooks only.
//!
//! Invariant: an object outside the permitted paths gets the answer of one that does not exist, and
//! takes the same lookup.

use noetl_api::wire::ExecuteRequest;
use noetl_control::{Admission, LoadError, PlaybookChoice, StartError};
use noetl_model::{ExecutionId, PermittedPaths};

use crate::app::App;
use crate::catalog::{EntryChoice, version_of};
use crate::start::{ExecuteError, StartOptions, StartedExecution};

impl App {
    /// Fails as for an unknown execution if the path of its playbook is not permitted.
    pub async fn check_execution(
        &self,
        execution: ExecutionId,
        paths: &PermittedPaths,
    ) -> Result<(), LoadError> {
        if *paths == PermittedPaths::All {
            return Ok(());
        }
        let known = self.known_execution(execution).await?;
        match paths.include(&known.summary.playbook.path) {
            true => Ok(()),
            false => Err(LoadError::NotFound(execution)),
        }
    }

    /// Starts an execution of a playbook whose path is permitted.
    ///
    /// A restricted caller names a playbook by its whole path or its catalog id: the search for a
    /// name would look at other paths.
    pub async fn execute_within(
        &self,
        request: ExecuteRequest,
        options: StartOptions<'_>,
        paths: &PermittedPaths,
    ) -> Result<StartedExecution, ExecuteError> {
        if *paths == PermittedPaths::All {
            return self.execute(request, options).await;
        }
        if let Some(parent) = request.parent_execution_id {
            self.check_execution(parent.into(), paths).await?;
        }
        let (choice, chosen) = match (request.catalog_id, request.path.clone()) {
            (Some(id), _) => (PlaybookChoice::Id(id.into()), EntryChoice::Id(id.into())),
            (None, Some(path)) => {
                let version = version_of(request.version.as_ref())?;
                let choice = PlaybookChoice::Path { path: path.clone(), version };
                (choice, EntryChoice::Path { path, version })
            }
            (None, None) => return Err(ExecuteError::NoPlaybook),
        };
        let found = self.find_entry(&chosen).await?;
        if !found.is_some_and(|entry| paths.include(&entry.path)) {
            return Err(StartError::UnknownPlaybook(choice.to_string()).into());
        }
        let started = self.execute_admitted(request, options, paths, Admission::Request).await;
        // The execution of an earlier request with the same key may have another path.
        match started {
            Ok(StartedExecution { execution, .. }) | Err(ExecuteError::KeyReused(execution)) => {
                match self.check_execution(execution, paths).await {
                    Err(LoadError::NotFound(_)) => Err(ExecuteError::KeyTaken),
                    Err(error) => Err(error.into()),
                    Ok(()) => started,
                }
            }
            Err(error) => Err(error),
        }
    }
}
