//! Every component in one page, for whoever changes one.

mod examples;

use std::time::Duration;

use maud::{Markup, html};
use noetl_model::{ExecutionId, ExecutionStatus};
use serde_json::json;

use crate::components::action::{Action, action, confirmed_action, reasoned_action};
use crate::components::bar::bar;
use crate::components::command::command;
use crate::components::duration::duration;
use crate::components::empty::empty;
use crate::components::error::{error_line, error_panel, hint};
use crate::components::id::{execution_link, playbook_link};
use crate::components::json_tree::json_tree;
use crate::components::prose::prose;
use crate::components::sentence::{SaidTime, TIME_PLACE, TimedSentence};
use crate::components::status::{Tone, badge, execution_status};
use crate::components::table::{actions, number, table, text, wide};
use crate::components::time::time;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::PageResult;

pub(super) async fn show(page: PageRequest) -> PageResult {
    let head = PageHead { title: "Components", place: NavPlace::None };
    Ok(page.respond(&head, &template(&page)))
}

fn template(page: &PageRequest) -> Markup {
    html! {
        header.page-head { h1 { "Components" } }
        (shown("status", &html! {
            @for status in ExecutionStatus::ALL { (execution_status(page.words, *status)) " " }
            (badge(Tone::Warning, "waiting"))
        }))
        (shown("duration", &html! {
            @for seconds in [0, 5, 80, 4000, 100_000] { (duration(page.words, Duration::from_secs(seconds))) " · " }
        }))
        (shown("time", &time(page.now)))
        (shown("id", &html! { (execution_link(ExecutionId(7_000_123_456_789))) " " (playbook_link("a/b/name")) }))
        (shown("bar", &bar(10, &[(Tone::Good, 6), (Tone::Bad, 1)], "6 of 10")))
        (shown("table", &example_table(page)))
        (shown("json_tree", &json_tree(&json!({ "text": "a", "list": [1, 2.5, null, true], "empty": {} }))))
        (shown("empty", &empty("Nothing", "It would be here.", Some("noetl run x.yaml"))))
        (shown("command", &command("noetl worker --pool gpu")))
        (shown("action", &actions_example(page)))
        (shown("labels", &examples::labels_example()))
        (shown("initiator", &examples::initiators(page)))
        (shown("progress", &examples::hints(page)))
        (shown("prose", &prose("A sentence with `code` in it.")))
        (shown("sentence", &TimedSentence {
            text: format!("Step `a` waits {TIME_PLACE}."),
            time: SaidTime::Passed(Duration::from_secs(80)),
        }.drawn(page.words, true)))
        (shown("execution_table", &examples::table(page)))
        (shown("duration_bars", &examples::durations(page)))
        (shown("histogram", &examples::bars(page)))
        (shown("approval", &examples::approvals(page)))
        (shown("source_text", &examples::source()))
        (shown("editor", &examples::editor(page)))
        (shown("error", &html! { (error_line("It failed.")) (hint(&html! { "Look." })) (error_panel("Title", Some(html! { "message" }), "more")) }))
    }
}

fn shown(name: &str, component: &Markup) -> Markup {
    html! { section { h2 { (name) } div.panel { (component) } } }
}

fn actions_example(page: &PageRequest) -> Markup {
    let example = Action { address: "/ui/preferences", label: "Act", fields: &[] };
    html! {
        (action(page, &example)) " " (confirmed_action(page, &example, "Really?")) " "
        (reasoned_action(page, &example))
    }
}

fn example_table(page: &PageRequest) -> Markup {
    let example = Action { address: "/ui/preferences", label: "Act", fields: &[] };
    let columns = [text("text"), number("number"), wide("wide"), actions("actions")];
    let row = vec![
        html! { "a" },
        html! { "1,234" },
        html! { "takes the rest" },
        html! { (action(page, &example)) " " (confirmed_action(page, &example, "Really?")) },
    ];
    table("example", &columns, &[row])
}

#[cfg(test)]
mod tests {
    /// Modules that draw nothing by themselves.
    const NO_COMPONENTS: &[&str] = &["source_lines"];

    #[test]
    fn every_component_is_shown() {
        let modules = include_str!("../components.rs").lines();
        let modules =
            modules.filter_map(|line| line.strip_prefix("pub(crate) mod ")?.strip_suffix(';'));
        let shown = include_str!("components.rs");
        let missing: Vec<&str> = modules
            .filter(|name| !NO_COMPONENTS.contains(name))
            .filter(|name| !shown.contains(&format!("shown(\"{name}\"")))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
