//! Reads notifications: `on` of a playbook, and documents of `kind: Notification`.

use std::collections::BTreeMap;

use noetl_model::{Label, NoticeReason, Webhook};

use super::DocumentReader;
use super::foreign::ForeignTools;
use super::secrets::SecretFields;
use super::workbook::Workbook;
use crate::analysis::{AnalysisLevel, RenderMoment, TemplateUses, analyse_notices};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::notification::{
    HttpVerb, NOTICE_TARGETS_MAX, NoticeMatch, NoticeRules, NoticeTemplate, NotificationDocument,
};
use crate::parse::TargetWorkers;
use crate::words::notification::{HTTP, MAIL, MATCH, ON, ROOT, SLACK, SPEC, TARGET};
use crate::yaml::YamlNode;

/// The most paths of a `match`.
const PATHS_MAX: usize = 100;

const VERBS: &[(&str, HttpVerb)] = &[
    ("POST", HttpVerb::Post),
    ("GET", HttpVerb::Get),
    ("PUT", HttpVerb::Put),
    ("PATCH", HttpVerb::Patch),
];

/// Returns the notification of a document; `None` if there is an error among the findings.
pub(crate) fn read_notification(
    root: &YamlNode,
    analysis: AnalysisLevel,
    findings: &mut Findings,
) -> Option<NotificationDocument> {
    let mut reader = DocumentReader {
        findings,
        steps: BTreeMap::new(),
        workbook: Workbook::default(),
        foreign: ForeignTools::of(TargetWorkers::Any),
        secrets: SecretFields::default(),
        bare_rule_sets: Vec::new(),
        missing: noetl_expr::MissingValues::Empty,
        uses: TemplateUses::new(analysis),
        secret_inputs: Vec::new(),
    };
    let document = reader.at(RenderMoment::Notice, |reader| reader.notification(root));
    let uses = reader.uses;
    if analysis != AnalysisLevel::Off && !findings.has_errors() {
        analyse_notices(&uses, findings);
    }
    document.filter(|_| !findings.has_errors())
}

