//! Two executions, or two positions of one, side by side.

mod template;

use axum::extract::{Path, Query};
use noetl_app::ExecutionPosition;
use noetl_model::ExecutionId;
use serde::Deserialize;

use crate::address::with_query;
use crate::components::id::execution_address;
use crate::error::PageError;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::PageResult;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct CompareQuery {
    /// The position of the execution; the end of its log if empty.
    at: String,
    /// The other execution, or another position of this one.
    to: String,
    /// The position of the other execution; the end of its log if empty.
    to_at: String,
}

/// Returns the address of the comparison of two executions.
pub(in crate::pages) fn comparison_address(left: ExecutionId, right: ExecutionId) -> String {
    place_address(
        ExecutionPosition { execution: left, position: None },
        ExecutionPosition { execution: right, position: None },
    )
}

/// Returns the address of the comparison of two positions.
fn place_address(left: ExecutionPosition, right: ExecutionPosition) -> String {
    let number = |seq: Option<u64>| seq.map(|it| it.to_string()).unwrap_or_default();
    with_query(
        &format!("{}/compare", execution_address(left.execution)),
        &[
            ("to", &right.execution.to_string()),
            ("at", &number(left.position)),
            ("to_at", &number(right.position)),
        ],
    )
}

pub(in crate::pages) async fn compare(
    page: PageRequest,
    Path(id): Path<String>,
    Query(query): Query<CompareQuery>,
) -> PageResult {
    let execution = super::execution_of(&id)?;
    let last = page.app().execution(execution).await?.seq.0;
    let left = ExecutionPosition { execution, position: query.at.trim().parse().ok() };
    let right = other_side(execution, last, &query)?;
    let found = page.app().compare_executions(left, right).await?;
    let head = PageHead { title: page.t("compare.title"), place: NavPlace::Executions };
    Ok(page.respond(&head, &template::comparison(&page, &found)))
}

/// Returns the place that `to` names. Ids of executions are far larger than any position, so a
/// number up to the last event is a position of the same execution.
fn other_side(
    execution: ExecutionId,
    last: u64,
    query: &CompareQuery,
) -> Result<ExecutionPosition, PageError> {
    let to_at = query.to_at.trim().parse().ok();
    match query.to.trim() {
        "" => Ok(ExecutionPosition { execution, position: to_at.or(Some(1)) }),
        text => match text.parse::<u64>() {
            Ok(position) if position <= last => {
                Ok(ExecutionPosition { execution, position: Some(position) })
            }
            Ok(_) | Err(_) => {
                let other = text.parse().map_err(|_| PageError::NotFound(text.to_owned()))?;
                Ok(ExecutionPosition { execution: other, position: to_at })
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIS: ExecutionId = ExecutionId(402_371_326_771_204_097);

    #[track_caller]
    fn check(to: &str, to_at: &str, expected: (i64, Option<u64>)) {
        let query = CompareQuery { at: String::new(), to: to.into(), to_at: to_at.into() };
        let found = other_side(THIS, 40, &query).expect("a place");
        assert_eq!((found.execution.0, found.position), expected, "{to} {to_at}");
    }

    #[test]
    fn a_small_number_is_a_position_and_a_large_one_an_execution() {
        check("", "", (THIS.0, Some(1)));
        check("", "7", (THIS.0, Some(7)));
        check("12", "", (THIS.0, Some(12)));
        check("402371326771204098", "", (402_371_326_771_204_098, None));
        check(" 402371326771204098 ", "3", (402_371_326_771_204_098, Some(3)));
    }

    #[test]
    fn a_text_that_is_no_number_is_not_found() {
        let query = CompareQuery { to: "other".into(), ..CompareQuery::default() };
        let error = other_side(THIS, 40, &query).unwrap_err();
        assert_eq!(error, PageError::NotFound("other".to_owned()));
    }
}
