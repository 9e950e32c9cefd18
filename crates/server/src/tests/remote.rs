//! Tests of the client side of the native worker protocol, over a real socket.

use std::time::Duration;

use noetl_api::{Cancellation, ControlError, ControlPlane as _, LeaseRequest, RemoteControl};
use noetl_model::{
    Digest, HeartbeatAnswer, Held, Lease, Outcome, PAYLOAD_INLINE_MAX, PayloadRef, Pool, Report,
    ReportAnswer, WorkerId,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use super::Server;
use crate::{Authentication, Hosts, Scope, Token, serve};

const DRAIN: Duration = Duration::from_secs(1);

struct Remote {
    server: Server,
    base: Url,
    _served: DropGuard,
}

impl Remote {
    async fn new() -> Self {
        Self::with(Authentication::Tokens(vec![Token::new("secret", Scope::ALL)])).await
    }

    async fn with(access: Authentication) -> Self {
        // An error means that another test of this process has installed a provider.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let server = Server::with(access, Hosts::Loopback);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let base = Url::parse(&format!("http://{address}")).expect("a URL");
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, server.state.clone(), DRAIN, stop.clone()));
        Self { server, base, _served: stop.drop_guard() }
    }

    fn control(&self, token: &str) -> RemoteControl {
        let control = RemoteControl::new(self.base.clone(), Some(token.to_owned()));
        control.expect("a client")
    }

    async fn start(&self) {
        let control = self.server.state.control();
        control.register("hello", super::HELLO).await.expect("a playbook");
        let playbook =
            noetl_control::PlaybookChoice::Path { path: "tests/hello".to_owned(), version: None };
        let request = noetl_control::StartRequest::new(playbook, serde_json::Map::new());
        control.start(request).await.expect("an execution");
    }
}

async fn lease(control: &RemoteControl) -> Lease {
    let request = LeaseRequest {
        worker: WorkerId::new("w"),
        pool: Pool::shared(),
        scope: noetl_model::LeaseScope::All,
        max: 1,
        wait: Duration::from_secs(5),
    };
    control.lease(request).await.expect("an answer").remove(0)
}

fn held(lease: &Lease) -> Held {
    Held::from(lease)
}

fn report(lease: &Lease, output: Value) -> Report {
    Report {
        execution: lease.execution,
        command: lease.command,
        attempt: lease.attempt,
        worker: WorkerId::new("w"),
        outcome: Outcome::completed(output),
        logs: Default::default(),
        next: None,
    }
}

#[tokio::test]
async fn a_worker_far_away_leases_beats_reports_and_fetches() {
    let remote = Remote::new().await;
    remote.start().await;
    let control = remote.control("secret");
    let first = lease(&control).await;
    let answers = control.heartbeat(&WorkerId::new("w"), &[held(&first)]).await;
    assert!(matches!(answers.expect("answers")[..], [HeartbeatAnswer::Extended { .. }]));
    let output = json!({ "text": "x".repeat(PAYLOAD_INLINE_MAX) });
    let answers = control.report(&[report(&first, output.clone())]).await;
    assert_eq!(answers.expect("answers"), [ReportAnswer::Accepted]);
    // A command that has ended reads nothing any more.
    let second = lease(&control).await;
    let text = output.to_string();
    let reference = PayloadRef { digest: Digest::of(text.as_bytes()), size: text.len() as u64 };
    assert_eq!(*control.payload(held(&second), &reference).await.expect("a value"), output);
    let unknown = PayloadRef { digest: Digest::of(b"else"), size: 4 };
    let unnamed = control.payload(held(&second), &unknown).await;
    assert!(matches!(unnamed, Err(ControlError::Refused { .. })), "{unnamed:?}");
}

#[tokio::test]
async fn a_remote_worker_sends_a_token_of_its_own() {
    let remote = Remote::new().await;
    remote.start().await;
    let control = remote.control("secret");
    let leased = lease(&control).await;
    let other = control.heartbeat(&WorkerId::new("other"), &[held(&leased)]).await;
    let Err(ControlError::Refused { reason }) = other else { panic!("{other:?}") };
    assert!(reason.contains("this token is that of worker w"), "{reason}");
}

#[tokio::test]
async fn a_remote_worker_works_for_a_server_that_gives_no_tokens() {
    let remote = Remote::with(Authentication::Open).await;
    remote.start().await;
    let control = remote.control("ignored");
    let leased = lease(&control).await;
    let answers = control.report(&[report(&leased, json!({}))]).await;
    assert_eq!(answers.expect("answers"), [ReportAnswer::Accepted]);
}

#[tokio::test]
async fn a_remote_worker_receives_cancellations() {
    let remote = Remote::new().await;
    remote.start().await;
    let control = remote.control("secret");
    let leased = lease(&control).await;
    let mut cancellations = control.cancellations();
    let cancelled = async {
        // The stream may not be open yet, so the hint is published repeatedly.
        loop {
            let hint = noetl_bus::Hint::CommandCancelled {
                execution: leased.execution,
                command: leased.command,
            };
            remote.server.state.bus().publish(hint).await;
            let heard = tokio::time::timeout(Duration::from_millis(20), cancellations.recv());
            if let Ok(heard) = heard.await {
                break heard.expect("a cancellation");
            }
        }
    };
    let heard = tokio::select! {
        heard = cancelled => heard,
        () = control.hear() => unreachable!("it listens for ever"),
    };
    let expected = Cancellation { execution: leased.execution, command: leased.command };
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn a_wrong_token_is_refused_and_a_server_that_is_gone_unavailable() {
    let remote = Remote::new().await;
    let refused = remote.control("guess").report(&[]).await;
    assert!(matches!(refused, Err(ControlError::Refused { .. })), "{refused:?}");
    let nobody = Url::parse("http://127.0.0.1:1").expect("a URL");
    let gone = RemoteControl::new(nobody, None).expect("a client").report(&[]).await;
    assert!(matches!(gone, Err(ControlError::Unavailable(_))), "{gone:?}");
}
