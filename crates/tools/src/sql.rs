//! What the SQL tools share: how a script falls into statements, how parameters reach them, and
//! what their results look like to a playbook.

pub(crate) mod lex;
pub(crate) mod params;
pub(crate) mod redact;
pub(crate) mod result;
pub(crate) mod script;
pub(crate) mod split;
