//! Store wrappers: types that pass every call to another store, and do something around it.

use async_trait::async_trait;

use crate::signature::*;
use crate::{
    AuditTrail, BulkJobs, Catalog, EventLog, Executions, Feeds, Layout, Outbox, Pauses, Records,
    Retention, Secrets, SentSignals, SlotLimits, StepLogs, Tokens, Triggers, WorkQueue, each_port,
};

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// A deletion of many rows, which takes longer than other calls.
    Maintenance,
}

/// A type that implements every port of its inner store by calls to that store.
pub trait Wrapper: Send + Sync {
    type Inner: Send + Sync;

    fn inner(&self) -> &Self::Inner;

    /// Makes a call to the inner store.
    fn call<T: Send>(
        &self,
        access: Access,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    fn append(
        &self,
        batch: &[Append],
    ) -> impl Future<Output = Result<Vec<Result<(), AppendError>>, StoreError>> + Send
    where
        Self::Inner: EventLog,
    {
        async move { self.call(Access::Write, self.inner().append(batch)).await }
    }

    fn save(
        &self,
        execution: ExecutionId,
        snapshot: &Snapshot,
    ) -> impl Future<Output = Result<(), StoreError>> + Send
    where
        Self::Inner: EventLog,
    {
        async move { self.call(Access::Write, self.inner().save(execution, snapshot)).await }
    }

    fn change_limit(
        &self,
        changes: &LimitChanges,
        rule: GrantRule,
    ) -> impl Future<Output = Result<LimitOutcome, StoreError>> + Send
    where
        Self::Inner: SlotLimits,
    {
        async move { self.call(Access::Write, self.inner().change_limit(changes, rule)).await }
    }

    fn pauses(
        &self,
        after: Option<&PauseRow>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<PauseRow>, StoreError>> + Send
    where
        Self::Inner: Pauses,
    {
        async move { self.call(Access::Read, self.inner().pauses(after, limit)).await }
    }

    fn assign_signal(
        &self,
        id: i64,
        target: SignalTarget,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send
    where
        Self::Inner: SentSignals,
    {
        async move { self.call(Access::Write, self.inner().assign_signal(id, target)).await }
    }

    fn settle_signal(
        &self,
        id: i64,
        target: SignalTarget,
        expires_at: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send
    where
        Self::Inner: SentSignals,
    {
        async move { self.call(Access::Write, self.inner().settle_signal(id, target, expires_at)).await }
    }

    fn clock(&self) -> Arc<dyn Clock>
    where
        Self::Inner: WorkQueue,
    {
        self.inner().clock()
    }

    fn time(&self) -> impl Future<Output = Result<Timestamp, StoreError>> + Send
    where
        Self::Inner: WorkQueue,
    {
        async move { self.call(Access::Read, self.inner().time()).await }
    }

    fn check_writable(&self) -> impl Future<Output = Result<(), StoreError>> + Send
    where
        Self::Inner: Layout,
    {
        async move { self.call(Access::Write, self.inner().check_writable()).await }
    }

    fn write_fault(&self) -> Option<String>
    where
        Self::Inner: Layout,
    {
        self.inner().write_fault()
    }
}

/// Forwards one call of a wrapper.
macro_rules! forwarded {
    (Hook, $wrapper:ident, $name:ident($($argument:ident),*)) => {
        Wrapper::$name($wrapper, $($argument),*)
    };
    (Inner, $wrapper:ident, $name:ident($($argument:ident),*)) => {
        $wrapper.inner().$name($($argument),*)
    };
    ($access:ident, $wrapper:ident, $name:ident($($argument:ident),*)) => {
        $wrapper.call(Access::$access, $wrapper.inner().$name($($argument),*))
    };
}

macro_rules! wrapped {
    (; $($port:ident {
        async {
            $($access:ident $place:ident $home:ident $name:ident($($argument:ident: $type:ty),*)
                -> $answer:ty;)*
        }
        sync {
            $($kind:ident $sync_name:ident($($sync_argument:ident: $sync_type:ty),*)
                -> $sync_answer:ty;)*
        }
    })*) => {$(
        #[async_trait]
        impl<W: Wrapper> $port for W
        where
            W::Inner: $port,
        {
            $(async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                forwarded!($access, self, $name($($argument),*)).await
            })*

            $(fn $sync_name(&self, $($sync_argument: $sync_type),*) -> $sync_answer {
                forwarded!($kind, self, $sync_name($($sync_argument),*))
            })*
        }
    )*};
}

each_port!(wrapped);
