//! State of the machine and of the server's process.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::observe::proc::{self, Thread, Usage};
use crate::state::AppState;

/// Duration over which processor usage is measured.
const SAMPLE: Duration = Duration::from_millis(100);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(system_status))
        .routes(routes!(list_threads))
        .routes(routes!(runtime_contract))
        .routes(routes!(profiler_status))
        .routes(routes!(start_memory_profiler))
        .routes(routes!(stop_memory_profiler))
}

#[derive(Debug, Serialize, ToSchema)]
struct RuntimeContract {
    /// The version of this server.
    version: &'static str,
}

/// Tells the version that a client talks to. There are no further conditions.
#[utoipa::path(
    get, path = "/api/runtime/contract", tag = "system",
    responses((status = 200, body = RuntimeContract))
)]
async fn runtime_contract() -> Json<RuntimeContract> {
    Json(RuntimeContract { version: env!("CARGO_PKG_VERSION") })
}

#[derive(Debug, Serialize, ToSchema)]
struct Status {
    system: System,
    process: ProcessReport,
    /// The protections against the programs of steps that this server runs itself.
    isolation: Vec<StepProtectionReport>,
}

#[derive(Debug, Serialize, ToSchema)]
struct StepProtectionReport {
    protection: &'static str,
    /// `active`, `inactive`, or `not_needed` here.
    state: &'static str,
    /// The reason why the protection is not active.
    reason: Option<String>,
}

/// Figures of the machine; null if the operating system does not provide them.
#[derive(Debug, Serialize, ToSchema)]
struct System {
    cpu_percent: Option<f64>,
    memory_percent: Option<f64>,
    total_memory_mb: Option<f64>,
    used_memory_mb: Option<f64>,
    available_memory_mb: Option<f64>,
}

#[derive(Debug, Serialize, ToSchema)]
struct ProcessReport {
    pid: u32,
    cpu_percent: Option<f64>,
    memory_rss_mb: Option<f64>,
    memory_vms_mb: Option<f64>,
    num_threads: Option<u64>,
    start_time: String,
    uptime_seconds: u64,
}

/// Measures the machine and this process for a tenth of a second.
#[utoipa::path(
    get, path = "/api/status", tag = "system", responses((status = 200, body = Status))
)]
async fn system_status(State(state): State<AppState>) -> Json<Status> {
    let before = proc::usage();
    tokio::time::sleep(SAMPLE).await;
    let after = proc::usage();
    let share = |of: fn(&Usage) -> u64| {
        let ticks = after.as_ref()?.total.checked_sub(before.as_ref()?.total)?;
        let used = of(after.as_ref()?).checked_sub(of(before.as_ref()?))?;
        (ticks > 0).then(|| percent(used, ticks))
    };
    let memory = proc::memory();
    let mib = |kib: u64| kib_to_mib(kib);
    let used = memory.as_ref().map(|it| it.total.saturating_sub(it.available));
    let process = proc::process();
    let uptime = state.uptime();
    let started = state.now().as_micros() - i64::try_from(uptime.as_micros()).unwrap_or(0);
    Json(Status {
        system: System {
            cpu_percent: share(|usage| usage.busy),
            memory_percent: memory.as_ref().zip(used).map(|(it, used)| percent(used, it.total)),
            total_memory_mb: memory.as_ref().map(|it| mib(it.total)),
            used_memory_mb: used.map(mib),
            available_memory_mb: memory.as_ref().map(|it| mib(it.available)),
        },
        process: ProcessReport {
            pid: std::process::id(),
            cpu_percent: share(|usage| usage.own),
            memory_rss_mb: process.as_ref().map(|it| mib(it.resident)),
            memory_vms_mb: process.as_ref().map(|it| mib(it.virtual_size)),
            num_threads: process.as_ref().map(|it| it.threads),
            start_time: noetl_model::Timestamp::from_micros(started).to_string(),
            uptime_seconds: uptime.as_secs(),
        },
        isolation: protections(state.app()),
    })
}

fn protections(app: &noetl_app::App) -> Vec<StepProtectionReport> {
    let reports = app.step_protections().iter().map(|it| StepProtectionReport {
        protection: it.name,
        state: it.state,
        reason: it.reason.clone(),
    });
    reports.collect()
}

/// Returns a percentage, rounded down to a tenth.
fn percent(part: u64, whole: u64) -> f64 {
    let tenths = part.saturating_mul(1000) / whole.max(1);
    f64::from(u32::try_from(tenths).unwrap_or(u32::MAX)) / 10.0
}

fn kib_to_mib(kib: u64) -> f64 {
    f64::from(u32::try_from(kib / 1024).unwrap_or(u32::MAX))
}

/// Lists the threads of this process.
#[utoipa::path(
    get, path = "/api/threads", tag = "system", responses((status = 200, body = Vec<Thread>))
)]
async fn list_threads() -> Json<Vec<Thread>> {
    Json(proc::threads())
}

#[derive(Debug, Serialize, ToSchema)]
struct ProfilerStatus {
    is_profiling: bool,
    profiler_type: Option<String>,
    message: &'static str,
}

/// Shows that nothing is profiled.
#[utoipa::path(
    get, path = "/api/profiler/status", tag = "system",
    responses((status = 200, body = ProfilerStatus))
)]
async fn profiler_status() -> Json<ProfilerStatus> {
    Json(ProfilerStatus { is_profiling: false, profiler_type: None, message: NO_PROFILER })
}

const NO_PROFILER: &str = "there is no profiler inside; use perf or heaptrack on the process";

#[derive(Debug, Serialize, ToSchema)]
struct ProfilerAnswer {
    status: &'static str,
    message: &'static str,
}

/// Explains how to profile memory from outside.
#[utoipa::path(
    post, path = "/api/profiler/memory/start", tag = "system",
    responses((status = 200, body = ProfilerAnswer))
)]
async fn start_memory_profiler() -> Json<ProfilerAnswer> {
    Json(ProfilerAnswer { status: "info", message: NO_PROFILER })
}

/// Explains how to profile memory from outside.
#[utoipa::path(
    post, path = "/api/profiler/memory/stop", tag = "system",
    responses((status = 200, body = ProfilerAnswer))
)]
async fn stop_memory_profiler() -> Json<ProfilerAnswer> {
    Json(ProfilerAnswer { status: "info", message: NO_PROFILER })
}
