//! Reads a document of `kind: Schedule`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use noetl_model::{Label, Labels};

use super::DocumentReader;
use super::foreign::ForeignTools;
use super::secrets::SecretFields;
use super::workbook::Workbook;
use crate::analysis::{AnalysisLevel, TemplateUses};
use crate::cron::Cron;
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::parse::TargetWorkers;
use crate::schedule::{CatchUp, Overlap, Schedule, When};
use crate::words::schedule::{DISPATCH, ROOT, SPEC};
use crate::yaml::{YamlNode, to_object};

/// The shortest interval between two executions.
const EVERY_MIN: Duration = Duration::from_secs(1);
const EVERY_MAX: Duration = Duration::from_secs(366 * 86400);
const JITTER_MAX: Duration = Duration::from_secs(86400);

const OVERLAPS: &[(&str, Overlap)] = &[
    ("allow", Overlap::Allow),
    ("skip", Overlap::Skip),
    ("queue", Overlap::Queue),
    ("cancel", Overlap::Cancel),
];
const CATCH_UPS: &[(&str, CatchUp)] =
    &[("none", CatchUp::None), ("last", CatchUp::Last), ("all", CatchUp::All)];

/// Returns the schedule of a document; `None` if there is an error among the findings.
pub(crate) fn read_schedule(root: &YamlNode, findings: &mut Findings) -> Option<Schedule> {
    let mut reader = DocumentReader {
        findings,
        steps: BTreeMap::new(),
        workbook: Workbook::default(),
        foreign: ForeignTools::of(TargetWorkers::Any),
        secrets: SecretFields::default(),
        secret_inputs: Vec::new(),
        bare_rule_sets: Vec::new(),
        missing: noetl_expr::MissingValues::Empty,
        uses: TemplateUses::new(AnalysisLevel::Off),
    };
    let schedule = reader.schedule(root);
    schedule.filter(|_| !findings.has_errors())
}

