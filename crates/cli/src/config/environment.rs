//! The environment of this process; no other module reads environment variables.

use std::collections::BTreeMap;

use crate::args::ColorWhen;

/// The environment variables, read once. An empty variable counts as unset.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    pub(crate) fn read() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self { variables }
    }

    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        let pairs = variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Self { variables: pairs.collect() }
    }

    pub(crate) fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    pub(crate) fn insert(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Removes a variable.
    pub(crate) fn remove(&mut self, name: &str) {
        self.variables.remove(name);
    }

    /// Returns a variable that is set and not blank.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }

    /// True if a stream should be written in colours.
    pub(crate) fn wants_color(&self, when: ColorWhen, is_terminal: bool) -> bool {
        match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => {
                is_terminal && self.get("NO_COLOR").is_none() && self.get("TERM") != Some("dumb")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let wants = |variables: &[(&str, &str)], when, is_terminal| {
            Environment::of(variables).wants_color(when, is_terminal)
        };
        assert!(wants(&[], ColorWhen::Auto, true));
        assert!(!wants(&[], ColorWhen::Auto, false));
        assert!(!wants(&[("NO_COLOR", "1")], ColorWhen::Auto, true));
        assert!(!wants(&[("TERM", "dumb")], ColorWhen::Auto, true));
        assert!(wants(&[("NO_COLOR", "1")], ColorWhen::Always, false));
        assert!(!wants(&[], ColorWhen::Never, true));
    }
}
