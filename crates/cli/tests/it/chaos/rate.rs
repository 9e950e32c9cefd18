//! A rate limit on two servers with a worker each.

use std::time::Duration;

use noetl_model::{Event, Timestamp};

use super::fleet::Fleet;

/// The number of executions.
const EXECUTIONS: usize = 300;
/// The shortest time that this many commands take at 50 per second after a burst of 5, less 5 percent.
const SPAN_MIN: Duration = Duration::from_millis(5605);

const PLAYBOOK: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: rate, path: tests/rate}
workflow:
  - {step: start, limit: {name: calls, rate: 50, per: 1s}, tool: {kind: noop}}
";

#[test]
fn a_rate_over_two_servers_is_not_exceeded() {
    let fleet = Fleet::of(2, "tests/rate", PLAYBOOK);
    fleet.start_all(EXECUTIONS);
    fleet.await_ends();
    let mut claims: Vec<Timestamp> = Vec::new();
    for execution in fleet.started() {
        let log = fleet.log(execution);
        let claimed = log.iter().filter(|it| matches!(it.event, Event::CommandClaimed { .. }));
        let claimed: Vec<Timestamp> = claimed.map(|recorded| recorded.at).collect();
        assert_eq!(claimed.len(), 1, "a command is claimed once");
        claims.extend(claimed);
    }
    claims.sort_unstable();
    let span = claims[EXECUTIONS - 1].since(claims[0]);
    println!("{EXECUTIONS} commands at 50 per second began within {:.2} s", span.as_secs_f64());
    // A machine that stalls makes commands late, never early.
    assert!(span >= SPAN_MIN, "{EXECUTIONS} commands began within {span:?}");
}
