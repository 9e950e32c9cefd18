//! All pages of the interface, for tests that look at each of them.

use std::process::Stdio;

use super::driver::Browser;
use super::seed::SeededSite;
use crate::sandbox::{Sandbox, eventually};
use crate::server::{KEY, Server};

/// A page to look at.
#[derive(Debug)]
pub(super) struct VisitedPage {
    /// A name for messages and files.
    pub(super) name: String,
    pub(super) address: String,
    pub(super) opened: OpenedPart,
}

/// A part of a page that the visitor opens before looking at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenedPart {
    Nothing,
    Palette,
    Keys,
    Menu,
    Confirmation,
    /// The page after a login with a token that may only read.
    ReaderSession,
}

/// Servers in the states that pages show: seeded, empty, and one that asks for a token.
pub(super) struct VisitedSites {
    pub(super) seeded: SeededSite,
    empty: Server,
    guarded: Server,
    _sandboxes: [Sandbox; 2],
}

/// Tokens of a server: one that may read, one that may run, one that may do all.
pub(super) const TOKENS: &str = "read=reader read+run=runner admin=admin";

/// Starts a server that asks for a token.
pub(super) fn guarded_server(sandbox: &Sandbox) -> Server {
    let mut command = sandbox.command(&["server", "--listen", "127.0.0.1:0"]);
    command.env("NOETL_ENCRYPTION_KEY", KEY).env("NOETL_API_TOKENS", TOKENS);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Server::of(command.spawn().expect("the binary runs"))
}

impl VisitedSites {
    pub(super) fn new() -> Self {
        let sandboxes = [Sandbox::new(), Sandbox::new()];
        let empty = Server::new(&sandboxes[0], &["--no-worker"]);
        let guarded = guarded_server(&sandboxes[1]);
        Self { seeded: SeededSite::new(), empty, guarded, _sandboxes: sandboxes }
    }

    /// Returns true if an address is one of these servers.
    pub(super) fn is_own(&self, url: &str) -> bool {
        let own = [self.seeded.url(), self.empty.url(), self.guarded.url()];
        own.iter().any(|it| url.starts_with(it))
    }

    pub(super) fn pages(&self) -> Vec<VisitedPage> {
        let seeded = self.seeded_addresses();
        let seeded = seeded.into_iter().map(|(name, path)| page(name, self.seeded.url(), &path));
        let empty = EMPTY_PLACES.iter().map(|name| {
            let path = if *name == "overview" { "" } else { *name };
            page(&format!("empty-{name}"), self.empty.url(), path)
        });
        let login = page("login", self.guarded.url(), "login");
        let read = DENIED_PLACES.map(|(name, path)| VisitedPage {
            opened: OpenedPart::ReaderSession,
            ..page(name, self.guarded.url(), path)
        });
        let opened = [
            ("palette", OpenedPart::Palette),
            ("keys", OpenedPart::Keys),
            ("menu", OpenedPart::Menu),
            ("confirmation", OpenedPart::Confirmation),
        ];
        let opened = opened.map(|(name, opened)| VisitedPage {
            opened,
            ..page(name, self.seeded.url(), "executions?status=RUNNING")
        });
        seeded.chain(empty).chain([login]).chain(read).chain(opened).collect()
    }

    /// Returns names and addresses of the pages of the seeded server, below `/ui/`.
    fn seeded_addresses(&self) -> Vec<(&'static str, String)> {
        let site = &self.seeded;
        let lines = PAGES.lines().chain(MORE_PAGES.lines());
        let pages = lines.map(|line| line.split_once(' ').unwrap_or((line, "")));
        let filled = |path: &str| {
            path.replace("{failed}", &site.failed)
                .replace("{failed_step}", "ship")
                .replace("{completed}", &site.completed)
                .replace("{cycled}", &site.cycled)
                .replace("{waiting}", &site.waiting)
                .replace("{unserved}", &site.unserved)
                .replace("{parent}", &site.parent)
                .replace("{paused}", &site.paused)
                .replace("{deleted}", &site.deleted)
                .replace("{subscription}", &site.subscription)
                .replace("{bulk_job}", &site.bulk_job)
                .replace("{queued}", &site.queued)
                .replace("{labelled}", &site.labelled)
                .replace("{approval}", &site.approval)
                .replace("{link}", &site.link)
        };
        pages.map(|(name, path)| (name, filled(path))).collect()
    }
}

