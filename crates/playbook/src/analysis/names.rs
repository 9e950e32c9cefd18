//! Checks the names that templates read, and the arguments of filters.

use std::collections::BTreeSet;
use std::ops::Range;

use noetl_expr::{MissingValues, NameUse, method_names};
use noetl_model::{ADDED_KEYS, ToolKind};
use serde_json::Value;

use super::TemplateUses;
use super::known_names::{
    ERROR_FIELDS, EVERYWHERE, KnownNames, METHODS, OUTPUTS, label_at, may_have_ended,
};
use super::outputs::{output_fields, task_fields};
use super::shapes::{PathEnd, ShapeOrigin, default_of, end_of};
use super::uses::{RenderMoment, RenderPlace, TemplateUse};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::playbook::{BodyForm, Playbook, StepIndex, Task};
use crate::suggest::nearest;

/// The variables whose attributes are names of the playbook.
const NAMESPACES: [&str; 9] =
    ["workload", "ctx", "vars", "steps", "iter", "results", "output", "outcome", "result"];

/// A name that cannot exist, or may not exist, at its place.
struct MissingName {
    message: String,
    help: Option<String>,
    /// The number of segments of the path up to and including the missing one.
    depth: usize,
    certainty: Certainty,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    /// No execution has the value.
    Certain,
    /// A value given at the start of an execution could have the name.
    Outside,
}

/// Adds the findings about names and filters.
pub(super) fn check(playbook: &Playbook, uses: &TemplateUses, findings: &mut Findings) {
    let known = KnownNames::of(playbook);
    let mut told: BTreeSet<(usize, usize)> = BTreeSet::new();
    for used in uses.list.iter().filter(|used| used.place.moment != RenderMoment::Notice) {
        filter_faults(used, &mut told, findings);
        method_faults(used, findings);
        let optional = optional_paths(used, playbook.missing);
        for name in &used.facts.names {
            if is_optional(&name.path, &optional) {
                if let Some(missing) = no_such_step(&known, name) {
                    let span = span_of(used, name, missing.depth, findings);
                    findings.add(missing.into_finding(&span));
                }
                continue;
            }
            let Some(missing) = missing(&known, name, used.place) else { continue };
            let span = span_of(used, name, missing.depth, findings);
            if told.insert((span.start, span.end)) {
                findings.add(missing.into_finding(&span));
            }
        }
    }
}

/// Adds the findings about calls of filters, each place once.
pub(super) fn filter_faults(
    used: &TemplateUse,
    told: &mut BTreeSet<(usize, usize)>,
    findings: &mut Findings,
) {
    for filter in &used.facts.filters {
        let Some(fault) = filter.fault() else { continue };
        let span = used.span(filter.range.clone(), &findings.source);
        if told.insert((span.start, span.end)) {
            findings.add(Finding::error(DiagnosticCode::FilterArguments, &span, fault));
        }
    }
}

/// Adds the findings about calls of methods that no value has.
pub(super) fn method_faults(used: &TemplateUse, findings: &mut Findings) {
    for method in used.facts.methods.iter().filter(|it| !method_names().contains(&&*it.name)) {
        let span = used.span(method.range.clone(), &findings.source);
        let message = format!("no value has a method `{}`", method.name);
        let help = match nearest(&method.name, method_names().iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its name may be that of a filter: `value | {}`", method.name),
        };
        findings.add(Finding::error(DiagnosticCode::BadTemplate, &span, message).help(help));
    }
}

/// Returns the step that a template names and handles the absence of, if the playbook does not have it.
fn no_such_step(known: &KnownNames<'_>, name: &NameUse) -> Option<MissingName> {
    let [root, step, ..] = name.path.as_slice() else { return None };
    let is_known = METHODS.contains(&step.as_str()) || known.playbook.index_of(step).is_some();
    if root != "steps" || is_known {
        return None;
    }
    Some(MissingName { certainty: Certainty::Outside, ..unknown_step(known, step) })
}

