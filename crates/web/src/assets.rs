//! Style sheet and scripts, embedded in the binary.
//!
//! Invariant: the address contains a digest of all files, so that browsers may keep a file for ever
//! and modules that import each other are of one version.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use noetl_model::Digest;

/// A file with its content type.
struct EmbeddedFile {
    name: &'static str,
    kind: &'static str,
    content: &'static str,
}

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! assets {
    ($($name:literal: $kind:ident,)+) => {
        &[$(EmbeddedFile { name: $name, kind: $kind, content: include_str!(concat!("../assets/", $name)) },)+]
    };
}

/// All files, in the order in which they are digested.
const ASSETS: &[EmbeddedFile] = assets![
    "page.css": CSS,
    "execution.css": CSS,
    "compare.css": CSS,
    "editor.css": CSS,
    "page.js": JAVASCRIPT,
    "connection.js": JAVASCRIPT,
    "editor.js": JAVASCRIPT,
    "forms.js": JAVASCRIPT,
    "graph.js": JAVASCRIPT,
    "histogram.js": JAVASCRIPT,
    "keys.js": JAVASCRIPT,
    "json-tree.js": JAVASCRIPT,
    "live.js": JAVASCRIPT,
    "palette.js": JAVASCRIPT,
    "replace.js": JAVASCRIPT,
    "scrubber.js": JAVASCRIPT,
    "times.js": JAVASCRIPT,
    "favicon.svg": SVG,
];

/// The number of hexadecimal digits of the digest in an address.
const DIGITS: usize = 12;

static DIGEST: LazyLock<String> = LazyLock::new(|| {
    let all: String = ASSETS.iter().flat_map(|asset| [asset.name, "\0", asset.content]).collect();
    Digest::of(all.as_bytes()).to_string()[..DIGITS].to_owned()
});

/// Returns the address of a file.
pub(crate) fn address(name: &str) -> String {
    debug_assert!(ASSETS.iter().any(|asset| asset.name == name), "{name} is not embedded");
    format!("/ui/assets/{}/{name}", *DIGEST)
}

const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// For a digest of another version, which another server of the cluster may have.
const NOT_AT_ALL: &str = "no-store";

pub(crate) async fn show(Path((digest, name)): Path<(String, String)>) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let kept = if digest == *DIGEST { FOR_EVER } else { NOT_AT_ALL };
    let headers: [(HeaderName, &str); 2] =
        [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, kept)];
    (headers, asset.content).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_embedded_and_below_six_hundred_lines() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");
        for entry in std::fs::read_dir(folder).expect("the folder").flatten() {
            let name = entry.file_name().into_string().expect("a plain name");
            let asset = ASSETS.iter().find(|asset| asset.name == name);
            let asset = asset.unwrap_or_else(|| panic!("{name} is not in ASSETS"));
            let lines = asset.content.lines().count();
            assert!(!name.ends_with(".js") || lines < 600, "{name} has {lines} lines");
        }
    }

    #[test]
    fn nothing_is_loaded_from_another_host() {
        for asset in ASSETS.iter().filter(|asset| asset.kind != SVG) {
            assert!(!asset.content.contains("://"), "{}", asset.name);
        }
    }
}
