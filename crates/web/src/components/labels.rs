//! Labels and actors of executions, with links to the executions that have them.

use maud::{Markup, html};
use noetl_model::{Actor, Label, Labels};

use crate::address::with_query;

const LIST: &str = "/ui/executions";

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
