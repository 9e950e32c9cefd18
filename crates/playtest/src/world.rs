//! The run of one test: the tested execution, its children, and virtual time.
//!
//! There are workers enough for every command. A command is claimed as soon as it is ready and ends
//! after the delay of its mock; when nothing else can happen, the clock jumps to the next thing that
//! is due.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use noetl_engine::{
    ApprovalDecision, CommandResult, HolderStatus, Input, Signal, StartInput, holder_status,
    lease_of, start_workload,
};
use noetl_model::{
    ADDED_KEYS, Attempt, CommandId, Event, ExecutionId, Logs, MESSAGE_KEYS, Payload, SCHEDULE_KEY,
    StepName, Timestamp, WorkerId,
};
use noetl_playbook::{Playbook, PlaybookTest, StepMocks, TestSignal};
use serde_json::{Map, Value};

use crate::agenda::{Agenda, Due, DueKey, DueRank};
use crate::call::{RenderedCall, RenderedSettings};
use crate::check::{self, ExecutionEnd};
use crate::coverage::Coverage;
use crate::mocked::{CallEnd, CallProblem, matching_mock, mocked_end, unmocked_end};
use crate::outcome::{TestFault, TestOutcome};
use crate::virtual_execution::VirtualExecution;

mod children;
mod faults;

/// The playbooks that steps may call, by catalog path.
pub type PlaybookLibrary = BTreeMap<String, Playbook>;

/// The most things that happen in one test; more indicate an endless loop.
const MOMENTS_MAX: usize = 1_000_000;
/// The virtual time of a start: 2026-01-01T00:00:00Z.
const NOW_DEFAULT: Timestamp = Timestamp::from_millis(1_767_225_600_000);
/// The lease of a test's worker, which never loses a command.
const LEASE: Duration = Duration::from_secs(10 * 366 * 86_400);
const WORKER: &str = "test";
/// The index of the tested execution.
const ROOT: usize = 0;

/// Runs a test of a playbook. `library` has the playbooks that its steps may call.
pub fn run_test(
    playbook: &Playbook,
    library: &PlaybookLibrary,
    test: &PlaybookTest,
) -> TestOutcome {
    let now = test.now.unwrap_or(NOW_DEFAULT);
    let asked =
        StartInput { added: added_keys(&test.workload), ..StartInput::new(test.workload.clone()) };
    let workload = match start_workload(playbook, &asked) {
        Ok(workload) => workload,
        Err(problems) => return check::refused(&test.expect, &problems.to_string()),
    };
    let input = StartInput { error_mode: test.error_mode, ..StartInput::new(workload) };
    match VirtualExecution::start(ExecutionId(1), playbook, &input, now) {
        Ok(root) => TestWorld::new(test, library, root, now).run(),
        Err(refusal) => check::refused(&test.expect, &refusal.to_string()),
    }
}

/// Returns the values that the start of a test need not declare: a test with `schedule` or `message` is
/// about a start by a schedule or a message.
fn added_keys(workload: &Map<String, Value>) -> &'static [&'static str] {
    match (workload.contains_key(SCHEDULE_KEY), workload.contains_key("message")) {
        (true, true) => ADDED_KEYS,
        (true, false) => &[SCHEDULE_KEY],
        (false, true) => MESSAGE_KEYS,
        (false, false) => &[],
    }
}

/// A test while it runs.
pub(crate) struct TestWorld<'a> {
    test: &'a PlaybookTest,
    library: &'a PlaybookLibrary,
    now: Timestamp,
    /// The tested execution, then its children.
    executions: Vec<VirtualExecution<'a>>,
    agenda: Agenda,
    calls: Vec<RenderedCall>,
    /// The number of calls of each task: playbook, step, label.
    counts: BTreeMap<(String, StepName, String), u32>,
    /// The number of events of each execution that were looked at.
    seen: Vec<usize>,
    /// The decisions that were made.
    decided: BTreeSet<usize>,
    /// Signals with a correlation key that no wait has taken.
    kept_signals: Vec<&'a TestSignal>,
    /// The reason why the run cannot go on.
    fault: Option<TestFault>,
}

