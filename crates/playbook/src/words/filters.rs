//! The filters and variables of templates, with a sentence about each, for editors.

/// Each filter, and its purpose.
pub(crate) const FILTERS: &[(&str, &str)] = &[
    ("abs", "The number without its sign."),
    ("attr", "The value of a key: `map | attr('key')`."),
    ("b64decode", "The text that a base64 text encodes."),
    ("b64encode", "The text in base64."),
    ("batch", "The list in parts of a length: `list | batch(10)`."),
    ("bool", "True or false, also of texts such as `yes` and `0`."),
    ("capitalize", "The text with an upper-case first letter, the others in lower case."),
    ("center", "The text in the middle of a width."),
    ("chain", "One list of the items of several."),
    ("count", "The number of items, keys or characters."),
    ("d", "The value, or another one if it is missing: `x | d(5)`."),
    ("default", "The value, or another one if it is missing: `x | default(5)`."),
    ("dictsort", "The keys and values of a map as sorted pairs."),
    ("e", "The text with `<`, `>`, `&` and quotes escaped for HTML."),
    ("escape", "The text with `<`, `>`, `&` and quotes escaped for HTML."),
    ("first", "The first item."),
    ("float", "The value as a number with decimals; 0 or the argument if it is none."),
    ("format", "The text with its `%s` and `%d` replaced by the arguments."),
    ("fromjson", "The value of a JSON text."),
    ("get", "The value of a key, or a default: `map | get('key', 0)`."),
    ("groupby", "The items in groups with an equal attribute."),
    ("indent", "The text with its lines moved to the right."),
    ("int", "The value as a whole number; 0 or the argument if it is none."),
    ("items", "The keys and values of a map as pairs."),
    ("join", "The items as one text: `list | join(', ')`."),
    ("keys", "The keys of a map."),
    ("last", "The last item."),
    ("len", "The number of items, keys or characters."),
    ("length", "The number of items, keys or characters."),
    ("lines", "The lines of a text."),
    ("list", "The items of a value as a list; of a text, its characters."),
    ("lower", "The text in lower case."),
    ("map", "A filter or an attribute of each item: `list | map(attribute='id')`."),
    ("max", "The largest item."),
    ("min", "The smallest item."),
    ("pprint", "The value as text."),
    ("reject", "The items for which a test does not hold."),
    ("rejectattr", "The items for whose attribute a test does not hold."),
    ("replace", "The text with one part replaced by another: `text | replace('a', 'b')`."),
    ("reverse", "The items or characters from the end."),
    ("round", "The number rounded to a number of decimals."),
    ("safe", "The value itself; nothing is escaped."),
    ("select", "The items for which a test holds."),
    ("selectattr", "The items for whose attribute a test holds: `list | selectattr('on')`."),
    ("shell_quote", "The value as one word of a shell, whatever it contains."),
    ("slice", "The list in a number of parts."),
    ("sort", "The items in order: `list | sort(attribute='name')`."),
    ("split", "The parts of a text between separators: `text | split(',')`."),
    ("string", "The value as text."),
    ("sum", "The sum of the items."),
    ("title", "The text with an upper-case letter at each word."),
    ("tojson", "The value as JSON text."),
    ("trim", "The text without white space at both ends."),
    ("truncate", "The text up to a length, with an ellipsis."),
    ("unique", "The items without repetitions."),
    ("upper", "The text in upper case."),
    ("urlencode", "The text, or the keys and values of a map, encoded for a URL."),
    ("values", "The values of a map."),
    ("wordcount", "The number of words."),
    ("zip", "The items of several lists side by side."),
];

/// Each built-in variable, and its value.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    ("_attempt", "The number of this attempt at the task, from 1."),
    ("_index", "The index of the item in the loop, from 0."),
    ("_now", "The time, as `now()`."),
    ("_prev", "The output of the previous task of the pipeline."),
    ("_task", "The label of the task."),
    ("_total", "The number of items of the loop."),
    (
        "ctx",
        "The values set for the whole execution; a name that is not set is one of the workload.",
    ),
    ("error", "The error of the step or task that has failed: `kind`, `message`, `retryable`, …."),
    (
        "event",
        "The end of the step: `event.name` is step.done, loop.done, step.failed or step.skipped.",
    ),
    ("execution_id", "The id of the execution, as text."),
    ("iter", "The variables of the item of the loop."),
    ("keychain", "The secrets that the playbook declares: `keychain.NAME.FIELD`."),
    ("output", "The output of the step or task that has just ended."),
    ("path", "The path of the playbook."),
    ("results", "The outputs of the tasks of the pipeline, by label."),
    ("steps", "The outputs of the steps that have ended, by name."),
    ("workload", "The parameters of the execution."),
];

/// Returns the sentence about a name.
pub(crate) fn about(list: &'static [(&str, &str)], name: &str) -> Option<&'static str> {
    list.iter().find(|(known, _)| *known == name).map(|(_, about)| *about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_is_explained() {
        let explained: Vec<&str> = FILTERS.iter().map(|(name, _)| *name).collect();
        let mut names = noetl_expr::filter_names().to_vec();
        names.sort_unstable();
        assert_eq!(explained, names);
    }
}
