//! Named results: values that workers store before they report them.

use std::fmt;
use std::str::FromStr;

use noetl_model::{Digest, ExecutionId, Timestamp};

/// The identity of a named result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResultRef {
    pub execution: ExecutionId,
    pub name: String,
    pub id: i64,
}

/// The prefix of a result reference.
const SCHEME: &str = "noetl://execution/";

/// Formats `noetl://execution/<id>/result/<name>/<id>`; the name may contain slashes.
impl fmt::Display for ResultRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { execution, name, id } = self;
        write!(f, "{SCHEME}{execution}/result/{name}/{id}")
    }
}

/// The error for a text that is not a result reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a reference is noetl://execution/<id>/result/<name>/<id>")]
pub struct NoResultRef;

impl FromStr for ResultRef {
    type Err = NoResultRef;

    fn from_str(text: &str) -> Result<Self, NoResultRef> {
        let read = || {
            let (execution, rest) = text.strip_prefix(SCHEME)?.split_once('/')?;
            let (name, id) = rest.strip_prefix("result/")?.rsplit_once('/')?;
            let execution: ExecutionId = execution.parse().ok()?;
            (!name.is_empty()).then_some(())?;
            Some(Self { execution, name: name.to_owned(), id: id.parse().ok()? })
        };
        read().ok_or(NoResultRef)
    }
}

/// The name of a value; the value itself is a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedResult {
    pub reference: ResultRef,
    pub digest: Digest,
    pub scope: String,
    pub source_step: Option<String>,
    pub created_at: Timestamp,
    /// The expiry; `None` lives as long as its execution.
    pub expires_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_survives_its_spelling_also_with_slashes_in_its_name() {
        for name in ["a", "a/b", "result/7"] {
            let reference = ResultRef { execution: ExecutionId(1), name: name.into(), id: 2 };
            assert_eq!(reference.to_string().parse(), Ok(reference));
        }
    }

    #[test]
    fn anything_else_is_no_reference() {
        for text in [
            "",
            "noetl://execution/1/result/2",
            "noetl://execution/x/result/a/2",
            "https://execution/1/result/a/2",
            "noetl://execution/1/result//2",
            "noetl://execution/1/result/a/x",
        ] {
            assert_eq!(text.parse::<ResultRef>(), Err(NoResultRef), "{text}");
        }
    }
}
