//! Roles: what the holder of a token may do, and with which playbooks.
//!
//! Invariant: nothing is permitted that no grant permits; a pattern that cannot be read is an error
//! and never matches everything.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The maximum length of a pattern of paths, in bytes.
pub const PATH_PATTERN_MAX: usize = 200;
/// The maximum number of roles that one token has.
pub const GRANTS_MAX: usize = 50;

/// The right that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Reading everything that is not secret.
    Read,
    /// Starting executions, and acting on running ones.
    Operate,
    /// Registering, changing and archiving playbooks.
    Write,
    /// Leasing commands, reporting on them, reading their secrets.
    Work,
    /// The routes between parts of the system.
    Internal,
    /// Everything else: credentials, tokens, the audit log, the server itself.
    Administer,
}

impl Permission {
    pub const ALL: &'static [Permission] = &[
        Permission::Read,
        Permission::Operate,
        Permission::Write,
        Permission::Work,
        Permission::Internal,
        Permission::Administer,
    ];
}

/// A named set of permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Viewer,
    Operator,
    Author,
    Worker,
    /// Another part of the system.
    Internal,
    Admin,
}

/// The error of parsing a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no role; the roles are viewer, operator, author, worker, internal and admin")]
pub struct UnknownRole(pub String);

impl Role {
    pub const ALL: &'static [Role] =
        &[Role::Viewer, Role::Operator, Role::Author, Role::Worker, Role::Internal, Role::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Author => "author",
            Role::Worker => "worker",
            Role::Internal => "internal",
            Role::Admin => "admin",
        }
    }

    /// True if the role includes a permission.
    pub fn includes(self, permission: Permission) -> bool {
        match self {
            Role::Viewer => permission == Permission::Read,
            Role::Operator => matches!(permission, Permission::Read | Permission::Operate),
            Role::Author => {
                matches!(permission, Permission::Read | Permission::Operate | Permission::Write)
            }
            Role::Worker => permission == Permission::Work,
            Role::Internal => permission == Permission::Internal,
            Role::Admin => true,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = Role::ALL.iter().find(|role| role.as_str() == word);
        known.copied().ok_or_else(|| UnknownRole(word.to_owned()))
    }
}

/// A set of playbook paths: all (`*`), those below a prefix (`team-a/*`), or one (`team-a/import`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathPattern {
    All,
    /// The paths that begin with this prefix, which ends with a slash.
    Below(String),
    Exactly(String),
}

/// The error of parsing a pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no pattern of paths; write `*`, `team-a/*` or `team-a/import`, with at most \
     {PATH_PATTERN_MAX} bytes"
)]
pub struct BadPathPattern(pub String);

impl PathPattern {
    pub fn matches(&self, path: &str) -> bool {
        match self {
            PathPattern::All => true,
            PathPattern::Below(prefix) => path.starts_with(prefix) && path.len() > prefix.len(),
            PathPattern::Exactly(only) => path == only,
        }
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathPattern::All => f.write_str("*"),
            PathPattern::Below(prefix) => write!(f, "{prefix}*"),
            PathPattern::Exactly(path) => f.write_str(path),
        }
    }
}

impl FromStr for PathPattern {
    type Err = BadPathPattern;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "*" {
            return Ok(PathPattern::All);
        }
        let (path, is_prefix) = match text.strip_suffix("/*") {
            Some(prefix) => (prefix, true),
            None => (text, false),
        };
        let is_segment = |segment: &str| {
            let is_plain = !segment.chars().any(|it| it == '*' || it.is_control());
            !segment.is_empty() && segment != "." && segment != ".." && is_plain
        };
        if text.len() > PATH_PATTERN_MAX || !path.split('/').all(is_segment) {
            return Err(BadPathPattern(text.to_owned()));
        }
        Ok(match is_prefix {
            true => PathPattern::Below(format!("{path}/")),
            false => PathPattern::Exactly(path.to_owned()),
        })
    }
}

/// A role for some paths; written `author:team-a/*`, or `author` for all paths.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RoleGrant {
    pub role: Role,
    pub paths: PathPattern,
}

/// The error of parsing a role with its paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRoleGrant {
    #[error(transparent)]
    Role(#[from] UnknownRole),
    #[error(transparent)]
    Paths(#[from] BadPathPattern),
    #[error("the role `{0}` has no paths; leave out `:{1}`")]
    WithoutPaths(Role, PathPattern),
}

impl RoleGrant {
    /// A role for all paths.
    pub fn everywhere(role: Role) -> Self {
        Self { role, paths: PathPattern::All }
    }

    /// A role for some paths. The roles of workers, parts of the system and administrators are not
    /// about paths: a worker runs the commands of a pool, and an administrator changes the server.
    pub fn new(role: Role, paths: PathPattern) -> Result<Self, BadRoleGrant> {
        let is_about_paths = match role {
            Role::Viewer | Role::Operator | Role::Author => true,
            Role::Worker | Role::Internal | Role::Admin => paths == PathPattern::All,
        };
        match is_about_paths {
            true => Ok(Self { role, paths }),
            false => Err(BadRoleGrant::WithoutPaths(role, paths)),
        }
    }
}

impl fmt::Display for RoleGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.paths {
            PathPattern::All => write!(f, "{}", self.role),
            paths @ (PathPattern::Below(_) | PathPattern::Exactly(_)) => {
                write!(f, "{}:{paths}", self.role)
            }
        }
    }
}

