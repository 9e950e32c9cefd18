//! Finds the name that was probably meant by a misspelt one.

use crate::show::failure::Failure;

/// Names longer than this are not compared.
const NAME_CHARS_MAX: usize = 128;

/// Returns the nearest candidate, if at most a third of the name, and at most three characters,
/// differ.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let chars: Vec<char> = name.chars().collect();
    if chars.len() > NAME_CHARS_MAX {
        return None;
    }
    let allowed = (chars.len() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (edits(&chars, candidate), candidate))
        .filter(|(edits, _)| *edits <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Adds a help text to a failure: the nearest candidate, or `otherwise` if none is near.
pub(crate) fn suggest<'a>(
    failure: Failure,
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> Failure {
    match nearest(name, candidates) {
        Some(near) => failure.help(format!("did you mean {near}?")),
        None => failure.help(otherwise),
    }
}

/// Returns the edit distance: characters added, removed or replaced.
fn edits(from: &[char], to: &str) -> usize {
    let mut row: Vec<usize> = (0..=from.len()).collect();
    for (line, wanted) in to.chars().take(NAME_CHARS_MAX).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, given) in from.iter().enumerate() {
            let kept_or_replaced = diagonal + usize::from(*given != wanted);
            diagonal = row[column + 1];
            row[column + 1] = kept_or_replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[from.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        assert_eq!(nearest(name, ["examples/hello", "examples/help", "report"]), expected);
    }

    #[test]
    fn the_nearest_name_is_found() {
        check("examples/hel", Some("examples/help"));
        check("examples/hallo", Some("examples/hello"));
        check("raport", Some("report"));
    }

    #[test]
    fn a_name_that_is_far_from_all_has_none() {
        check("invoice", None);
        check(&"x".repeat(1000), None);
    }
}
