//! Reads a document of `kind: Subscription`.

use std::collections::BTreeMap;
use std::time::Duration;

use noetl_expr::{Template, TemplateForm};
use noetl_model::SignalName;
use serde_json::Value;

use super::DocumentReader;
use super::foreign::ForeignTools;
use super::secrets::SecretFields;
use super::workbook::Workbook;
use crate::analysis::{AnalysisLevel, TemplateUses, analyse_messages};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::parse::TargetWorkers;
use crate::playbook::Metadata;
use crate::subscription::{
    Activation, Controls, Directive, Dispatch, DispatchLimits, DispatchTarget, HeaderRules,
    IngressEndpoint, MessageDelivery, MessageSource, PayloadFrom, SignalDispatch, Signed,
    Subscription, TraceRule, Verify,
};
use crate::words::subscription::{
    DEDUP, DIRECTIVE, DISPATCH, HEADERS, INGRESS, LIMITS, ROOT, SPEC, SPOOL, TRACE, VERIFY,
};
use crate::yaml::{YamlNode, to_object};

/// The most messages dispatched at once.
const BATCH_MAX: u32 = 1000;
/// The largest value of a limit.
const LIMIT_MAX: u32 = 1_000_000;
/// The most header directives.
const DIRECTIVES_MAX: usize = 100;
/// The default time for which duplicate messages are recognised.
const WINDOW: Duration = Duration::from_secs(300);
const WINDOW_MAX: Duration = Duration::from_secs(30 * 86400);
/// The default maximum age of a signature.
const TOLERANCE: Duration = Duration::from_secs(300);
const TOLERANCE_MAX: Duration = Duration::from_secs(86400);
/// The default header of a signature, and of a token.
const SIGNATURE_HEADER: &str = "x-signature";
const STRIPE_HEADER: &str = "stripe-signature";
const TOKEN_HEADER: &str = "authorization";

const SOURCES: &[(&str, MessageSource)] = &[
    ("nats", MessageSource::Nats),
    ("pubsub", MessageSource::Pubsub),
    ("kafka", MessageSource::Kafka),
    ("webhook", MessageSource::Webhook),
];
const ACTIVATIONS: &[(&str, Activation)] =
    &[("continuous", Activation::Continuous), ("scheduled", Activation::Scheduled)];
const PAYLOADS: &[(&str, PayloadFrom)] = &[
    ("message.json", PayloadFrom::Json),
    ("message.body", PayloadFrom::Body),
    ("message.attributes", PayloadFrom::Attributes),
];
const SPOOL_MODES: &[(&str, ())] = &[("off", ()), ("buffer_and_ack", ()), ("hybrid", ())];
const ORDERINGS: &[(&str, OrderingScope)] = &[
    ("global", OrderingScope::Global),
    ("per_key", OrderingScope::Other),
    ("none", OrderingScope::Other),
];
const BACKENDS: &[(&str, SpoolBackend)] = &[
    ("nats_object", SpoolBackend::Default),
    ("local_disk", SpoolBackend::Path),
    ("gcs", SpoolBackend::Bucket),
    ("s3", SpoolBackend::Bucket),
];
const RECOVERIES: &[(&str, bool)] = &[("ordered_then_live", false), ("interleave", true)];

#[derive(Clone, Copy)]
enum DeliveryMode {
    Pull,
    Push,
}

#[derive(Clone, Copy)]
enum Scheme {
    Hmac,
    Bearer,
    PubsubOidc,
}

#[derive(Clone, Copy)]
enum Style {
    Body,
    Stripe,
}

