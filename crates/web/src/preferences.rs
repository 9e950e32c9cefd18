//! The choices of a visitor: theme, language, and the form of times; kept in one cookie.

use axum::http::{HeaderMap, header};

use crate::cookies::cookie;

pub(crate) const PREFERENCES_COOKIE: &str = "noetl_preferences";

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name {
            $($variant,)+
        }

        impl $name {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)+];

            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            pub(crate) fn of(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.as_str() == text)
            }
        }
    };
}

choice!(
    /// The colours of pages.
    Theme {
        System = "system",
        Light = "light",
        Dark = "dark",
    }
);
choice!(
    /// The language of pages.
    Language {
        English = "en",
        German = "de",
    }
);
choice!(
    /// The form of times. The server writes UTC; a script writes the others.
    TimeStyle {
        Utc = "utc",
        Local = "local",
        Relative = "relative",
    }
);

/// The choices of a visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Preferences {
    pub(crate) theme: Theme,
    pub(crate) language: Language,
    pub(crate) times: TimeStyle,
}

impl Preferences {
    /// Reads the cookie; a language that was never chosen follows the browser's.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = cookie(headers, PREFERENCES_COOKIE).unwrap_or_default();
        let mut parts = text.split('.');
        let theme = parts.next().and_then(Theme::of).unwrap_or(Theme::System);
        let language = parts.next().and_then(Language::of);
        let times = parts.next().and_then(TimeStyle::of).unwrap_or(TimeStyle::Relative);
        Self { theme, language: language.unwrap_or_else(|| accepted(headers)), times }
    }

    /// Returns the value of the cookie.
    pub(crate) fn written(self) -> String {
        [self.theme.as_str(), self.language.as_str(), self.times.as_str()].join(".")
    }
}

/// Returns the first language of `Accept-Language` that there is a catalogue for. Browsers write the
/// languages in the order of their weights.
fn accepted(headers: &HeaderMap) -> Language {
    let named = headers.get(header::ACCEPT_LANGUAGE).and_then(|it| it.to_str().ok());
    let tags = named.unwrap_or_default().split(',').map(str::trim);
    let mut known = tags.filter_map(|tag| Language::of(&tag.get(..2)?.to_ascii_lowercase()));
    known.next().unwrap_or(Language::English)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(cookie: &str, accept: &'static str, expected: &str) {
        let mut headers = HeaderMap::new();
        let cookie = format!("{PREFERENCES_COOKIE}={cookie}");
        headers.insert(header::COOKIE, HeaderValue::from_str(&cookie).expect("a header"));
        headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static(accept));
        assert_eq!(Preferences::of(&headers).written(), expected);
    }

    #[test]
    fn choices_are_kept_and_others_follow_the_browser() {
        check("dark.de.utc", "en", "dark.de.utc");
        check("", "de-AT,en;q=0.7", "system.de.relative");
        check("", "fr,en-GB;q=0.7", "system.en.relative");
        check("", "", "system.en.relative");
        check("neon.xx.now", "de", "system.de.relative");
    }
}
