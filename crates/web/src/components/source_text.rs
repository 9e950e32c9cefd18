//! The lines of a document in the colours of the editor.

use maud::{Markup, html};
use noetl_playbook::editing::syntax_tokens;

/// The longest text that is coloured, in bytes; a longer one is shown plain.
const COLOURED_BYTES_MAX: usize = 500_000;

/// Returns the lines of a document as HTML. The classes are those of the editor.
pub(crate) fn coloured_lines(text: &str) -> Vec<Markup> {
    let tokens = if text.len() > COLOURED_BYTES_MAX { Vec::new() } else { syntax_tokens(text) };
    let mut tokens = tokens.into_iter().peekable();
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end_matches(['\n', '\r']).len();
        let (mut at, mut parts) = (start, Vec::new());
        while let Some(token) = tokens.next_if(|token| token.span.start < start + line.len()) {
            let (from, until) = (token.span.start.max(at), token.span.end.min(end));
            if from < until {
                parts.push((None, &text[at..from]));
                parts.push((Some(token.kind), &text[from..until]));
                at = until;
            }
        }
        parts.push((None, &text[at..end]));
        lines.push(html! {
            @for (kind, part) in parts {
                @match kind {
                    None => (part),
                    Some(kind) => span class={ "t-" (kind.as_str()) } { (part) },
                }
            }
        });
        start += line.len();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(markup: &str) -> String {
        let parts = markup.split('<').enumerate();
        let texts = parts.map(|(index, part)| match (index, part.split_once('>')) {
            (0, _) | (_, None) => part,
            (_, Some((_, text))) => text,
        });
        texts.collect::<String>().replace("&quot;", "\"").replace("&lt;", "<").replace("&amp;", "&")
    }

    #[test]
    fn coloured_lines_have_the_text_of_the_document() {
        let text = "a: 1 # note\r\nb: \"{{ x < 2 }}\"\n\nc: |\n  ü & {{ y\n  }}\nlast: true";
        let lines: Vec<String> = coloured_lines(text).iter().map(|line| plain(&line.0)).collect();
        assert_eq!(lines, text.lines().collect::<Vec<_>>());
    }

    #[test]
    fn keys_and_comments_have_the_classes_of_the_editor() {
        let lines = coloured_lines("a: 1 # note");
        let expected = "<span class=\"t-key\">a</span><span class=\"t-mark\">:</span> \
                        <span class=\"t-number\">1</span> <span class=\"t-comment\"># note</span>";
        assert_eq!(lines[0].0, expected);
    }
}
