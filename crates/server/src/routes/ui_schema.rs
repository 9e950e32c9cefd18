//! A form for starting a playbook, derived from its declared inputs and its workload.
//!
//! A comment on the line of a key adds details: `# ui:secret`, `# ui:enum=[a,b]`, `#
//! ui:credential=glob`, `# ui:description=text`.

use axum::Json;
use axum::extract::State;
use noetl_api::wire::{UiField, UiSchema};
use noetl_app::{EntryChoice, version_of};
use noetl_playbook::{DeclaredInput, InputType, Playbook};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::IntoParams;

use crate::request::extract::{InPath, InQuery};
use crate::response::error::{ApiError, unknown_path};
use crate::state::AppState;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Version {
    /// A number, or `latest`.
    #[param(value_type = Option<String>)]
    version: Option<Value>,
}

/// Shows a form for starting a playbook, derived from its workload.
#[utoipa::path(
    get, path = "/api/catalog/{path}/ui_schema", tag = "catalog",
    params(("path" = String, Path, description = "With its slashes"), Version),
    responses((status = 200, body = UiSchema))
)]
pub(super) async fn ui_schema(
    State(state): State<AppState>,
    InPath(tail): InPath<String>,
    InQuery(Version { version }): InQuery<Version>,
) -> Result<Json<UiSchema>, ApiError> {
    let Some(path) = tail.strip_suffix("/ui_schema") else {
        return Err(unknown_path().await);
    };
    let version = version_of(version.as_ref())?;
    let choice = EntryChoice::Path { path: path.to_owned(), version };
    let found = state.app().find_entry(&choice).await?;
    let entry = found.ok_or_else(|| {
        ApiError::not_found("unknown-playbook", format!("the catalog has no playbook {path}"))
    })?;
    let parsed = noetl_playbook::parse(&entry.path, entry.content.as_bytes()).ok();
    let playbook = parsed.map(|checked| checked.playbook);
    Ok(Json(UiSchema {
        path: entry.path,
        version: entry.version,
        kind: entry.kind.to_lowercase(),
        title: playbook.as_ref().map(|it| it.metadata.name.clone()),
        description_markdown: playbook.as_ref().and_then(|it| it.metadata.description.clone()),
        exposed_in_ui: playbook.as_ref().is_some_and(is_exposed),
        fields: playbook.map(|it| form_fields(&it, &entry.content)).unwrap_or_default(),
        generated_at: state.now().to_string(),
    }))
}