impl<'a> TestWorld<'a> {
    fn new(
        test: &'a PlaybookTest,
        library: &'a PlaybookLibrary,
        root: VirtualExecution<'a>,
        now: Timestamp,
    ) -> Self {
        let mut agenda = Agenda::default();
        for (index, signal) in test.signals.iter().enumerate() {
            let (at, rank) = (now.after(signal.at), DueRank::Signal);
            let key = DueKey { at, rank, execution: ROOT, number: index as u64 };
            agenda.add(key, Due::Signal(index));
        }
        Self {
            test,
            library,
            now,
            executions: vec![root],
            agenda,
            calls: Vec::new(),
            counts: BTreeMap::new(),
            seen: vec![0],
            decided: BTreeSet::new(),
            kept_signals: Vec::new(),
            fault: None,
        }
    }

    fn run(mut self) -> TestOutcome {
        for _ in 0..MOMENTS_MAX {
            while self.fault.is_none() && self.settle() {}
            if self.fault.is_some() || self.has_ended() {
                return self.finish();
            }
            let Some(key) = self.next_due() else { break };
            self.happen(key);
        }
        self.fault = Some(self.does_not_end());
        self.finish()
    }

    fn has_ended(&self) -> bool {
        self.executions[ROOT].state.status().is_terminal()
    }

    /// Does everything that takes no time; false if there was nothing to do.
    fn settle(&mut self) -> bool {
        let mut has_changed = false;
        for index in 0..self.executions.len() {
            self.look_at_events(index);
            has_changed |= self.deliver_messages(index);
            let now = self.now;
            has_changed |= self.executions[index].grant_slots(now);
            for command in self.executions[index].ready() {
                self.claim(index, command);
                has_changed = true;
            }
            for command in self.executions[index].child_commands() {
                self.call_child(index, command);
                has_changed = true;
            }
        }
        has_changed | self.deliver_kept_signals()
    }

    /// Returns the earliest thing that is due: an entry of the agenda, or a timer.
    fn next_due(&self) -> Option<DueKey> {
        let timers = self.executions.iter().enumerate().filter_map(|(execution, it)| {
            let (at, timer) = it.next_timer()?;
            Some(DueKey { at, rank: DueRank::Timer, execution, number: timer.0 })
        });
        timers.chain(self.agenda.first()).min()
    }

    fn happen(&mut self, key: DueKey) {
        let index = key.execution;
        let Some(due) = self.agenda.take(key) else {
            self.now = self.now.max(key.at);
            let timer = noetl_model::TimerId(key.number);
            let fired = self.executions[index].tell(&Input::TimerFired { timer }, self.now);
            fired.expect("a timer that is set can fire");
            return;
        };
        let input = match due {
            // A result of a command that has been cancelled meanwhile takes no time.
            Due::Report { command, .. } if !self.is_claimed(index, command) => return,
            Due::ChildEnd { command, .. } if !self.is_open(index, command) => return,
            Due::Decision { command, .. } if !self.is_open(index, command) => return,
            Due::Report { command, ended } => Input::Report {
                command,
                attempt: Attempt(1),
                worker: WorkerId::new(WORKER),
                ended: self.kept(index, ended),
                logs: Logs::default(),
            },
            Due::ChildEnd { command, ended } => {
                Input::ChildEnded { command, ended: self.kept(index, ended) }
            }
            Due::Signal(signal) => {
                self.now = self.now.max(key.at);
                return self.send_signal(&self.test.signals[signal]);
            }
            Due::Decision { command, decision } => {
                self.now = self.now.max(key.at);
                return self.decide(command, decision);
            }
        };
        self.now = self.now.max(key.at);
        // A refusal means that the execution has ended meanwhile.
        let _unheard = self.executions[index].tell(&input, self.now);
    }

