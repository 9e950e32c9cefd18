//! The parameters of the filters, for checks of calls before a template is rendered.

use serde_json::Value;

use crate::environment::nearest;
use crate::facts::FilterArgument;

/// A parameter of a filter, besides the value that it is applied to.
struct FilterParameter {
    name: &'static str,
    kind: ArgumentKind,
    place: ParameterPlace,
}

/// The type of an argument. A filter converts no other literals to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentKind {
    Any,
    Text,
    Whole,
    Boolean,
    Number,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParameterPlace {
    /// Only by its place, always.
    Required,
    /// Only by its place.
    Optional,
    /// By its place or by its name.
    Either,
    /// Only by its name.
    Named,
    /// Any number of arguments by their place, and any names.
    Rest,
}

const fn parameter(
    name: &'static str,
    kind: ArgumentKind,
    place: ParameterPlace,
) -> FilterParameter {
    FilterParameter { name, kind, place }
}

const fn named(name: &'static str, kind: ArgumentKind) -> FilterParameter {
    parameter(name, kind, ParameterPlace::Named)
}

const fn either(name: &'static str, kind: ArgumentKind) -> FilterParameter {
    parameter(name, kind, ParameterPlace::Either)
}

const fn optional(name: &'static str, kind: ArgumentKind) -> FilterParameter {
    parameter(name, kind, ParameterPlace::Optional)
}

const fn required(name: &'static str, kind: ArgumentKind) -> FilterParameter {
    parameter(name, kind, ParameterPlace::Required)
}

const REST: FilterParameter = parameter("", ArgumentKind::Any, ParameterPlace::Rest);

/// Returns the parameters of a filter.
fn parameters_of(filter: &str) -> &'static [FilterParameter] {
    use ArgumentKind::{Any, Boolean, Number, Text, Whole};
    match filter {
        "attr" | "get" => const { &[required("key", Any), optional("default", Any)] },
        "batch" | "slice" => const { &[required("count", Whole), optional("fill", Any)] },
        "center" => const { &[optional("width", Whole)] },
        "chain" | "zip" | "format" | "select" | "reject" | "map" => const { &[REST] },
        "d" | "default" => const { &[optional("default", Any), either("boolean", Boolean)] },
        "dictsort" => {
            const { &[named("by", Text), named("case_sensitive", Boolean), named("reverse", Boolean)] }
        }
        "float" | "int" => const { &[either("default", Any)] },
        "groupby" => {
            const {
                &[
                    either("attribute", Text),
                    named("default", Any),
                    named("case_sensitive", Boolean),
                ]
            }
        }
        "indent" => {
            const { &[either("width", Whole), either("first", Boolean), named("blank", Boolean)] }
        }
        "join" => const { &[either("d", Any), named("attribute", Text)] },
        "max" | "min" | "unique" => {
            const { &[named("attribute", Text), named("case_sensitive", Boolean)] }
        }
        "rejectattr" | "selectattr" => const { &[required("attribute", Any), REST] },
        "replace" => const { &[required("from", Any), required("to", Any)] },
        "round" => const { &[either("precision", Whole), either("method", Text)] },
        "sort" => {
            const {
                &[
                    named("attribute", Text),
                    named("case_sensitive", Boolean),
                    named("reverse", Boolean),
                ]
            }
        }
        "split" => const { &[optional("separator", Any), optional("count", Whole)] },
        "sum" => const { &[either("attribute", Text), named("start", Number)] },
        "tojson" => const { &[either("indent", Any)] },
        "trim" => const { &[optional("characters", Text)] },
        "truncate" => {
            const {
                &[
                    either("length", Whole),
                    either("killwords", Boolean),
                    named("end", Any),
                    named("leeway", Whole),
                ]
            }
        }
        _ => &[],
    }
}

/// Returns the fault of a call: too few or too many arguments, an unknown name, a literal of the wrong
/// type.
pub(crate) fn fault_of(filter: &str, arguments: &[FilterArgument]) -> Option<String> {
    let parameters = parameters_of(filter);
    count_fault(filter, parameters, arguments)
        .or_else(|| name_fault(filter, parameters, arguments))
        .or_else(|| kind_fault(filter, parameters, arguments))
}