impl DocumentReader<'_> {
    fn notification(&mut self, root: &YamlNode) -> Option<NotificationDocument> {
        self.map(root, ROOT);
        self.check_version_of(root, "a notification");
        let metadata = self.metadata_of(root, "a notification");
        let spec = self.needed(root, "a notification", "spec")?;
        self.map(spec, SPEC)?;
        let matches = match spec.get("match").filter(|it| !it.is_null()) {
            Some(node) => self.notice_match(node)?,
            None => NoticeMatch::default(),
        };
        let node = self.needed(spec, "`spec`", "on")?;
        let on = self.notice_rules(node);
        if on.is_empty() && !self.findings.has_errors() {
            let message = "`on` has no targets";
            self.add(Finding::error(DiagnosticCode::MissingKey, &node.span, message));
        }
        Some(NotificationDocument { metadata: metadata?, matches, on })
    }

    fn notice_match(&mut self, node: &YamlNode) -> Option<NoticeMatch> {
        self.map(node, MATCH)?;
        let given = |key| node.get(key).filter(|it| !it.is_null());
        let paths = given("path").map_or(Some(Vec::new()), |path| self.matched_paths(path));
        let labels = given("labels").map_or(Some(Vec::new()), |labels| self.matched_labels(labels));
        Some(NoticeMatch { paths: paths?, labels: labels? })
    }

    fn matched_paths(&mut self, path: &YamlNode) -> Option<Vec<String>> {
        let nodes: Vec<&YamlNode> = match path.list() {
            Some(list) => list.iter().map(|it| &**it).collect(),
            None => vec![path],
        };
        if let Some(extra) = nodes.get(PATHS_MAX) {
            let message = format!("`match` has at most {PATHS_MAX} paths");
            self.add(Finding::error(DiagnosticCode::TooLarge, &extra.span, message));
            return None;
        }
        let paths: Vec<Option<String>> =
            nodes.into_iter().map(|node| self.name(node, "`path`")).collect();
        paths.into_iter().collect()
    }

    fn matched_labels(&mut self, node: &YamlNode) -> Option<Vec<Label>> {
        let Some(entries) = node.entries() else {
            let message = "`labels` must be a map";
            let finding = Finding::error(DiagnosticCode::BadValue, &node.span, message);
            self.add(finding.help("write `labels: {team: ops}`"));
            return None;
        };
        let mut labels = Vec::new();
        for entry in entries {
            let (key, value) = (&entry.key.text, entry.value.to_json());
            let fault = match Label::from_json(key, &value) {
                Ok(Some(label)) => {
                    labels.push(label);
                    continue;
                }
                Ok(None) => format!("label `{key}` has no value"),
                Err(error) => error.to_string(),
            };
            self.add(Finding::error(DiagnosticCode::BadValue, &entry.value.span, fault));
        }
        Some(labels)
    }

    /// Reads `on`: for each reason one target or a list of them.
    pub(super) fn notice_rules(&mut self, node: &YamlNode) -> NoticeRules {
        let mut rules = NoticeRules::new();
        if self.map(node, ON).is_none() {
            return rules;
        }
        for reason in NoticeReason::ALL {
            let Some(targets) = node.get(reason.as_str()).filter(|it| !it.is_null()) else {
                continue;
            };
            let nodes: Vec<&YamlNode> = match targets.list() {
                Some(list) => list.iter().map(|it| &**it).collect(),
                None => vec![targets],
            };
            if let Some(extra) = nodes.get(NOTICE_TARGETS_MAX) {
                let message = format!("`{reason}` has at most {NOTICE_TARGETS_MAX} targets");
                self.add(Finding::error(DiagnosticCode::TooLarge, &extra.span, message));
                continue;
            }
            let read: Vec<NoticeTemplate> =
                nodes.into_iter().filter_map(|node| self.notice_target(node)).collect();
            if !read.is_empty() {
                rules.insert(*reason, read);
            }
        }
        rules
    }

    fn notice_target(&mut self, node: &YamlNode) -> Option<NoticeTemplate> {
        self.map(node, TARGET)?;
        let given = |key| node.get(key).filter(|it| !it.is_null());
        if let (Some(workload), None) = (given("workload"), given("playbook")) {
            let message = "`workload` is for `playbook`";
            self.add(Finding::error(DiagnosticCode::BadValue, &workload.span, message));
        }
        match (given("playbook"), given("http"), given("mail"), given("slack")) {
            (Some(path), None, None, None) => {
                let path = self.name(path, "`playbook`")?;
                let workload = match given("workload") {
                    Some(workload) => {
                        self.any_map(workload, "`workload`")?;
                        Some(self.template(workload)?)
                    }
                    None => None,
                };
                Some(NoticeTemplate::Playbook { path, workload })
            }
            (None, Some(http), None, None) => self.notice_http(http),
            (None, None, Some(mail), None) => self.notice_mail(mail),
            (None, None, None, Some(slack)) => self.notice_slack(slack),
            _ => {
                let message = "a target has one of `playbook`, `http`, `mail` and `slack`";
                self.add(Finding::error(DiagnosticCode::MissingKey, &node.span, message));
                None
            }
        }
    }

    fn notice_http(&mut self, node: &YamlNode) -> Option<NoticeTemplate> {
        self.map(node, HTTP)?;
        let given = |key| node.get(key).filter(|it| !it.is_null());
        let url = self.needed(node, "`http`", "url")?;
        self.text(url, "`url`")?;
        self.check_url(url);
        let url = self.template(url);
        let method = match given("method") {
            Some(method) => self.word(method, "`method`", VERBS),
            None => Some(HttpVerb::Post),
        };
        let headers = match given("headers") {
            Some(headers) => {
                self.any_map(headers, "`headers`")?;
                Some(self.template(headers)?)
            }
            None => None,
        };
        let body = match given("body") {
            Some(body) => Some(self.template(body)?),
            None => None,
        };
        let credential = match given("credential") {
            Some(name) => Some(self.name(name, "`credential`")?),
            None => None,
        };
        Some(NoticeTemplate::Http { url: url?, method: method?, headers, body, credential })
    }

    fn notice_mail(&mut self, node: &YamlNode) -> Option<NoticeTemplate> {
        self.map(node, MAIL)?;
        let to = self.needed(node, "`mail`", "to");
        let credential = self.needed_name(node, "`mail`", "credential");
        let to = to.and_then(|to| match to.list() {
            Some(list) if list.iter().any(|it| it.text().is_none()) => {
                self.wrong_type(to, "`to`", "an address or a list of addresses");
                None
            }
            Some(_) => self.template(to),
            None => {
                self.text(to, "`to`")?;
                self.template(to)
            }
        });
        let subject = self.notice_text(node, "subject")?;
        let body = self.notice_text(node, "body")?;
        Some(NoticeTemplate::Mail { to: to?, subject, body, credential: credential? })
    }

    fn notice_slack(&mut self, node: &YamlNode) -> Option<NoticeTemplate> {
        self.map(node, SLACK)?;
        let given = |key| node.get(key).filter(|it| !it.is_null());
        let webhook = match (given("url"), given("credential")) {
            (Some(url), None) => {
                let text = self.text(url, "`url`")?;
                self.check_url(url);
                Webhook::Url(text)
            }
            (None, Some(name)) => Webhook::Credential(self.name(name, "`credential`")?),
            _ => {
                let message = "`slack` needs one of `credential` and `url`";
                self.add(Finding::error(DiagnosticCode::MissingKey, &node.span, message));
                return None;
            }
        };
        let text = self.notice_text(node, "text")?;
        Some(NoticeTemplate::Slack { webhook, text })
    }

    /// Reads an optional text with templates; `None` if it is invalid.
    fn notice_text(&mut self, node: &YamlNode, key: &str) -> Option<Option<noetl_expr::Template>> {
        match node.get(key).filter(|it| !it.is_null()) {
            Some(text) => {
                self.text(text, &format!("`{key}`"))?;
                self.template(text).map(Some)
            }
            None => Some(None),
        }
    }

    /// Reports a URL that is no template and has another scheme than http and https.
    fn check_url(&mut self, node: &YamlNode) {
        let Some(text) = node.text() else { return };
        let is_template = text.contains("{{") || text.contains("{%");
        if !is_template && !text.starts_with("http://") && !text.starts_with("https://") {
            let message = "`url` begins with `http://` or `https://`";
            self.add(Finding::error(DiagnosticCode::BadValue, &node.span, message));
        }
    }
}
