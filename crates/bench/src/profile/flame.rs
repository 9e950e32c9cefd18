//! A flame graph: a call tree in which each function is as wide as its share of the samples.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use inferno::flamegraph::{self, Options};

/// Counts of samples by stack. The functions of a stack are separated by semicolons.
#[derive(Debug, Default)]
pub(super) struct StackCounts(BTreeMap<String, u64>);

impl StackCounts {
    /// Counts a stack, from the outermost caller in.
    pub(super) fn add(&mut self, stack: &[impl AsRef<str>]) {
        let functions: Vec<String> =
            stack.iter().map(|function| function.as_ref().replace(';', ":")).collect();
        *self.0.entry(functions.join(";")).or_default() += 1;
    }

    pub(super) fn to_svg(&self, title: &str) -> Result<Vec<u8>> {
        let mut options = Options::default();
        options.title = title.to_owned();
        options.deterministic = true;
        let lines: Vec<String> =
            self.0.iter().map(|(stack, samples)| format!("{stack} {samples}")).collect();
        let mut svg = Vec::new();
        flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
            .context("draw the flame graph")?;
        Ok(svg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_as_wide_as_its_share_of_the_samples() {
        let mut stacks = StackCounts::default();
        stacks.add(&["noetl", "decide"]);
        stacks.add(&["noetl", "append<T>"]);
        stacks.add(&["postgres", "[u8; 4]::eq"]);
        stacks.add(&["postgres"]);
        let svg = String::from_utf8(stacks.to_svg("chain").unwrap()).unwrap();
        for title in [
            "noetl (2 samples, 50.00%)",
            "append&lt;T&gt; (1 samples, 25.00%)",
            "[u8: 4]::eq (1 samples, 25.00%)",
        ] {
            assert!(svg.contains(title), "{title} is not in {svg}");
        }
    }
}