impl DocumentReader<'_> {
    fn schedule(&mut self, root: &YamlNode) -> Option<Schedule> {
        self.map(root, ROOT);
        self.check_version_of(root, "a schedule");
        let metadata = self.metadata_of(root, "a schedule");
        let spec = self.needed(root, "a schedule", "spec")?;
        self.map(spec, SPEC)?;
        let given = |key| spec.get(key).filter(|value| !value.is_null());
        let when = self.when(spec);
        let jitter = match given("jitter") {
            Some(it) => self.duration(it, "`jitter`", 1.0, JITTER_MAX),
            None => Some(Duration::ZERO),
        };
        let overlap = match given("overlap") {
            Some(it) => self.word(it, "`overlap`", OVERLAPS),
            None => Some(Overlap::Allow),
        };
        let catch_up = match given("catch_up") {
            Some(it) => self.word(it, "`catch_up`", CATCH_UPS),
            None => Some(CatchUp::Last),
        };
        let dispatch = self.needed(spec, "`spec`", "dispatch")?;
        self.map(dispatch, DISPATCH)?;
        let playbook = self.needed_name(dispatch, "`dispatch`", "playbook");
        let pool = match dispatch.get("execution_pool").filter(|it| !it.is_null()) {
            Some(it) => Some(self.name(it, "`execution_pool`")?),
            None => None,
        };
        let payload = match dispatch.get("payload").filter(|it| !it.is_null()) {
            Some(it) => to_object(self.any_map(it, "`payload`")?),
            None => serde_json::Map::new(),
        };
        let labels = match dispatch.get("labels").filter(|it| !it.is_null()) {
            Some(it) => self.fixed_labels(it)?,
            None => Labels::default(),
        };
        self.check_jitter(spec, when.as_ref(), jitter);
        Some(Schedule {
            metadata: metadata?,
            when: when?,
            jitter: jitter?,
            overlap: overlap?,
            catch_up: catch_up?,
            playbook: playbook?,
            pool,
            payload,
            labels,
        })
    }

    /// Reads the labels of the executions, which are values and not templates.
    fn fixed_labels(&mut self, node: &YamlNode) -> Option<Labels> {
        let mut labels = Vec::new();
        for entry in self.any_map(node, "`labels`")? {
            match Label::from_json(&entry.key.text, &entry.value.to_json()) {
                Ok(label) => labels.extend(label),
                Err(fault) => {
                    let (span, message) = (&entry.value.span, fault.to_string());
                    self.add(Finding::error(DiagnosticCode::BadValue, span, message));
                }
            }
        }
        let labels = Labels::default().with(labels).map_err(|fault| {
            self.add(Finding::error(DiagnosticCode::BadValue, &node.span, fault.to_string()));
        });
        labels.ok()
    }

    /// Rejects a jitter longer than the interval, so that executions start in the order of their
    /// instants.
    fn check_jitter(&mut self, spec: &YamlNode, when: Option<&When>, jitter: Option<Duration>) {
        if let (Some(When::Every(every)), Some(jitter), Some(node)) =
            (when, jitter, spec.get("jitter"))
            && jitter > *every
        {
            let message = "`jitter` cannot be longer than `every`";
            self.add(Finding::error(DiagnosticCode::OutOfRange, &node.span, message));
        }
    }

    fn when(&mut self, spec: &YamlNode) -> Option<When> {
        let given = |key| spec.get(key).filter(|value| !value.is_null());
        if let (Some(zone), None) = (given("timezone"), given("cron")) {
            let message = "`timezone` is for `cron`; other instants are the same everywhere";
            self.add(Finding::error(DiagnosticCode::BadValue, &zone.span, message));
        }
        match (given("cron"), given("every"), given("at")) {
            (Some(cron), None, None) => {
                let zone = match given("timezone") {
                    Some(zone) => self.zone(zone),
                    None => Some(TimeZone::UTC),
                };
                let text = self.name(cron, "`cron`")?;
                let cron = Cron::parse(&text).map_err(|reason| {
                    let message = format!("`cron` cannot be `{text}`: {reason}");
                    let finding = Finding::error(DiagnosticCode::BadValue, &cron.span, message);
                    self.add(finding.help("write `30 2 * * *` for half past two every night"));
                });
                Some(When::Cron { cron: cron.ok()?, zone: zone? })
            }
            (None, Some(every), None) => {
                let duration = self.duration(every, "`every`", 1.0, EVERY_MAX)?;
                if duration < EVERY_MIN {
                    let message = "`every` must be a second at least";
                    self.add(Finding::error(DiagnosticCode::OutOfRange, &every.span, message));
                    return None;
                }
                Some(When::Every(duration))
            }
            (None, None, Some(at)) => {
                let text = self.name(at, "`at`")?;
                let instant = text.parse().map_err(|_| {
                    let message = format!("`at` cannot be `{text}`");
                    let finding = Finding::error(DiagnosticCode::BadValue, &at.span, message);
                    self.add(finding.help("write an instant such as `2026-12-24T18:00:00Z`"));
                });
                instant.ok().map(When::Once)
            }
            _ => {
                let message = "a schedule needs one of `cron`, `every` and `at`";
                self.add(Finding::error(DiagnosticCode::MissingKey, &spec.span, message));
                None
            }
        }
    }

    /// Reads a time zone. The bundled database is used, so that every server has the same rules.
    fn zone(&mut self, node: &YamlNode) -> Option<TimeZone> {
        let name = self.name(node, "`timezone`")?;
        let zone = TimeZoneDatabase::bundled().get(&name);
        if zone.is_err() {
            let message = format!("there is no time zone `{name}`");
            let finding = Finding::error(DiagnosticCode::UnknownWord, &node.span, message);
            self.add(finding.help("write a name such as `Europe/Berlin` or `UTC`"));
        }
        zone.ok()
    }
}
