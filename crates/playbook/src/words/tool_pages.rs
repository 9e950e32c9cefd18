//! The meaning of each setting of a tool, from the tables of the tools' pages in the documentation.

use noetl_model::ToolKind;

/// Returns the page of a tool.
fn page(kind: ToolKind) -> Option<&'static str> {
    macro_rules! pages {
        ($($name:literal),*) => {
            match kind.as_str() {
                $($name => Some(include_str!(concat!("../../../../docs/tools/", $name, ".md"))),)*
                _ => None,
            }
        };
    }
    pages!(
        "approval",
        "artifact",
        "duckdb",
        "http",
        "nats",
        "noop",
        "playbook",
        "postgres",
        "python",
        "rhai",
        "script",
        "secrets",
        "shell",
        "sqlite",
        "subscription",
        "task_sequence",
        "transfer",
        "wait",
        "workbook"
    )
}

/// Returns the meaning of a setting of a tool; `None` if the page has no row for it.
pub(crate) fn about_setting(kind: ToolKind, key: &str) -> Option<&'static str> {
    let quoted = format!("`{key}`");
    page(kind)?.lines().find_map(|line| {
        let (keys, meaning) = line.strip_prefix("| ")?.split_once(" | ")?;
        let is_row = keys.split(", ").any(|it| it.trim() == quoted);
        is_row.then(|| meaning.trim_end_matches('|').trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_explained_by_the_page_of_its_tool() {
        let check = |kind: &str, key| about_setting(kind.parse().expect("a kind"), key);
        assert_eq!(check("http", "url"), Some("the URL; `endpoint` is accepted too"));
        assert!(check("http", "body").is_some_and(|it| it.starts_with("the request body")));
        assert_eq!(check("http", "nothing"), None);
    }
}
