//! The output of running tools.

use noetl_model::{
    Attempt, CommandId, ExecutionId, Held, LogAnswer, LogBatch, LogSource, LogStream,
    OmittedOutput, StepName, StoredLog, Timestamp,
};

use super::{SqlArgument, SqlColumn, SqlDatabase, SqlTransaction as _, TransactionKind, all_of};
use crate::from_row::Columns;
use crate::step_logs::executions_of;
use crate::to_row::{at_most, stored};
use crate::{
    LOG_READ_MAX, LogLimits, LogOrder, LogPlan, LogProgress, LogRead, LogTotal, PAGE_MAX,
    PageSpace, StoreError, StoredLogTotals,
};

pub async fn append_logs<D: SqlDatabase>(
    database: &D,
    batches: &[LogBatch],
    limits: LogLimits,
) -> Result<Vec<LogAnswer>, StoreError> {
    let sql = database.sql();
    let mut transaction = database.begin(TransactionKind::Lazy).await?;
    let mut rows = StoredLogTotals::default();
    let mut now = None;
    // Creates and locks the totals, so that the positions of an execution are committed in order.
    let executions = SqlArgument::ids(&executions_of(batches));
    for row in transaction.rows(&sql.lock_log_totals, &[executions, SqlArgument::Now]).await? {
        let total = LogTotal { position: row.number("position")?, bytes: row.number("bytes")? };
        rows.totals.insert(ExecutionId(row.integer("execution_id")?), total);
        now = now.max(Some(row.instant("last_at")?));
    }
    let Some(now) = now else {
        return Ok(vec![LogAnswer::Unknown; batches.len()]);
    };
    let sources = batches.iter().map(|batch| &batch.source);
    for row in transaction.rows(&sql.find_log_progress, &[held_rows(sources)]).await? {
        let execution = ExecutionId(row.integer("execution_id")?);
        let command = CommandId(row.number("command_id")?);
        let attempt = Attempt(row.number("attempt")?);
        let progress = LogProgress { next: row.number("chunks")?, bytes: row.number("bytes")? };
        rows.progress.insert(Held { execution, command, attempt }, progress);
        if let Some(open) = row.maybe_number("open_attempt")? {
            rows.open.insert((execution, command), Attempt(open));
        }
    }
    let plan = LogPlan::of(batches, limits, now, rows);
    if !plan.logs.is_empty() {
        transaction.rows(&sql.put_log_chunks, &[chunk_rows(&plan.logs)]).await?;
        transaction.rows(&sql.put_log_sources, &[source_rows(&plan.sources)]).await?;
        transaction.rows(&sql.move_log_totals, &[total_rows(&plan)]).await?;
    }
    transaction.commit().await?;
    Ok(plan.answers)
}

fn held_rows<'a>(sources: impl Iterator<Item = &'a LogSource> + Clone) -> SqlArgument<'a> {
    SqlArgument::Rows(vec![
        SqlColumn::Integers(sources.clone().map(|it| it.execution.0).collect()),
        SqlColumn::Integers(sources.clone().map(|it| stored(it.command.0)).collect()),
        SqlColumn::Integers(sources.map(|it| it.attempt.0.into()).collect()),
    ])
}

fn chunk_rows(logs: &[StoredLog]) -> SqlArgument<'_> {
    let integers = |of: fn(&StoredLog) -> i64| SqlColumn::Integers(logs.iter().map(of).collect());
    let texts = |of: fn(&StoredLog) -> &str| {
        SqlColumn::Texts(logs.iter().map(|log| Some(of(log).into())).collect())
    };
    SqlArgument::Rows(vec![
        integers(|log| log.source.execution.0),
        integers(|log| stored(log.position)),
        integers(|log| stored(log.source.command.0)),
        integers(|log| log.source.attempt.0.into()),
        texts(|log| log.stream.as_str()),
        SqlColumn::Instants(logs.iter().map(|log| log.at).collect()),
        integers(|log| stored(log.omitted.lines)),
        integers(|log| stored(log.omitted.bytes)),
        integers(|log| log.is_late.into()),
        texts(|log| &log.text),
    ])
}

