//! The content of a page as text: one line per block, ids and times replaced.

/// Elements that begin a line of their own.
const BLOCKS: &[&str] = &[
    "h1", "h2", "h3", "p", "tr", "li", "dt", "summary", "button", "label", "option", "input",
    "textarea", "div", "form", "header", "section", "caption",
];

/// Returns the text of the content of a page.
pub(super) fn content_text(page: &str) -> String {
    let content = page.split_once("<main").map_or(page, |(_, rest)| rest);
    let content = content.split_once("</main>").map_or(content, |(content, _)| content);
    let content = content.split_once('>').map_or(content, |(_, rest)| rest);
    let mut text = String::new();
    for part in content.split('<') {
        let (tag, words) = part.split_once('>').unwrap_or(("", part));
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if BLOCKS.contains(&name) {
            text.push('\n');
        } else if ["td", "th", "dd"].contains(&name) {
            text.push_str(" | ");
        }
        text.push_str(words);
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let lines = text.lines().map(|line| without_digits(line.trim())).filter(|it| !it.is_empty());
    lines.map(|line| line + "\n").collect()
}

/// Replaces ids and times by placeholders.
fn without_digits(line: &str) -> String {
    let words: Vec<String> = line
        .split(' ')
        .map(|word| match word {
            word if word.starts_with('…') => "<id>".to_owned(),
            word if word.starts_with("2027-") => "<date>".to_owned(),
            word if word.starts_with('k') && word.len() == 9 => "<key>".to_owned(),
            word => word.to_owned(),
        })
        .collect();
    words.join(" ")
}
