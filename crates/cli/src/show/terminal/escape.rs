//! Makes control characters visible.
//!
//! Styles of this program's own texts are written with a mark in place of the escape character. The
//! mark is drawn at random for each process, so that no text from outside can contain it.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::LazyLock;

/// Replaces the escape character of a style.
static MARK: LazyLock<char> = LazyLock::new(|| {
    // A character of the two private-use planes.
    let drawn = RandomState::new().hash_one(0) % 0xfffd;
    let code = u32::try_from(drawn).expect("it is below 65,533");
    char::from_u32(0xf_0000 + code).expect("every number of the plane is a character")
});

/// True if a character could move the cursor, change the terminal or hide text: the control
/// characters of ASCII and Latin-1, and those that change the direction of text.
pub(crate) fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
}

/// Marks the escape sequences of a text as this program's own, for [`shown`].
pub(crate) fn styled(text: &str) -> String {
    text.replace('\u{1b}', MARK.encode_utf8(&mut [0; 4]))
}

/// Returns a text as it is printed: with its styles if `color`, and with every control character
/// but line ends and tabs as a visible escape such as `\u{1b}`.
pub(crate) fn shown(text: &str, color: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c == *MARK => {
                let sequence = std::iter::from_fn(|| rest.next_if(|&c| c != 'm'));
                let sequence: String = sequence.collect();
                let end = rest.next();
                if color {
                    shown.push('\u{1b}');
                    shown.push_str(&sequence);
                    shown.extend(end);
                }
            }
            '\n' | '\t' => shown.push(c),
            '\r' if rest.peek() == Some(&'\n') => shown.push(c),
            c if is_control(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Returns an equivalent JSON text with every control character escaped.
pub(crate) fn json_shown(json: String) -> String {
    if !json.contains(|c| is_control(c) && c != '\n') {
        return json;
    }
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if is_control(c) && c != '\n' {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The form of a log, which decides how control characters are escaped.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LogForm {
    /// Lines in the styles of the logger.
    Styled,
    Plain,
    Json,
}

/// Writes a log to standard error, with control characters escaped.
pub(crate) struct LogWriter(pub(crate) LogForm);

impl io::Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let text = match self.0 {
            // The logger escapes the escape characters of its input, so all others are its styles.
            LogForm::Styled => shown(&styled(&text), true),
            LogForm::Plain => shown(&text, false),
            LogForm::Json => json_shown(text.into_owned()),
        };
        io::stderr().write_all(text.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::terminal::{BAD, paint};

    #[test]
    fn control_characters_are_visible_and_line_ends_are_not() {
        for (text, expected) in [
            ("a\tb\r\nc\n", "a\tb\r\nc\n"),
            ("\u{1b}[31mred\u{1b}[0m", r"\u{1b}[31mred\u{1b}[0m"),
            ("\u{1b}]0;title\u{7}", r"\u{1b}]0;title\u{7}"),
            ("over\rwritten\u{8}", r"over\u{d}written\u{8}"),
            ("\u{9b}2J\u{85}\u{7f}\0", r"\u{9b}2J\u{85}\u{7f}\u{0}"),
            ("a\u{202e}b\u{2066}c\u{200f}", r"a\u{202e}b\u{2066}c\u{200f}"),
            ("Grüße, 東京 👩\u{200d}🔬", "Grüße, 東京 👩\u{200d}🔬"),
        ] {
            assert_eq!(shown(text, true), expected);
            assert_eq!(shown(text, false), expected);
        }
    }

    #[test]
    fn only_our_own_styles_reach_the_terminal() {
        let text = paint(BAD, "no\u{1b}[0m");
        assert_eq!(shown(&text, false), r"no\u{1b}[0m");
        assert_eq!(shown(&text, true), format!("{BAD}no{}{BAD:#}", r"\u{1b}[0m"));
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({ "a\u{9b}": ["\u{1b}\u{202e}\u{7f}x\n", "ü"] });
        let json = json_shown(serde_json::to_string_pretty(&value).unwrap());
        assert!(!json.contains(|c| is_control(c) && c != '\n'), "{json}");
        assert!(json.contains(r"\u009b") && json.contains(r"\u001b\u202e\u007fx"), "{json}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
    }
}
