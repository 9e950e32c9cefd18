//! Execution summaries, and the search for stalled executions.

use noetl_model::{CommandId, ExecutionId, ExecutionStatus, SearchText, Summary, Timestamp};

use super::{SqlArgument, SqlDatabase, all_of, count_of, first_of};
use crate::from_row::{self, Columns as _};
use crate::to_row::{at_most, to_json};
use crate::{
    ExecutionFilter, HistogramBar, HistogramSpan, Lookup, PAGE_MAX, Page, PathFilter, StoreError,
    merged_bars,
};

pub async fn summary<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
) -> Result<Option<Summary>, StoreError> {
    let statement = &database.sql().find_summary;
    first_of(database, statement, &[execution.into()], from_row::summary).await
}

pub async fn list<D: SqlDatabase>(
    database: &D,
    filter: &ExecutionFilter,
    page: Page,
) -> Result<Vec<Summary>, StoreError> {
    if filter.wanted_labels().is_none() {
        return Ok(Vec::new());
    }
    let sql = database.sql();
    let statement = match filter.lookup() {
        Lookup::All => &sql.list_executions,
        Lookup::Status => &sql.list_executions_by_status,
        Lookup::Part => &sql.list_executions_by_part,
        Lookup::Path => &sql.list_executions_by_path,
        Lookup::Catalog => &sql.list_executions_by_catalog,
        Lookup::Parent => &sql.list_executions_by_parent,
        Lookup::Property => &sql.list_executions_by_property,
        Lookup::Text => &sql.list_executions_by_text,
    };
    let mut arguments: Vec<SqlArgument<'_>> = list_arguments(filter, page);
    arguments.extend(property_arguments(filter));
    all_of(database, statement, &arguments, from_row::summary).await
}

/// Returns the arguments of the statement that lists executions, or imported ones, by the index of
/// a filter.
pub(super) fn list_arguments(filter: &ExecutionFilter, page: Page) -> Vec<SqlArgument<'static>> {
    let before = SqlArgument::from(page.before.map_or(i64::MAX, |before| before.0));
    let limit = SqlArgument::from(at_most(page.limit, PAGE_MAX));
    let status = filter.status.map(ExecutionStatus::as_str);
    let path = || SqlArgument::from(filter.path.as_ref().map(PathFilter::folded));
    let whole = || {
        let whole = filter.path.as_ref().and_then(PathFilter::whole);
        SqlArgument::from(whole.map(str::to_owned))
    };
    let statuses = || SqlArgument::texts(filter.statuses().iter().map(|status| status.as_str()));
    let (catalog_id, parent) = (filter.catalog_id.into(), filter.parent.into());
    match filter.lookup() {
        Lookup::All => vec![before, limit],
        Lookup::Status => vec![before, limit, status.into()],
        Lookup::Part => vec![before, path(), limit, statuses()],
        Lookup::Path => vec![before, path(), limit, statuses(), whole()],
        Lookup::Catalog => vec![before, path(), limit, statuses(), whole(), catalog_id],
        Lookup::Parent | Lookup::Property | Lookup::Text => {
            vec![before, path(), limit, statuses(), whole(), catalog_id, parent]
        }
    }
}

/// Returns the arguments for labels and actor, of the statements that have them: the wanted labels as
/// a JSON object, the actor and, for the property that leads the search, its kind and key, or the words
/// that lead it.
fn property_arguments(filter: &ExecutionFilter) -> Vec<SqlArgument<'_>> {
    let labels = filter.wanted_labels().filter(|labels| !labels.is_empty());
    let labels = SqlArgument::from(labels.map(|labels| to_json(&labels)));
    let actor = SqlArgument::from(filter.actor.as_ref().map(ToString::to_string));
    match (filter.lookup(), filter.property()) {
        (Lookup::Property, Some((kind, key))) => {
            vec![labels, actor, kind.as_str().into(), key.into()]
        }
        (Lookup::Parent, _) => vec![labels, actor],
        (Lookup::Text, _) => {
            let words = filter.text.as_ref().map_or(&[][..], SearchText::words);
            vec![labels, actor, SqlArgument::texts(words.iter().map(String::as_str))]
        }
        (
            Lookup::Property
            | Lookup::Catalog
            | Lookup::Path
            | Lookup::Part
            | Lookup::Status
            | Lookup::All,
            _,
        ) => Vec::new(),
    }
}