    fn is_claimed(&self, index: usize, command: CommandId) -> bool {
        let status = holder_status(&self.executions[index].state, command);
        matches!(status, HolderStatus::Worker { .. })
    }

    fn is_open(&self, index: usize, command: CommandId) -> bool {
        self.executions[index].state.open_command(command).is_some()
    }

    /// Moves large values of a result out of the log.
    fn kept(&mut self, index: usize, ended: CommandResult) -> CommandResult {
        let execution = &mut self.executions[index];
        match ended {
            CommandResult::Completed { output } => {
                CommandResult::Completed { output: execution.keep(output) }
            }
            CommandResult::Failed { error, output } => {
                CommandResult::Failed { error, output: output.map(|output| execution.keep(output)) }
            }
        }
    }

    /// Claims a command and computes its result, which is reported after its delay.
    fn claim(&mut self, index: usize, command: CommandId) {
        let (attempt, worker) = (Attempt(1), WorkerId::new(WORKER));
        let claim = Input::Claim { command, attempt, worker, lease: LEASE, after: None };
        let execution = &mut self.executions[index];
        execution.tell(&claim, self.now).expect("a ready command can be claimed");
        let lease = lease_of(&execution.state, execution.playbook, command)
            .expect("a claimed command has a lease");
        let bound = lease.bindings.0.iter();
        let variables = bound.map(|(name, value)| (name.clone(), execution.resolve(value)));
        let settings = RenderedSettings::of(&lease, variables.collect());
        let end = match settings {
            Err(error) => CallEnd::failed(error),
            Ok(settings) => {
                let call = RenderedCall {
                    playbook: execution.playbook.metadata.path.clone(),
                    step: lease.step.clone(),
                    task: lease.label.clone(),
                    item: lease.item,
                    attempt: lease.key_attempt,
                    call: 0,
                    tool: lease.tool,
                    with: settings.to_value(),
                };
                let call = self.counted(call);
                match self.result_of(index, &call, &settings) {
                    Ok(end) => end,
                    Err(problem) => return self.stop_at(&call, &problem),
                }
            }
        };
        let key = self.result_key(index, command, end.delay);
        self.agenda.add(key, Due::Report { command, ended: end.ended });
    }

    fn result_of(
        &self,
        index: usize,
        call: &RenderedCall,
        settings: &RenderedSettings,
    ) -> Result<CallEnd, CallProblem> {
        let mocks = self.mocks_of(index).and_then(|mocks| mocks.get(&call.step));
        match matching_mock(mocks, call) {
            Some(mock) => mocked_end(mock, call, Some(settings.timeout), self.now),
            None => {
                let choice = (mocks.is_some(), self.test.allow_unmocked);
                unmocked_end(call, settings, choice, self.now)
            }
        }
    }

    fn result_key(&self, execution: usize, command: CommandId, delay: Duration) -> DueKey {
        let (at, rank) = (self.now.after(delay), DueRank::Result);
        DueKey { at, rank, execution, number: command.0 }
    }

