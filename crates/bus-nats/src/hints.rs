//! Hints between servers, on plain subjects without storage.

use async_nats::Client;
use futures::StreamExt as _;
use noetl_bus::{Bus as _, Hint, LocalBus};

/// Returns the subject of a hint.
pub(crate) fn subject(hint: &Hint) -> &'static str {
    match hint {
        Hint::CommandReady { .. } => "noetl.hints.command_ready",
        Hint::CommandCancelled { .. } => "noetl.hints.command_cancelled",
        Hint::ExecutionAdvanced { .. } => "noetl.hints.execution_advanced",
        Hint::LookAgain => "noetl.hints.look_again",
    }
}

const ALL: &str = "noetl.hints.>";

pub(crate) fn body(hint: &Hint) -> Vec<u8> {
    serde_json::to_vec(hint).expect("a hint is numbers and texts")
}

/// Forwards hints of other servers to the local bus while this future is polled.
pub(crate) async fn forward_hints(client: Client, local: LocalBus) {
    let mut hints = match client.subscribe(ALL).await {
        Ok(hints) => hints,
        Err(error) => {
            let error: &dyn std::error::Error = &error;
            tracing::error!(error, "cannot subscribe to hints of other servers");
            return;
        }
    };
    while let Some(message) = hints.next().await {
        match serde_json::from_slice(&message.payload) {
            Ok(hint) => local.publish(hint).await,
            // A newer server may send hints that this version does not know.
            Err(_) => local.publish(Hint::LookAgain).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use noetl_model::{CommandId, ExecutionId, Pool};

    use super::*;

    fn check(hint: &Hint, expected: Expect) {
        let body = body(hint);
        let heard: Hint = serde_json::from_slice(&body).unwrap();
        assert_eq!(heard, *hint);
        expected.assert_eq(&format!("{} {}", subject(hint), String::from_utf8(body).unwrap()));
    }

    #[test]
    fn servers_of_two_versions_understand_each_other() {
        check(
            &Hint::CommandReady { pool: Pool::shared() },
            expect![[r#"noetl.hints.command_ready {"hint":"command_ready","pool":"shared"}"#]],
        );
        check(
            &Hint::CommandCancelled { execution: ExecutionId(1), command: CommandId(2) },
            expect![[
                r#"noetl.hints.command_cancelled {"hint":"command_cancelled","execution":1,"command":2}"#
            ]],
        );
        check(
            &Hint::ExecutionAdvanced { execution: ExecutionId(1) },
            expect![[
                r#"noetl.hints.execution_advanced {"hint":"execution_advanced","execution":1}"#
            ]],
        );
        check(&Hint::LookAgain, expect![[r#"noetl.hints.look_again {"hint":"look_again"}"#]]);
    }
}
