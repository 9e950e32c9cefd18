//! Words, by which executions are searched.
//!
//! A search finds the executions that have each of its words: in any part of the path, or as a word of a
//! label's value, of the error message or of the reason of a cancellation. The latter are index entries
//! at the status of the execution; words of paths are found by the index of paths.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::label::index_key;
use crate::{ExecutionStatus, IndexEntry, IndexKind};

/// The maximum number of words of a search.
pub const SEARCH_WORDS_MAX: usize = 8;
/// The maximum number of different words of a text that are indexed, from its beginning.
pub const INDEXED_WORDS_MAX: usize = 64;
/// The maximum number of characters of a word; longer words are found by their beginning.
pub const WORD_CHARS_MAX: usize = 64;

/// Returns the words of a text in lower case: its runs of letters and digits.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word.to_lowercase().chars().take(WORD_CHARS_MAX).collect())
}

/// Returns the words by which a text is found, at most [`INDEXED_WORDS_MAX`].
pub fn indexed_words(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for word in words(text) {
        if found.len() == INDEXED_WORDS_MAX {
            break;
        }
        found.insert(word);
    }
    found
}

/// Returns the index entry of an execution that has a word and a status.
pub fn word_index_entry(word: &str, status: ExecutionStatus) -> IndexEntry {
    IndexEntry::new(IndexKind::Word, index_key(&word, status), None)
}

/// The words of a search, in lower case: at least one and at most [`SEARCH_WORDS_MAX`], each once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SearchText(Vec<String>);

/// The reason why a text cannot be searched for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSearchText {
    #[error("the text has no letter and no digit to search for")]
    NoWord,
    #[error("a search has at most {SEARCH_WORDS_MAX} words; the text has {0}")]
    TooMany(usize),
}

impl SearchText {
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// True if each word is in a path, or is a word that `has` admits.
    pub fn matches(&self, path: &str, has: impl Fn(&str) -> bool) -> bool {
        let path = path.to_lowercase();
        self.0.iter().all(|word| path.contains(word.as_str()) || has(word))
    }
}

impl FromStr for SearchText {
    type Err = BadSearchText;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: BTreeSet<String> = words(text).collect();
        match words.len() {
            0 => Err(BadSearchText::NoWord),
            1..=SEARCH_WORDS_MAX => Ok(Self(words.into_iter().collect())),
            count => Err(BadSearchText::TooMany(count)),
        }
    }
}

impl TryFrom<String> for SearchText {
    type Error = BadSearchText;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SearchText> for String {
    fn from(text: SearchText) -> Self {
        text.to_string()
    }
}

impl fmt::Display for SearchText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_searched_by_its_words_in_lower_case() {
        let read = |text: &str| text.parse::<SearchText>().map(|text| text.to_string());
        assert_eq!(
            read("Connection refused: db-7.Example"),
            Ok("7 connection db example refused".into())
        );
        assert_eq!(read("GRÖSSE größe"), Ok("grösse größe".into()));
        assert_eq!(read(" -/. "), Err(BadSearchText::NoWord));
        assert_eq!(read("a b c d e f g h i"), Err(BadSearchText::TooMany(9)));
        let long = "x".repeat(WORD_CHARS_MAX + 1);
        assert_eq!(read(&long), Ok(long[1..].to_owned()));
    }

    #[test]
    fn the_first_words_of_a_text_are_indexed() {
        let text: String = (0..100).map(|number| format!("w{number} w0 ")).collect();
        let found = indexed_words(&text);
        assert_eq!(found.len(), INDEXED_WORDS_MAX);
        assert!(found.contains("w63") && !found.contains("w64"));
    }

    #[test]
    fn each_word_is_a_part_of_the_path_or_a_word() {
        let text: SearchText = "ord timeout".parse().expect("two words");
        assert!(text.matches("team/Orders", |word| word == "timeout"));
        assert!(!text.matches("team/orders", |_| false));
        assert!(!text.matches("team/rates", |word| word == "timeout"));
    }
}
