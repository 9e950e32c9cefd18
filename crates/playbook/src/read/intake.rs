//! Reads the settings by which a subscription fetches messages: source, batch size and order.

use std::time::Duration;

use super::DocumentReader;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::subscription::{Fetch, MessageDelivery, MessageOrder, MessageSource, OrderKey};
use crate::words::subscription::RUNTIME;
use crate::yaml::YamlNode;

/// The default and the largest number of messages per fetch.
const BATCH: u32 = 100;
const BATCH_MAX: u32 = 1000;
/// The default and the longest wait for a message.
const WAIT: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(30);
/// The default and the largest number of failures before a message is dead.
const FAILURES: u32 = 5;
const FAILURES_MAX: u32 = 100;
/// The deepest path of an ordering key in a body.
const KEY_DEPTH_MAX: usize = 8;

#[derive(Clone, Copy)]
enum OrderingMode {
    None,
    PerKey,
    Global,
}

const ORDERINGS: &[(&str, OrderingMode)] = &[
    ("none", OrderingMode::None),
    ("per_key", OrderingMode::PerKey),
    ("global", OrderingMode::Global),
];

fn given<'n>(node: &'n YamlNode, key: &str) -> Option<&'n YamlNode> {
    node.get(key).filter(|value| !value.is_null()).map(|value| &**value)
}

impl DocumentReader<'_> {
    pub(super) fn fetch(&mut self, spec: &YamlNode) -> Fetch {
        let mut fetch = Fetch { batch: BATCH, wait: WAIT };
        let Some(node) = given(spec, "runtime") else { return fetch };
        self.map(node, RUNTIME);
        if let Some(batch) = given(node, "batch") {
            fetch.batch = self.count(batch, "`batch`", BATCH_MAX).unwrap_or(BATCH);
        }
        if let Some(wait) = given(node, "timeout_ms") {
            fetch.wait = self.duration(wait, "`timeout_ms`", 0.001, WAIT_MAX).unwrap_or(WAIT);
        }
        fetch
    }

    pub(super) fn failures_max(&mut self, spec: &YamlNode) -> u32 {
        let node = given(spec, "dispatch").and_then(|dispatch| given(dispatch, "max_failures"));
        let said = node.and_then(|node| self.count(node, "`max_failures`", FAILURES_MAX));
        said.unwrap_or(FAILURES)
    }

    /// Reads the order from `dispatch`, else from `spool`, where older documents have it.
    pub(super) fn order(&mut self, spec: &YamlNode) -> MessageOrder {
        let place = |name| given(spec, name).filter(|node| given(node, "ordering").is_some());
        let Some(node) = place("dispatch").or_else(|| place("spool")) else {
            return MessageOrder::None;
        };
        let ordering = given(node, "ordering");
        let ordering = ordering.and_then(|node| self.word(node, "`ordering`", ORDERINGS));
        match ordering {
            None | Some(OrderingMode::None) => MessageOrder::None,
            Some(OrderingMode::Global) => MessageOrder::Global,
            Some(OrderingMode::PerKey) => MessageOrder::PerKey(self.order_key(node)),
        }
    }

    fn order_key(&mut self, node: &YamlNode) -> OrderKey {
        let Some(node) = given(node, "ordering_key") else { return OrderKey::Subject };
        let Some(text) = self.name(node, "`ordering_key`") else { return OrderKey::Subject };
        if text == "subject" {
            return OrderKey::Subject;
        }
        if let Some(header) = text.strip_prefix("headers.") {
            return OrderKey::Header(header.to_ascii_lowercase());
        }
        let path = text.strip_prefix("data.").unwrap_or(&text).split('.').map(str::to_owned);
        let path: Vec<String> = path.collect();
        if path.iter().any(String::is_empty) || path.len() > KEY_DEPTH_MAX {
            let message = format!("`{text}` names no part of a message");
            let finding = Finding::error(DiagnosticCode::BadValue, &node.span, message);
            self.add(finding.help("write `subject`, `headers.NAME` or `data.FIELD`"));
        }
        OrderKey::Field(path)
    }

    /// Checks that the settings required to reach a source are present.
    pub(super) fn check_source(
        &mut self,
        spec: &YamlNode,
        source: MessageSource,
        delivery: &MessageDelivery,
    ) {
        match delivery {
            MessageDelivery::Push(_) => return,
            MessageDelivery::Pull(_) => {}
        }
        let at = |key: &str| given(spec, key).map_or(&spec.span, |node| &node.span).clone();
        let needs: &[&str] = match source {
            MessageSource::Nats => &["stream", "consumer"],
            MessageSource::Pubsub => &["subscription"],
            MessageSource::Kafka => &["topic", "group"],
            MessageSource::Webhook => {
                let message = "messages of a webhook cannot be pulled";
                let finding = Finding::error(DiagnosticCode::BadValue, &at("mode"), message);
                self.add(finding.help("write `mode: push` and an `ingress`"));
                return;
            }
        };
        for key in needs {
            self.needed_name(spec, &format!("a source of {}", source.as_str()), key);
        }
        for key in ["url", "auth", "subject"] {
            if let Some(node) = given(spec, key) {
                self.name(node, &format!("`{key}`"));
            }
        }
        match source {
            MessageSource::Nats | MessageSource::Webhook => {}
            MessageSource::Pubsub | MessageSource::Kafka => {
                let message = format!("no runtime of this system pulls from {}", source.as_str());
                let finding =
                    Finding::warning(DiagnosticCode::ForeignSource, &at("source"), message);
                self.add(finding.help("its messages wait until another runtime dispatches them"));
            }
        }
    }
}