    /// Returns the mocks of an execution's playbook.
    fn mocks_of(&self, index: usize) -> Option<&'a StepMocks> {
        match index {
            ROOT => Some(&self.test.mocks),
            _ => self.test.children.get(&self.executions[index].playbook.metadata.path),
        }
    }

    /// Numbers a call and adds it to the list.
    fn counted(&mut self, mut call: RenderedCall) -> RenderedCall {
        let key = (call.playbook.clone(), call.step.clone(), call.task.clone());
        let count = self.counts.entry(key).or_default();
        *count += 1;
        call.call = *count;
        self.calls.push(call.clone());
        call
    }

    /// Looks for approvals that a decision of the test is about.
    fn look_at_events(&mut self, index: usize) {
        let seen = std::mem::replace(&mut self.seen[index], self.executions[index].log.len());
        if index != ROOT {
            return;
        }
        let mut asked = Vec::new();
        for recorded in &self.executions[index].log[seen..] {
            if let Event::ApprovalRequested { command, .. } = &recorded.event {
                asked.push((*command, recorded.at));
            }
        }
        for (command, at) in asked {
            let step = self.executions[index].state.step_of_command(command).cloned();
            let decision = self.test.decisions.iter().enumerate().find(|(number, decision)| {
                Some(&decision.step) == step.as_ref() && !self.decided.contains(number)
            });
            let Some((decision, made)) = decision else { continue };
            self.decided.insert(decision);
            let (at, rank) = (at.after(made.after), DueRank::Decision);
            let key = DueKey { at, rank, execution: index, number: command.0 };
            self.agenda.add(key, Due::Decision { command, decision });
        }
    }

    fn decide(&mut self, command: CommandId, decision: usize) {
        let made = &self.test.decisions[decision];
        let input = Input::Decide(ApprovalDecision {
            command,
            verdict: made.verdict,
            actor: made.actor.clone(),
            actor_stated: false,
            link_by: None,
            comment: made.comment.clone(),
            values: made.values.clone(),
        });
        if let Err(refusal) = self.executions[ROOT].tell(&input, self.now) {
            let message = format!("the decision about step `{}` is refused: {refusal}", made.step);
            self.fault = Some(TestFault::new(message));
        }
    }

    fn send_signal(&mut self, signal: &'a TestSignal) {
        if signal.key.is_some() {
            self.kept_signals.push(signal);
            return;
        }
        let body = Payload::inline(signal.body.clone());
        let sent = Signal {
            name: signal.name.clone(),
            body: self.executions[ROOT].keep(body),
            sender: signal.sender.clone(),
            key: None,
            to: None,
            actor: None,
        };
        if let Err(refusal) = self.executions[ROOT].tell(&Input::Signal(sent), self.now) {
            let message = format!("the signal `{}` is refused: {refusal}", signal.name);
            self.fault = Some(TestFault::new(message));
        }
    }

    /// Sends each signal with a correlation key to the wait that has opened for it.
    fn deliver_kept_signals(&mut self) -> bool {
        let mut has_changed = false;
        for signal in std::mem::take(&mut self.kept_signals) {
            let Some(key) = &signal.key else { continue };
            let waits = self.executions.iter().enumerate().find_map(|(index, execution)| {
                Some((index, execution.state.signal_wait(&signal.name, key)?))
            });
            let Some((index, command)) = waits else {
                self.kept_signals.push(signal);
                continue;
            };
            let body = Payload::inline(signal.body.clone());
            let sent = Signal {
                name: signal.name.clone(),
                body: self.executions[index].keep(body),
                sender: signal.sender.clone(),
                key: None,
                to: Some((command, key.clone())),
                actor: None,
            };
            let accepted = self.executions[index].tell(&Input::Signal(sent), self.now);
            accepted.expect("a wait that is open takes its signal");
            has_changed = true;
        }
        has_changed
    }

    fn finish(self) -> TestOutcome {
        let root = &self.executions[ROOT];
        let mut output = None;
        for recorded in &root.log {
            if let Event::ExecutionCompleted { output: last, .. } = &recorded.event {
                output = Some((*root.resolve(last)).clone());
            }
        }
        let duration = self.now.since(root.state.started_at());
        let end = ExecutionEnd {
            execution: root,
            output: output.unwrap_or(Value::Null),
            calls: &self.calls,
            duration,
        };
        let faults = match self.fault {
            Some(fault) => vec![fault],
            None => check::faults(&self.test.expect, &end),
        };
        let entered = root.entered().into_iter().map(StepName::new).collect();
        let mut coverage: BTreeMap<String, Coverage> = BTreeMap::new();
        for execution in &self.executions {
            let path = execution.playbook.metadata.path.clone();
            coverage.entry(path).or_default().merge(&execution.coverage);
        }
        let log = self.executions.into_iter().next().map(|root| root.log).unwrap_or_default();
        TestOutcome {
            faults,
            log,
            calls: self.calls,
            entered,
            coverage: coverage.into_iter().collect(),
            duration,
        }
    }
}
