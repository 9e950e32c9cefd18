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
        seeded.chain(empty).chain([login]).chain(opened).collect()
    }

    /// Returns names and addresses of the pages of the seeded server, below `/ui/`.
    pub(super) fn seeded_addresses(&self) -> Vec<(&'static str, String)> {
        let site = &self.seeded;
        let fixed = PLACES.iter().map(|(name, path)| (*name, (*path).to_owned()));
        let of = |name, id: &String, more: &str| (name, format!("executions/{id}{more}"));
        let executions = [
            of("execution-failed", &site.failed, ""),
            of("execution-failed-variables", &site.failed, "?tab=variables"),
            of("execution-failed-events", &site.failed, "?tab=events"),
            of("execution-failed-logs", &site.failed, "?tab=logs&step=ship"),
            of("execution-completed", &site.completed, ""),
            of("execution-loop", &site.completed, "?step=price"),
            of("execution-source", &site.completed, "?tab=source&step=price"),
            of("execution-try", &site.completed, "?tab=try&expression=ctx.total%20*%202"),
            of("execution-at-event", &site.completed, "?at=40&to=30&tab=variables"),
            of("execution-skipped-step", &site.completed, "?step=gift"),
            of("execution-events-none", &site.completed, "?tab=events&text=nowhere"),
            of("execution-cycle", &site.cycled, "?step=fetch"),
            of("execution-waiting", &site.waiting, ""),
            of("execution-unserved", &site.unserved, ""),
            of("execution-parent", &site.parent, ""),
            of("execution-compare", &site.completed, "/compare?at=40&to=10"),
            of("execution-fork", &site.completed, "/fork?at=20"),
            of("execution-fork-playbook", &site.failed, "/fork?edit=playbook"),
            of("execution-again", &site.failed, "/again"),
            of("execution-verify", &site.completed, "/verify"),
            of("execution-value", &site.completed, "/value?name=ctx.total"),
            of("execution-no-position", &site.completed, "?at=999999"),
            ("executions-children", format!("executions?parent={}", site.parent)),
            ("subscription", format!("subscriptions/{}", site.subscription)),
            ("bulk-job", format!("executions/bulk/{}", site.bulk_job)),
        ];
        fixed.chain(executions).collect()
    }
}

/// Names and addresses below `/ui/` that are the same for every seeded server.
const PLACES: &[(&str, &str)] = &[
    ("overview", ""),
    ("executions", "executions"),
    ("executions-failed", "executions?status=FAILED&live=on"),
    ("executions-none", "executions?playbook=nowhere"),
    ("bulk", "executions/bulk"),
    ("bulk-question", "executions/bulk?action=cancel&status=RUNNING"),
    ("playbooks", "playbooks"),
    ("playbook", "playbooks/shop/orders"),
    ("playbook-difference", "playbooks/shop/orders?compare=1"),
    ("playbook-old-version", "playbooks/shop/orders?version=1"),
    ("playbook-edit", "playbooks/shop/orders/edit"),
    ("playbook-new", "playbooks/new"),
    ("schedules", "schedules"),
    ("schedule", "schedules/shop/nightly"),
    ("subscriptions", "subscriptions"),
    ("feeds", "feeds"),
    ("workers", "workers"),
    ("credentials", "credentials"),
    ("system", "system"),
    ("find", "find?q=shop"),
    ("find-nothing", "find?q=nowhere"),
    ("not-found", "nowhere"),
    ("components", "components"),
];

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
];

fn page(name: &str, site: String, path: &str) -> VisitedPage {
    let address = format!("{site}/ui/{path}");
    VisitedPage { name: name.to_owned(), address, opened: OpenedPart::Nothing }
}

impl Browser {
    /// Opens a page and the part of it that the visitor wants to see.
    pub(super) fn visit(&self, page: &VisitedPage) {
        self.open(&page.address);
        let shown = match page.opened {
            OpenedPart::Nothing => return,
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
}

/// Parses the address patterns of the pages from the source of their routes.
fn routed_pages() -> Vec<String> {
    let source = include_str!("../../../../web/src/pages.rs");
    let source: String = source.split_whitespace().collect();
    let routes = source.split(".route(\"").skip(1).filter_map(|route| {
        let (pattern, handler) = route.split_once("\",")?;
        handler.starts_with("get(").then(|| pattern.to_owned())
    });
    routes.collect()
}

/// True if an address is one of a pattern such as `/ui/executions/{id}`.
fn is_of(pattern: &str, path: &str) -> bool {
    let (mut parts, mut names) = (path.split('/'), pattern.split('/'));
    loop {
        match (names.next(), parts.next()) {
            (None, None) => return true,
            (Some(name), Some(_)) if name.starts_with("{*") => return true,
            (Some(name), Some(part)) if name.starts_with('{') || name == part => {}
            (Some(_), Some(_) | None) | (None, Some(_)) => return false,
        }
    }
}

/// Addresses that answer with something else than a page.
const NO_PAGES: &[&str] = &["/ui", "/ui/executions/{id}/live", "/ui/executions/{id}/log.jsonl"];

#[test]
fn the_list_of_pages_has_every_route() {
    let sites = VisitedSites::new();
    let pages = sites.pages();
    let paths: Vec<&str> = pages
        .iter()
        .filter_map(|page| page.address.split_once("/ui/"))
        .map(|(site, _)| site.len())
        .zip(&pages)
        .map(|(start, page)| page.address[start..].split('?').next().unwrap_or_default())
        .collect();
    let patterns = routed_pages();
    assert!(patterns.len() > 15, "{patterns:?}");
    for pattern in patterns.iter().filter(|it| !NO_PAGES.contains(&it.as_str())) {
        assert!(paths.iter().any(|path| is_of(pattern, path)), "no page of {pattern} is visited");
    }
}
