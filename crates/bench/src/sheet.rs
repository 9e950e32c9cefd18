//! The results of a scenario: figures as text and as JSON, and whether its goals are met.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::database::MeasuredStore;
use crate::numbers::Runs;
use crate::plot::Plot;
use crate::scenarios::Scenario;

/// The results of one scenario on one store.
#[derive(Debug)]
pub(crate) struct Sheet {
    scenario: Scenario,
    store: MeasuredStore,
    figures: Vec<Figure>,
    tables: Vec<FigureTable>,
    goals: Vec<Goal>,
    plots: Vec<Plot>,
}

#[derive(Debug)]
struct Figure {
    name: String,
    runs: Runs,
    unit: &'static str,
}

/// Figures for several sizes, or at several moments.
#[derive(Debug)]
pub(crate) struct FigureTable {
    /// The column names; the first describes the rows.
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<f64>>,
}

/// The accepted range of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AcceptedRange {
    AtMost(f64),
    AtLeast(f64),
}

/// A value with its accepted range.
#[derive(Debug)]
struct Goal {
    name: String,
    value: f64,
    bound: AcceptedRange,
}

impl Goal {
    fn is_met(&self) -> bool {
        match self.bound {
            AcceptedRange::AtMost(most) => self.value <= most,
            AcceptedRange::AtLeast(least) => self.value >= least,
        }
    }

    fn verdict(&self) -> &'static str {
        if self.is_met() { "met" } else { "MISSED" }
    }
}

impl fmt::Display for AcceptedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AcceptedRange::AtMost(most) => write!(f, "at most {most}"),
            AcceptedRange::AtLeast(least) => write!(f, "at least {least}"),
        }
    }
}

impl Sheet {
    pub(crate) fn new(scenario: Scenario, store: MeasuredStore) -> Self {
        let (figures, tables) = (Vec::new(), Vec::new());
        Self { scenario, store, figures, tables, goals: Vec::new(), plots: Vec::new() }
    }

    pub(crate) fn figure(&mut self, name: impl Into<String>, value: f64, unit: &'static str) {
        self.runs(name, [value].into_iter().collect(), unit);
    }

    /// Adds a figure with several runs.
    pub(crate) fn runs(&mut self, name: impl Into<String>, runs: Runs, unit: &'static str) {
        self.figures.push(Figure { name: name.into(), runs, unit });
    }

    pub(crate) fn table(&mut self, table: FigureTable) {
        self.tables.push(table);
    }

    pub(crate) fn goal(&mut self, name: impl Into<String>, value: f64, bound: AcceptedRange) {
        self.goals.push(Goal { name: name.into(), value, bound });
    }

    pub(crate) fn plot(&mut self, plot: Plot) {
        self.plots.push(plot);
    }

    pub(crate) fn plots(&self) -> &[Plot] {
        &self.plots
    }

    /// Returns the base name of the sheet's files.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.scenario, self.store)
    }

    pub(crate) fn is_met(&self) -> bool {
        self.goals.iter().all(Goal::is_met)
    }

    pub(crate) fn to_json(&self) -> Value {
        let figures = self.figures.iter().map(|Figure { name, runs, unit }| {
            json!({
                "name": name, "value": runs.median(), "unit": unit,
                "least": runs.least(), "most": runs.most(), "runs": runs.len(),
            })
        });
        let goals = self.goals.iter().map(|goal| {
            let Goal { name, value, bound } = goal;
            json!({
                "name": name, "value": value, "bound": bound.to_string(), "met": goal.is_met(),
            })
        });
        json!({
            "scenario": self.scenario.to_string(),
            "store": self.store.to_string(),
            "figures": figures.collect::<Value>(),
            "tables": self.tables.iter().map(FigureTable::to_json).collect::<Value>(),
            "goals": goals.collect::<Value>(),
        })
    }

    /// Returns the sheet as Markdown; `plots` is the path to the drawings, relative to the
    /// document.
    pub(crate) fn to_markdown(&self, plots: Option<&str>) -> String {
        let mut text = format!("## `{}` on {}\n\n", self.scenario, self.store.title());
        text.push_str(&format!("{}.\n\n", capital(self.scenario.title())));
        if !self.goals.is_empty() {
            text.push_str("| goal | measured | wanted | |\n|---|---:|---|---|\n");
            for goal in &self.goals {
                let (name, bound) = (&goal.name, goal.bound);
                let (value, verdict) = (ShortNumber(goal.value), goal.verdict());
                text.push_str(&format!("| {name} | {value} | {bound} | {verdict} |\n"));
            }
            text.push('\n');
        }
        text.push_str("| figure | median | least | most | |\n|---|---:|---:|---:|---|\n");
        for Figure { name, runs, unit } in &self.figures {
            let (median, least, most) = (runs.median(), runs.least(), runs.most());
            let (least, most) = match runs.len() {
                1 => (String::new(), String::new()),
                _ => (ShortNumber(least).to_string(), ShortNumber(most).to_string()),
            };
            text.push_str(&format!(
                "| {name} | {} | {least} | {most} | {unit} |\n",
                ShortNumber(median)
            ));
        }
        for table in &self.tables {
            text.push_str(&format!("\n{}", table.to_markdown()));
        }
        for (place, plot) in plots.into_iter().flat_map(|_| self.plots.iter().enumerate()) {
            let directory = plots.unwrap_or_default();
            let file = plot_file(&self.name(), place);
            text.push_str(&format!("\n![{}]({directory}{file})\n", plot.title));
        }
        text
    }
}

