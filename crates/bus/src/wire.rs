//! The wire format of notifications for workers of the public protocol.
//!
//! A worker exits on a notification that it cannot decode, so a test pins every key.

use noetl_model::{EventId, ExecutionId, StepName};
use serde::Serialize;
use serde_json::Value;

use crate::{Notification, NotificationReason};

/// The prefix of the subjects of notifications.
pub const COMMANDS: &str = "noetl.commands";

#[derive(Serialize)]
struct NotificationBody<'a> {
    execution_id: ExecutionId,
    event_id: EventId,
    command_id: String,
    step: &'a StepName,
    server_url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a Value>,
}

/// Returns the JSON of a notification; `server_url` is where its command is claimed.
pub fn body(notification: &Notification, server_url: &str) -> Vec<u8> {
    let command = &notification.command;
    let body = NotificationBody {
        execution_id: command.execution,
        event_id: command.event_id,
        command_id: command.to_string(),
        step: &command.step,
        server_url,
        trace: notification.trace.as_deref(),
    };
    serde_json::to_vec(&body).expect("numbers, texts and JSON can be written as JSON")
}

/// Returns the id by which the stream recognizes a duplicate. Row ids repeat between stores that
/// share a stream, so the globally unique event id comes first. Servers that remind of the same
/// command at the same time produce the same id.
pub fn message_id(notification: &Notification) -> String {
    let event = notification.command.event_id;
    match notification.reason {
        NotificationReason::Issued { row } => format!("{event}-{row}"),
        NotificationReason::Reminder { attempt, count } => {
            format!("{event}-again-{attempt}-{count}")
        }
    }
}

/// Returns the subject of a notification.
pub fn subject(notification: &Notification) -> String {
    let pool: Vec<String> = notification.pool.as_str().split('.').map(token).collect();
    format!("{COMMANDS}.{}.{}", pool.join("."), notification.command.execution)
}

/// Replaces characters of a pool name that are not allowed in a subject token.
fn token(text: &str) -> String {
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && c != '*' && c != '>';
    if text.is_empty() {
        return "_".to_owned();
    }
    text.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::{Expect, expect};
    use noetl_model::{CommandName, Pool};
    use serde_json::json;

    use super::*;

    fn check(pool: &str, item: Option<u64>, trace: Option<Value>, expected: Expect) {
        let notification = Notification {
            reason: NotificationReason::Issued { row: 17 },
            pool: Pool::new(pool),
            command: CommandName {
                execution: ExecutionId(380_247_909_993_574_400),
                step: StepName::new("start"),
                event_id: EventId(380_247_910_001_963_008),
                item,
            },
            trace: trace.map(Arc::new),
        };
        let body = String::from_utf8(body(&notification, "http://127.0.0.1:58082")).unwrap();
        expected.assert_eq(&[subject(&notification), message_id(&notification), body].join("\n"));
    }

    #[test]
    fn a_notification_has_five_keys_and_ids_are_numbers() {
        check(
            "shared",
            None,
            None,
            expect![[r#"
                noetl.commands.shared.380247909993574400
                380247910001963008-17
                {"execution_id":380247909993574400,"event_id":380247910001963008,"command_id":"380247909993574400:start:380247910001963008","step":"start","server_url":"http://127.0.0.1:58082"}"#]],
        );
    }

    #[test]
    fn an_item_of_a_loop_has_a_fourth_segment_and_a_trace_is_passed_on() {
        check(
            "gpu.large",
            Some(3),
            Some(json!({ "traceparent": "00-1-2-01" })),
            expect![[r#"
                noetl.commands.gpu.large.380247909993574400
                380247910001963008-17
                {"execution_id":380247909993574400,"event_id":380247910001963008,"command_id":"380247909993574400:start:380247910001963008:i3","step":"start","server_url":"http://127.0.0.1:58082","trace":{"traceparent":"00-1-2-01"}}"#]],
        );
    }

    #[test]
    fn any_pool_gives_a_valid_subject() {
        for (pool, expected) in [
            ("my pool", "noetl.commands.my_pool.1"),
            (">", "noetl.commands._.1"),
            ("a.*..", "noetl.commands.a._._._.1"),
            ("", "noetl.commands._.1"),
        ] {
            let command = CommandName {
                execution: ExecutionId(1),
                step: StepName::new("s"),
                event_id: EventId(2),
                item: None,
            };
            let pool = Pool::new(pool);
            let notification = Notification {
                reason: NotificationReason::Issued { row: 1 },
                pool,
                command,
                trace: None,
            };
            assert_eq!(subject(&notification), expected);
        }
    }
}
