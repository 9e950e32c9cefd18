//! Labels and actors of executions, with links to the executions that have them.

use maud::{Markup, html};
use noetl_model::{Actor, Label, Labels};

use crate::address::with_query;

const LIST: &str = "/ui/executions";

/// Splits labels that are separated by commas; a value may have commas of its own.
pub(crate) fn label_parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        match parts.last_mut() {
            Some(last) if !part.contains([':', '=']) => *last = format!("{last},{part}"),
            Some(_) | None => parts.push(part.to_owned()),
        }
    }
    parts
}

/// Reads labels that are separated by commas; the error says which part is none.
pub(crate) fn labels_of(text: &str) -> Result<Labels, String> {
    let labels = label_parts(text);
    let labels = labels.iter().map(|part| part.parse::<Label>());
    let labels = labels.collect::<Result<Vec<Label>, _>>().map_err(|error| error.to_string())?;
    Labels::default().with(labels).map_err(|error| error.to_string())
}

/// Returns the address of the executions with a label.
fn label_address(label: &Label) -> String {
    with_query(LIST, &[("label", &label.to_string())])
}

/// Draws the labels of an execution.
pub(crate) fn label_links(labels: &Labels) -> Markup {
    html! {
        @if !labels.is_empty() {
            div.labels {
                @for label in labels.iter() {
                    a.label href=(label_address(label)) { (label) } " "
                }
            }
        }
    }
}

/// Draws an actor.
pub(crate) fn actor_link(actor: &Actor) -> Markup {
    html! { a href=(with_query(LIST, &[("actor", actor.as_str())])) { (actor) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_label_keeps_all_of_its_characters() {
        let label: Label = "note:a,b & c".parse().expect("a label");
        assert_eq!(label_address(&label), "/ui/executions?label=note:a%2Cb%20%26%20c");
    }
}
