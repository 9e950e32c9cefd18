//! Steps of real tools: the overhead of the engine over calling the tool directly.

use std::collections::BTreeMap;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use noetl_model::{
    Attempt, Bindings, CommandId, ExecutionId, Lease, Outcome, StepName, Timestamp, ToolKind,
};
use noetl_testkit::PostgresServer;
use noetl_tools::{Registry, ToolSettings, UsedCredentials};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use tokio_util::sync::CancellationToken;

use super::ScenarioParameters;
use crate::database::MeasuredDatabase;
use crate::machine::ProcessUsage;
use crate::numbers::{Runs, micros, number};
use crate::playbooks::chain_of;
use crate::plot::{Plot, PlotLine, PlotStyle};
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation};

const STEPS: u64 = 1000;
const WARM_UP: u64 = 50;
const RUNS: usize = 3;
/// The largest accepted overhead of the engine for a step, in microseconds.
const WALL_MAX: f64 = 2000.0;
const CPU_MAX: f64 = 1000.0;

/// The cost of a call, in microseconds.
#[derive(Default)]
struct CallCost {
    wall: Runs,
    cpu: Runs,
}

impl CallCost {
    fn add(&mut self, wall: Duration, cpu: Duration, calls: u64) {
        self.wall.push(micros(wall) / number(calls));
        self.cpu.push(micros(cpu) / number(calls));
    }
}

pub(super) async fn measure(setting: &ScenarioParameters<'_>, tool: ToolKind) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    // The services that the tool calls are kept until the end.
    let (_postgres, service);
    let config = match tool {
        ToolKind::Http => {
            service = WebServiceProcess::start()?;
            json!({ "url": format!("{}/api/v1/users?page=1", service.url), "method": "GET" })
        }
        ToolKind::Postgres => {
            _postgres = PostgresServer::private();
            let url = _postgres.url("postgres");
            json!({ "connection_string": url, "query": "SELECT 1 AS one" })
        }
        _ => json!({ "code": "result = {'n': 1 + 1}" }),
    };
    let steps = setting.size.of(STEPS);
    let bare = bare(setting, tool, &config, steps).await?;
    let engine = steps_of(setting, &database, tool, &config, steps).await?;
    let again = self::bare(setting, tool, &config, steps).await?;
    let bare_wall = f64::midpoint(bare.wall.median(), again.wall.median());
    let bare_cpu = f64::midpoint(bare.cpu.median(), again.cpu.median());
    sheet.runs("a step, wall", engine.wall.clone(), "us");
    sheet.figure("the tool by itself, wall", bare_wall, "us");
    sheet.runs("a step, CPU", engine.cpu.clone(), "us");
    sheet.figure("the tool by itself, CPU", bare_cpu, "us");
    let (wall, cpu) = (engine.wall.median() - bare_wall, engine.cpu.median() - bare_cpu);
    sheet.goal("wall time the engine adds to a step, us", wall, AcceptedRange::AtMost(WALL_MAX));
    sheet.goal("CPU time the engine adds to a step, us", cpu, AcceptedRange::AtMost(CPU_MAX));
    let line = |name: &str, values: [f64; 2]| PlotLine {
        name: name.to_owned(),
        points: (0u32..).map(f64::from).zip(values).collect(),
    };
    sheet.plot(Plot {
        title: format!("Steps of {tool} on {}", setting.store.title()),
        x: "",
        y: "us",
        shape: PlotStyle::Bars(&["wall", "CPU"]),
        lines: vec![
            line("a step", [engine.wall.median(), engine.cpu.median()]),
            line("the tool alone", [bare_wall, bare_cpu]),
        ],
    });
    Ok(sheet)
}

/// Calls the tool like a worker, without a server.
async fn bare(
    setting: &ScenarioParameters<'_>,
    tool: ToolKind,
    config: &Value,
    calls: u64,
) -> Result<CallCost> {
    let registry = Registry::standard(ToolSettings::from_environment(std::env::vars()));
    let lease = Lease {
        is_strict: false,
        execution: ExecutionId(1),
        command: CommandId(1),
        attempt: Attempt(1),
        lease_until: Timestamp::from_micros(0),
        step: StepName::new("bare"),
        label: "bare".to_owned(),
        item: None,
        tool,
        config: config.clone(),
        bindings: Bindings::default(),
        timeout_ms: None,
        idempotency_key: "1-1".to_owned(),
        key_attempt: 1,
        trace: None,
        secrets: noetl_model::OpenedSecrets::default(),
        secret: None,
    };
    let own = std::process::id();
    let mut cost = CallCost::default();
    for run in 0..=setting.size.runs(RUNS) {
        let calls = if run == 0 { WARM_UP } else { calls };
        let (begun, before) = (Instant::now(), ProcessUsage::of(own)?);
        for _ in 0..calls {
            let (used, cancel) = (UsedCredentials::default(), CancellationToken::new());
            let memory = registry.memory().call();
            let ended = registry
                .run(
                    &lease,
                    BTreeMap::new(),
                    noetl_tools::CallParts {
                        used: &used,
                        memory: &memory,
                        live: &noetl_tools::LiveLog::default(),
                    },
                    &cancel,
                )
                .await;
            let is_good = matches!(ended.outcome, Outcome::Completed { .. });
            ensure!(is_good, "the tool failed: {:?}", ended.outcome);
        }
        let (wall, after) = (begun.elapsed(), ProcessUsage::of(own)?);
        if run > 0 {
            cost.add(wall, after.cpu.saturating_sub(before.cpu), calls);
        }
    }
    Ok(cost)
}

/// Runs the tool as the steps of a chain.
async fn steps_of(
    setting: &ScenarioParameters<'_>,
    database: &MeasuredDatabase,
    tool: ToolKind,
    config: &Value,
    steps: u64,
) -> Result<CallCost> {
    let mut config = config.clone();
    config["kind"] = json!(tool.to_string());
    let system = MeasuredSystem::start(database, WorkerLocation::InProcess).await?;
    let store = database.store().await?;
    let mut cost = CallCost::default();
    for run in 0..=setting.size.runs(RUNS) {
        let steps = if run == 0 { WARM_UP } else { steps };
        let playbook = chain_of(steps, "bench/tool", &config.to_string());
        let ran = system.run(database, &*store, &playbook, &[json!({})]).await?;
        if run > 0 {
            cost.add(ran.wall(), ran.cpu(), steps);
        }
    }
    system.stop()?;
    Ok(cost)
}

/// A web service in a separate process, so that its CPU time does not count as the tool's.
struct WebServiceProcess {
    child: Child,
    url: String,
    _output: BufReader<ChildStdout>,
}

impl WebServiceProcess {
    fn start() -> Result<Self> {
        let own = std::env::current_exe().context("find this binary")?;
        let mut command = Command::new(own);
        let command = command.arg(crate::args::SERVE).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("start a web service")?;
        let output = child.stdout.take().context("its output is piped")?;
        let mut output = BufReader::new(output);
        let mut url = String::new();
        output.read_line(&mut url).context("hear where the web service is")?;
        Ok(Self { child, url: url.trim().to_owned(), _output: output })
    }
}

impl Drop for WebServiceProcess {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ended = self.child.kill();
        let _buried = self.child.wait();
    }
}