fn unknown_step(known: &KnownNames<'_>, name: &str) -> MissingName {
    let names = known.playbook.steps.iter().map(|step| step.name.as_str());
    let help = nearest(name, names).map(|near| format!("did you mean `steps.{near}`?"));
    let message = format!("there is no step `{name}`");
    MissingName { message, help, depth: 2, certainty: Certainty::Certain }
}

impl MissingName {
    fn into_finding(self, span: &Range<usize>) -> Finding {
        let finding = match self.certainty {
            Certainty::Certain => Finding::error,
            Certainty::Outside => Finding::warning,
        };
        finding(DiagnosticCode::UnknownName, span, self.message).help_if(self.help)
    }
}

/// Returns the place of the first `depth` segments of a name.
fn span_of(used: &TemplateUse, name: &NameUse, depth: usize, findings: &Findings) -> Range<usize> {
    let end = name.ends.get(depth.saturating_sub(1)).copied().unwrap_or(name.range.end);
    used.span(name.range.start..end, &findings.source)
}

/// Returns the paths whose absence the template handles, in one of the places that read them. Another
/// template that reads the path does not know about that.
fn optional_paths(used: &TemplateUse, missing: MissingValues) -> BTreeSet<&[String]> {
    let names = used.facts.names.iter().filter(|name| name.absence.is_handled(missing));
    names.map(|name| name.path.as_slice()).collect()
}

fn is_optional(path: &[String], optional: &BTreeSet<&[String]>) -> bool {
    let is_namespace = NAMESPACES.contains(&path[0].as_str());
    let shortest = if is_namespace { 2 } else { 1 };
    (shortest..=path.len()).any(|length| optional.contains(&path[..length]))
}

/// Returns the missing part of a name; `None` if the name can exist.
fn missing(known: &KnownNames<'_>, name: &NameUse, place: RenderPlace) -> Option<MissingName> {
    let path: Vec<&str> = name.path.iter().map(String::as_str).collect();
    let root = path[0];
    if !known.has(root, place) {
        return Some(unknown_root(known, root, place));
    }
    if let Some(missing) = undeclared(known, &path, place) {
        return Some(missing);
    }
    let field = path.get(1).copied().filter(|field| !METHODS.contains(field))?;
    let shadowed = is_shadowed(known, root, place);
    match root {
        _ if shadowed => of_step(known, &path, place),
        "workload" => of_workload(known, &path),
        "ctx" | "vars" => of_context(known, &path, place),
        "steps" => of_steps(known, &path, place),
        "iter" => of_item(known, field, place),
        "results" => of_results(known, field, place),
        "event" if place.moment == RenderMoment::StepEnd => {
            fixed(&path, 1, &["name"], "`event` has only `name`")
        }
        "error" if matches!(place.moment, RenderMoment::StepEnd | RenderMoment::Rule) => {
            of_error(&path, 1)
        }
        "job" => of_job(&path),
        "keychain" => of_keychain(known, field),
        "output" | "_prev" if place.moment == RenderMoment::TaskStart => {
            unknown_task_field(known.previous_task(place)?, &path, 1)
        }
        "output" | "outcome" if place.moment == RenderMoment::Rule => {
            of_envelope(known, &path, place)
        }
        root if OUTPUTS.contains(&root) && place.moment == RenderMoment::StepEnd => {
            let step = known.step_at(place)?;
            unknown_output(known, step.name.as_str(), &path, 1)
        }
        root if OUTPUTS.contains(&root) && place.moment == RenderMoment::TaskEnd => {
            unknown_task_field(known.step_at(place)?.tasks.get(place.task?)?, &path, 1)
        }
        _ => of_step(known, &path, place),
    }
}

