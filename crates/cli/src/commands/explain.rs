//! `noetl explain`: the documentation of rules.

use anyhow::anyhow;
use noetl_playbook::{RULES, RuleDoc, Severity, nearest};

use crate::args::ExplainArgs;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

pub(crate) fn explain(args: &ExplainArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match &args.code {
        None => terminal.data(&list())?,
        Some(code) => match RuleDoc::find(code) {
            Some(rule) => terminal.data(&page(rule))?,
            None => {
                let failure = Failure::bad_input(anyhow!("there is no rule {code}"));
                let codes = RULES.iter().map(|rule| rule.code.as_str());
                return Err(failure.help(match nearest(code, codes) {
                    Some(near) => format!("did you mean {near}?"),
                    None => "`noetl explain` lists all rules".to_owned(),
                }));
            }
        },
    }
    Ok(Exit::Completed)
}

fn severity(rule: &RuleDoc) -> &'static str {
    match rule.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn list() -> String {
    let line =
        |rule: &RuleDoc| format!("{:<20} {:<8} {}\n", rule.code, severity(rule), rule.code.about());
    RULES.iter().map(line).collect()
}

fn page(rule: &RuleDoc) -> String {
    let indented =
        |text: &str| -> String { text.lines().map(|line| format!("    {line}\n")).collect() };
    format!(
        "{} ({})\n{}\n\n{}\n\nInstead of:\n\n{}\nwrite:\n\n{}\nSuppress it with `# noetl: \
         ignore[{}]` on the line or above it.\n",
        rule.code,
        severity(rule),
        rule.code.about(),
        rule.why,
        indented(rule.instead_of),
        indented(rule.write),
        rule.code
    )
}
