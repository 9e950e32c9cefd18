//! The keys of a step's output: its view in templates, and the place where it is kept.

use super::{KeyTable, KeyType, SCOPES, STORES, ignored, now};

pub(crate) const OUTPUT: &KeyTable = &KeyTable {
    name: "output",
    title: "a step's output",
    required: &[],
    open: false,
    words: &[
        now("select", KeyType::ListOf("selected"), "Parts of the output with a name of their own."),
        now(
            "output_select",
            KeyType::Any,
            "Paths of parts; each is named by the last word of its path.",
        ),
        now(
            "inline_max_bytes",
            KeyType::Integer,
            "Maximum inline size in bytes; a larger output is stored by reference (`_ref`).",
        ),
        now("preview_max_bytes", KeyType::Integer, "Size of `_preview`, in bytes."),
        now("store", KeyType::Table("store"), "Storage that `_store` names."),
        now(
            "scope",
            KeyType::OneOf(SCOPES),
            "Value of `_ref.scope`; an output is kept as long as its execution.",
        ),
        now("accumulate", KeyType::Any, "Hint (no effect: a loop always has all its results)."),
        now("as", KeyType::Text, "Second name of the output, besides the name of the step."),
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
            "Value of `_store`; default and `auto`: chosen by size. The operator chooses \
             where large values are stored: in the database or in a directory.",
        ),
        ignored("ttl", KeyType::Any, KEPT, "Time to live (no effect)."),
        ignored(
            "compression",
            KeyType::Any,
            "databases compress by themselves",
            "Compression of the stored output (no effect).",
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
            "Path of the part: keys and list indexes, separated by dots; `$.rows[0]` is \
             accepted.",
        ),
        now("as", KeyType::Text, "Name of the part; default: the last word of its path."),
    ],
};