/// Checks the name of a secret: it may be that of a stored credential, unless it is nearly the name of an
/// entry of the keychain.
fn of_keychain(known: &KnownNames<'_>, name: &str) -> Option<MissingName> {
    if known.secrets().any(|secret| secret == name) {
        return None;
    }
    let near = nearest(name, known.secrets())?;
    let message = format!("the keychain of this playbook has no `{name}`");
    let help = Some(format!("did you mean `keychain.{near}`?"));
    Some(MissingName { message, help, depth: 2, certainty: Certainty::Outside })
}

/// Returns the first segment that the declared shape of a value does not have.
fn undeclared(known: &KnownNames<'_>, path: &[&str], place: RenderPlace) -> Option<MissingName> {
    let certainty_of = |origin| match origin {
        ShapeOrigin::Input => Certainty::Certain,
        ShapeOrigin::Output => Certainty::Outside,
    };
    match end_of(known, path, place)? {
        PathEnd::Rule(..) => None,
        PathEnd::Missing { depth, fields, origin, is_closed } => {
            let (field, parent) = (path[depth - 1], path[..depth - 1].join("."));
            let is_first =
                matches!(path, [root, ..] if depth == 2 || (*root == "steps" && depth == 3));
            let of_tool = match origin {
                ShapeOrigin::Output if is_first => step_fields(known, path, depth, place),
                ShapeOrigin::Input | ShapeOrigin::Output => Vec::new(),
            };
            if of_tool.contains(&field) {
                return None;
            }
            let near = nearest(field, fields.iter().copied().chain(of_tool));
            if near.is_none() && !is_closed {
                return None;
            }
            let help = match near {
                Some(near) => format!("did you mean `{parent}.{near}`?"),
                None => format!("it is declared with {}", fields.join(", ")),
            };
            let message = format!("`{parent}` is declared without `{field}`");
            let certainty = if is_closed { certainty_of(origin) } else { Certainty::Outside };
            Some(MissingName { message, help: Some(help), depth, certainty })
        }
        PathEnd::NoFields { depth, kind, origin } => {
            let (field, parent) = (path[depth - 1], path[..depth - 1].join("."));
            let message =
                format!("`{parent}` is declared as {} and has no `{field}`", kind.as_str());
            Some(MissingName { message, help: None, depth, certainty: certainty_of(origin) })
        }
    }
}

/// Returns the fields of the output that the parent of a segment names, besides the declared ones.
fn step_fields<'p>(
    known: &KnownNames<'p>,
    path: &[&str],
    depth: usize,
    place: RenderPlace,
) -> Vec<&'p str> {
    let name = path[depth - 2];
    let index = known.playbook.index_of(name);
    let here = place.step.filter(|_| OUTPUTS.contains(&name));
    let step = index.or(here).map(|index| known.playbook.step(index));
    step.map(|step| output_fields(step).names).unwrap_or_default()
}

/// True if a name of the playbook hides the built-in of the same name.
fn is_shadowed(known: &KnownNames<'_>, root: &str, place: RenderPlace) -> bool {
    let is_reserved = match place.moment {
        RenderMoment::Rule | RenderMoment::StepEnd | RenderMoment::TaskEnd => {
            OUTPUTS.contains(&root) || matches!(root, "event" | "error")
        }
        RenderMoment::Start
        | RenderMoment::StepEntry
        | RenderMoment::TaskStart
        | RenderMoment::Claim
        | RenderMoment::Keychain
        | RenderMoment::Notice => false,
    };
    let is_step = known.playbook.index_of(root).is_some();
    !is_reserved && (is_step || known.in_context(root))
}