impl FromStr for RoleGrant {
    type Err = BadRoleGrant;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None => Ok(Self::everywhere(text.parse()?)),
            Some((role, paths)) => Self::new(role.parse()?, paths.parse()?),
        }
    }
}

impl TryFrom<String> for RoleGrant {
    type Error = BadRoleGrant;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<RoleGrant> for String {
    fn from(grant: RoleGrant) -> Self {
        grant.to_string()
    }
}

/// The paths for which a permission is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermittedPaths {
    None,
    /// Some paths: those that one of the patterns matches. Never empty.
    Some(Vec<PathPattern>),
    All,
}

impl PermittedPaths {
    /// Returns the paths for which grants include a permission.
    pub fn of(grants: &[RoleGrant], permission: Permission) -> Self {
        let granted = grants.iter().filter(|grant| grant.role.includes(permission));
        let patterns: Vec<PathPattern> = granted.map(|grant| grant.paths.clone()).collect();
        match patterns.contains(&PathPattern::All) {
            _ if patterns.is_empty() => PermittedPaths::None,
            true => PermittedPaths::All,
            false => PermittedPaths::Some(patterns),
        }
    }

    /// Returns the paths that are in either of two sets.
    #[must_use]
    pub fn or(self, other: PermittedPaths) -> PermittedPaths {
        match (self, other) {
            (PermittedPaths::All, _) | (_, PermittedPaths::All) => PermittedPaths::All,
            (PermittedPaths::None, paths) | (paths, PermittedPaths::None) => paths,
            (PermittedPaths::Some(mut patterns), PermittedPaths::Some(more)) => {
                patterns.extend(more);
                PermittedPaths::Some(patterns)
            }
        }
    }

    pub fn include(&self, path: &str) -> bool {
        match self {
            PermittedPaths::None => false,
            PermittedPaths::Some(patterns) => patterns.iter().any(|it| it.matches(path)),
            PermittedPaths::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_has_its_permissions_and_no_others() {
        let expected = "\
viewer   r-----
operator ro----
author   row---
worker   ---k--
internal ----i-
admin    rowkia
";
        let mut table = String::new();
        for role in Role::ALL {
            let marks = Permission::ALL.iter().zip("rowkia".chars());
            let marks: String =
                marks.map(|(it, mark)| if role.includes(*it) { mark } else { '-' }).collect();
            table.push_str(&format!("{role:<8} {marks}\n", role = role.as_str()));
        }
        assert_eq!(table, expected);
    }

    #[track_caller]
    fn matches(pattern: &str, path: &str, expected: bool) {
        let pattern: PathPattern = pattern.parse().expect("a pattern");
        assert_eq!(pattern.matches(path), expected, "{pattern} {path}");
    }

    #[test]
    fn a_pattern_matches_whole_segments_only() {
        matches("*", "a", true);
        matches("*", "team-a/b/c", true);
        matches("team-a/*", "team-a/import", true);
        matches("team-a/*", "team-a/jobs/import", true);
        matches("team-a/*", "team-a", false);
        matches("team-a/*", "team-a/", false);
        matches("team-a/*", "team-ab/import", false);
        matches("team-a/*", "x/team-a/import", false);
        matches("team-a/*", "Team-A/import", false);
        matches("team-a/import", "team-a/import", true);
        matches("team-a/import", "team-a/import2", false);
    }

    #[test]
    fn a_text_that_is_no_pattern_is_refused() {
        let long = format!("{}/*", "x".repeat(PATH_PATTERN_MAX));
        for text in
            ["", "/", "/*", "a/", "/a", "a//b", "a*", "*/a", "a/*/b", "../*", "a/./b", &long]
        {
            assert!(text.parse::<PathPattern>().is_err(), "{text}");
        }
    }

    #[track_caller]
    fn grants(texts: &[&str]) -> Vec<RoleGrant> {
        texts.iter().map(|text| text.parse().expect("a grant")).collect()
    }

    #[test]
    fn a_grant_is_written_as_it_is_read() {
        for text in ["viewer", "author:team-a/*", "operator:team-a/import", "worker", "admin"] {
            assert_eq!(text.parse::<RoleGrant>().map(|it| it.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("viewer:*".parse(), Ok(RoleGrant::everywhere(Role::Viewer)));
        for text in ["", "root", "viewer:", "worker:team-a/*", "admin:team-a/*", "Viewer"] {
            assert!(text.parse::<RoleGrant>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_paths_of_a_permission_are_those_of_all_roles_that_include_it() {
        let given = grants(&["viewer:team-b/*", "author:team-a/*"]);
        let read = PermittedPaths::of(&given, Permission::Read);
        assert!(read.include("team-a/x") && read.include("team-b/x") && !read.include("c"));
        let write = PermittedPaths::of(&given, Permission::Write);
        assert!(write.include("team-a/x") && !write.include("team-b/x"));
        assert_eq!(PermittedPaths::of(&given, Permission::Administer), PermittedPaths::None);
        let wider = grants(&["viewer:team-b/*", "operator"]);
        assert_eq!(PermittedPaths::of(&wider, Permission::Read), PermittedPaths::All);
        assert_eq!(PermittedPaths::of(&[], Permission::Read), PermittedPaths::None);
        assert!(!PermittedPaths::None.include("a"));
    }
}
