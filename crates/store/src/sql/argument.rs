//! The arguments of statements, in the types that every database has.

use std::borrow::Cow;
use std::time::Duration;

use noetl_model::{CatalogId, CommandId, Digest, EventId, ExecutionId, Seq, Timestamp};

use crate::to_row::stored;

/// The value of a statement's parameter. `None` is a null of its type.
#[derive(Debug)]
pub enum SqlArgument<'a> {
    Integer(Option<i64>),
    Text(Option<Cow<'a, str>>),
    Bytes(&'a [u8]),
    Flag(bool),
    Instant(Option<Timestamp>),
    /// The time of the store's clock when the statement runs.
    Now,
    /// A duration from the time of the store's clock. A database whose statements read the clock
    /// binds the duration, another one the instant.
    After(Duration),
    /// A list of rows, by column. A database with arrays binds each column to a parameter of its
    /// own, another one all of them to a single parameter.
    Rows(Vec<SqlColumn<'a>>),
}

/// The values of one column of [`SqlArgument::Rows`].
#[derive(Debug)]
pub enum SqlColumn<'a> {
    Integers(Vec<i64>),
    MaybeIntegers(Vec<Option<i64>>),
    Texts(Vec<Option<Cow<'a, str>>>),
    Instants(Vec<Timestamp>),
    /// Durations as in [`SqlArgument::After`].
    Delays(Vec<Option<Duration>>),
    Digests(&'a [Digest]),
}

impl SqlColumn<'_> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            SqlColumn::Integers(values) => values.len(),
            SqlColumn::MaybeIntegers(values) => values.len(),
            SqlColumn::Texts(values) => values.len(),
            SqlColumn::Instants(values) => values.len(),
            SqlColumn::Delays(values) => values.len(),
            SqlColumn::Digests(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> SqlArgument<'a> {
    /// Returns a list of ids.
    pub(super) fn ids(ids: &[i64]) -> Self {
        SqlArgument::Rows(vec![SqlColumn::Integers(ids.to_vec())])
    }

    /// Returns a list of texts.
    pub(super) fn texts(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let texts = texts.into_iter().map(|text| Some(text.into())).collect();
        SqlArgument::Rows(vec![SqlColumn::Texts(texts)])
    }
}

/// Declares which argument the values of a type become.
macro_rules! converted {
    ($($value:ident: $type:ty => $argument:expr;)*) => {$(
        impl<'a> From<$type> for SqlArgument<'a> {
            fn from($value: $type) -> Self {
                $argument
            }
        }
    )*};
}

converted! {
    number: i64 => SqlArgument::Integer(Some(number));
    number: u32 => SqlArgument::Integer(Some(number.into()));
    number: u64 => SqlArgument::Integer(Some(stored(number)));
    number: Option<i64> => SqlArgument::Integer(number);
    id: ExecutionId => SqlArgument::Integer(Some(id.0));
    id: Option<ExecutionId> => SqlArgument::Integer(id.map(|id| id.0));
    id: CatalogId => SqlArgument::Integer(Some(id.0));
    id: Option<CatalogId> => SqlArgument::Integer(id.map(|id| id.0));
    id: EventId => SqlArgument::Integer(Some(id.0));
    id: Option<EventId> => SqlArgument::Integer(id.map(|id| id.0));
    id: CommandId => SqlArgument::Integer(Some(stored(id.0)));
    seq: Seq => SqlArgument::Integer(Some(stored(seq.0)));
    text: &'a str => SqlArgument::Text(Some(text.into()));
    text: &'a String => SqlArgument::Text(Some(text.into()));
    text: String => SqlArgument::Text(Some(text.into()));
    text: Option<&'a str> => SqlArgument::Text(text.map(Into::into));
    text: Option<String> => SqlArgument::Text(text.map(Into::into));
    bytes: &'a [u8] => SqlArgument::Bytes(bytes);
    bytes: &'a Vec<u8> => SqlArgument::Bytes(bytes);
    digest: &'a Digest => SqlArgument::Bytes(digest.as_bytes());
    flag: bool => SqlArgument::Flag(flag);
    at: Timestamp => SqlArgument::Instant(Some(at));
    at: Option<Timestamp> => SqlArgument::Instant(at);
}