#[derive(Clone, Copy)]
enum HeaderControl {
    Playbook,
    Pool,
    Priority,
    IdempotencyKey,
    ContentType,
    SchemaHint,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OrderingScope {
    Global,
    Other,
}

/// The setting that a spool backend needs besides its name.
#[derive(Clone, Copy)]
enum SpoolBackend {
    Default,
    Path,
    Bucket,
}

/// Returns the subscription of a document; `None` if there is an error among the findings.
pub(crate) fn read_subscription(
    root: &YamlNode,
    analysis: AnalysisLevel,
    findings: &mut Findings,
) -> Option<Subscription> {
    let mut reader = DocumentReader {
        findings,
        steps: BTreeMap::new(),
        workbook: Workbook::default(),
        foreign: ForeignTools::of(TargetWorkers::Any),
        secrets: SecretFields::default(),
        secret_inputs: Vec::new(),
        bare_rule_sets: Vec::new(),
        missing: noetl_expr::MissingValues::Empty,
        uses: TemplateUses::new(analysis),
    };
    let subscription = reader.subscription(root);
    let uses = reader.uses;
    if analysis != AnalysisLevel::Off && !findings.has_errors() {
        analyse_messages(&uses, findings);
    }
    subscription.filter(|_| !findings.has_errors())
}

impl DocumentReader<'_> {
    fn subscription(&mut self, root: &YamlNode) -> Option<Subscription> {
        self.map(root, ROOT);
        self.check_version_of(root, "a subscription");
        let metadata = self.metadata_of(root, "a subscription");
        let Some(spec) = root.get("spec").filter(|spec| !spec.is_null()) else {
            self.missing(root, "a subscription", "spec");
            return None;
        };
        let entries = self.map(spec, SPEC)?;
        let source = self.needed(spec, "`spec`", "source");
        let source = source.and_then(|node| self.word(node, "`source`", SOURCES));
        let delivery = self.delivery(spec);
        let dispatch = self.dispatch(spec);
        let headers = self.headers(spec);
        let dedup = self.dedup(spec);
        let limits = self.limits(spec);
        let fetch = self.fetch(spec);
        let order = self.order(spec);
        let failures_max = self.failures_max(spec);
        self.check_spool(spec);
        if let (Some(source), Some(delivery)) = (source, &delivery) {
            self.check_source(spec, source, delivery);
        }
        Some(Subscription {
            metadata: metadata?,
            source: source?,
            delivery: delivery?,
            dispatch: dispatch?,
            headers,
            dedup,
            limits,
            fetch,
            order,
            failures_max,
            spec: to_object(entries),
        })
    }

    pub(super) fn check_version_of(&mut self, root: &YamlNode, title: &str) {
        let Some(version) = root.get("apiVersion") else {
            let message = format!("{title} needs `apiVersion`");
            let finding = Finding::error(DiagnosticCode::MissingKey, &root.span, message);
            self.add(finding.help("write `apiVersion: noetl.io/v1`"));
            return;
        };
        let versions = &[("noetl.io/v1", ()), ("noetl.io/v2", ())];
        self.word(version, "`apiVersion`", versions);
    }

    pub(super) fn metadata_of(&mut self, root: &YamlNode, title: &str) -> Option<Metadata> {
        let node = self.needed(root, title, "metadata")?;
        let entries = self.any_map(node, "`metadata`")?;
        let name = self.needed(node, "metadata", "name")?;
        let name = self.name(name, &format!("{title}'s name"))?;
        let path = match node.get("path").filter(|path| !path.is_null()) {
            Some(path) => self.name(path, &format!("{title}'s path"))?,
            None => name.clone(),
        };
        let description = node.get("description").and_then(|text| text.text()).map(str::to_owned);
        let (labels, all) = (Vec::new(), to_object(entries));
        Some(Metadata { name, path, description, labels, all })
    }

