//! API tokens and the audit trail.

use noetl_model::{Actor, Timestamp, TrailEntry, TrailFact, TrailOutcome, TrailPlace};
use serde::{Deserialize, Serialize};

use super::{
    SqlArgument, SqlColumn, SqlDatabase, SqlTransaction, TransactionKind, all_of, first_of,
    is_written, maybe_cow,
};
use crate::from_row::{Columns, corrupt};
use crate::records::TRAIL_ROWS_MAX;
use crate::to_row::{at_most, stored, to_json};
use crate::{PAGE_MAX, StoreError, StoredToken, TrailSpan};

/// The stored form of what no statement compares.
#[derive(Serialize, Deserialize)]
struct TokenBody {
    owner: Option<String>,
    grants: Vec<noetl_model::RoleGrant>,
    created_by: Option<Actor>,
}

pub async fn add_token<D: SqlDatabase>(
    database: &D,
    token: &StoredToken,
) -> Result<bool, StoreError> {
    let body = TokenBody {
        owner: token.owner.clone(),
        grants: token.grants.clone(),
        created_by: token.created_by.clone(),
    };
    let arguments = [
        token.id.into(),
        token.name.as_str().into(),
        (&token.digest).into(),
        to_json(&body).into(),
        token.created_at.into(),
        token.expires_at.into(),
        token.used_at.into(),
    ];
    is_written(database, &database.sql().put_token, &arguments).await
}

pub async fn tokens<D: SqlDatabase>(
    database: &D,
    after: &str,
    limit: usize,
) -> Result<Vec<StoredToken>, StoreError> {
    let arguments = [after.into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_tokens, &arguments, token_row).await
}

fn token_row(row: &impl Columns) -> Result<StoredToken, StoreError> {
    let name = row.string("name")?;
    let TokenBody { owner, grants, created_by } = row.json("body", || format!("token {name}"))?;
    Ok(StoredToken {
        id: row.integer("token_id")?,
        name: Actor::new(&name).map_err(|error| corrupt(format!("token {name}"), error))?,
        owner,
        digest: row.digest("digest")?,
        grants,
        created_by,
        created_at: row.instant("created_at")?,
        expires_at: row.maybe_instant("expires_at")?,
        used_at: row.maybe_instant("used_at")?,
    })
}

pub async fn touch_token<D: SqlDatabase>(
    database: &D,
    id: i64,
    at: Timestamp,
) -> Result<(), StoreError> {
    database.write(&database.sql().touch_token, &[id.into(), at.into()]).await?;
    Ok(())
}

pub async fn remove_token<D: SqlDatabase>(database: &D, name: &str) -> Result<bool, StoreError> {
    is_written(database, &database.sql().remove_token, &[name.into()]).await
}

pub async fn append_trail<D: SqlDatabase>(
    database: &D,
    facts: &[TrailFact],
) -> Result<(), StoreError> {
    if facts.is_empty() {
        return Ok(());
    }
    let sql = database.sql();
    let mut transaction = database.begin(TransactionKind::Durable).await?;
    // Other appends wait here.
    let locked = transaction.rows(&sql.lock_trail, &[]).await?;
    let mut place = locked.first().map_or(Ok(SPAN_START), span_row)?.last;
    for facts in facts.chunks(TRAIL_ROWS_MAX) {
        let mut entries = Vec::with_capacity(facts.len());
        for fact in facts {
            let entry = place.followed_by(fact.clone());
            place = entry.place();
            entries.push(entry);
        }
        transaction.rows(&sql.put_trail, &[trail_rows(&entries)]).await?;
    }
    let arguments = [stored(place.number).into(), (&place.digest).into()];
    transaction.rows(&sql.move_trail, &arguments).await?;
    transaction.commit().await
}

/// The ends of a trail without entries.
const SPAN_START: TrailSpan = TrailSpan { before: TrailPlace::START, last: TrailPlace::START };

fn trail_rows(entries: &[TrailEntry]) -> SqlArgument<'_> {
    let texts = |text: fn(&TrailFact) -> &Option<String>| {
        SqlColumn::Texts(entries.iter().map(|it| maybe_cow(text(&it.fact))).collect())
    };
    let word = |word: fn(&TrailFact) -> &str| {
        SqlColumn::Texts(entries.iter().map(|it| Some(word(&it.fact).into())).collect())
    };
    let digests = entries.iter().map(|it| Some(it.digest.to_string().into()));
    SqlArgument::Rows(vec![
        SqlColumn::Integers(entries.iter().map(|it| stored(it.number)).collect()),
        SqlColumn::Instants(entries.iter().map(|it| it.fact.at).collect()),
        texts(|fact| &fact.actor),
        word(|fact| &fact.action),
        texts(|fact| &fact.subject),
        texts(|fact| &fact.source),
        word(|fact| fact.outcome.as_str()),
        texts(|fact| &fact.detail),
        SqlColumn::Texts(digests.collect()),
    ])
}

fn place_of(
    row: &impl Columns,
    number: &'static str,
    digest: &'static str,
) -> Result<TrailPlace, StoreError> {
    Ok(TrailPlace { number: row.number(number)?, digest: row.digest(digest)? })
}

pub async fn trail<D: SqlDatabase>(
    database: &D,
    after: u64,
    limit: usize,
) -> Result<Vec<TrailEntry>, StoreError> {
    let arguments = [stored(after).into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_trail, &arguments, trail_entry).await
}

fn trail_entry(row: &impl Columns) -> Result<TrailEntry, StoreError> {
    let number: u64 = row.number("number")?;
    let what = || format!("entry {number} of the audit log");
    let outcome: TrailOutcome = row.word("outcome", what)?;
    Ok(TrailEntry {
        number,
        fact: TrailFact {
            at: row.instant("at")?,
            actor: row.maybe_string("actor")?,
            action: row.string("action")?,
            subject: row.maybe_string("subject")?,
            source: row.maybe_string("source")?,
            outcome,
            detail: row.maybe_string("detail")?,
        },
        digest: row.word("digest", what)?,
    })
}

pub async fn trail_span<D: SqlDatabase>(database: &D) -> Result<TrailSpan, StoreError> {
    let found = first_of(database, &database.sql().find_trail_span, &[], span_row).await?;
    Ok(found.unwrap_or(SPAN_START))
}

fn span_row(row: &impl Columns) -> Result<TrailSpan, StoreError> {
    Ok(TrailSpan {
        before: place_of(row, "before_number", "before_digest")?,
        last: place_of(row, "last_number", "last_digest")?,
    })
}

pub async fn forget_trail<D: SqlDatabase>(
    database: &D,
    before: Timestamp,
    limit: usize,
) -> Result<u64, StoreError> {
    let sql = database.sql();
    let mut transaction = database.begin(TransactionKind::Durable).await?;
    let locked = transaction.rows(&sql.lock_trail, &[]).await?;
    let span = locked.first().map_or(Ok(SPAN_START), span_row)?;
    let arguments = [stored(span.before.number).into(), at_most(limit, PAGE_MAX).into()];
    let head = transaction.rows(&sql.list_trail, &arguments).await?;
    let head = head.iter().map(trail_entry).collect::<Result<Vec<_>, _>>()?;
    let old = head.iter().take_while(|entry| entry.fact.at < before);
    let Some(last) = old.last() else { return Ok(0) };
    let arguments = [stored(last.number).into(), (&last.digest).into()];
    transaction.rows(&sql.cut_trail, &arguments).await?;
    transaction.rows(&sql.forget_trail, &[stored(last.number).into()]).await?;
    transaction.commit().await?;
    Ok(last.number - span.before.number)
}
