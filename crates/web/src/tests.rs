//! Pages for a seeded store, compared as text: what a visitor reads, without the frame.

mod administration;
mod compare;
mod editor;
mod execution;
mod forms;
mod german;
mod hostile_names;
mod live;
mod long_loop;
mod pages;
mod snapshots;
mod text;
mod waiting;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use noetl_app::{App, AppSettings, Services, StatedNames};
use noetl_bus::LocalBus;
use noetl_control::{Control, ControlSettings};
use noetl_model::{Digest, IdGenerator, Timestamp};
use noetl_secrets::{EncryptionKey, Keyring, Vault};
use noetl_store::{Clock, MemoryStore, Records, Store};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::session::{EndedSessions, SessionKey};
use crate::state::{LoginError, LoginGate, SignIn, WebState, Wire};
use crate::visitor::{Permissions, Visitor};

/// A clock that follows tokio's time, which tests pause.
struct PausedClock {
    begun: Instant,
}

impl Clock for PausedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).after(self.begun.elapsed())
    }
}

/// A gate that knows one token.
struct OneToken;

#[async_trait::async_trait]
impl LoginGate for OneToken {
    async fn log_in(&self, token: &str, _: IpAddr) -> Result<Digest, LoginError> {
        match token {
            "right" => Ok(Digest::of(b"right")),
            _ => Err(LoginError::UnknownToken),
        }
    }
}

/// The pages over a store in memory.
struct Site {
    app: App,
    router: Router,
    visitor: Visitor,
}

/// An answer with its whole body.
struct Shown {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Site {
    fn new() -> Self {
        Self::with(SignIn::Open)
    }

    fn with(sign_in: SignIn) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(PausedClock { begun: Instant::now() });
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let (store, records): (Arc<dyn Store>, Arc<dyn Records>) = (store.clone(), store);
        let (bus, ids) = (Arc::new(LocalBus::new()), Arc::new(IdGenerator::new(1)));
        let control = Control::new(
            store.clone(),
            bus.clone(),
            clock.clone(),
            ids.clone(),
            ControlSettings::default(),
        );
        let keyring = Keyring::new(EncryptionKey::generate(), Vec::new());
        let vault = Arc::new(Vault::new(records.clone(), keyring, ids.clone(), clock));
        let key = SessionKey::of(&vault);
        let services = Services { control, store, records, vault, bus, ids };
        let app = App::new(services, AppSettings::new(std::time::Duration::from_secs(30)));
        let stopping = CancellationToken::new();
        let state = WebState {
            app: app.clone(),
            sign_in,
            wire: Wire::Plain,
            key,
            ended: EndedSessions::default(),
            stopping,
        };
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let visitor =
            Visitor { address, may: Permissions::ALL, actor: None, names: StatedNames::Accepted };
        Self { app, router: crate::router(state), visitor }
    }

    /// Marks every message of the outbox as sent, as the loop does that sends them.
    async fn send_messages(&self) {
        let pending = self.app.list_messages(None, 0, None).await.expect("messages").messages;
        let ids: Vec<i64> = pending.iter().map(|message| message.outbox_id).collect();
        if !ids.is_empty() {
            self.app.mark_sent(&ids).await.expect("they are marked");
        }
    }

    async fn get(&self, path: &str) -> Shown {
        self.send(Request::get(path).body(Body::empty()).expect("a request")).await
    }

    /// Requests a page in German.
    async fn get_german(&self, path: &str) -> Shown {
        let request = Request::get(path).header(header::ACCEPT_LANGUAGE, "de");
        self.send(request.body(Body::empty()).expect("a request")).await
    }

    async fn send(&self, mut request: Request<Body>) -> Shown {
        request.extensions_mut().insert(self.visitor.clone());
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a whole body");
        let body = String::from_utf8(body.to_vec()).expect("text");
        Shown { status: parts.status, headers: parts.headers, body }
    }

    /// Sends the form of a page, with the cookie and the token that the page gave.
    async fn submit(&self, page: &str, action: &str, fields: &str) -> Shown {
        let shown = self.get(page).await;
        let token = shown.between("name=\"form_token\" value=\"", "\"");
        let body = format!("form_token={token}&return_to=/ui/executions&{fields}");
        self.post(action, &shown.cookie(), body).await
    }

    async fn post(&self, action: &str, cookie: &str, body: String) -> Shown {
        let request = Request::post(action)
            .header(header::COOKIE, cookie)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(body));
        self.send(request.expect("a request")).await
    }
}

impl Shown {
    fn between(&self, before: &str, after: &str) -> String {
        let rest = self.body.split_once(before).map(|(_, rest)| rest);
        let rest = rest.unwrap_or_else(|| panic!("no {before} in {}", self.body));
        rest.split_once(after).expect("an end").0.to_owned()
    }

    /// Returns the first cookie that the answer stores.
    fn cookie(&self) -> String {
        let cookie = self.headers.get(header::SET_COOKIE).expect("a cookie");
        cookie.to_str().expect("text").split(';').next().unwrap_or_default().to_owned()
    }

    fn location(&self) -> &str {
        let location = self.headers.get(header::LOCATION);
        location.map_or("", |it| it.to_str().expect("text"))
    }
}
