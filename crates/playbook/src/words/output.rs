//! The keys of a step's output: its view in templates, and the place where it is kept.

use super::{KeyTable, KeyType, SCOPES, STORES, ignored, now};

pub(crate) const OUTPUT: &KeyTable = &KeyTable {
    name: "output",
    title: "a step's output",
    required: &[],
    open: false,
    words: &[
        now("select", KeyType::ListOf("selected"), "Parts that get a name of their own."),
        now("output_select", KeyType::Any, "Paths of parts that are called by their last word."),
        now("inline_max_bytes", KeyType::Integer, "Above this, `_ref` says where it is kept."),
        now("preview_max_bytes", KeyType::Integer, "How much of it `_preview` shows."),
        now("store", KeyType::Table("store"), "What `_store` calls the place it is kept in."),
        now(
            "scope",
            KeyType::OneOf(SCOPES),
            "What `_ref.scope` says; output is kept as long as its execution.",
        ),
        now("accumulate", KeyType::Any, "A hint; a loop always has all its results."),
        now("as", KeyType::Text, "Another name of the output, besides the step's."),
    ],
};

const KEPT: &str = "output is kept as long as its execution";

pub(crate) const STORE: &KeyTable = &KeyTable {
    name: "store",
    title: "`store`",
    required: &[],
    open: true,
    words: &[
        now(
            "kind",
            KeyType::OneOf(STORES),
            "What `_store` says; by size if left out or `auto`. Where large values are is the \
             operator's choice: the database, or a directory.",
        ),
        ignored("ttl", KeyType::Any, KEPT, "After how long it was forgotten."),
        ignored(
            "compression",
            KeyType::Any,
            "databases compress by themselves",
            "How it was packed.",
        ),
    ],
};

pub(crate) const SELECTED: &KeyTable = &KeyTable {
    name: "selected",
    title: "a selection",
    required: &["path"],
    open: false,
    words: &[
        now(
            "path",
            KeyType::Text,
            "Where it is: keys and places in lists, with dots between; `$.rows[0]` is understood.",
        ),
        now("as", KeyType::Text, "What it is called; the path's last word if left out."),
    ],
};
