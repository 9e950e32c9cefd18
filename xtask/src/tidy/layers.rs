//! Checks that dependencies between crates point inwards.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::TidyFault;
use crate::cargo::cargo;

/// The workspace crates that a crate may depend on, dev-dependencies aside.
enum Allowed {
    Only(&'static [&'static str]),
    /// For the outermost crate, and for crates used only in tests and measurements.
    All,
}

use Allowed::{All, Only};

/// The allowed dependencies of every crate, innermost first. A crate that is not listed is a fault.
const LAYERS: &[(&str, Allowed)] = &[
    ("noetl-model", Only(&[])),
    ("noetl-expr", Only(&["noetl-model"])),
    ("noetl-playbook", Only(&["noetl-model", "noetl-expr"])),
    ("noetl-engine", Only(&["noetl-model", "noetl-expr", "noetl-playbook"])),
    ("noetl-replay", Only(&["noetl-model", "noetl-engine"])),
    ("noetl-lsp", Only(&["noetl-playbook"])),
    ("noetl-playtest", Only(&["noetl-model", "noetl-expr", "noetl-playbook", "noetl-engine"])),
    ("noetl-store", Only(&["noetl-model"])),
    ("noetl-bus", Only(&["noetl-model"])),
    ("noetl-store-postgres", Only(&["noetl-model", "noetl-store"])),
    ("noetl-private-files", Only(&[])),
    ("noetl-store-sqlite", Only(&["noetl-model", "noetl-store", "noetl-private-files"])),
    ("noetl-blobs-files", Only(&["noetl-model", "noetl-store", "noetl-private-files"])),
    ("noetl-bus-nats", Only(&["noetl-model", "noetl-bus"])),
    (
        "noetl-control",
        Only(&["noetl-model", "noetl-playbook", "noetl-engine", "noetl-store", "noetl-bus"]),
    ),
    ("noetl-secrets", Only(&["noetl-model", "noetl-store"])),
    ("noetl-api", Only(&["noetl-model"])),
    (
        "noetl-compat",
        Only(&["noetl-model", "noetl-expr", "noetl-engine", "noetl-replay", "noetl-api"]),
    ),
    (
        "noetl-app",
        Only(&[
            "noetl-model",
            "noetl-expr",
            "noetl-playbook",
            "noetl-engine",
            "noetl-replay",
            "noetl-store",
            "noetl-bus",
            "noetl-control",
            "noetl-secrets",
            "noetl-api",
            "noetl-compat",
        ]),
    ),
    (
        "noetl-web",
        Only(&[
            "noetl-app",
            "noetl-model",
            "noetl-playbook",
            "noetl-engine",
            "noetl-replay",
            "noetl-bus",
            "noetl-control",
            "noetl-secrets",
            "noetl-api",
        ]),
    ),
    (
        "noetl-server",
        Only(&[
            "noetl-app",
            "noetl-web",
            "noetl-model",
            "noetl-playbook",
            "noetl-engine",
            "noetl-replay",
            "noetl-bus",
            "noetl-control",
            "noetl-secrets",
            "noetl-api",
            "noetl-compat",
        ]),
    ),
    ("noetl-duckdb", Only(&[])),
    ("noetl-isolation", Only(&[])),
    ("noetl-sqlite-authorizer", Only(&[])),
    ("noetl-thread-memory", Only(&[])),
    (
        "noetl-tools",
        Only(&[
            "noetl-model",
            "noetl-expr",
            "noetl-duckdb",
            "noetl-isolation",
            "noetl-sqlite-authorizer",
            "noetl-thread-memory",
        ]),
    ),
    ("noetl-worker", Only(&["noetl-model", "noetl-api", "noetl-tools"])),
    ("noetl-otel", Only(&[])),
    ("noetl-cli", All),
    ("noetl-testkit", All),
    ("noetl-sim", All),
    ("noetl-faults", All),
    ("noetl-bench", All),
    ("noetl-fixtures", All),
    ("xtask", Only(&[])),
];

/// Crates for tests and measurements only: nothing that ships may depend on them.
const NEVER_SHIPPED: &[&str] =
    &["noetl-testkit", "noetl-sim", "noetl-faults", "noetl-bench", "noetl-fixtures", "xtask"];

/// Returns the packages of the workspace, from `cargo metadata`.
pub(super) fn metadata() -> Result<Value> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .output()
        .context("ask cargo for the packages")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("read the packages")
}

pub(super) fn dependencies_point_inwards(metadata: &Value) -> Result<Vec<TidyFault>> {
    let packages = metadata["packages"].as_array().context("the packages are a list")?;
    let ours: BTreeSet<&str> = packages.iter().filter_map(|it| it["name"].as_str()).collect();
    let mut faults = Vec::new();
    for package in packages {
        let name = package["name"].as_str().context("a package has a name")?;
        let Some((_, allowed)) = LAYERS.iter().find(|(listed, _)| *listed == name) else {
            faults
                .push(TidyFault::of(name, "has no layer: add it to LAYERS and to ARCHITECTURE.md"));
            continue;
        };
        let dependencies = package["dependencies"].as_array().context("dependencies are a list")?;
        for dependency in dependencies.iter().filter(|it| it["kind"] != "dev") {
            let on = dependency["name"].as_str().context("a dependency has a name")?;
            if ours.contains(on) && !may_depend(name, allowed, on) {
                faults.push(TidyFault::of(name, format!("must not depend on {on}")));
            }
        }
    }
    Ok(faults)
}

fn may_depend(name: &str, allowed: &Allowed, on: &str) -> bool {
    match allowed {
        Allowed::Only(list) => list.contains(&on),
        Allowed::All => NEVER_SHIPPED.contains(&name) || !NEVER_SHIPPED.contains(&on),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(packages: &Value, expected: &[&str]) {
        let metadata = json!({ "packages": packages });
        let faults = dependencies_point_inwards(&metadata).expect("packages have the right shape");
        assert_eq!(faults.iter().map(TidyFault::to_string).collect::<Vec<_>>(), expected);
    }

    fn package(name: &str, dependencies: &[&str], kind: Option<&str>) -> Value {
        let dependencies: Vec<Value> =
            dependencies.iter().map(|on| json!({ "name": on, "kind": kind })).collect();
        json!({ "name": name, "dependencies": dependencies })
    }

    #[test]
    fn inner_crates_know_nothing_of_outer_ones() {
        check(
            &json!([
                package("noetl-model", &["noetl-store", "serde"], None),
                package("noetl-store", &["noetl-model"], None),
            ]),
            &["noetl-model: must not depend on noetl-store"],
        );
    }

    #[test]
    fn tests_may_use_what_they_like() {
        let engine = package("noetl-engine", &["noetl-testkit"], Some("dev"));
        check(&json!([engine, package("noetl-testkit", &["noetl-engine"], None)]), &[]);
    }

    #[test]
    fn the_binary_does_not_depend_on_test_crates() {
        let cli = package("noetl-cli", &["noetl-testkit"], None);
        check(
            &json!([cli, package("noetl-testkit", &[], None)]),
            &["noetl-cli: must not depend on noetl-testkit"],
        );
    }

    #[test]
    fn a_crate_without_a_layer_may_not_exist() {
        check(
            &json!([package("noetl-utils", &[], None)]),
            &["noetl-utils: has no layer: add it to LAYERS and to ARCHITECTURE.md"],
        );
    }
}
