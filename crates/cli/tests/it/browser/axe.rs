//! axe-core, the checker of accessibility: fetched by npm into the user's cache, run in the page.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::driver::Browser;

const VERSION: &str = "4.14.0";
/// The SHA-256 of `axe.min.js` of this version.
const DIGEST: &str = "20c09fe157a8a34a30e241aaa1fcdade657734f08ab379ecfbeb7d45cc46e878";

/// The rules that a page is checked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckedRules {
    All,
    /// The rules whose findings depend on the theme.
    Colors,
}

/// Runs rules and returns the serious and critical findings, a line for each element.
const RUN: &str = r#"
const [only, done] = arguments;
const chosen = only.length > 0 ? { runOnly: { type: "rule", values: only } } : {};
axe.run(document, { resultTypes: ["violations"], ...chosen }).then(
  (result) => done(result.violations
    .filter((found) => ["serious", "critical"].includes(found.impact))
    .flatMap((found) => found.nodes.map((node) =>
      `${found.id}: ${node.target.join(" ")}: ${node.any.concat(node.all, node.none)
        .map((it) => it.message).join("; ")}`))),
  (error) => done([String(error)]),
);
"#;

/// Returns the script; fetches it if the cache does not have it.
pub(super) fn script() -> String {
    let place = cache().join(format!("axe-core-{VERSION}.js"));
    if let Some(known) = read(&place) {
        return known;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    fetch(directory.path());
    let unpacked = directory.path().join("package/axe.min.js");
    let script = read(&unpacked).expect("axe-core has the digest of its version");
    // A copy is made beside the place and moved there, so that a test never reads half of it.
    let copy = cache().join(format!("axe-core-{VERSION}.{}", std::process::id()));
    std::fs::create_dir_all(cache()).expect("the cache can be written");
    std::fs::copy(unpacked, &copy).expect("the cache can be written");
    std::fs::rename(copy, place).expect("the cache can be written");
    script
}

/// Downloads and unpacks the package.
fn fetch(directory: &Path) {
    let run = |command: &mut Command| {
        let ended = command.current_dir(directory).output();
        let ended = ended.expect("npm and tar are installed: see `cargo xtask test`");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{command:?}: {said}");
    };
    run(Command::new("npm").args(["pack", "--silent", &format!("axe-core@{VERSION}")]));
    let archive = format!("axe-core-{VERSION}.tgz");
    run(Command::new("tar").args(["-xzf", &archive, "package/axe.min.js"]));
}

/// Returns the text of a file if it has the digest of this version.
fn read(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let digest = Sha256::digest(text.as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    (digest == DIGEST).then_some(text)
}

/// Returns the directory for files that tests fetch.
fn cache() -> PathBuf {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    cache.expect("the user has a home").join("noetl/tools")
}

impl Browser {
    /// Returns the serious and critical findings about the page as it is now.
    pub(super) fn findings(&self, axe: &str, rules: CheckedRules) -> Vec<String> {
        if self.evaluate("return typeof axe") != "object" {
            self.evaluate(axe);
        }
        let only: &[&str] = match rules {
            CheckedRules::All => &[],
            CheckedRules::Colors => &["color-contrast", "link-in-text-block"],
        };
        let found = self.evaluate_async(RUN, &json!([only]));
        let Value::Array(found) = found else { panic!("axe did not answer: {found}") };
        found.iter().map(|it| it.as_str().unwrap_or_default().to_owned()).collect()
    }
}
