//! The words of pages: one catalogue file per language, in `words/`.
//!
//! A key is the section and the name of an entry. `{name}` in a text is a place for a value. An entry
//! for a count has two forms, divided by ` | `: for one and for other numbers.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::preferences::Language;

/// The catalogue of a language.
#[derive(Debug)]
pub(crate) struct Words {
    language: Language,
    texts: BTreeMap<String, String>,
}

static ENGLISH: LazyLock<Words> =
    LazyLock::new(|| Words::parse(Language::English, include_str!("../words/en.toml")));
static GERMAN: LazyLock<Words> =
    LazyLock::new(|| Words::parse(Language::German, include_str!("../words/de.toml")));

impl Words {
    pub(crate) fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &ENGLISH,
            Language::German => &GERMAN,
        }
    }

    fn parse(language: Language, text: &str) -> Self {
        let sections: toml::Table = text.parse().expect("tests parse the catalogues");
        let mut texts = BTreeMap::new();
        for (section, entries) in &sections {
            for (name, text) in entries.as_table().into_iter().flatten() {
                let text = text.as_str().expect("tests parse the catalogues");
                texts.insert(format!("{section}.{name}"), text.to_owned());
            }
        }
        Self { language, texts }
    }

    /// Returns a text. An unknown key is a mistake of this crate, which its tests find; the page
    /// shows the key.
    pub(crate) fn t<'a>(&'a self, key: &'a str) -> &'a str {
        self.texts.get(key).map_or(key, String::as_str)
    }

    /// Returns the keys of all texts.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }

    /// Returns a text with values in its places.
    pub(crate) fn fill(&self, key: &str, values: &[(&str, &str)]) -> String {
        filled(self.t(key).to_owned(), values)
    }

    /// Returns the form of a text for a number, with the number as `{count}`.
    pub(crate) fn count(&self, key: &str, count: u64) -> String {
        let text = self.t(key);
        let (one, other) = text.split_once(" | ").unwrap_or((text, text));
        let form = if count == 1 { one } else { other };
        form.replace("{count}", &self.number(count))
    }

    /// Returns the form of a text for a number, with the number as `{count}` and values in its other
    /// places.
    pub(crate) fn count_fill(&self, key: &str, count: u64, values: &[(&str, &str)]) -> String {
        filled(self.count(key, count), values)
    }

    /// Returns the language's mark between a number and its tenths.
    pub(crate) const fn decimal_mark(&self) -> char {
        match self.language {
            Language::English => '.',
            Language::German => ',',
        }
    }

    /// Returns a number with the language's mark between thousands.
    pub(crate) fn number(&self, number: u64) -> String {
        let mark = match self.language {
            Language::English => ',',
            Language::German => '.',
        };
        let digits = number.to_string();
        let mut text = String::with_capacity(digits.len() * 4 / 3);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                text.push(mark);
            }
            text.push(digit);
        }
        text
    }
}

/// Puts values into the places of a text.
fn filled(text: String, values: &[(&str, &str)]) -> String {
    values.iter().fold(text, |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests;