/// Names and addresses of the pages, below `/ui/`; a test of their text compares them too, and
/// checks that there is one of every route.
const PAGES: &str = include_str!("../../../../web/src/tests/pages.txt");

/// Pages in more states.
const MORE_PAGES: &str = "\
executions-failed executions?status=FAILED&live=on
executions-none executions?playbook=nowhere
executions-children executions?parent={parent}
limit-unused limits/nobody
playbook-old-version playbooks/shop/orders?version=1
execution-completed executions/{completed}
execution-loop executions/{completed}?step=price
execution-at-event executions/{completed}?at=40&to=30&tab=variables
execution-skipped-step executions/{completed}?step=gift
execution-events-none executions/{completed}?tab=events&text=nowhere
execution-cycle executions/{cycled}?step=fetch
execution-waiting executions/{waiting}
execution-parent executions/{parent}
execution-signal executions/{labelled}
executions-label executions?label=parcel:p-17
execution-fork-playbook executions/{failed}/fork?edit=playbook
execution-compare-two executions/{failed}/compare?to={completed}
execution-item executions/{completed}?step=price&item=1
executions-team executions?label=team:ops
executions-compare executions?compare={failed}
executions-unread executions?from=nonsense
playbook-paused playbooks/office/letters
playbook-schedule playbooks/shop/nightly
playbooks-archived playbooks?archived=on
schedule-paused schedules/warehouse/hourly
audit-none audit?action=nowhere
execution-time-axis executions/{completed}?axis=time&expand=bill&critical=on
";

/// Pages of the server that asks for a token, as a reader sees them.
const DENIED_PLACES: [(&str, &str); 2] = [("denied", "tokens"), ("reader-system", "system")];

/// The places that are empty on a new machine.
const EMPTY_PLACES: &[&str] = &[
    "overview",
    "executions",
    "playbooks",
    "schedules",
    "subscriptions",
    "feeds",
    "workers",
    "credentials",
    "system",
    "waiting",
];

fn page(name: &str, site: String, path: &str) -> VisitedPage {
    let address = format!("{site}/ui/{path}");
    VisitedPage { name: name.to_owned(), address, opened: OpenedPart::Nothing }
}

impl Browser {
    /// Opens a page and the part of it that the visitor wants to see.
    pub(super) fn visit(&self, page: &VisitedPage) {
        if page.opened == OpenedPart::ReaderSession {
            return self.visit_as_reader(&page.address);
        }
        self.open(&page.address);
        let shown = match page.opened {
            OpenedPart::Nothing | OpenedPart::ReaderSession => return,
            OpenedPart::Palette => {
                self.press("/");
                "#palette[open] [role=option]"
            }
            OpenedPart::Keys => {
                self.press("?");
                "#keys[open]"
            }
            OpenedPart::Menu => {
                self.click("details.menu summary");
                "details.menu[open]"
            }
            OpenedPart::Confirmation => {
                self.click("details.confirm summary");
                "details.confirm[open]"
            }
        };
        eventually(&page.name, || self.find(shown).is_some());
    }

    /// Opens a page of the server that asks for a token, and logs in if it asks for one.
    fn visit_as_reader(&self, address: &str) {
        self.open(address);
        if self.find(".login input[name=token]").is_none() {
            return;
        }
        self.write(".login input[name=token]", "reader");
        self.click(".login button.main");
        self.arrives("the reader is logged in", |it| !it.contains("/ui/login"));
        // The requests of the login are not those of the page.
        let _login = (self.console_errors(), self.requests());
        self.open(address);
    }
}