    /// Returns the value of a required key; reports a finding if it is missing.
    pub(super) fn needed<'n>(
        &mut self,
        node: &'n YamlNode,
        title: &str,
        key: &str,
    ) -> Option<&'n YamlNode> {
        let found = node.get(key).filter(|value| !value.is_null());
        if found.is_none() {
            self.missing(node, title, key);
        }
        found.map(|value| &**value)
    }

    /// Returns the name under a required key; reports a finding if it is missing.
    pub(super) fn needed_name(
        &mut self,
        node: &YamlNode,
        title: &str,
        key: &str,
    ) -> Option<String> {
        let value = self.needed(node, title, key)?;
        self.name(value, &format!("`{key}`"))
    }

    fn delivery(&mut self, spec: &YamlNode) -> Option<MessageDelivery> {
        let mode = self.needed(spec, "`spec`", "mode")?;
        match self.word(
            mode,
            "`mode`",
            &[("pull", DeliveryMode::Pull), ("push", DeliveryMode::Push)],
        )? {
            DeliveryMode::Pull => {
                let activation = spec.get("activation").filter(|node| !node.is_null());
                let activation = match activation {
                    Some(node) => self.word(node, "`activation`", ACTIVATIONS)?,
                    None => Activation::Continuous,
                };
                Some(MessageDelivery::Pull(activation))
            }
            DeliveryMode::Push => self.ingress(spec).map(MessageDelivery::Push),
        }
    }

    fn ingress(&mut self, spec: &YamlNode) -> Option<IngressEndpoint> {
        let node = self.needed(spec, "a subscription that is pushed to", "ingress")?;
        self.map(node, INGRESS)?;
        let path = self.needed_name(node, "`ingress`", "gateway_path");
        let verify = self.needed(node, "`ingress`", "verify").and_then(|it| self.verify(it));
        let path = path?;
        if !path.starts_with('/') || path.trim_end_matches('/').is_empty() {
            let at = node.get("gateway_path").map_or(&node.span, |path| &path.span);
            let message = format!("`gateway_path` must be an absolute path, this is `{path}`");
            let finding = Finding::error(DiagnosticCode::BadValue, at, message);
            self.add(finding.help(format!("write `/ingress/{}`", path.trim_matches('/'))));
            return None;
        }
        Some(IngressEndpoint { path, verify: verify? })
    }

    fn verify(&mut self, node: &YamlNode) -> Option<Verify> {
        self.map(node, VERIFY)?;
        let scheme = self.needed(node, "`verify`", "type")?;
        if scheme.text() == Some("none") {
            let message = "`verify.type` cannot be `none`: anybody could start executions";
            let finding = Finding::error(DiagnosticCode::BadValue, &scheme.span, message);
            self.add(finding.help("use hmac_sha256, bearer or pubsub_oidc"));
            return None;
        }
        let schemes = &[
            ("hmac_sha256", Scheme::Hmac),
            ("bearer", Scheme::Bearer),
            ("pubsub_oidc", Scheme::PubsubOidc),
        ];
        match self.word(scheme, "`verify.type`", schemes)? {
            Scheme::Hmac => self.hmac(node),
            Scheme::Bearer => {
                let secret = self.needed_name(node, "a bearer", "secret");
                let header = self.header_of(node, "header", TOKEN_HEADER);
                Some(Verify::Bearer { header: header?, secret: secret? })
            }
            Scheme::PubsubOidc => {
                let audience = self.needed_name(node, "pubsub_oidc", "audience");
                let account = self.needed_name(node, "pubsub_oidc", "service_account");
                Some(Verify::PubsubOidc { audience: audience?, service_account: account? })
            }
        }
    }

    fn hmac(&mut self, node: &YamlNode) -> Option<Verify> {
        let secret = self.needed_name(node, "hmac_sha256", "secret");
        let given = |key| node.get(key).filter(|value| !value.is_null());
        let style = match given("style") {
            Some(style) => {
                self.word(style, "`style`", &[("body", Style::Body), ("stripe", Style::Stripe)])?
            }
            None => Style::Body,
        };
        let (signed, usual) = match (style, given("timestamp_header")) {
            (Style::Stripe, _) => (Some(Signed::Stripe), STRIPE_HEADER),
            (Style::Body, None) => (Some(Signed::Body), SIGNATURE_HEADER),
            (Style::Body, Some(_)) => {
                let time_header = self.header_of(node, "timestamp_header", "");
                (
                    time_header.map(|time_header| Signed::TimeAndBody { time_header }),
                    SIGNATURE_HEADER,
                )
            }
        };
        let header = self.header_of(node, "header", usual);
        let tolerance = match given("tolerance_secs") {
            Some(it) => self.duration(it, "`tolerance_secs`", 1.0, TOLERANCE_MAX)?,
            None => TOLERANCE,
        };
        Some(Verify::Hmac { header: header?, secret: secret?, signed: signed?, tolerance })
    }

    /// Returns the name of a header in lower case; `usual` if the key is absent.
    fn header_of(&mut self, node: &YamlNode, key: &str, usual: &str) -> Option<String> {
        let Some(value) = node.get(key).filter(|value| !value.is_null()) else {
            return Some(usual.to_owned());
        };
        let header = self.name(value, &format!("`{key}`"))?.to_ascii_lowercase();
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if !header.chars().all(is_token) {
            let message = format!("`{header}` cannot be the name of a header");
            self.add(Finding::error(DiagnosticCode::BadValue, &value.span, message));
            return None;
        }
        Some(header)
    }

    fn dispatch(&mut self, spec: &YamlNode) -> Option<Dispatch> {
        let node = self.needed(spec, "`spec`", "dispatch")?;
        self.map(node, DISPATCH)?;
        let given = |key| node.get(key).filter(|value| !value.is_null());
        let target = self.dispatch_target(node);
        let payload_from =
            given("payload_from").map(|it| self.word(it, "`payload_from`", PAYLOADS));
        let pool = given("execution_pool").map(|it| self.name(it, "`execution_pool`"));
        let labels = given("labels").map(|labels| self.labels(labels)).unwrap_or_default();
        let labels = labels.into_iter().map(|(key, value)| (key, value.source().clone()));
        let labels: Vec<(String, Value)> = labels.collect();
        if let (Some(node), Some(DispatchTarget::Signal(_))) = (given("labels"), &target) {
            let message = "`labels` belong to a `playbook`: a signal starts no execution";
            self.add(Finding::error(DiagnosticCode::Contradiction, &node.span, message));
        }
        let batched = given("batch_dispatch").map(|it| self.truth(it, "`batch_dispatch`"));
        let batch_max = given("batch_max").map(|it| self.count(it, "`batch_max`", BATCH_MAX));
        let batch_max = batch_max.unwrap_or(Some(BATCH_MAX))?;
        Some(Dispatch {
            target: target?,
            payload_from: payload_from.unwrap_or(Some(PayloadFrom::Json))?,
            pool: match pool {
                Some(pool) => Some(pool?),
                None => None,
            },
            labels,
            batch_max: batched.unwrap_or(Some(false))?.then_some(batch_max),
        })
    }

    fn dispatch_target(&mut self, node: &YamlNode) -> Option<DispatchTarget> {
        let given = |key| node.get(key).filter(|value| !value.is_null());
        let Some(signal) = given("signal") else {
            if let Some(key) = given("key") {
                let message = "`key` belongs to a `signal`";
                self.add(Finding::error(DiagnosticCode::Contradiction, &key.span, message));
            }
            return self.needed_name(node, "`dispatch`", "playbook").map(DispatchTarget::Playbook);
        };
        if let Some(playbook) = given("playbook") {
            let message = "give `playbook` or `signal`, not both";
            self.add(Finding::error(DiagnosticCode::Contradiction, &playbook.span, message));
        }
        let name = self.name(signal, "`signal`")?;
        let name = match name.parse::<SignalName>() {
            Ok(name) => name,
            Err(error) => {
                let message = error.to_string();
                self.add(Finding::error(DiagnosticCode::BadValue, &signal.span, message));
                return None;
            }
        };
        let key = self.needed(node, "`dispatch` with `signal`", "key")?;
        let text = self.text(key, "`key`")?;
        if let Err(error) = Template::parse(Value::String(text.clone())) {
            let message = error.to_string();
            self.add(Finding::error(DiagnosticCode::BadTemplate, &key.span, message));
            return None;
        }
        self.uses.note(key, TemplateForm::Braces);
        Some(DispatchTarget::Signal(SignalDispatch { name, key: text }))
    }

    fn headers(&mut self, spec: &YamlNode) -> HeaderRules {
        let Some(node) = spec.get("headers").filter(|node| !node.is_null()) else {
            return HeaderRules::default();
        };
        if self.map(node, HEADERS).is_none() {
            return HeaderRules::default();
        }
        let mut rules = HeaderRules::default();
        if let Some(list) = node.get("directives").filter(|list| !list.is_null()) {
            match list.list() {
                Some(items) if items.len() > DIRECTIVES_MAX => {
                    let message = format!("there are at most {DIRECTIVES_MAX} directives");
                    self.add(Finding::error(DiagnosticCode::TooLarge, &list.span, message));
                }
                Some(items) => {
                    rules.directives = items.iter().filter_map(|it| self.directive(it)).collect();
                }
                None => self.wrong_type(list, "`directives`", "a list"),
            }
        }
        if let Some(trace) = node.get("trace").filter(|trace| !trace.is_null()) {
            rules.trace = self.trace(trace).unwrap_or_default();
        }
        rules
    }

    fn directive(&mut self, node: &YamlNode) -> Option<Directive> {
        self.map(node, DIRECTIVE)?;
        self.needed(node, "a directive", "header")?;
        let header = self.header_of(node, "header", "")?;
        let controls = self.needed(node, "a directive", "controls")?;
        let words = &[
            ("dispatch.playbook", HeaderControl::Playbook),
            ("dispatch.execution_pool", HeaderControl::Pool),
            ("priority", HeaderControl::Priority),
            ("idempotency_key", HeaderControl::IdempotencyKey),
            ("content_type", HeaderControl::ContentType),
            ("schema_hint", HeaderControl::SchemaHint),
        ];
        let controls = match self.word(controls, "`controls`", words)? {
            HeaderControl::Playbook => Controls::Playbook { allowed: self.allowed(node)? },
            HeaderControl::Pool => Controls::Pool { allowed: self.allowed(node)? },
            HeaderControl::Priority => Controls::Priority { pools: self.pools(node)? },
            HeaderControl::IdempotencyKey => Controls::IdempotencyKey,
            HeaderControl::ContentType => Controls::ContentType,
            HeaderControl::SchemaHint => Controls::SchemaHint,
        };
        Some(Directive { header, controls })
    }

    /// Reads the values that a header may choose: a non-empty list.
    fn allowed(&mut self, node: &YamlNode) -> Option<Vec<String>> {
        let list = self.needed(node, "a directive that chooses", "allowed")?;
        let allowed = self.names_of(list, "`allowed`")?;
        if allowed.is_empty() {
            self.add(Finding::error(
                DiagnosticCode::BadValue,
                &list.span,
                "`allowed` allows nothing",
            ));
            return None;
        }
        Some(allowed)
    }

    fn names_of(&mut self, list: &YamlNode, title: &str) -> Option<Vec<String>> {
        let Some(items) = list.list() else {
            self.wrong_type(list, title, "a list of names");
            return None;
        };
        items.iter().map(|item| self.name(item, title)).collect()
    }

    fn pools(&mut self, node: &YamlNode) -> Option<BTreeMap<String, String>> {
        let map = self.needed(node, "a directive of priority", "map")?;
        let entries = self.any_map(map, "`map`")?;
        if entries.is_empty() {
            self.add(Finding::error(DiagnosticCode::BadValue, &map.span, "`map` names no pool"));
            return None;
        }
        let pools = entries
            .iter()
            .map(|entry| Some((entry.key.text.clone(), self.name(&entry.value, "a pool's name")?)));
        pools.collect()
    }

    fn trace(&mut self, node: &YamlNode) -> Option<TraceRule> {
        self.map(node, TRACE)?;
        let propagates = match node.get("propagate").filter(|it| !it.is_null()) {
            Some(it) => self.word(it, "`propagate`", &[("none", false), ("w3c", true)])?,
            None => false,
        };
        let baggage = match node.get("baggage_allowlist").filter(|it| !it.is_null()) {
            Some(list) => self.names_of(list, "`baggage_allowlist`")?,
            None => Vec::new(),
        };
        Some(if propagates { TraceRule::W3c { baggage } } else { TraceRule::Dropped })
    }

    fn dedup(&mut self, spec: &YamlNode) -> Option<Duration> {
        let node = spec.get("dedup").filter(|node| !node.is_null())?;
        self.map(node, DEDUP)?;
        let given = |key| node.get(key).filter(|value| !value.is_null());
        let enabled = given("enabled").map(|it| self.truth(it, "`enabled`"));
        let window = match given("window_secs") {
            Some(it) => {
                let window = self.duration(it, "`window_secs`", 1.0, WINDOW_MAX)?;
                if window.is_zero() {
                    let message = "`window_secs` must be more than 0";
                    self.add(Finding::error(DiagnosticCode::OutOfRange, &it.span, message));
                }
                window
            }
            None => WINDOW,
        };
        enabled.unwrap_or(Some(false))?.then_some(window)
    }

    fn limits(&mut self, spec: &YamlNode) -> DispatchLimits {
        let Some(node) = spec.get("limits").filter(|node| !node.is_null()) else {
            return DispatchLimits::default();
        };
        self.map(node, LIMITS);
        let mut limit = |key: &str| {
            let node = node.get(key).filter(|value| !value.is_null())?;
            self.count(node, &format!("`{key}`"), LIMIT_MAX)
        };
        DispatchLimits {
            in_flight_max: limit("max_in_flight"),
            dispatches_per_second_max: limit("max_dispatch_per_sec"),
        }
    }

    /// Checks `spool`, which workers read when they buffer messages.
    fn check_spool(&mut self, spec: &YamlNode) {
        let Some(node) = spec.get("spool").filter(|node| !node.is_null()) else { return };
        if self.map(node, SPOOL).is_none() {
            return;
        }
        let given = |key| node.get(key).filter(|value| !value.is_null());
        if let Some(mode) = given("mode") {
            self.word(mode, "`spool.mode`", SPOOL_MODES);
        }
        let backend = given("backend").and_then(|it| self.word(it, "`backend`", BACKENDS));
        let wanted = match backend {
            Some(SpoolBackend::Path) => Some("path"),
            Some(SpoolBackend::Bucket) => Some("bucket"),
            Some(SpoolBackend::Default) | None => None,
        };
        if let Some(key) = wanted.filter(|key| given(key).is_none()) {
            self.missing(node, "this backend", key);
        }
        let ordering = given("ordering").and_then(|it| self.word(it, "`ordering`", ORDERINGS));
        let drain = given("drain").and_then(|drain| drain.get("on_recovery"));
        let interleaves =
            drain.and_then(|it| Some((it, self.word(it, "`on_recovery`", RECOVERIES)?)));
        if let (Some(OrderingScope::Global), Some((at, true))) = (ordering, interleaves) {
            let message = "`interleave` breaks the order that `ordering: global` asks for";
            let finding = Finding::error(DiagnosticCode::BadValue, &at.span, message);
            self.add(finding.help("write `on_recovery: ordered_then_live`"));
        }
    }
}
