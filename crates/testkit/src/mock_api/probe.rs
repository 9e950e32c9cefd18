//! A route with a requested delay, which counts concurrent requests.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::extract::State;
use serde_json::{Value, json};

use super::query::{QueryParameters, refused};
use super::{HandlerResult, MockResponse, SharedMockState, lock};

/// The number of recorded events.
const EVENTS_MAX: usize = 200;
const DELAY_MAX: f64 = 300.0;

#[derive(Debug, Default)]
pub(super) struct Probe {
    started: u64,
    completed: u64,
    active: u64,
    max_active: u64,
    events: VecDeque<Value>,
}

impl Probe {
    fn note(&mut self, mut event: Value) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        event["ts"] = json!(now.as_secs_f64());
        event["active"] = json!(self.active);
        if EVENTS_MAX <= self.events.len() {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

pub(super) async fn reset(State(memory): SharedMockState) -> MockResponse {
    *lock(&memory.probe) = Probe::default();
    json!({ "status": "reset" }).into()
}

pub(super) async fn probe(State(memory): SharedMockState, asked: QueryParameters) -> HandlerResult {
    let delay = asked.float("delay_seconds", 0.0)?;
    let label = asked.text("label").unwrap_or("probe").to_owned();
    if !(0.0..=DELAY_MAX).contains(&delay) {
        let message = "Input should be from 0 to 300";
        return Err(refused("less_than_equal", "delay_seconds", message, json!(delay)));
    }
    let begun = Instant::now();
    let (id, at_start) = {
        let mut probe = lock(&memory.probe);
        probe.started += 1;
        probe.active += 1;
        probe.max_active = probe.max_active.max(probe.active);
        let id = probe.started;
        probe.note(json!({
            "phase": "start", "request_id": id, "label": label, "delay_seconds": delay,
        }));
        (id, probe.active)
    };
    tokio::time::sleep(Duration::from_secs_f64(delay)).await;
    let duration = (begun.elapsed().as_secs_f64() * 10_000.0).round() / 10_000.0;
    let mut probe = lock(&memory.probe);
    probe.active = probe.active.saturating_sub(1);
    probe.completed += 1;
    probe.note(json!({
        "phase": "end", "request_id": id, "label": label, "duration_seconds": duration,
    }));
    let Probe { started, completed, active, max_active, .. } = &*probe;
    Ok(json!({
        "request_id": id, "label": label, "delay_seconds": delay, "duration_seconds": duration,
        "active_at_start": at_start, "started": started, "completed": completed,
        "active": active, "max_active": max_active,
    })
    .into())
}

pub(super) async fn stats(State(memory): SharedMockState) -> MockResponse {
    let Probe { started, completed, active, max_active, events } = &*lock(&memory.probe);
    json!({
        "started": started, "completed": completed, "active": active, "max_active": max_active,
        "recent_events": events,
    })
    .into()
}
