//! The types of settings.

use std::fmt;

use url::Url;

/// The type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number {
        min: u64,
        max: u64,
    },
    /// A URL with the scheme `http` or `https`.
    Url,
    /// A list of texts: an array in the file, separated by commas elsewhere.
    List,
    OneOf(&'static [&'static str]),
}

impl Kind {
    /// Checks that a text is of this type; fails with a description of the type.
    pub(crate) fn check(self, text: &str) -> Result<(), String> {
        let fits = match self {
            Kind::Text | Kind::List => true,
            Kind::Number { min, max } => {
                text.parse().is_ok_and(|number: u64| (min..=max).contains(&number))
            }
            Kind::Url => Url::parse(text)
                .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()),
            Kind::OneOf(words) => words.contains(&text),
        };
        if fits { Ok(()) } else { Err(self.to_string()) }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Text => f.write_str("a text"),
            Kind::Number { min, max } => write!(f, "a number from {min} to {max}"),
            Kind::Url => f.write_str("a URL such as https://example.org:8082"),
            Kind::List => f.write_str("a list of texts"),
            Kind::OneOf(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: Kind, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(kind.check(text), Ok(()), "{text}");
        }
        for text in bad {
            assert_eq!(kind.check(text), Err(kind.to_string()), "{text}");
        }
    }

    #[test]
    fn a_value_is_of_its_kind_or_refused() {
        check(Kind::Number { min: 1, max: 9 }, &["1", "9"], &["0", "10", "-1", "x", "1.5", ""]);
        check(Kind::Url, &["http://a", "https://a:1/b"], &["a", "ftp://a", "http://", ""]);
        check(Kind::OneOf(&["a", "b"]), &["a"], &["A", "c", ""]);
    }
}