/// Returns the file name of the n-th plot of a sheet.
pub(crate) fn plot_file(sheet: &str, place: usize) -> String {
    match place {
        0 => format!("{sheet}.svg"),
        further => format!("{sheet}-{}.svg", further + 1),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

impl FigureTable {
    fn to_json(&self) -> Value {
        let row = |row: &Vec<f64>| {
            let cells = self.columns.iter().zip(row);
            let cells = cells.map(|(column, cell)| ((*column).to_owned(), json!(cell)));
            Value::Object(cells.collect::<Map<String, Value>>())
        };
        self.rows.iter().map(row).collect()
    }

    fn to_markdown(&self) -> String {
        let mut text = format!("| {} |\n|", self.columns.join(" | "));
        text.push_str(&"---:|".repeat(self.columns.len()));
        text.push('\n');
        for row in &self.rows {
            let cells: Vec<String> =
                row.iter().map(|cell| ShortNumber(*cell).to_string()).collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        text
    }
}

impl fmt::Display for Sheet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} on {}: {}", self.scenario, self.store, self.scenario.title())?;
        for table in &self.tables {
            write!(f, "{table}")?;
        }
        for Figure { name, runs, unit } in &self.figures {
            write!(f, "  {name:<58} {:>12} {unit}", ShortNumber(runs.median()))?;
            if runs.len() > 1 {
                write!(f, " ({} … {})", ShortNumber(runs.least()), ShortNumber(runs.most()))?;
            }
            writeln!(f)?;
        }
        for goal in &self.goals {
            let (value, bound) = (ShortNumber(goal.value), goal.bound);
            writeln!(f, "  {:<58} {value:>12} of {bound}: {}", goal.name, goal.verdict())?;
        }
        Ok(())
    }
}

impl fmt::Display for FigureTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " ")?;
        for column in &self.columns {
            write!(f, " {column:>16}")?;
        }
        writeln!(f)?;
        for row in &self.rows {
            write!(f, " ")?;
            for cell in row {
                write!(f, " {:>16}", ShortNumber(*cell))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// A number displayed with few significant digits.
pub(crate) struct ShortNumber(pub(crate) f64);

impl fmt::Display for ShortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.0.abs() {
            large if large >= 100.0 => 0,
            middle if middle >= 10.0 => 1,
            small if small >= 0.1 || small == 0.0 => 2,
            _ => 4,
        };
        f.pad(&grouped(&format!("{:.digits$}", self.0)))
    }
}

/// Adds thousands separators to a number.
fn grouped(number: &str) -> String {
    let end = number.find('.').unwrap_or(number.len());
    let (whole, rest) = number.split_at(end);
    let mut text = String::new();
    for (place, digit) in whole.chars().enumerate() {
        let left = whole.len() - place;
        let after_digit = text.ends_with(|last: char| last.is_ascii_digit());
        if left.is_multiple_of(3) && after_digit {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(ratio: f64) -> Sheet {
        let mut sheet = Sheet::new(Scenario::Chain, MeasuredStore::Sqlite);
        sheet.runs("steps a second", [1234.5, 1000.0, 2000.0].into_iter().collect(), "steps/s");
        sheet.table(FigureTable { columns: vec!["steps", "us"], rows: vec![vec![10.0, 0.5]] });
        sheet.goal("last to first", ratio, AcceptedRange::AtMost(1.25));
        sheet
    }

    #[test]
    fn a_value_above_its_bound_misses_the_goal() {
        assert!(sheet(1.25).is_met());
        assert!(!sheet(1.26).is_met());
        assert!(sheet(1.26).to_string().ends_with("of at most 1.25: MISSED\n"));
    }

    #[test]
    fn a_value_below_its_bound_misses_the_goal() {
        let mut sheet = sheet(1.0);
        sheet.goal("rate", 4999.0, AcceptedRange::AtLeast(5000.0));
        assert!(!sheet.is_met());
    }

    #[test]
    fn a_value_that_is_no_number_misses_its_goal() {
        assert!(!sheet(f64::NAN).is_met());
    }

    #[test]
    fn json_says_the_same_as_the_text() {
        let expected = json!({
            "scenario": "chain",
            "store": "sqlite",
            "figures": [{
                "name": "steps a second", "value": 1234.5, "unit": "steps/s",
                "least": 1000.0, "most": 2000.0, "runs": 3,
            }],
            "tables": [[{"steps": 10.0, "us": 0.5}]],
            "goals": [
                {"name": "last to first", "value": 1.0, "bound": "at most 1.25", "met": true},
            ],
        });
        assert_eq!(sheet(1.0).to_json(), expected);
    }

    #[test]
    fn thousands_are_told_apart() {
        assert_eq!(ShortNumber(1_234_567.8).to_string(), "1,234,568");
        assert_eq!(ShortNumber(-1234.0).to_string(), "-1,234");
        assert_eq!(ShortNumber(12.34).to_string(), "12.3");
        assert_eq!(ShortNumber(0.0123).to_string(), "0.0123");
    }
}