fn unknown_root(known: &KnownNames<'_>, root: &str, place: RenderPlace) -> MissingName {
    let certainty = if known.is_closed() { Certainty::Certain } else { Certainty::Outside };
    let (message, help) = if let Some(step) = known.playbook.index_of(root) {
        never_ran(known, step, root, place)
    } else if let Some(repeat) = iterator_elsewhere(known, root, place) {
        let message = format!("`{root}` exists only inside the loop of step `{repeat}`");
        (message, Some(format!("after the loop, `{repeat}.results` has the results of its items")))
    } else if let Some(literal) = literal_meant(root) {
        let message = format!("`{root}` is no value in templates");
        (message, Some(format!("write `{literal}`")))
    } else if place.moment == RenderMoment::Keychain && EVERYWHERE.contains(&root) {
        let message = format!("an entry of the keychain cannot read `{root}`");
        (message, Some("it can read `workload` and `keychain`".to_owned()))
    } else if let Some(about) = out_of_place(root) {
        (format!("`{root}` does not exist here: {about}"), None)
    } else if known.step_at(place).is_some_and(|step| label_at(step, root).is_some()) {
        (format!("task `{root}` has no output here: it has not ended yet"), None)
    } else if let Some(step) = known.step_that_sets(root) {
        let message = format!("`{root}` exists only while step `{step}` runs");
        (message, Some(format!("write `set: {{ctx.{root}: …}}` there to keep it")))
    } else if let Some((step, path)) = known.argument_elsewhere(root) {
        let message = format!(
            "`{root}` is an argument in step `{step}`: only the settings of that tool can read it"
        );
        (message, path.map(|path| format!("write `{path}`, its value")))
    } else {
        let message = match certainty {
            Certainty::Certain => format!("there is no `{root}` here"),
            Certainty::Outside => {
                format!("nothing in this playbook defines `{root}`; only a start could")
            }
        };
        let near = nearest(root, known.candidates(place));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "add `{root}` to `workload` or `inputs`, or write `{root} | default(…)` if it is \
                 optional"
            ),
        };
        (message, Some(help))
    };
    MissingName { message, help, depth: 1, certainty }
}

/// Returns the literal that a word of another language stands for.
fn literal_meant(name: &str) -> Option<&'static str> {
    Some(match name {
        "null" | "Null" | "NULL" | "nil" | "NONE" => "none",
        "TRUE" => "true",
        "FALSE" => "false",
        _ => return None,
    })
}

/// Returns the place of a built-in name that does not exist everywhere.
fn out_of_place(name: &str) -> Option<&'static str> {
    Some(match name {
        "output" | "outcome" => "it is the output of a task or step that has just ended",
        "_prev" => "it is the output of the previous task of a pipeline",
        "event" => "it is the end of a step, for its `set` and its arcs",
        "error" => "it is the error of a task or step that has just failed",
        "_index" | "_total" | "loop_index" => "it is a number of a loop, for the tasks in it",
        "_task" | "_attempt" => "it is a fact about a task, for its settings",
        "keychain" => "only the settings of a tool can read secrets",
        "worker_id" | "server_url" | "command_id" | "node_name" | "action" => {
            "only the settings of a tool can read it"
        }
        _ => return None,
    })
}

fn never_ran(
    known: &KnownNames<'_>,
    step: StepIndex,
    name: &str,
    place: RenderPlace,
) -> (String, Option<String>) {
    if Some(step) == place.step {
        let message = format!("step `{name}` has no output before it has run");
        return (message, None);
    }
    let here = known.step_at(place).map_or("the start", |step| step.name.as_str());
    let message =
        format!("step `{name}` cannot have run before `{here}`: no arcs lead from it to there");
    (message, None)
}

/// Returns the step whose iterator has this name, if the place is outside of its loop.
fn iterator_elsewhere<'k>(
    known: &KnownNames<'k>,
    name: &str,
    place: RenderPlace,
) -> Option<&'k str> {
    let has = |step: &&crate::playbook::Step| {
        step.repeat.as_ref().is_some_and(|repeat| repeat.iterator == name)
    };
    let here = known.step_at(place).filter(has);
    let step = here.or_else(|| known.playbook.steps.iter().find(has))?;
    Some(step.name.as_str())
}

