//! Icons: drawn here once as symbols, used by reference.

use maud::{Markup, PreEscaped, html};

/// An icon of the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Icon {
    Brand,
    Overview,
    Execution,
    Playbook,
    Waiting,
    Schedule,
    Subscription,
    Feed,
    Worker,
    Credential,
    System,
    Token,
    Audit,
    Choices,
    Completed,
    Failed,
    Running,
    Cancelled,
    Warning,
    Copy,
}

impl Icon {
    const ALL: &[Self] = &[
        Self::Brand,
        Self::Overview,
        Self::Execution,
        Self::Playbook,
        Self::Waiting,
        Self::Schedule,
        Self::Subscription,
        Self::Feed,
        Self::Worker,
        Self::Credential,
        Self::System,
        Self::Token,
        Self::Audit,
        Self::Choices,
        Self::Completed,
        Self::Failed,
        Self::Running,
        Self::Cancelled,
        Self::Warning,
        Self::Copy,
    ];

    const fn id(self) -> &'static str {
        self.drawing().0
    }

    /// Returns the id of the symbol and its drawing in a square of 16 by 16.
    const fn drawing(self) -> (&'static str, &'static str) {
        match self {
            Self::Brand => (
                "i-brand",
                "<circle cx='3.5' cy='8' r='2'/><circle cx='12.5' cy='3.5' r='2'/>\
                 <circle cx='12.5' cy='12.5' r='2'/><path d='M5.3 7.1l5.4-2.7M5.3 8.9l5.4 2.7'/>",
            ),
            Self::Overview => (
                "i-overview",
                "<path d='M2.5 2.5h4.5v6H2.5zM9 2.5h4.5v3.5H9zM9 8h4.5v5.5H9zM2.5 10.5h4.5v3H2.5z'/>",
            ),
            Self::Execution => ("i-execution", "<path d='M4 2.8l9 5.2-9 5.2z'/>"),
            Self::Playbook => {
                ("i-playbook", "<path d='M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3M5.8 8h4.4M5.8 11h4.4'/>")
            }
            Self::Waiting => (
                "i-waiting",
                "<circle cx='8' cy='5' r='2.8'/><path d='M2.5 14c.4-3.3 2.6-5 5.5-5s5.1 1.7 5.5 5'/>",
            ),
            Self::Schedule => {
                ("i-schedule", "<circle cx='8' cy='8' r='6'/><path d='M8 4.5V8l2.5 1.8'/>")
            }
            Self::Subscription => (
                "i-subscription",
                "<path d='M2 9.5h3.2l1.2 2h3.2l1.2-2H14M2 9.5l2-6.5h8l2 6.5v4H2z'/>",
            ),
            Self::Feed => (
                "i-feed",
                "<circle cx='4' cy='12' r='1.2'/><path d='M2.8 7.3a6 6 0 0 1 5.9 5.9M2.8 3a10.2 10.2 0 0 1 10.2 10.2'/>",
            ),
            Self::Worker => (
                "i-worker",
                "<rect x='4.5' y='4.5' width='7' height='7'/><path d='M6.5 4.5V2M9.5 4.5V2M6.5 14v-2.5M9.5 14v-2.5M4.5 6.5H2M4.5 9.5H2M14 6.5h-2.5M14 9.5h-2.5'/>",
            ),
            Self::Credential => (
                "i-credential",
                "<circle cx='5' cy='8' r='2.8'/><path d='M7.8 8H14v2.5M11.5 8v2'/>",
            ),
            Self::System => {
                ("i-system", "<path d='M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01'/>")
            }
            Self::Token => ("i-token", "<path d='M8.5 2H14v5.5L7.5 14 2 8.5zM11 5h.01'/>"),
            Self::Audit => (
                "i-audit",
                "<path d='M7 3.5h7M7 8h7M7 12.5h7M2 3.3l1 1 1.6-1.8M2 7.8l1 1L4.6 7M2 12.3l1 1 1.6-1.8'/>",
            ),
            Self::Choices => (
                "i-choices",
                "<path d='M2 4.5h6.5M12 4.5h2M2 11.5h2M7.5 11.5H14'/><circle cx='10.3' cy='4.5' r='1.7'/><circle cx='5.7' cy='11.5' r='1.7'/>",
            ),
            Self::Completed => {
                ("i-completed", "<circle cx='8' cy='8' r='6'/><path d='M5.3 8.2l1.9 1.9 3.6-4'/>")
            }
            Self::Failed => (
                "i-failed",
                "<path d='M5.3 2h5.4L14 5.3v5.4L10.7 14H5.3L2 10.7V5.3zM6 6l4 4M10 6l-4 4'/>",
            ),
            Self::Running => {
                ("i-running", "<path d='M14 8a6 6 0 1 1-3-5.2'/><path d='M6.8 5.8v4.4L10.3 8z'/>")
            }
            Self::Cancelled => {
                ("i-cancelled", "<circle cx='8' cy='8' r='6'/><path d='M4 12L12 4'/>")
            }
            Self::Warning => ("i-warning", "<path d='M8 2l6.3 11.5H1.7zM8 6.3v3.4M8 11.6h.01'/>"),
            Self::Copy => ("i-copy", "<path d='M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3'/>"),
        }
    }
}

/// Draws an icon. The word beside it, or the label around it, says what it means.
pub(crate) fn icon(icon: Icon) -> Markup {
    html! { svg.icon aria-hidden="true" { use href={ "#" (icon.id()) } {} } }
}

/// Draws the definitions of all icons, once per page.
pub(super) fn symbols() -> Markup {
    html! {
        svg.symbols aria-hidden="true" width="0" height="0" {
            @for icon in Icon::ALL {
                symbol id=(icon.id()) viewBox="0 0 16 16" { (PreEscaped(icon.drawing().1)) }
            }
        }
    }
}