fn is_rest(parameters: &[FilterParameter]) -> bool {
    parameters.iter().any(|it| it.place == ParameterPlace::Rest)
}

fn by_place(parameters: &[FilterParameter]) -> impl Iterator<Item = &FilterParameter> {
    parameters.iter().filter(|it| match it.place {
        ParameterPlace::Required | ParameterPlace::Optional | ParameterPlace::Either => true,
        ParameterPlace::Named | ParameterPlace::Rest => false,
    })
}

fn count_fault(
    filter: &str,
    parameters: &[FilterParameter],
    arguments: &[FilterArgument],
) -> Option<String> {
    let given = arguments.iter().filter(|it| it.keyword.is_none()).count();
    let min = parameters.iter().filter(|it| it.place == ParameterPlace::Required).count();
    let max = if is_rest(parameters) { usize::MAX } else { by_place(parameters).count() };
    if (min..=max).contains(&given) {
        return None;
    }
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let wanted = match (min, max) {
        (0, 0) => "no arguments".to_owned(),
        (min, max) if min == max => format!("{min} argument{}", plural(min)),
        (min, usize::MAX) => format!("at least {min} argument{}", plural(min)),
        (0, max) => format!("at most {max} argument{}", plural(max)),
        (min, max) => format!("{min} to {max} arguments"),
    };
    let names: Vec<&str> = parameters
        .iter()
        .filter(|it| it.place == ParameterPlace::Named)
        .map(|it| it.name)
        .collect();
    let (wanted, more) = match (names.as_slice(), max) {
        ([], _) => (wanted, String::new()),
        (names, 0) => {
            ("its arguments by name".to_owned(), format!(": {}", names.join("=, ") + "="))
        }
        (names, _) => (format!("{wanted} by place"), format!(", and {}", names.join("=, ") + "=")),
    };
    Some(format!("the filter `{filter}` takes {wanted}{more}; this call has {given}"))
}

fn name_fault(
    filter: &str,
    parameters: &[FilterParameter],
    arguments: &[FilterArgument],
) -> Option<String> {
    if is_rest(parameters) {
        return None;
    }
    let names: Vec<&str> = parameters
        .iter()
        .filter(|it| matches!(it.place, ParameterPlace::Either | ParameterPlace::Named))
        .map(|it| it.name)
        .collect();
    let mut given = arguments.iter().filter_map(|it| it.keyword.as_deref());
    let unknown = given.find(|name| !names.contains(name))?;
    let message = format!("the filter `{filter}` has no argument `{unknown}`");
    Some(match (nearest(unknown, &names), names.as_slice()) {
        (Some(near), _) => format!("{message}, did you mean `{near}`?"),
        (None, []) => message,
        (None, names) => format!("{message}; it has {}", names.join(", ")),
    })
}

fn kind_fault(
    filter: &str,
    parameters: &[FilterParameter],
    arguments: &[FilterArgument],
) -> Option<String> {
    let mut places = by_place(parameters);
    arguments.iter().find_map(|argument| {
        let parameter = match &argument.keyword {
            Some(name) => parameters.iter().find(|it| it.name == name)?,
            None => places.next()?,
        };
        let value = argument.literal.as_ref()?;
        let wanted = parameter.kind.refusal(value)?;
        Some(format!(
            "the argument `{}` of the filter `{filter}` must be {wanted}, this is {value}",
            parameter.name
        ))
    })
}