fn of_workload(known: &KnownNames<'_>, path: &[&str]) -> Option<MissingName> {
    let field = path[1];
    if !known.in_workload(field) && !ADDED_KEYS.contains(&field) {
        let certainty = if known.is_closed() { Certainty::Certain } else { Certainty::Outside };
        let near = nearest(field, known.workload_names());
        let help = match near {
            Some(near) => format!("did you mean `workload.{near}`?"),
            None => format!(
                "add it to `workload` or `inputs`, or write `workload.{field} | default(…)`"
            ),
        };
        let message = match certainty {
            Certainty::Certain => format!("`{field}` is neither an input nor in the workload"),
            Certainty::Outside => {
                format!("`workload` has no `{field}`; only a start could give it")
            }
        };
        return Some(MissingName { message, help: Some(help), depth: 2, certainty });
    }
    misspelt_key(known.playbook.workload.get(field)?, path, 2)
}

/// Returns a key below a value of the workload that is nearly the name of another key; other keys may
/// come with the values of a start. `at` is the place of the first key in the path.
fn misspelt_key(value: &Value, path: &[&str], at: usize) -> Option<MissingName> {
    let mut value = value;
    for (place, key) in path.iter().enumerate().skip(at) {
        let map = value.as_object().filter(|_| !METHODS.contains(key))?;
        match map.get(*key) {
            Some(below) => value = below,
            None => {
                let near = nearest(key, map.keys().map(String::as_str))?;
                let parent = path[..place].join(".");
                return Some(MissingName {
                    message: format!("`{parent}` has no `{key}`; only a start could give it"),
                    help: Some(format!("did you mean `{parent}.{near}`?")),
                    depth: place + 1,
                    certainty: Certainty::Outside,
                });
            }
        }
    }
    None
}

fn of_context(known: &KnownNames<'_>, path: &[&str], place: RenderPlace) -> Option<MissingName> {
    let (root, field) = (path[0], path[1]);
    if ADDED_KEYS.contains(&field) {
        return None;
    }
    if known.in_context(field) {
        return misspelt_key(default_of(known, &path[..2], place)?, path, 2);
    }
    let certainty = if known.is_closed() { Certainty::Certain } else { Certainty::Outside };
    let help = match nearest(field, known.context_names()) {
        Some(near) => format!("did you mean `{root}.{near}`?"),
        None => {
            format!("set it with `set: {{ctx.{field}: …}}`, or write `{root}.{field} | default(…)`")
        }
    };
    let message = format!("nothing sets `{root}.{field}`, and the workload has no `{field}`");
    Some(MissingName { message, help: Some(help), depth: 2, certainty })
}

fn of_steps(known: &KnownNames<'_>, path: &[&str], place: RenderPlace) -> Option<MissingName> {
    let name = path[1];
    let Some(step) = known.playbook.index_of(name) else { return Some(unknown_step(known, name)) };
    if !known.may_have_run(step, place) {
        let (message, help) = never_ran(known, step, name, place);
        return Some(MissingName { message, help, depth: 2, certainty: Certainty::Certain });
    }
    unknown_output(known, name, path, 2)
}

fn of_item(known: &KnownNames<'_>, field: &str, place: RenderPlace) -> Option<MissingName> {
    let (index, step) = (place.step?, known.step_at(place)?);
    let repeat = step.repeat.as_ref()?;
    let is_inside = matches!(
        place.moment,
        RenderMoment::TaskStart | RenderMoment::TaskEnd | RenderMoment::Rule
    );
    if !is_inside || known.in_item(index, field) {
        return None;
    }
    let names = [repeat.iterator.as_str(), "index", "total", "parent"];
    let help = match nearest(field, names) {
        Some(near) => format!("did you mean `iter.{near}`?"),
        None => format!(
            "the item is `iter.{}`; `set: {{iter.{field}: …}}` adds a value",
            repeat.iterator
        ),
    };
    let message = format!("the item of this loop has no `{field}`");
    Some(MissingName { message, help: Some(help), depth: 2, certainty: Certainty::Certain })
}

