//! Finds the word that was probably meant by a misspelt one.

/// The largest edit distance of a suggestion.
const DISTANCE_MAX: usize = 3;
/// Words longer than this are not compared.
const WORD_CHARS_MAX: usize = 40;

/// Returns the nearest candidate, if it is near enough to be a typing error.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let chars = fold(word);
    if chars.len() > WORD_CHARS_MAX {
        return None;
    }
    let allowed = (chars.len() / 3).clamp(usize::from(chars.len() > 1), DISTANCE_MAX);
    candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(&chars, &fold(candidate), allowed)?, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Normalises case, and `-` to `_`: neither distinguishes two words.
fn fold(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).map(|c| if c == '-' { '_' } else { c }).collect()
}

/// Returns the edit distance (insertions, deletions, replacements, swaps of neighbours) if it is at
/// most `allowed`. Only table cells that can be within that distance are computed.
fn distance(a: &[char], b: &[char], allowed: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > allowed {
        return None;
    }
    let far = allowed + 1;
    let mut before = vec![far; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![far; b.len() + 1];
        if i <= allowed {
            row[0] = i;
        }
        for j in i.saturating_sub(allowed).max(1)..=(i + allowed).min(b.len()) {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        if row.iter().all(|cell| *cell > allowed) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    Some(last[b.len()]).filter(|distance| *distance <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        let candidates = ["start", "fetch_rows", "http", "python", "end", "in"];
        assert_eq!(nearest(word, candidates), expected, "{word}");
    }

    #[test]
    fn a_slip_of_the_hand_is_corrected() {
        check("strat", Some("start"));
        check("fetch-rows", Some("fetch_rows"));
        check("FetchRows", Some("fetch_rows"));
        check("pyhton", Some("python"));
        check("htp", Some("http"));
        check("edn", Some("end"));
    }

    #[test]
    fn another_word_is_not_corrected() {
        check("postgres", None);
        check("i", None);
        check(&"a".repeat(5000), None);
    }
}
