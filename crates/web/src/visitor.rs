//! The sender of a request for a page, and the permissions that each page needs.

use std::net::{IpAddr, Ipv4Addr};

use axum::http::Method;
use noetl_app::StatedNames;
use noetl_model::Actor;

/// The permission that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageScope {
    Public,
    Read,
    Run,
    /// Writing playbooks.
    Write,
    Admin,
}

/// The permissions of a visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permissions {
    pub read: bool,
    pub run: bool,
    /// May write playbooks.
    pub write: bool,
    pub admin: bool,
}

impl Permissions {
    pub const ALL: Self = Self { read: true, run: true, write: true, admin: true };
    pub const NONE: Self = Self { read: false, run: false, write: false, admin: false };
}

/// The sender of a request, as the server has authenticated it.
#[derive(Debug, Clone)]
pub struct Visitor {
    pub address: IpAddr,
    pub may: Permissions,
    /// The name of the visitor's token.
    pub actor: Option<Actor>,
    /// The treatment of names that the visitor states.
    pub names: StatedNames,
}

impl Visitor {
    /// A visitor without permissions and without an address.
    pub const UNKNOWN: Self = Self {
        address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        may: Permissions::NONE,
        actor: None,
        names: StatedNames::Refused,
    };
}

/// Paths that need no permission: the way in, and the files that every page loads.
const PUBLIC: &[&str] = &["/ui/login", "/ui/preferences"];
const ASSETS: &str = "/ui/assets/";
/// Prefix of the links with which people without access decide; the link itself is the permission.
const LINKS: &str = "/ui/decide/";

/// Prefixes of paths that need the permission of an administrator, for reading too.
const ADMIN_PAGES: &[&str] = &["/ui/audit", "/ui/tokens"];

/// Prefixes of paths whose forms need the permission of an administrator.
const ADMIN_FORMS: &[&str] = &["/ui/credentials", "/ui/feeds"];

/// Prefix of the paths of executions, and the ends of those whose forms need the permission of an
/// administrator.
const EXECUTIONS: &str = "/ui/executions/";
const ADMIN_EXECUTION_FORMS: &[&str] = &["/retention"];

/// Prefix of the paths by which the editor asks about a text; nothing is changed or recorded.
const EDITOR_QUESTIONS: &str = "/ui/editor/";

/// Prefixes of paths whose forms register documents.
const WRITE_FORMS: &[&str] = &["/ui/playbooks/new"];

/// Returns the permission that a request for a path below `/ui/` needs.
pub fn needed(method: &Method, path: &str) -> PageScope {
    let is_read = [Method::GET, Method::HEAD].contains(method);
    match is_read {
        _ if PUBLIC.contains(&path) => PageScope::Public,
        _ if path.starts_with(LINKS) => PageScope::Public,
        true if path.starts_with(ASSETS) => PageScope::Public,
        _ if ADMIN_PAGES.iter().any(|prefix| path.starts_with(prefix)) => PageScope::Admin,
        true => PageScope::Read,
        false if path.starts_with(EDITOR_QUESTIONS) => PageScope::Read,
        false if path == "/ui/logout" => PageScope::Public,
        false if ADMIN_FORMS.iter().any(|prefix| path.starts_with(prefix)) => PageScope::Admin,
        false if is_admin_execution_form(path) => PageScope::Admin,
        false if WRITE_FORMS.iter().any(|prefix| path.starts_with(prefix)) => PageScope::Write,
        false => PageScope::Run,
    }
}

fn is_admin_execution_form(path: &str) -> bool {
    path.starts_with(EXECUTIONS) && ADMIN_EXECUTION_FORMS.iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: Method, path: &str, expected: PageScope) {
        assert_eq!(needed(&method, path), expected, "{method} {path}");
    }

    #[test]
    fn pages_need_read_and_forms_need_more() {
        check(Method::GET, "/ui/", PageScope::Read);
        check(Method::GET, "/ui/credentials", PageScope::Read);
        check(Method::POST, "/ui/executions/1/cancel", PageScope::Run);
        check(Method::POST, "/ui/editor/analysis", PageScope::Read);
        check(Method::POST, "/ui/playbooks/new", PageScope::Write);
        check(Method::POST, "/ui/credentials", PageScope::Admin);
    }

    #[test]
    fn the_audit_the_tokens_and_the_retention_need_an_administrator() {
        for method in [Method::GET, Method::HEAD, Method::POST] {
            check(method.clone(), "/ui/audit", PageScope::Admin);
            check(method, "/ui/tokens", PageScope::Admin);
        }
        check(Method::GET, "/ui/executions/1/retention", PageScope::Read);
        check(Method::POST, "/ui/executions/1/retention", PageScope::Admin);
        check(Method::POST, "/ui/executions/1/pause", PageScope::Run);
    }

    #[test]
    fn the_way_in_and_the_files_of_pages_are_public() {
        check(Method::GET, "/ui/login", PageScope::Public);
        check(Method::POST, "/ui/login", PageScope::Public);
        check(Method::POST, "/ui/logout", PageScope::Public);
        check(Method::POST, "/ui/preferences", PageScope::Public);
        check(Method::GET, "/ui/assets/0/page.css", PageScope::Public);
        check(Method::POST, "/ui/assets/0/page.css", PageScope::Run);
        check(Method::GET, "/ui/decide/abc.def", PageScope::Public);
        check(Method::POST, "/ui/decide/abc.def", PageScope::Public);
        check(Method::POST, "/ui/waiting/1/2", PageScope::Run);
        check(Method::GET, "/ui/login/../executions", PageScope::Read);
    }
}