impl ArgumentKind {
    /// Returns the type in words if a literal is not of it. `none` stands for a missing argument.
    fn refusal(self, value: &Value) -> Option<&'static str> {
        let (fits, wanted) = match self {
            ArgumentKind::Any => (true, "a value"),
            ArgumentKind::Text => (value.is_string(), "text"),
            ArgumentKind::Whole => {
                (value.as_f64().is_some_and(|it| it.fract() == 0.0), "a whole number")
            }
            ArgumentKind::Boolean => (value.is_boolean(), "true or false"),
            ArgumentKind::Number => (value.is_number(), "a number"),
        };
        (!fits && !value.is_null()).then_some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Template, TemplateFacts, TemplateForm};

    struct Given;

    impl crate::VariableSource for Given {
        fn get(&self, name: &str) -> Option<std::sync::Arc<serde_json::Value>> {
            let value = match name {
                "text" => json!("b a"),
                "list" => json!([3, 1, 2]),
                "maps" => json!([{"k": "b", "n": 2}, {"k": "a", "n": 1}]),
                "map" => json!({"b": 1, "a": 2}),
                "number" => json!(2.5),
                _ => return None,
            };
            Some(std::sync::Arc::new(value))
        }
    }

    /// Calls of filters, and true if they fail.
    const CALLS: &[(&str, bool)] = &[
        ("text | upper", false),
        ("text | upper(1)", true),
        ("text | upper(x=1)", true),
        ("list | sort", false),
        ("maps | sort(attribute='k', reverse=true, case_sensitive=false)", false),
        ("maps | sort('k')", true),
        ("list | sort(reversed=true)", true),
        ("list | sort(reverse='yes')", true),
        ("maps | map(attribute='k')", false),
        ("maps | map('attr', 'k')", false),
        ("maps | groupby('k')", false),
        ("maps | groupby(attribute='k', default='x')", false),
        ("maps | groupby(1)", true),
        ("maps | sum('n')", false),
        ("maps | sum(attribute='n', start=2)", false),
        ("maps | sum(start='x')", true),
        ("maps | sum('n', 1)", true),
        ("list | join(', ')", false),
        ("list | join(d='-')", false),
        ("list | join(sep='-')", true),
        ("maps | join(',', attribute='k')", false),
        ("maps | join(',', 'k')", true),
        ("number | round", false),
        ("number | round(1)", false),
        ("number | round(0, 'floor')", false),
        ("number | round(precision=1, method='ceil')", false),
        ("number | round('1')", true),
        ("number | round(1.5)", true),
        ("text | truncate(1)", false),
        ("text | truncate(length=3, end='', leeway=0, killwords=true)", false),
        ("text | truncate('3')", true),
        ("text | truncate(3, 'x')", true),
        ("text | indent(2, true, blank=false)", false),
        ("text | indent(width=2, first=true)", false),
        ("text | indent('2')", true),
        ("text | replace('a', 'b')", false),
        ("text | replace('a')", true),
        ("text | split", false),
        ("text | split(' ', 1)", false),
        ("text | split(' ', 'x')", true),
        ("text | split(separator=' ')", true),
        ("text | int(0)", false),
        ("text | int(default=3)", false),
        ("text | int(base=2)", true),
        ("text | float(default=1.5)", false),
        ("missing | default('x', true)", false),
        ("missing | default('x', boolean=true)", false),
        ("missing | default('x', 'y')", true),
        ("missing | default(default_value='x')", true),
        ("list | batch(2)", false),
        ("list | batch(2, 0)", false),
        ("list | batch('2')", true),
        ("list | batch", true),
        ("list | slice(2, fill_with=0)", true),
        ("map | dictsort(by='value', reverse=true)", false),
        ("map | dictsort('value')", true),
        ("map | tojson(indent=2)", false),
        ("map | tojson(2)", false),
        ("map | tojson(sort_keys=true)", true),
        ("text | trim('b')", false),
        ("text | trim(1)", true),
        ("text | center(10)", false),
        ("text | center('10')", true),
        ("maps | unique(attribute='k')", false),
        ("maps | unique('k')", true),
        ("maps | max(attribute='n')", false),
        ("maps | selectattr('n', 'eq', 1)", false),
        ("maps | selectattr", true),
        ("map | attr('a')", false),
        ("map | get('z', 1)", false),
        ("map | get", true),
        ("list | zip(list)", false),
    ];

    /// The fault that is found without values is the one of the call, and the other way round.
    #[test]
    fn a_call_has_a_fault_exactly_if_it_fails() {
        let mut wrong = Vec::new();
        for (call, is_wrong) in CALLS {
            let is_wrong = *is_wrong;
            let text = format!("{{{{ {call} }}}}");
            let facts = TemplateFacts::of(&text, TemplateForm::Braces).unwrap();
            let fault = facts.filters.iter().find_map(|filter| filter.fault());
            let rendered = Template::parse(json!(text)).unwrap().render(&Given);
            if fault.is_some() != is_wrong || rendered.is_err() != is_wrong {
                wrong.push(format!("{call}: {fault:?}, {rendered:?}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
