//! Rows of the event log, summaries, start keys, feeds and the catalog.

use noetl_model::{
    CatalogId, CommandId, Digest, EventId, ExecutionId, ForkPoint, ItemCounts, Parent, PlaybookRef,
    Recorded, Seq, StepCounts, StepName, Summary,
};

use super::Columns;
use crate::{
    CatalogEntry, FailedStanding, FeedCursor, FeedDelivery, FeedItem, FeedPage, FeedPlace, KeptKey,
    KeyHolder, KeyName, LogEnd, NamedFeed, OwnEvents, PageSpace, ReplayMark, SavedReplay, Snapshot,
    StoreError,
};

/// Converts a row to an event of an execution.
pub fn recorded(execution: ExecutionId, row: &impl Columns) -> Result<Recorded, StoreError> {
    let seq = Seq(row.number("seq")?);
    Ok(Recorded {
        seq,
        event_id: EventId(row.integer("event_id")?),
        at: row.instant("created_at")?,
        event: row.json("body", || format!("event {seq} of execution {execution}"))?,
        prev: row.maybe_digest("prev_digest")?,
    })
}

/// Converts a row to the end of an execution's log.
pub fn log_end(row: &impl Columns) -> Result<(ExecutionId, LogEnd), StoreError> {
    let end = LogEnd {
        seq: Seq(row.number("seq")?),
        at: row.instant("last_event_at")?,
        head: row.maybe_digest("head_digest")?,
    };
    Ok((ExecutionId(row.integer("execution_id")?), end))
}

/// Converts a row to a fork point whose event is stored, with the digest of that event.
pub fn fork_origin(row: &impl Columns) -> Result<(ForkPoint, Option<Digest>), StoreError> {
    let execution = ExecutionId(row.integer("fork_execution_id")?);
    let seq = Seq(row.number("fork_seq")?);
    Ok((ForkPoint { execution, seq }, row.maybe_digest("digest")?))
}

/// Converts a row to a start key.
pub fn kept_key(row: &impl Columns) -> Result<(KeyName, KeptKey), StoreError> {
    let holder = KeyHolder {
        execution: ExecutionId(row.integer("execution_id")?),
        request: row.maybe_digest("request")?,
    };
    let kept = KeptKey { holder, until: row.instant("kept_until")? };
    Ok(((row.string("scope")?, row.string("name")?), kept))
}

pub fn summary(row: &impl Columns) -> Result<Summary, StoreError> {
    let execution = ExecutionId(row.integer("execution_id")?);
    let what = || format!("the summary of execution {execution}");
    Ok(Summary {
        execution,
        playbook: PlaybookRef {
            catalog_id: CatalogId(row.integer("catalog_id")?),
            path: row.string("path")?,
            version: row.number("version")?,
        },
        status: row.word("status", what)?,
        seq: Seq(row.number("seq")?),
        started_at: row.instant("started_at")?,
        ended_at: row.maybe_instant("ended_at")?,
        parent: parent(row)?,
        current_step: row.maybe_text("current_step")?.map(StepName::new),
        steps: StepCounts {
            total: row.number("steps_total")?,
            running: row.number("steps_running")?,
            completed: row.number("steps_completed")?,
            failed: row.number("steps_failed")?,
        },
        items: ItemCounts {
            total: row.number("items_total")?,
            completed: row.number("items_completed")?,
            failed: row.number("items_failed")?,
        },
        error: row.maybe_json("error", what)?,
        head: row.maybe_digest("head_digest")?,
        fork: fork(row)?,
        labels: row.maybe_json("labels", what)?.unwrap_or_default(),
        actor: match row.maybe_text("actor")? {
            Some(_) => Some(row.word("actor", what)?),
            None => None,
        },
    })
}

fn parent(row: &impl Columns) -> Result<Option<Parent>, StoreError> {
    let command = row.maybe_number("parent_command_id")?.map(CommandId);
    let execution = row.maybe_integer("parent_execution_id")?.map(ExecutionId);
    Ok(execution.map(|execution| Parent::of(execution, command)))
}

fn fork(row: &impl Columns) -> Result<Option<ForkPoint>, StoreError> {
    let execution = row.maybe_integer("fork_execution_id")?.map(ExecutionId);
    let seq = row.maybe_number("fork_seq")?.map(Seq);
    Ok(execution.zip(seq).map(|(execution, seq)| ForkPoint { execution, seq }))
}

