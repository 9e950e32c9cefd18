//! JSON as a tree that opens and closes without scripts.
//!
//! Invariant: the size of the drawing is bounded, whatever the value is.

use maud::{Markup, html};
use noetl_app::without_secrets;
use noetl_model::holds_sealed;
use serde_json::Value;

use crate::layout::{Icon, icon};

/// Levels that are open at first.
const OPEN_LEVELS: usize = 2;
/// Maximum number of levels that are drawn.
const LEVELS_MAX: usize = 24;
/// Maximum number of entries of one list or object that are drawn.
const ENTRIES_MAX: usize = 100;
/// Maximum number of characters of a text that are drawn.
const TEXT_MAX: usize = 2000;
/// Maximum number of characters of the preview of a closed value.
const PREVIEW_MAX: usize = 60;
/// Number of values from which a tree can be searched.
const SEARCHED_FROM: usize = 12;
/// Maximum number of values that are drawn in total.
const VALUES_MAX: usize = 2000;

/// Draws a value as a tree; a script adds a search and the path of the chosen row. Secret inputs are
/// masked.
pub(crate) fn json_tree(value: &Value) -> Markup {
    if holds_sealed(value) { tree(&without_secrets(value.clone())) } else { tree(value) }
}

fn tree(value: &Value) -> Markup {
    let mut left = VALUES_MAX;
    let drawn = node(None, value, 0, &mut left);
    let has_search = VALUES_MAX - left >= SEARCHED_FROM;
    html! {
        div.json {
            @if has_parts(value) {
                div.json-tools hidden data-own {
                    @if has_search { input type="search" aria-labelledby="search-word"; }
                    code {}
                    button.plain type="button" hidden aria-labelledby="path-word" { (icon(Icon::Copy)) }
                }
            }
            (drawn)
        }
    }
}

/// True if a value has values inside.
fn has_parts(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn node(name: Option<&str>, value: &Value, level: usize, left: &mut usize) -> Markup {
    *left = left.saturating_sub(1);
    match value {
        Value::Object(map) if !map.is_empty() => {
            let entries = map.iter().map(|(name, value)| (Some(name.as_str()), value));
            let opening =
                Opening { name, size: format!("{{{}}}", map.len()), preview: preview(value) };
            branch(&opening, entries, map.len(), level, left)
        }
        Value::Array(items) if !items.is_empty() => {
            let entries = items.iter().map(|value| (None, value));
            let opening =
                Opening { name, size: format!("[{}]", items.len()), preview: preview(value) };
            branch(&opening, entries, items.len(), level, left)
        }
        Value::Object(_)
        | Value::Array(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_) => leaf(name, value),
    }
}

/// The first row of a list or an object.
struct Opening<'a> {
    name: Option<&'a str>,
    size: String,
    /// The first values, shown while it is closed.
    preview: String,
}

/// Returns the first values of a list or an object, such as `id: 7, name: Ada, …`.
fn preview(value: &Value) -> String {
    let mut text = String::new();
    let mut add = |name: Option<&str>, value: &Value| {
        let shown = match value {
            Value::String(text) => text.chars().take(PREVIEW_MAX + 1).collect(),
            Value::Object(_) => "{…}".to_owned(),
            Value::Array(_) => "[…]".to_owned(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        };
        let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
        let comma = if text.is_empty() { "" } else { ", " };
        text.push_str(&format!("{comma}{name}{shown}"));
        text.chars().count() < PREVIEW_MAX
    };
    match value {
        Value::Object(map) => map.iter().all(|(name, value)| add(Some(name), value)),
        Value::Array(items) => items.iter().all(|value| add(None, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    match text.char_indices().nth(PREVIEW_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn branch<'a>(
    opening: &Opening<'_>,
    entries: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    count: usize,
    level: usize,
    left: &mut usize,
) -> Markup {
    if level >= LEVELS_MAX || *left == 0 {
        return html! { div.leaf { (key(opening.name)) span.size { (opening.size) " …" } } };
    }
    let shown = count.min(ENTRIES_MAX).min(*left);
    let children: Vec<Markup> =
        entries.take(shown).map(|(name, value)| node(name, value, level + 1, left)).collect();
    html! {
        details open[level < OPEN_LEVELS] {
            summary { (key(opening.name)) span.size { (opening.size) }
                @if level >= OPEN_LEVELS { span.preview aria-hidden="true" { (opening.preview) } } }
            div.children {
                @for child in &children { (child) }
                @if shown < count { div.leaf.more { "… " (count - shown) } }
            }
        }
    }
}

fn leaf(name: Option<&str>, value: &Value) -> Markup {
    let (class, text) = match value {
        Value::String(text) => ("text", shortened(text)),
        Value::Number(number) => ("number", number.to_string()),
        Value::Bool(value) => ("word", value.to_string()),
        Value::Null => ("word", "null".to_owned()),
        Value::Object(_) => ("size", "{}".to_owned()),
        Value::Array(_) => ("size", "[]".to_owned()),
    };
    html! { div.leaf { (key(name)) span class=(class) { (text) } } }
}

fn key(name: Option<&str>) -> Markup {
    html! { @if let Some(name) = name { span.key { (name) } } }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}… ({} B)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_of_a_value_is_escaped() {
        let drawn = json_tree(&json!({ "<b>": "<script>" })).into_string();
        assert!(!drawn.contains("<b>") && !drawn.contains("<script>"), "{drawn}");
    }

    #[test]
    fn a_closed_value_shows_its_first_values() {
        assert_eq!(
            preview(&json!({ "id": 7, "name": "Ada", "more": [1] })),
            "id: 7, name: Ada, more: […]"
        );
        assert_eq!(preview(&json!([1, null, {}])), "1, null, {…}");
        assert_eq!(preview(&json!(["x".repeat(500)])).chars().count(), PREVIEW_MAX + 1);
        assert!(preview(&json!(vec!["ab"; 1000])).ends_with('…'));
    }

    #[test]
    fn a_large_value_is_drawn_in_part() {
        let wide: Vec<u32> = (0..100_000).collect();
        let drawn =
            json_tree(&json!({ "wide": wide, "long": "x".repeat(1_000_000) })).into_string();
        assert!(drawn.len() < 20_000, "{} bytes", drawn.len());
        let many = vec![vec![0; 200]; 200];
        let drawn = json_tree(&json!(many)).into_string();
        assert!(drawn.len() < 200_000, "{} bytes", drawn.len());
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert!(json_tree(&deep).into_string().contains("…"));
    }
}
