//! The initiator of an execution: a request, a schedule, a message, or another execution.

use futures::future::try_join_all;
use noetl_control::LoadError;
use noetl_model::{
    Event, ExecutionId, ForkPoint, LogOrigin, Origin, Parent, Seq, Summary, Timestamp,
};

use super::KnownExecution;
use crate::app::App;

/// The initiator of an execution, as far as its log names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Initiator {
    /// A request of a person or a program.
    Request,
    /// A step of another execution, or a request in its name.
    Parent(ExecutionId),
    /// A message of a subscription.
    Subscription {
        id: ExecutionId,
        path: String,
    },
    Schedule {
        path: String,
        instant: Timestamp,
    },
    /// A request to run another execution again from its start.
    Rerun(ExecutionId),
    /// A retry or a fork of another execution from a position.
    Fork(ForkPoint),
    /// Another program, whose events were imported.
    OtherProgram,
}

impl App {
    /// Returns the initiators of executions, in their order.
    pub async fn initiators(
        &self,
        executions: &[KnownExecution],
    ) -> Result<Vec<Initiator>, LoadError> {
        try_join_all(executions.iter().map(|known| self.initiator(known))).await
    }

    pub async fn initiator(&self, known: &KnownExecution) -> Result<Initiator, LoadError> {
        let summary = &known.summary;
        match known.origin {
            LogOrigin::Imported => return Ok(Initiator::OtherProgram),
            LogOrigin::Subscription => return Ok(Initiator::Request),
            LogOrigin::Native => {}
        }
        match (summary.fork, summary.parent) {
            (Some(point), _) => Ok(Initiator::Fork(point)),
            (None, Some(Parent::Command(parent))) => Ok(Initiator::Parent(parent.execution)),
            (None, Some(Parent::Named { execution })) => self.named_parent(execution).await,
            (None, None) => self.recorded_initiator(summary).await,
        }
    }

    /// Tells the two kinds of parents that requests name apart: subscriptions and executions.
    async fn named_parent(&self, id: ExecutionId) -> Result<Initiator, LoadError> {
        let found = self.store().subscription(id).await;
        let found = found.map_err(|error| LoadError::of_store(id, error))?;
        Ok(match found {
            Some(row) => Initiator::Subscription { id, path: row.path },
            None => Initiator::Parent(id),
        })
    }

    /// Reads the initiator of an execution without a parent from its first event.
    async fn recorded_initiator(&self, summary: &Summary) -> Result<Initiator, LoadError> {
        let first = self.events(summary.execution, Seq::ZERO, 1).await?;
        let Some(Event::ExecutionStarted { origin, .. }) =
            first.into_iter().next().map(|it| it.event)
        else {
            return Ok(Initiator::Request);
        };
        Ok(match origin {
            Origin::Request => Initiator::Request,
            Origin::Schedule { path, instant } => Initiator::Schedule { path, instant },
            Origin::Rerun { execution } => Initiator::Rerun(execution),
            Origin::Parent { execution, .. } | Origin::Linked { execution, .. } => {
                Initiator::Parent(execution)
            }
        })
    }
}