/// The rows of a page of an execution's own log.
#[derive(Debug)]
pub struct LogRows {
    execution: ExecutionId,
    own: OwnEvents,
    room: PageSpace,
}

impl LogRows {
    pub fn new(execution: ExecutionId) -> Self {
        Self { execution, own: OwnEvents::default(), room: PageSpace::default() }
    }

    /// Adds a row: an event, or a fork point, which has no body. Returns false if the page is full.
    pub fn add(&mut self, row: &impl Columns) -> Result<bool, StoreError> {
        let Some(body) = row.maybe_text("body")? else {
            let execution = ExecutionId(row.integer("event_id")?);
            self.own.shared = Some(ForkPoint { execution, seq: Seq(row.number("seq")?) });
            return Ok(true);
        };
        self.own.events.push(recorded(self.execution, row)?);
        self.own.is_cut = !self.room.take(body.len());
        Ok(!self.own.is_cut)
    }

    pub fn into_events(self) -> OwnEvents {
        self.own
    }
}

/// The rows of a page of one database's feed.
#[derive(Debug)]
pub struct FeedRows {
    page: FeedPage,
    room: PageSpace,
}

impl FeedRows {
    pub fn new(after: &FeedCursor) -> Self {
        let page = FeedPage { items: Vec::new(), next: after.clone() };
        Self { page, room: PageSpace::default() }
    }

    /// Adds a row: a place, with its event unless the event has expired. Returns false if the page
    /// is full.
    pub fn add(&mut self, row: &impl Columns) -> Result<bool, StoreError> {
        let cursor = feed_cursor(row)?;
        self.page.next = cursor.clone();
        if let (Some(_), Some(path)) = (row.maybe_integer("event_id")?, row.maybe_string("path")?) {
            let execution = ExecutionId(row.integer("execution_id")?);
            let recorded = recorded(execution, row)?;
            self.page.items.push(FeedItem { execution, path, recorded, cursor });
        }
        Ok(self.room.take(row.maybe_text("body")?.map_or(0, str::len)))
    }

    pub fn into_page(self) -> FeedPage {
        self.page
    }
}

/// Converts a row to a place in the feed of one database.
pub fn feed_cursor(row: &impl Columns) -> Result<FeedCursor, StoreError> {
    let place = FeedPlace { batch: row.integer("position")?, index: row.integer("index")? };
    Ok(FeedCursor::default().at(0, place))
}

pub fn snapshot(row: &impl Columns) -> Result<Snapshot, StoreError> {
    Ok(Snapshot {
        seq: Seq(row.number("seq")?),
        shape: row.number("shape")?,
        body: row.bytes("body")?.to_vec(),
    })
}

pub fn saved_replay(row: &impl Columns) -> Result<SavedReplay, StoreError> {
    Ok(SavedReplay {
        seq: Seq(row.number("seq")?),
        last_id: EventId(row.integer("last_event_id")?),
        last_at: row.instant("last_event_at")?,
        shape: row.number("shape")?,
        body: row.bytes("body")?.to_vec(),
    })
}

pub fn replay_mark(row: &impl Columns) -> Result<ReplayMark, StoreError> {
    Ok(ReplayMark {
        projection: row.string("projection")?,
        seq: Seq(row.number("seq")?),
        shape: row.number("shape")?,
    })
}

pub fn named_feed(row: &impl Columns) -> Result<NamedFeed, StoreError> {
    let name = row.string("name")?;
    let what = || format!("feed {name}");
    Ok(NamedFeed {
        filter: row.json("filter", what)?,
        cursor: row.word("cursor", what)?,
        created_at: row.instant("created_at")?,
        moved_at: row.instant("moved_at")?,
        delivery: match row.number("failures")? {
            0 => FeedDelivery::Working,
            failures => FeedDelivery::Failed {
                failures,
                reason: row.string("failure")?,
                standing: FailedStanding::of(row.maybe_instant("retry_at")?),
            },
        },
        name,
    })
}

pub fn catalog_entry(row: &impl Columns) -> Result<CatalogEntry, StoreError> {
    Ok(CatalogEntry {
        catalog_id: CatalogId(row.integer("catalog_id")?),
        path: row.string("path")?,
        version: row.number("version")?,
        kind: row.string("kind")?,
        content: row.string("content")?,
        created_at: row.instant("created_at")?,
        archived_at: row.maybe_instant("archived_at")?,
    })
}
