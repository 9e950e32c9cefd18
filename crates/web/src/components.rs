//! The components of pages, each drawn by one function. `/ui/components` shows them all.

pub(crate) mod action;
pub(crate) mod approval;
pub(crate) mod bar;
pub(crate) mod command;
pub(crate) mod duration;
pub(crate) mod duration_bars;
pub(crate) mod editor;
pub(crate) mod empty;
pub(crate) mod error;
pub(crate) mod execution_table;
pub(crate) mod histogram;
pub(crate) mod id;
pub(crate) mod initiator;
pub(crate) mod json_tree;
pub(crate) mod labels;
pub(crate) mod progress;
pub(crate) mod prose;
pub(crate) mod sentence;
pub(crate) mod source_lines;
pub(crate) mod source_text;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod time;