fn source_rows(sources: &[(LogSource, LogProgress)]) -> SqlArgument<'_> {
    let integers = |of: fn(&(LogSource, LogProgress)) -> i64| {
        SqlColumn::Integers(sources.iter().map(of).collect())
    };
    let items = sources.iter().map(|(source, _)| source.item.map(stored));
    SqlArgument::Rows(vec![
        integers(|(source, _)| source.execution.0),
        integers(|(source, _)| stored(source.command.0)),
        integers(|(source, _)| source.attempt.0.into()),
        SqlColumn::Texts(sources.iter().map(|(it, _)| Some(it.step.as_str().into())).collect()),
        SqlColumn::Texts(sources.iter().map(|(it, _)| Some(it.label.as_str().into())).collect()),
        SqlColumn::MaybeIntegers(items.collect()),
        integers(|(source, _)| source.number.into()),
        integers(|(_, progress)| stored(progress.next)),
        integers(|(_, progress)| stored(progress.bytes)),
    ])
}

fn total_rows(plan: &LogPlan) -> SqlArgument<'_> {
    SqlArgument::Rows(vec![
        SqlColumn::Integers(plan.totals.keys().map(|execution| execution.0).collect()),
        SqlColumn::Integers(plan.totals.values().map(|total| stored(total.position)).collect()),
        SqlColumn::Integers(plan.totals.values().map(|total| stored(total.bytes)).collect()),
    ])
}

pub async fn read_logs<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    page: &LogRead,
) -> Result<Vec<StoredLog>, StoreError> {
    let sql = database.sql();
    let statement = match page.order {
        LogOrder::OldestFirst => &sql.read_logs,
        LogOrder::NewestFirst => &sql.read_logs_back,
    };
    let arguments = [
        execution.into(),
        page.after.into(),
        page.before.map_or(i64::MAX, stored).into(),
        page.until.into(),
        page.step.as_ref().map(StepName::as_str).into(),
        SqlArgument::Integer(page.command.map(|command| stored(command.0))),
        SqlArgument::Integer(page.number.map(i64::from)),
        page.stream.map(LogStream::as_str).into(),
        at_most(page.limit, LOG_READ_MAX).into(),
    ];
    let (mut logs, mut space) = (Vec::new(), PageSpace::default());
    let add = |row: &D::Row| {
        let log = stored_log(row, execution)?;
        let has_space = space.take(log.text.len());
        logs.push(log);
        Ok(has_space)
    };
    database.each(statement, &arguments, add).await?;
    Ok(logs)
}

fn stored_log(row: &impl Columns, execution: ExecutionId) -> Result<StoredLog, StoreError> {
    Ok(StoredLog {
        position: row.number("position")?,
        source: LogSource {
            execution,
            command: CommandId(row.number("command_id")?),
            attempt: Attempt(row.number("attempt")?),
            step: StepName::new(row.text("step_name")?),
            label: row.string("label")?,
            item: row.maybe_number("item")?,
            number: row.number("number")?,
        },
        stream: row.word("stream", || format!("a log chunk of execution {execution}"))?,
        at: row.instant("printed_at")?,
        text: row.string("body")?,
        omitted: OmittedOutput {
            lines: row.number("omitted_lines")?,
            bytes: row.number("omitted_bytes")?,
        },
        is_late: row.integer("is_late")? != 0,
    })
}

pub async fn log_sources<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    commands: &[CommandId],
) -> Result<Vec<Held>, StoreError> {
    let commands: Vec<i64> = commands.iter().map(|command| stored(command.0)).collect();
    let arguments = [execution.into(), SqlArgument::ids(&commands)];
    all_of(database, &database.sql().find_log_sources, &arguments, |row| {
        Ok(Held {
            execution,
            command: CommandId(row.number("command_id")?),
            attempt: Attempt(row.number("attempt")?),
        })
    })
    .await
}

pub async fn forget_logs<D: SqlDatabase>(
    database: &D,
    before: Timestamp,
    limit: usize,
) -> Result<u64, StoreError> {
    let sql = database.sql();
    let mut transaction = database.begin(TransactionKind::Lazy).await?;
    let arguments = [before.into(), at_most(limit, PAGE_MAX).into()];
    let totals = transaction.rows(&sql.forget_log_totals, &arguments).await?;
    let ids = totals.iter().map(|row| row.integer("execution_id"));
    let ids = ids.collect::<Result<Vec<i64>, StoreError>>()?;
    if !ids.is_empty() {
        transaction.rows(&sql.forget_log_chunks, &[SqlArgument::ids(&ids)]).await?;
        transaction.rows(&sql.forget_log_sources, &[SqlArgument::ids(&ids)]).await?;
    }
    transaction.commit().await?;
    Ok(ids.len() as u64)
}
