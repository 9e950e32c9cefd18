//! The initiator of an execution, with a link to it.

use maud::{Markup, html};
use noetl_app::Initiator;

use super::id::execution_link;
use crate::address::encoded;
use crate::request::PageRequest;

pub(crate) fn initiator_line(page: &PageRequest, initiator: &Initiator) -> Markup {
    match initiator {
        Initiator::Request => html! { (page.t("initiator.request")) },
        Initiator::OtherProgram => html! { (page.t("initiator.other_program")) },
        Initiator::Parent(parent) => {
            html! { (page.t("initiator.parent")) " " (execution_link(*parent)) }
        }
        Initiator::Subscription { id, path } => html! {
            (page.t("initiator.subscription")) " " a href={ "/ui/subscriptions/" (id) } { (path) }
        },
        Initiator::Schedule { path, .. } => html! {
            (page.t("initiator.schedule")) " " a href={ "/ui/schedules/" (encoded(path)) } { (path) }
        },
        Initiator::Rerun(original) => {
            html! { (page.t("compare.repeats")) " " (execution_link(*original)) }
        }
        Initiator::Fork(point) => {
            html! { (page.t("exec.fork_of")) " " (execution_link(point.execution)) }
        }
    }
}
