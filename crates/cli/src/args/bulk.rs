//! The arguments that select many executions, of `noetl executions cancel`, `retry` and `rerun`.

use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use noetl_app::BulkFilter;
use noetl_model::{BadActor, BadSearchText, CatalogId, ExecutionId, LabelError, Timestamp};

use super::executions::parse_status;
use crate::input::candidates;

/// The names of conditions.
const NAMES: &str = "status, path, part, catalog, parent, label, actor, text, since and until";

#[derive(Debug, Args)]
pub(crate) struct BulkArgs {
    /// Instead of one execution: all that match, such as 'status=FAILED path=team/*'
    ///
    /// Conditions are separated by blanks, and all of them hold: status=S, path=P (a trailing * matches
    /// any rest), part=TEXT (a part of the path), catalog=ID, parent=ID, label=KEY:VALUE (repeatable),
    /// actor=NAME, text=WORD (repeatable; in the path, a label's value, the error message or the reason of
    /// a cancellation), since=TIME, until=TIME.
    #[arg(
        long = "where",
        value_name = "CONDITIONS",
        value_parser = parse_conditions,
        add = ArgValueCandidates::new(candidates::conditions)
    )]
    pub(crate) conditions: Option<BulkFilter>,
    /// With --where: do not ask before acting
    #[arg(long, requires = "conditions")]
    pub(crate) yes: bool,
}

/// Parses conditions such as `status=FAILED path=team/*`.
pub(super) fn parse_conditions(text: &str) -> Result<BulkFilter, String> {
    let mut filter = BulkFilter::default();
    let mut words = String::new();
    for condition in text.split_whitespace() {
        let (name, value) = condition
            .split_once('=')
            .ok_or_else(|| format!("`{condition}` is not a condition such as status=FAILED"))?;
        let invalid = |what: &str| format!("{name}={value}: {what}");
        match name {
            "status" => filter.status = Some(parse_status(value)?),
            "path" => filter.path = Some(value.to_owned()),
            "part" => filter.path_part = Some(value.to_owned()),
            "catalog" => {
                let id = value.parse::<CatalogId>().map_err(|_| invalid("not an id"))?;
                filter.catalog_id = Some(id);
            }
            "parent" => {
                let id = value.parse::<ExecutionId>().map_err(|_| invalid("not an id"))?;
                filter.parent = Some(id);
            }
            "label" => {
                filter.labels.push(value.parse().map_err(|error: LabelError| error.to_string())?);
            }
            "actor" => {
                filter.actor = Some(value.parse().map_err(|error: BadActor| error.to_string())?);
            }
            "text" => words = format!("{words} {value}"),
            "since" => {
                let at = value.parse::<Timestamp>().map_err(|error| error.to_string())?;
                filter.started_after = Some(at);
            }
            "until" => {
                let at = value.parse::<Timestamp>().map_err(|error| error.to_string())?;
                filter.started_before = Some(at);
            }
            other => return Err(format!("`{other}` is not a condition; there are {NAMES}")),
        }
    }
    if !words.is_empty() {
        filter.text = Some(words.parse().map_err(|error: BadSearchText| error.to_string())?);
    }
    if filter == BulkFilter::default() {
        return Err(format!("name at least one condition of {NAMES}"));
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use noetl_model::ExecutionStatus;

    use super::*;

    #[test]
    fn conditions_are_read_in_any_order() {
        let filter = parse_conditions("path=team/*  status=failed since=2026-01-31T09:30:00Z");
        let expected = BulkFilter {
            status: Some(ExecutionStatus::Failed),
            path: Some("team/*".into()),
            started_after: "2026-01-31T09:30:00Z".parse().ok(),
            ..BulkFilter::default()
        };
        assert_eq!(filter, Ok(expected));
    }

    #[test]
    fn the_words_of_a_text_are_separate_conditions() {
        let filter = parse_conditions("text=timeout text=db-7").expect("conditions");
        assert_eq!(filter.text, "7 db timeout".parse().ok());
    }

    #[test]
    fn an_invalid_condition_is_refused() {
        for (text, expected) in [
            (
                "",
                "name at least one condition of status, path, part, catalog, parent, label, actor, text, since and until",
            ),
            ("FAILED", "`FAILED` is not a condition such as status=FAILED"),
            (
                "state=x",
                "`state` is not a condition; there are status, path, part, catalog, parent, label, actor, text, since and until",
            ),
            ("parent=x", "parent=x: not an id"),
            ("text=-", "the text has no letter and no digit to search for"),
        ] {
            assert_eq!(parse_conditions(text), Err(expected.to_owned()), "{text}");
        }
    }
}