fn of_results(known: &KnownNames<'_>, field: &str, place: RenderPlace) -> Option<MissingName> {
    // Elsewhere the name could come from a start.
    let is_inside = matches!(
        place.moment,
        RenderMoment::TaskStart | RenderMoment::TaskEnd | RenderMoment::Rule
    );
    let step = known.step_at(place).filter(|_| is_inside)?;
    let labels: Vec<&str> = step.tasks.iter().map(|task| task.label.as_str()).collect();
    if let Some(task) = labels.iter().position(|label| *label == field) {
        if may_have_ended(step, task, place) {
            return None;
        }
        let message = format!("task `{field}` has no output here: it has not ended yet");
        let certainty = Certainty::Certain;
        return Some(MissingName { message, help: None, depth: 2, certainty });
    }
    let help = match nearest(field, labels.iter().copied()) {
        Some(near) => format!("did you mean `results.{near}`?"),
        None => format!("its tasks are {}", labels.join(", ")),
    };
    let message = format!("this step has no task `{field}`");
    Some(MissingName { message, help: Some(help), depth: 2, certainty: Certainty::Certain })
}

/// Checks `output` in a rule: an envelope around the output of the task.
fn of_envelope(known: &KnownNames<'_>, path: &[&str], place: RenderPlace) -> Option<MissingName> {
    let tool = known.step_at(place)?.tasks.get(place.task?).map(|task| task.tool);
    let mut fields = vec!["status", "data", "result", "error", "meta", "ref"];
    for (kind, field) in
        [(ToolKind::Http, "http"), (ToolKind::Postgres, "pg"), (ToolKind::Python, "py")]
    {
        if tool == Some(kind) {
            fields.push(field);
        }
    }
    let about = format!("in a rule, `{}` has {}", path[0], fields.join(", "));
    if let Some(missing) = fixed(path, 1, &fields, &about) {
        let field = path[1];
        let is_misspelt = nearest(field, fields.iter().copied()).is_some();
        let help =
            format!("the output of the tool is `{}.data`: write `{0}.data.{field}`", path[0]);
        return Some(if is_misspelt {
            missing
        } else {
            MissingName { help: Some(help), ..missing }
        });
    }
    match path.get(1).copied() {
        Some("error") if path.len() > 2 => of_error(path, 2),
        Some("http") if path.len() > 2 => {
            fixed(path, 2, &["status", "headers"], "`http` has `status` and `headers`")
        }
        Some("meta") if path.len() > 2 => {
            fixed(path, 2, &["attempt", "duration_ms"], "`meta` has `attempt` and `duration_ms`")
        }
        Some("data") => {
            let task = known.step_at(place)?.tasks.get(place.task?)?;
            // `data` is the whole output unless the output has a field of this name.
            let is_whole = !task_fields(task)?.has("data");
            is_whole.then(|| unknown_task_field(task, path, 2)).flatten()
        }
        Some(_) | None => None,
    }
}

/// Checks `job`, an old name of the execution. Other runtimes have more fields there, so a playbook
/// that reads one may still be meant to run here.
fn of_job(path: &[&str]) -> Option<MissingName> {
    let missing = fixed(path, 1, &["uuid", "id"], "`job` has only `uuid` and `id`")?;
    let help = (path[1] == "execution_id").then(|| "write `execution_id`".to_owned());
    Some(MissingName { certainty: Certainty::Outside, help: help.or(missing.help), ..missing })
}

fn of_error(path: &[&str], at: usize) -> Option<MissingName> {
    fixed(path, at, ERROR_FIELDS, "an error has kind, message, retryable, code, status and details")
}

