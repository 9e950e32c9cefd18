//! Python code as existing workers run it: they do not read `libs`, and they define fewer names.

use serde_json::{Map, Value};

/// Names that code can use without an import here and that existing workers do not define, with
/// the statement that defines each.
const NAMES: [(&str, &str); 3] =
    [("json", "import json\n"), ("sys", "import sys\n"), ("context", "context = variables\n")];

/// Writes the imports of `libs` and the names that code expects into the code. An input takes
/// precedence over a name.
pub(super) fn spell(config: &mut Map<String, Value>, input: &Map<String, Value>) {
    let imports = config.shift_remove("libs").map_or_else(String::new, |libs| imports(&libs));
    if let Some(Value::String(code)) = config.get_mut("code") {
        let is_missing = |name: &str| code.contains(name) && !input.contains_key(name);
        let names = NAMES.iter().filter(|(name, _)| is_missing(name));
        let names: String = names.map(|(_, statement)| *statement).collect();
        code.insert_str(0, &format!("{names}{imports}"));
    }
}

/// Returns the import statements of `libs`: a package or a list of them, names with their modules,
/// or `{from, import}`.
fn imports(libs: &Value) -> String {
    match libs {
        Value::String(package) => package_import(package),
        Value::Array(items) => items.iter().map(imports).collect(),
        Value::Object(libs) => match libs.get("from").and_then(Value::as_str) {
            Some(module) => imports_from(module, libs.get("import")),
            None => libs.iter().filter_map(|(name, wanted)| named_import(name, wanted)).collect(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Returns the import of a package, `psycopg2-binary >= 2` for example. A package whose module has
/// another name is left to the import of the code.
fn package_import(package: &str) -> String {
    let ends = |letter: char| letter.is_whitespace() || "<>=!~;[".contains(letter);
    let module = package.trim().split(ends).next().unwrap_or_default().replace('-', "_");
    format!("try:\n    import {module}\nexcept ModuleNotFoundError:\n    pass\n")
}

fn imports_from(module: &str, wanted: Option<&Value>) -> String {
    let names: Vec<&str> = match wanted {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => return format!("import {module}\n"),
    };
    format!("from {module} import {}\n", names.join(", "))
}

/// Returns the statement that imports a module, or a part of it (`{from, import}`), under a name.
fn named_import(name: &str, wanted: &Value) -> Option<String> {
    if wanted.is_null() {
        return Some(format!("import {name}\n"));
    }
    if let Some(module) = wanted.as_str() {
        return Some(format!("import {module} as {name}\n"));
    }
    let word = |key: &str| wanted.get(key).and_then(Value::as_str);
    let module = word("from")?;
    Some(match word("import") {
        Some(part) => format!("from {module} import {part} as {name}\n"),
        None => format!("import {module} as {name}\n"),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(libs: Value, code: &str, input: Value, expected: Expect) {
        let (Value::Object(mut config), Value::Object(input)) =
            (json!({ "libs": libs, "code": code }), input)
        else {
            panic!("maps are expected");
        };
        spell(&mut config, &input);
        assert!(!config.contains_key("libs"));
        expected.assert_eq(config["code"].as_str().expect("code"));
    }

    #[test]
    fn the_imports_of_a_script_are_part_of_its_code() {
        check(
            json!({ "t": "time", "now": { "from": "datetime", "import": "datetime" }, "re": null }),
            "result = t.time()",
            json!({}),
            expect![[r#"
                import time as t
                from datetime import datetime as now
                import re
                result = t.time()"#]],
        );
    }

    #[test]
    fn packages_and_parts_of_modules_may_be_listed() {
        check(
            json!(["requests >= 2", { "from": "os", "import": ["path", "sep"] }]),
            "result = 1",
            json!({}),
            expect![[r#"
                try:
                    import requests
                except ModuleNotFoundError:
                    pass
                from os import path, sep
                result = 1"#]],
        );
        check(
            json!({ "from": "os", "import": "sep" }),
            "result = sep",
            json!({}),
            expect![[r#"
                from os import sep
                result = sep"#]],
        );
    }

    #[test]
    fn names_that_the_worker_does_not_define_are_part_of_the_code() {
        check(
            json!({}),
            "result = json.dumps(context['workload'])",
            json!({}),
            expect![[r#"
                import json
                context = variables
                result = json.dumps(context['workload'])"#]],
        );
        check(json!({}), "result = context", json!({ "context": 1 }), expect!["result = context"]);
    }
}