pub async fn count<D: SqlDatabase>(
    database: &D,
    status: ExecutionStatus,
    max: u64,
) -> Result<u64, StoreError> {
    let arguments = [status.as_str().into(), max.into()];
    count_of(database, &database.sql().count_executions, &arguments).await
}

pub async fn histogram<D: SqlDatabase>(
    database: &D,
    filter: &ExecutionFilter,
    span: &HistogramSpan,
    count_max: u64,
) -> Result<Vec<HistogramBar>, StoreError> {
    if filter.wanted_labels().is_none() {
        return Ok(Vec::new());
    }
    let sql = database.sql();
    let (statement, filters) = match filter.lookup() {
        Lookup::All | Lookup::Status => (&sql.count_by_time, 0),
        Lookup::Part => (&sql.count_by_time_of_part, 1),
        Lookup::Path => (&sql.count_by_time_of_path, 2),
        Lookup::Catalog => (&sql.count_by_time_of_catalog, 3),
        Lookup::Parent => (&sql.count_by_time_of_parent, 4),
        Lookup::Property => (&sql.count_by_time_of_property, 4),
        Lookup::Text => (&sql.count_by_time_of_text, 4),
    };
    let HistogramSpan { from, until, origin, width, buckets } = *span;
    let statuses = filter.statuses();
    let mut arguments: Vec<SqlArgument<'_>> = vec![
        from.into(),
        until.into(),
        origin.into(),
        width.into(),
        buckets.into(),
        count_max.into(),
        SqlArgument::texts(statuses.iter().map(|status| status.as_str())),
    ];
    let of_filter: [SqlArgument<'_>; 4] = [
        filter.path.as_ref().map(PathFilter::folded).into(),
        filter.path.as_ref().and_then(PathFilter::whole).into(),
        filter.catalog_id.into(),
        filter.parent.into(),
    ];
    arguments.extend(of_filter.into_iter().take(filters));
    arguments.extend(property_arguments(filter));
    let bars = all_of(database, statement, &arguments, |row| {
        Ok(HistogramBar {
            bucket: row.number("bucket")?,
            status: row.word("status", || "a bar of a histogram".to_owned())?,
            count: row.number("count")?,
        })
    });
    Ok(merged_bars(vec![bars.await?], count_max))
}

pub async fn stalled<D: SqlDatabase>(
    database: &D,
    before: Timestamp,
    limit: usize,
) -> Result<Vec<ExecutionId>, StoreError> {
    let stalled = stalled_with_times(database, before, limit).await?;
    Ok(stalled.into_iter().map(|(_, execution)| execution).collect())
}

/// Returns the stalled executions, each with the time of its last event.
pub async fn stalled_with_times<D: SqlDatabase>(
    database: &D,
    before: Timestamp,
    limit: usize,
) -> Result<Vec<(Timestamp, ExecutionId)>, StoreError> {
    let arguments = [before.into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().stalled_executions, &arguments, |row| {
        Ok((row.instant("last_event_at")?, ExecutionId(row.integer("execution_id")?)))
    })
    .await
}

pub async fn child_of<D: SqlDatabase>(
    database: &D,
    parent: ExecutionId,
    command: CommandId,
) -> Result<Option<ExecutionId>, StoreError> {
    let arguments = [parent.into(), command.into()];
    first_of(database, &database.sql().find_child, &arguments, |row| {
        Ok(ExecutionId(row.integer("execution_id")?))
    })
    .await
}
