//! Pauses of playbooks and pools, and limits with their slots.

use noetl_model::{
    CommandId, ExecutionId, GrantRule, LimitAmount, LimitName, LimitState, SlotDecision, Timestamp,
};

use super::{
    SqlArgument, SqlColumn, SqlDatabase, SqlTransaction, TransactionKind, all_of, count_of,
    first_of, is_written, one_of,
};
use crate::from_row::{self, Columns, corrupt};
use crate::to_row::{at_most, stored, to_json};
use crate::{
    LIMIT_QUEUE_MAX, LimitChanges, LimitFigures, LimitOutcome, PAGE_MAX, PauseProgress, PauseRow,
    PausedKind, SlotKey, SlotRequest, SlotRow, StoreError,
};

/// The command id of a slot that the execution itself holds.
const NO_COMMAND: i64 = -1;

pub async fn put_pause<D: SqlDatabase>(
    database: &D,
    pause: &PauseRow,
) -> Result<PauseRow, StoreError> {
    let arguments = [
        pause.kind.as_str().into(),
        (&pause.name).into(),
        pause.progress.as_str().into(),
        pause.actor.as_deref().into(),
        pause.reason.as_deref().into(),
        pause.since.into(),
        pause.resumed_by.as_deref().into(),
        pause.resume_reason.as_deref().into(),
    ];
    one_of(database, &database.sql().put_pause, &arguments, pause_row).await
}

pub async fn settle_pause<D: SqlDatabase>(
    database: &D,
    pause: &PauseRow,
) -> Result<bool, StoreError> {
    let arguments = [pause.kind.as_str().into(), (&pause.name).into(), pause.since.into()];
    let statement = match pause.progress {
        PauseProgress::Pausing => &database.sql().apply_pause,
        PauseProgress::Resuming => &database.sql().end_pause,
        PauseProgress::Paused => return Ok(false),
    };
    is_written(database, statement, &arguments).await
}

pub async fn remove_pause<D: SqlDatabase>(
    database: &D,
    kind: PausedKind,
    name: &str,
) -> Result<bool, StoreError> {
    let arguments = [kind.as_str().into(), name.into()];
    is_written(database, &database.sql().remove_pause, &arguments).await
}

pub async fn pauses<D: SqlDatabase>(
    database: &D,
    after: Option<&PauseRow>,
    limit: usize,
) -> Result<Vec<PauseRow>, StoreError> {
    let arguments = [
        after.map_or("", |row| row.kind.as_str()).into(),
        after.map_or("", |row| row.name.as_str()).into(),
        at_most(limit, PAGE_MAX).into(),
    ];
    all_of(database, &database.sql().list_pauses, &arguments, pause_row).await
}

fn pause_row(row: &impl Columns) -> Result<PauseRow, StoreError> {
    let name = row.string("name")?;
    Ok(PauseRow {
        kind: row.word("kind", || format!("the pause of {name}"))?,
        progress: row.word("progress", || format!("the pause of {name}"))?,
        actor: row.maybe_string("actor")?,
        reason: row.maybe_string("reason")?,
        since: row.instant("since")?,
        resumed_by: row.maybe_string("resumed_by")?,
        resume_reason: row.maybe_string("resume_reason")?,
        name,
    })
}

pub async fn change_limit<D: SqlDatabase>(
    database: &D,
    changes: &LimitChanges,
    rule: GrantRule,
) -> Result<LimitOutcome, StoreError> {
    let sql = database.sql();
    let name = changes.limit();
    let mut transaction = database.begin(TransactionKind::Durable).await?;
    let requests = changes.requests();
    let newest = requests.iter().rev().max_by_key(|request| request.defined_by);
    if let Some(newest) = newest {
        transaction.rows(&sql.put_limit, &limit_arguments(newest)).await?;
    }
    // Other changes of this limit wait here.
    let locked =
        transaction.rows(&sql.lock_limit, &[name.as_str().into(), SqlArgument::Now]).await?;
    let Some(limit) = locked.first() else {
        transaction.commit().await?;
        return Ok(LimitOutcome::default());
    };
    let amount: LimitAmount = limit.json("amount", || format!("limit {name}"))?;
    let (full_at, now) = (limit.instant("full_at")?, limit.instant("now")?);
    let due_at = limit.maybe_instant("next_at")?;
    if !requests.is_empty() {
        transaction.rows(&sql.put_slots, &[request_rows(requests)]).await?;
    }
    if !changes.releases().is_empty() {
        transaction.rows(&sql.remove_slots, &[key_rows(changes.releases())]).await?;
    }
    let counted = transaction.rows(&sql.count_slots, &[name.as_str().into()]).await?;
    let counted = counted.first();
    let figure = |column| counted.map_or(Ok(0), |row| row.number(column));
    let (holders, ending) = (figure("holders")?, figure("ending")?);
    let head = at_most(LIMIT_QUEUE_MAX, LIMIT_QUEUE_MAX);
    let head =
        transaction.rows(&sql.list_queued_slots, &[name.as_str().into(), head.into()]).await?;
    let head: Vec<SlotRow> = head.iter().map(slot_row).collect::<Result<_, _>>()?;
    let queue = head.iter().map(|row| row.on_conflict).collect();
    let state = LimitState { amount, holders, ending, queue, full_at, due_at, now };
    let outcome = decided(&mut transaction, sql, name, &state, head, rule).await?;
    transaction.commit().await?;
    Ok(outcome)
}

