//! Projected events, and the executions that are known only from them.

use std::collections::BTreeSet;

use noetl_model::{Envelope, ExecutionId, Timestamp};

use super::executions::list_arguments;
use super::{
    NamedStatement, SqlArgument, SqlColumn, SqlDatabase, SqlTransaction as _, TransactionKind,
    all_of, first_of,
};
use crate::from_row::Columns;
use crate::to_row::{at_most, to_json};
use crate::{
    EventSpan, ExecutionFilter, ImportFold, ImportedExecution, Lookup, PAGE_MAX, PROJECT_MAX, Page,
    ProjectedEvent, ProjectedOnto, StoreError,
};

pub async fn project<D: SqlDatabase>(
    database: &D,
    events: &[ProjectedEvent],
) -> Result<u64, StoreError> {
    let executions: BTreeSet<i64> = events.iter().filter_map(imported_id).collect();
    let executions: Vec<i64> = executions.into_iter().collect();
    let sql = database.sql();
    let kind = TransactionKind::Import { executions: &executions };
    let mut transaction = database.begin(kind).await?;
    let new = transaction.rows(&sql.project_events, &[event_rows(events)]).await?;
    let new: BTreeSet<i64> =
        new.iter().map(|row| row.integer("event_id")).collect::<Result<_, _>>()?;
    let stored = new.len() as u64;
    if !executions.is_empty() {
        let known = [SqlArgument::ids(&executions)];
        let known = transaction.rows(&sql.find_imported_among, &known).await?;
        let known = known.iter().map(imported_execution).collect::<Result<Vec<_>, _>>()?;
        let changed = ImportedExecution::with_all(known, events, new);
        transaction.rows(&sql.put_imported, &[imported_rows(&changed)]).await?;
    }
    transaction.commit().await?;
    Ok(stored)
}

/// Returns the id of the imported execution of an event.
fn imported_id(event: &ProjectedEvent) -> Option<i64> {
    match event.onto {
        ProjectedOnto::Imported(_) => Some(event.envelope.execution_id),
        ProjectedOnto::Existing => None,
    }
}

fn event_rows(events: &[ProjectedEvent]) -> SqlArgument<'static> {
    let envelopes = || events.iter().map(|event| &event.envelope);
    SqlArgument::Rows(vec![
        SqlColumn::Integers(envelopes().map(|event| event.event_id).collect()),
        SqlColumn::Integers(envelopes().map(|event| event.execution_id).collect()),
        SqlColumn::Instants(envelopes().map(|event| event.created_at).collect()),
        SqlColumn::Texts(envelopes().map(|event| Some(to_json(event).into())).collect()),
    ])
}

fn imported_rows(imported: &[ImportedExecution]) -> SqlArgument<'_> {
    let playbooks = || imported.iter().map(|it| &it.summary.playbook);
    let status = imported.iter().map(|it| Some(it.summary.status.as_str().into()));
    let folded = playbooks().map(|it| Some(it.path.to_lowercase().into()));
    SqlArgument::Rows(vec![
        SqlColumn::Integers(imported.iter().map(|it| it.summary.execution.0).collect()),
        SqlColumn::Texts(status.collect()),
        SqlColumn::Texts(playbooks().map(|it| Some(it.path.as_str().into())).collect()),
        SqlColumn::Texts(folded.collect()),
        SqlColumn::Integers(playbooks().map(|it| it.catalog_id.0).collect()),
        SqlColumn::MaybeIntegers(imported.iter().map(|it| it.parent().map(|it| it.0)).collect()),
        SqlColumn::Instants(imported.iter().map(|it| it.last_at).collect()),
        SqlColumn::Texts(imported.iter().map(|it| Some(to_json(it).into())).collect()),
    ])
}

pub async fn projected<D: SqlDatabase>(
    database: &D,
    execution: i64,
    after: i64,
    limit: usize,
) -> Result<Vec<Envelope>, StoreError> {
    let arguments = [execution.into(), after.into(), at_most(limit, PROJECT_MAX).into()];
    envelopes(database, execution, &database.sql().read_projected, &arguments).await
}

