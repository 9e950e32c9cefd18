//! The product's own CPU time by layer of the running function.

use std::collections::BTreeMap;
use std::fmt;

use crate::numbers::number;

/// The suffix of kernel function names.
pub(super) const OF_KERNEL: &str = "_[k]";

/// The layers, with parts of their function names. The first match counts.
const LAYERS: [(&str, &[&str]); 9] = [
    ("kernel: sockets, wake-ups, files", &[OF_KERNEL]),
    (
        "memory: allocating, copying",
        &[
            "malloc",
            "calloc",
            "realloc",
            "free",
            "memmove",
            "memcpy",
            "memset",
            "unlink_chunk",
            "alloc::",
            "drop_in_place",
        ],
    ),
    (
        "deciding: engine, templates",
        &["noetl_engine", "noetl_expr", "noetl_playbook", "minijinja", "imbl"],
    ),
    ("events as JSON, their digests", &["serde", "sha2", "sha256", "noetl_model"]),
    ("control: mailboxes, group commit", &["noetl_control", "noetl_bus", "noetl_app"]),
    ("store and the database's protocol", &["noetl_store", "sqlx", "sqlite"]),
    ("worker and tools", &["noetl_worker", "noetl_tools", "noetl_secrets", "noetl_api"]),
    ("HTTP", &["axum", "hyper", "tower", "noetl_server", "http::", "reqwest"]),
    ("runtime: tasks, timers, tracing", &["tokio", "futures", "tracing", "mio", "parking_lot"]),
];
const OTHERS: &str = "others";

/// Samples by layer.
#[derive(Debug, Default)]
pub(super) struct LayerSamples(BTreeMap<&'static str, u64>);

impl LayerSamples {
    /// Counts the running function.
    pub(super) fn add(&mut self, function: &str) {
        let fits = |(_, parts): &&(&str, &[&str])| parts.iter().any(|part| function.contains(part));
        let layer = LAYERS.iter().find(fits).map_or(OTHERS, |(layer, _)| layer);
        *self.0.entry(layer).or_default() += 1;
    }
}

impl fmt::Display for LayerSamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = number(self.0.values().sum());
        let mut layers: Vec<(&str, u64)> =
            self.0.iter().map(|(layer, samples)| (*layer, *samples)).collect();
        layers.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
        for (layer, samples) in layers {
            writeln!(f, "  {layer:<40} {:>5.1} %", 100.0 * number(samples) / all)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_counts_for_the_first_layer_it_fits() {
        let mut layers = LayerSamples::default();
        for function in [
            "tcp_sendmsg_[k]",
            "__libc_malloc",
            "core::ptr::drop_in_place<noetl_engine::Execution>",
            "noetl_engine::decide::decide",
            "main",
        ] {
            layers.add(function);
        }
        let told = layers.to_string();
        let told: Vec<&str> = told.lines().map(str::trim).collect();
        let wanted = [
            "memory: allocating, copying               40.0 %",
            "deciding: engine, templates               20.0 %",
            "kernel: sockets, wake-ups, files          20.0 %",
            "others                                    20.0 %",
        ];
        assert_eq!(told, wanted);
    }
}
