//! Names, descriptions, values and errors that look like HTML: every page shows them as text.

use std::sync::Arc;

use noetl_control::{PlaybookChoice, StartRequest};
use noetl_model::{ErrorKind, Outcome, ToolError};
use serde_json::{Map, json};

use super::Site;
use super::execution::work;

/// Begins elements, ends attributes and statements, and climbs directories. `MARK` tells the places apart.
const HOSTILE: &str =
    "../\"'><img src=x onerror=alert(MARK)></script></textarea>;DROP TABLE event--";

const PLAYBOOK: &str = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: NAME, path: PATH, description: ABOUT, labels: {team: LABEL}}
workload: {word: WORD}
workflow:
  - step: start
    desc: DESC
    tool: {kind: noop, result: 1}
    next: [STEP]
  - step: STEP
    tool: {kind: noop}
";

fn hostile(mark: u32) -> String {
    HOSTILE.replace("MARK", &mark.to_string())
}

/// Returns a text as a quoted scalar of YAML.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn encoded(path: &str) -> String {
    path.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test(start_paused = true)]
async fn names_that_look_like_html_are_text_on_every_page() {
    let site = Site::new();
    let path = format!("team/{}", hostile(1));
    let document = PLAYBOOK
        .replace("NAME", &quoted(&hostile(2)))
        .replace("PATH", &quoted(&path))
        .replace("ABOUT", &quoted(&hostile(3)))
        .replace("LABEL", &quoted(&hostile(4)))
        .replace("WORD", &quoted(&hostile(5)))
        .replace("DESC", &quoted(&hostile(6)))
        .replace("STEP", &quoted(&hostile(7)));
    site.app.register(&document).await.expect("a playbook");
    let playbook = PlaybookChoice::Path { path: path.clone(), version: None };
    let started = site.app.start(StartRequest::new(playbook, Map::new())).await;
    let id = started.expect("an execution").execution;
    work(&site, Outcome::Completed { output: Arc::new(json!(hostile(8))) }, &hostile(9)).await;
    let error = ToolError::new(ErrorKind::Exception, hostile(10));
    work(&site, Outcome::Failed { error, output: None }, &hostile(11)).await;
    let (step, path) = (encoded(&hostile(7)), encoded(&path));
    let addresses = [
        "".to_owned(),
        "executions".to_owned(),
        format!("executions?label=team:{}", encoded(&hostile(4))),
        format!("executions?text={}", encoded(&hostile(12))),
        "playbooks".to_owned(),
        format!("playbooks/{path}"),
        format!("playbooks/{path}/edit"),
        format!("find?q={}", encoded(&hostile(13))),
        format!("executions/{id}"),
        format!("executions/{id}?step={step}"),
        format!("executions/{id}?tab=variables&at=6"),
        format!("executions/{id}?tab=events"),
        format!("executions/{id}?tab=try&expression={}", encoded(&hostile(14))),
        format!("executions/{id}?tab=logs&step={step}"),
        format!("executions/{id}?tab=source&step={step}"),
        format!("executions/{id}/fork?at=4"),
        format!("executions/{id}/again"),
        format!("executions/{id}/compare?at=8&to=2"),
        format!("executions/{id}/verify"),
        format!("executions/{id}/retention"),
    ];
    let mut shown_somewhere = Vec::new();
    for address in addresses {
        let shown = site.get(&format!("/ui/{address}")).await;
        assert!(shown.status.is_success(), "{address}: {}", shown.status);
        assert!(!shown.body.contains("<img src=x"), "{address}: {}", shown.body);
        assert!(!shown.body.contains("</textarea>;"), "{address}: {}", shown.body);
        shown_somewhere
            .extend((1..=14).filter(|mark| shown.body.contains(&format!("alert({mark})"))));
    }
    for mark in [1, 4, 6, 7, 8, 10, 11] {
        assert!(shown_somewhere.contains(&mark), "no page shows text {mark}");
    }
}