pub async fn projected_from<D: SqlDatabase>(
    database: &D,
    execution: i64,
    skipped: u64,
    limit: usize,
) -> Result<Vec<Envelope>, StoreError> {
    let arguments = [execution.into(), skipped.into(), at_most(limit, PROJECT_MAX).into()];
    envelopes(database, execution, &database.sql().read_projected_from, &arguments).await
}

pub async fn projected_within<D: SqlDatabase>(
    database: &D,
    execution: i64,
    span: EventSpan,
    limit: usize,
) -> Result<Vec<Envelope>, StoreError> {
    let arguments = [
        execution.into(),
        span.after.at.into(),
        span.after.event_id.into(),
        span.until.at.into(),
        span.until.event_id.into(),
        at_most(limit, PROJECT_MAX).into(),
    ];
    envelopes(database, execution, &database.sql().read_projected_within, &arguments).await
}

async fn envelopes<D: SqlDatabase>(
    database: &D,
    execution: i64,
    statement: &NamedStatement,
    arguments: &[SqlArgument<'_>],
) -> Result<Vec<Envelope>, StoreError> {
    let what = || format!("a projected event of execution {execution}");
    all_of(database, statement, arguments, |row| row.json("envelope", what)).await
}

pub async fn imported<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
) -> Result<Option<ImportedExecution>, StoreError> {
    let statement = &database.sql().find_imported;
    first_of(database, statement, &[execution.into()], imported_execution).await
}

pub async fn list_imported<D: SqlDatabase>(
    database: &D,
    filter: &ExecutionFilter,
    page: Page,
) -> Result<Vec<ImportedExecution>, StoreError> {
    // Imported executions have neither labels nor an actor, and their words are not indexed.
    if filter.property().is_some() || filter.text.is_some() {
        return Ok(Vec::new());
    }
    let sql = database.sql();
    let statement = match filter.lookup() {
        Lookup::All | Lookup::Property | Lookup::Text => &sql.list_imported,
        Lookup::Status => &sql.list_imported_by_status,
        Lookup::Part => &sql.list_imported_by_part,
        Lookup::Path => &sql.list_imported_by_path,
        Lookup::Catalog => &sql.list_imported_by_catalog,
        Lookup::Parent => &sql.list_imported_by_parent,
    };
    all_of(database, statement, &list_arguments(filter, page), imported_execution).await
}

pub async fn unfolded_imports<D: SqlDatabase>(
    database: &D,
    limit: usize,
) -> Result<Vec<ExecutionId>, StoreError> {
    let arguments = [at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_unfolded_imports, &arguments, |row| {
        Ok(ExecutionId(row.integer("execution_id")?))
    })
    .await
}

pub async fn fold_import<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    fold: ImportFold,
) -> Result<(), StoreError> {
    let sql = database.sql();
    let executions = [execution.0];
    let kind = TransactionKind::Import { executions: &executions };
    let mut transaction = database.begin(kind).await?;
    let mut imported = None;
    match fold {
        ImportFold::Existing => {}
        ImportFold::Imported(change) => {
            let mut after = i64::MIN;
            loop {
                let page =
                    [execution.0.into(), after.into(), at_most(PROJECT_MAX, PROJECT_MAX).into()];
                let rows = transaction.rows(&sql.read_projected, &page).await?;
                if rows.is_empty() {
                    break;
                }
                for row in &rows {
                    let what = || format!("a projected event of execution {execution}");
                    let event: Envelope = row.json("envelope", what)?;
                    after = event.event_id;
                    imported = Some(ImportedExecution::with(imported, &event, &change(&event)));
                }
            }
        }
    }
    if let Some(imported) = &imported {
        let imported = std::slice::from_ref(imported);
        transaction.rows(&sql.put_imported, &[imported_rows(imported)]).await?;
    }
    transaction.rows(&sql.remove_unfolded_import, &[execution.into()]).await?;
    transaction.commit().await
}

fn imported_execution(row: &impl Columns) -> Result<ImportedExecution, StoreError> {
    row.json("body", || "an imported execution".to_owned())
}

pub async fn forget_projected<D: SqlDatabase>(
    database: &D,
    before: Timestamp,
    limit: usize,
) -> Result<u64, StoreError> {
    let arguments = [before.into(), at_most(limit, PROJECT_MAX).into()];
    database.write(&database.sql().forget_imported, &arguments).await?;
    database.write(&database.sql().forget_projected, &arguments).await
}
