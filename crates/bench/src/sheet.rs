//! What a scenario found: figures for people, the same figures as JSON, and whether its goals are met.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::scenarios::Scenario;

/// All that one scenario found.
#[derive(Debug)]
pub(crate) struct Sheet {
    scenario: Scenario,
    figures: Vec<Figure>,
    table: Option<Table>,
    goals: Vec<Goal>,
}

#[derive(Debug)]
struct Figure {
    name: &'static str,
    value: f64,
    unit: &'static str,
}

/// Figures that were taken several times.
#[derive(Debug)]
pub(crate) struct Table {
    /// The first says what the rows are.
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<f64>>,
}

/// A ratio and how large it may be.
#[derive(Debug)]
struct Goal {
    name: &'static str,
    ratio: f64,
    at_most: f64,
}

impl Goal {
    fn is_met(&self) -> bool {
        self.ratio <= self.at_most
    }
}

impl Sheet {
    pub(crate) fn new(scenario: Scenario) -> Self {
        Self { scenario, figures: Vec::new(), table: None, goals: Vec::new() }
    }

    pub(crate) fn figure(&mut self, name: &'static str, value: f64, unit: &'static str) {
        self.figures.push(Figure { name, value, unit });
    }

    pub(crate) fn table(&mut self, table: Table) {
        self.table = Some(table);
    }

    pub(crate) fn goal(&mut self, name: &'static str, ratio: f64, at_most: f64) {
        self.goals.push(Goal { name, ratio, at_most });
    }

    pub(crate) fn is_met(&self) -> bool {
        self.goals.iter().all(Goal::is_met)
    }

    pub(crate) fn to_json(&self) -> Value {
        let figures = self
            .figures
            .iter()
            .map(|Figure { name, value, unit }| json!({"name": name, "value": value, "unit": unit}))
            .collect::<Value>();
        let goals = self
            .goals
            .iter()
            .map(|goal| {
                let Goal { name, ratio, at_most } = goal;
                json!({"name": name, "ratio": ratio, "at_most": at_most, "met": goal.is_met()})
            })
            .collect::<Value>();
        let rows = self.table.iter().flat_map(Table::to_json).collect::<Value>();
        json!({
            "scenario": self.scenario.to_string(),
            "figures": figures,
            "rows": rows,
            "goals": goals,
        })
    }
}

impl Table {
    fn to_json(&self) -> Vec<Value> {
        let row = |row: &Vec<f64>| {
            let cells = self.columns.iter().zip(row);
            let cells = cells.map(|(column, cell)| ((*column).to_owned(), json!(cell)));
            Value::Object(cells.collect::<Map<String, Value>>())
        };
        self.rows.iter().map(row).collect()
    }
}

impl fmt::Display for Sheet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.scenario, self.scenario.title())?;
        if let Some(table) = &self.table {
            write!(f, "{table}")?;
        }
        for Figure { name, value, unit } in &self.figures {
            writeln!(f, "  {name:<52} {:>12} {unit}", Short(*value))?;
        }
        for goal in &self.goals {
            let met = if goal.is_met() { "met" } else { "MISSED" };
            let (ratio, at_most) = (goal.ratio, goal.at_most);
            writeln!(f, "  {:<52} {ratio:>12.3} of at most {at_most}: {met}", goal.name)?;
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " ")?;
        for column in &self.columns {
            write!(f, " {column:>16}")?;
        }
        writeln!(f)?;
        for row in &self.rows {
            write!(f, " ")?;
            for cell in row {
                write!(f, " {:>16}", Short(*cell))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// A number with as many digits as one wants to read.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.0.abs() {
            large if large >= 100.0 => 0,
            middle if middle >= 10.0 => 1,
            _ => 2,
        };
        f.pad(&format!("{:.digits$}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(ratio: f64) -> Sheet {
        let mut sheet = Sheet::new(Scenario::Chain);
        sheet.figure("steps a second", 1234.5, "steps/s");
        sheet.table(Table { columns: vec!["steps", "us"], rows: vec![vec![10.0, 0.5]] });
        sheet.goal("last to first", ratio, 1.25);
        sheet
    }

    #[test]
    fn a_ratio_above_its_goal_misses_it() {
        assert!(sheet(1.25).is_met());
        assert!(!sheet(1.26).is_met());
        assert!(sheet(1.26).to_string().ends_with("of at most 1.25: MISSED\n"));
    }

    #[test]
    fn a_ratio_that_is_no_number_misses_its_goal() {
        assert!(!sheet(f64::NAN).is_met());
    }

    #[test]
    fn json_says_the_same_as_the_text() {
        let expected = json!({
            "scenario": "chain",
            "figures": [{"name": "steps a second", "value": 1234.5, "unit": "steps/s"}],
            "rows": [{"steps": 10.0, "us": 0.5}],
            "goals": [{"name": "last to first", "ratio": 1.0, "at_most": 1.25, "met": true}],
        });
        assert_eq!(sheet(1.0).to_json(), expected);
    }
}