/// Applies the rule to a limit whose rows are locked.
async fn decided<T: SqlTransaction<Row: Columns>>(
    transaction: &mut T,
    sql: &super::SqlStatements,
    name: &LimitName,
    state: &LimitState,
    head: Vec<SlotRow>,
    rule: GrantRule,
) -> Result<LimitOutcome, StoreError> {
    let decision = rule(state);
    let is_cut = head.len() == LIMIT_QUEUE_MAX;
    let mut outcome = LimitOutcome { next_at: decision.next_at, is_cut, ..LimitOutcome::default() };
    for (row, decided) in head.into_iter().zip(&decision.requests) {
        match decided {
            SlotDecision::Granted => outcome.granted.push(row.key),
            SlotDecision::Denied => outcome.denied.push(row.key),
            SlotDecision::Waits => {}
        }
    }
    if !outcome.granted.is_empty() {
        let arguments = [key_rows(&outcome.granted), state.now.into()];
        transaction.rows(&sql.grant_slots, &arguments).await?;
    }
    if !outcome.denied.is_empty() {
        transaction.rows(&sql.remove_slots, &[key_rows(&outcome.denied)]).await?;
    }
    if decision.end > 0 {
        let arguments = [name.as_str().into(), stored(decision.end).into()];
        let ended = transaction.rows(&sql.end_slots, &arguments).await?;
        outcome.ending = ended.iter().map(slot_key).collect::<Result<_, _>>()?;
    }
    let arguments = [name.as_str().into(), decision.full_at.into(), decision.next_at.into()];
    transaction.rows(&sql.move_limit, &arguments).await?;
    transaction.rows(&sql.remove_idle_limit, &[name.as_str().into()]).await?;
    let granted = u64::try_from(outcome.granted.len()).unwrap_or(u64::MAX);
    outcome.holders = state.holders.saturating_add(granted);
    Ok(outcome)
}

fn limit_arguments(request: &SlotRequest) -> [SqlArgument<'_>; 4] {
    let is_rate = matches!(request.limit.amount, LimitAmount::Rate { .. });
    [
        request.limit.name.as_str().into(),
        to_json(&request.limit.amount).into(),
        is_rate.into(),
        request.defined_by.into(),
    ]
}

fn request_rows(requests: &[SlotRequest]) -> SqlArgument<'_> {
    let level = |it: &SlotRequest| i64::from(it.priority.level());
    SqlArgument::Rows(vec![
        SqlColumn::Texts(requests.iter().map(|it| Some(it.limit.name.as_str().into())).collect()),
        SqlColumn::Integers(requests.iter().map(|it| it.execution.0).collect()),
        SqlColumn::Integers(requests.iter().map(|it| number_of(it.command)).collect()),
        SqlColumn::Integers(requests.iter().map(level).collect()),
        SqlColumn::Texts(requests.iter().map(|it| Some(it.on_conflict.as_str().into())).collect()),
        SqlColumn::Instants(requests.iter().map(|it| it.asked_at).collect()),
    ])
}

fn number_of(command: Option<CommandId>) -> i64 {
    command.map_or(NO_COMMAND, |command| stored(command.0))
}

fn key_rows(keys: &[SlotKey]) -> SqlArgument<'_> {
    SqlArgument::Rows(vec![
        SqlColumn::Texts(keys.iter().map(|key| Some(key.limit.as_str().into())).collect()),
        SqlColumn::Integers(keys.iter().map(|key| key.execution.0).collect()),
        SqlColumn::Integers(keys.iter().map(|key| number_of(key.command)).collect()),
    ])
}

fn slot_key(row: &impl Columns) -> Result<SlotKey, StoreError> {
    let command = row.integer("command_id")?;
    let command = u64::try_from(command).ok().map(CommandId);
    let execution = ExecutionId(row.integer("execution_id")?);
    Ok(SlotKey { limit: limit_name(row)?, execution, command })
}