/// Returns the segment at a place of the path if it is not one of the fields that always exist.
fn fixed(path: &[&str], at: usize, fields: &[&str], about: &str) -> Option<MissingName> {
    let field = path.get(at).copied()?;
    if fields.contains(&field) || METHODS.contains(&field) {
        return None;
    }
    let parent = path[..at].join(".");
    let help = match nearest(field, fields.iter().copied()) {
        Some(near) => format!("did you mean `{parent}.{near}`?"),
        None => about.to_owned(),
    };
    let message = format!("`{parent}` never has `{field}`");
    let certainty = Certainty::Certain;
    Some(MissingName { message, help: Some(help), depth: at + 1, certainty })
}

fn of_step(known: &KnownNames<'_>, path: &[&str], place: RenderPlace) -> Option<MissingName> {
    let (root, field) = (path[0], path[1]);
    if let Some(value) = default_of(known, &path[..1], place) {
        return misspelt_key(value, path, 1);
    }
    let is_hidden = known.in_context(root)
        || known.step_at(place).is_some_and(|step| {
            step.repeat.as_ref().is_some_and(|repeat| repeat.iterator == root)
                || (step.form == BodyForm::Pipeline
                    && step.tasks.iter().any(|task| task.label == root))
        });
    if is_hidden {
        of_label(known, root, field, place)
    } else {
        unknown_output(known, root, path, 1)
    }
}

/// Returns a field that the output of an earlier task of the same pipeline never has.
fn of_label(
    known: &KnownNames<'_>,
    label: &str,
    field: &str,
    place: RenderPlace,
) -> Option<MissingName> {
    let task = known.step_at(place)?.tasks.iter().find(|task| task.label == label)?;
    if known.in_context(label) {
        return None;
    }
    unknown_task_field(task, &[label, field], 1)
}

/// Returns the segment at `at` of a path if the output of the task never has it. Workers of others may
/// return more fields, so it is never certain.
fn unknown_task_field(task: &Task, path: &[&str], at: usize) -> Option<MissingName> {
    let field = path.get(at).copied().filter(|field| !METHODS.contains(field))?;
    let fields = task_fields(task)?;
    if fields.has(field) || field == "data" {
        return None;
    }
    let message = format!("the output of task `{}` has no `{field}`", task.label);
    Some(unknown_field(message, &fields.names, path, at))
}

fn unknown_field(message: String, fields: &[&str], path: &[&str], at: usize) -> MissingName {
    const SHOWN_MAX: usize = 3;
    let help = match nearest(path[at], fields.iter().copied()) {
        Some(near) => format!("did you mean `{}.{near}`?", path[..at].join(".")),
        None => {
            let shown = fields.iter().take(SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
            format!("it has {shown}")
        }
    };
    MissingName { message, help: Some(help), depth: at + 1, certainty: Certainty::Outside }
}

/// Returns a field that the output of a step never has; `at` is the place of the field in the path.
fn unknown_output(
    known: &KnownNames<'_>,
    step: &str,
    path: &[&str],
    at: usize,
) -> Option<MissingName> {
    let step = known.playbook.step(known.playbook.index_of(step)?);
    let field = path.get(at).copied().filter(|field| !METHODS.contains(field))?;
    let is_pipeline = step.form == BodyForm::Pipeline && step.repeat.is_none();
    let labelled = |name: &str| step.tasks.iter().find(|task| is_pipeline && task.label == name);
    if let Some(task) = labelled(field) {
        return unknown_task_field(task, path, at + 1);
    }
    let fields = output_fields(step);
    if is_pipeline && field == "results" {
        let label = path.get(at + 1).copied().filter(|label| !METHODS.contains(label))?;
        if let Some(task) = labelled(label) {
            return unknown_task_field(task, path, at + 2);
        }
        let labels: Vec<&str> = step.tasks.iter().map(|task| task.label.as_str()).collect();
        let message = format!("step `{}` has no task `{label}`", step.name);
        return fields.is_complete.then(|| unknown_field(message, &labels, path, at + 1));
    }
    if !fields.is_complete || fields.has(field) {
        return None;
    }
    let message = format!("the output of step `{}` has no `{field}`", step.name);
    Some(unknown_field(message, &fields.names, path, at))
}
