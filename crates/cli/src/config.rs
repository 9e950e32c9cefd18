//! What the environment says. This is the only place that reads it.

use std::collections::BTreeMap;

use crate::args::ColorWhen;

/// What the environment says, read once.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    variables: BTreeMap<String, String>,
}

impl Config {
    pub(crate) fn from_environment() -> Self {
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

    /// Whether a stream is written in colours.
    pub(crate) fn wants_color(&self, when: ColorWhen, is_terminal: bool) -> bool {
        match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => {
                is_terminal && self.get("NO_COLOR").is_none() && self.get("TERM") != Some("dumb")
            }
        }
    }

    /// A variable that is set to something.
    fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let wants = |variables: &[(&str, &str)], when, is_terminal| {
            Config::of(variables).wants_color(when, is_terminal)
        };
        assert!(wants(&[], ColorWhen::Auto, true));
        assert!(!wants(&[], ColorWhen::Auto, false));
        assert!(!wants(&[("NO_COLOR", "1")], ColorWhen::Auto, true));
        assert!(!wants(&[("TERM", "dumb")], ColorWhen::Auto, true));
        assert!(wants(&[("NO_COLOR", "1")], ColorWhen::Always, false));
        assert!(!wants(&[], ColorWhen::Never, true));
    }
}