fn is_exposed(playbook: &Playbook) -> bool {
    playbook.metadata.all.get("exposed_in_ui").and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the fields of the declared inputs, then those of other keys of the workload.
fn form_fields(playbook: &Playbook, content: &str) -> Vec<UiField> {
    let inputs = playbook.inputs.as_ref().map(|it| it.inputs.as_slice()).unwrap_or_default();
    let others = playbook.workload.iter();
    let others = others.filter(|(name, _)| !inputs.iter().any(|input| input.name == **name));
    let others: Map<String, Value> =
        others.map(|(name, value)| (name.clone(), value.clone())).collect();
    let declared = inputs.iter().map(|input| {
        let default = playbook.workload.get(&input.name).cloned().unwrap_or_default();
        declared_field(input, default)
    });
    declared.chain(fields(&others, content)).collect()
}

fn declared_field(input: &DeclaredInput, default: Value) -> UiField {
    let choices = input.rule.choices.iter();
    let options = choices.map(|choice| choice.as_str().map_or(choice.to_string(), str::to_owned));
    let options: Vec<String> = options.collect();
    UiField {
        name: input.name.clone(),
        kind: match (options.is_empty(), input.rule.kind) {
            (false, _) => "enum",
            (true, InputType::Text) => "string",
            (true, InputType::Integer) => "integer",
            (true, InputType::Number) => "number",
            (true, InputType::Boolean) => "boolean",
            (true, InputType::List) => "array",
            (true, InputType::Object) => "object",
            (true, InputType::Any) => kind(&default),
        },
        default,
        description: input.description.clone(),
        secret: input.is_secret,
        required: input.is_required,
        credential_glob: None,
        options: (!options.is_empty()).then_some(options),
        children: None,
    }
}

fn fields(workload: &Map<String, Value>, content: &str) -> Vec<UiField> {
    let comments = comments(content);
    workload
        .iter()
        .map(|(name, value)| {
            let remark = comments.iter().find(|(key, _)| key == name).map(|(_, remark)| *remark);
            field(name, value, remark.unwrap_or_default())
        })
        .collect()
}

fn field(name: &str, value: &Value, remark: &str) -> UiField {
    let options = said(remark, "enum").map(|list| {
        let list = list.trim_start_matches('[').split(']').next().unwrap_or_default();
        list.split(',').map(|option| option.trim().to_owned()).collect()
    });
    let children = value
        .as_object()
        .map(|children| children.iter().map(|(name, value)| field(name, value, "")).collect());
    UiField {
        name: name.to_owned(),
        kind: if options.is_some() { "enum" } else { kind(value) },
        default: value.clone(),
        description: said(remark, "description").map(str::to_owned),
        secret: remark.contains("ui:secret"),
        required: false,
        credential_glob: said(remark, "credential")
            .and_then(|glob| glob.split_whitespace().next())
            .map(str::to_owned),
        options,
        children,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the text after `ui:<word>=` in a comment.
fn said<'a>(remark: &'a str, word: &str) -> Option<&'a str> {
    let (_, rest) = remark.split_once(&format!("ui:{word}="))?;
    let rest = rest.split(" ui:").next().unwrap_or(rest);
    Some(rest.trim())
}

/// Returns the keys directly below `workload:` whose lines end in a comment, with the comment.
fn comments(content: &str) -> Vec<(&str, &str)> {
    let below = content.lines().skip_while(|line| !line.starts_with("workload:")).skip(1);
    let below = below.take_while(|line| line.is_empty() || line.starts_with([' ', '#', '\t']));
    let lines: Vec<&str> = below.filter(|line| !line.trim_start().starts_with('#')).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let first = lines.iter().find(|line| !line.trim().is_empty()).map_or(0, |line| indent(line));
    lines
        .into_iter()
        .filter(|line| indent(line) == first)
        .filter_map(|line| {
            let (key, rest) = line.trim_start().split_once(':')?;
            let (_, remark) = rest.split_once(" #")?;
            Some((key.trim_matches(['"', '\'']), remark.trim()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(content: &str, workload: &Value, expected: Expect) {
        let workload = workload.as_object().expect("a map");
        let printed: String = fields(workload, content)
            .into_iter()
            .map(|it| {
                let UiField { name, kind, description, secret, credential_glob, options, .. } = it;
                format!("{name}: {kind} {description:?} {secret} {credential_glob:?} {options:?}\n")
            })
            .collect();
        expected.assert_eq(&printed);
    }

    #[test]
    fn a_comment_on_the_line_of_a_key_describes_its_field() {
        check(
            "workload:\n  key: x  # ui:secret ui:description=The key\n  mode: a # ui:enum=[a, b]\n  db: c # ui:credential=pg_*\nsteps:\n  key: y # ui:enum=[z]\n",
            &json!({ "key": "x", "mode": "a", "db": "c" }),
            expect![[r#"
                key: string Some("The key") true None None
                mode: enum None false None Some(["a", "b"])
                db: string None false Some("pg_*") None
            "#]],
        );
    }

    #[test]
    fn without_comments_the_default_says_the_kind() {
        check(
            "workload:\n  a: 1\n",
            &json!({ "a": 1, "b": 1.5, "c": null, "d": [], "e": {} }),
            expect![[r#"
                a: integer None false None None
                b: number None false None None
                c: null None false None None
                d: array None false None None
                e: object None false None None
            "#]],
        );
    }
}