fn limit_name(row: &impl Columns) -> Result<LimitName, StoreError> {
    let name = row.text("limit_name")?;
    name.parse().map_err(|error: noetl_model::BadLimitName| corrupt("a limit".to_owned(), error))
}

fn slot_row(row: &impl Columns) -> Result<SlotRow, StoreError> {
    let key = slot_key(row)?;
    Ok(SlotRow {
        priority: from_row::priority(row)?,
        on_conflict: row.word("on_conflict", || format!("a slot of {}", key.limit))?,
        asked_at: row.instant("asked_at")?,
        granted_at: row.maybe_instant("granted_at")?,
        is_ending: row.flag("is_ending")?,
        key,
    })
}

pub async fn acknowledge_slots<D: SqlDatabase>(
    database: &D,
    slots: &[SlotKey],
) -> Result<(), StoreError> {
    if slots.is_empty() {
        return Ok(());
    }
    let mut transaction = database.begin(TransactionKind::Lazy).await?;
    transaction.rows(&database.sql().acknowledge_slots, &[key_rows(slots)]).await?;
    transaction.commit().await
}

pub async fn due_limits<D: SqlDatabase>(
    database: &D,
    limit: usize,
) -> Result<Vec<LimitName>, StoreError> {
    let arguments = [SqlArgument::Now, at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_due_limits, &arguments, limit_name).await
}

pub async fn next_limit<D: SqlDatabase>(database: &D) -> Result<Option<Timestamp>, StoreError> {
    one_of(database, &database.sql().next_limit, &[], |row| row.maybe_instant("next_at")).await
}

pub async fn unanswered_slots<D: SqlDatabase>(
    database: &D,
    before: Timestamp,
    limit: usize,
) -> Result<Vec<SlotRow>, StoreError> {
    let arguments = [before.into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_unanswered_slots, &arguments, slot_row).await
}

pub async fn held_slots<D: SqlDatabase>(
    database: &D,
    after: Option<&SlotKey>,
    limit: usize,
) -> Result<Vec<SlotRow>, StoreError> {
    let arguments = [
        after.map_or("", |key| key.limit.as_str()).into(),
        after.map_or(i64::MIN, |key| key.execution.0).into(),
        after.map_or(i64::MIN, |key| number_of(key.command)).into(),
        at_most(limit, PAGE_MAX).into(),
    ];
    all_of(database, &database.sql().list_held_slots, &arguments, slot_row).await
}

pub async fn limits<D: SqlDatabase>(
    database: &D,
    after: Option<&LimitName>,
    limit: usize,
) -> Result<Vec<LimitFigures>, StoreError> {
    let after = after.map_or("", LimitName::as_str);
    let arguments = [after.into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_limits, &arguments, figures).await
}

pub async fn limit<D: SqlDatabase>(
    database: &D,
    name: &LimitName,
) -> Result<Option<LimitFigures>, StoreError> {
    first_of(database, &database.sql().find_limit, &[name.as_str().into()], figures).await
}

fn figures(row: &impl Columns) -> Result<LimitFigures, StoreError> {
    let name = limit_name(row)?;
    Ok(LimitFigures {
        amount: row.json("amount", || format!("limit {name}"))?,
        holders: row.number("holders")?,
        queued: row.number("queued")?,
        oldest_at: row.maybe_instant("oldest_at")?,
        name,
    })
}

pub async fn slot_holders<D: SqlDatabase>(
    database: &D,
    name: &LimitName,
    limit: usize,
) -> Result<Vec<SlotRow>, StoreError> {
    let arguments = [name.as_str().into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_slot_holders, &arguments, slot_row).await
}

pub async fn slot_queue<D: SqlDatabase>(
    database: &D,
    name: &LimitName,
    limit: usize,
) -> Result<Vec<SlotRow>, StoreError> {
    let arguments = [name.as_str().into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_queued_slots, &arguments, slot_row).await
}

pub async fn known_slots<D: SqlDatabase>(
    database: &D,
    slots: &[SlotKey],
) -> Result<Vec<SlotKey>, StoreError> {
    if slots.is_empty() {
        return Ok(Vec::new());
    }
    all_of(database, &database.sql().find_slots, &[key_rows(slots)], slot_key).await
}

pub async fn slot_place<D: SqlDatabase>(
    database: &D,
    key: &SlotKey,
) -> Result<Option<u64>, StoreError> {
    let arguments =
        [key.limit.as_str().into(), key.execution.into(), number_of(key.command).into()];
    let place = count_of(database, &database.sql().find_slot_place, &arguments).await?;
    Ok((place > 0).then_some(place))
}
