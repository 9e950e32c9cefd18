//! The state shared by all handlers.

use std::sync::Arc;
use std::time::Duration;

use noetl_app::App;
use noetl_bus::Bus;
use noetl_control::Control;
use noetl_model::Timestamp;
use noetl_secrets::Vault;
use noetl_web::{EndedSessions, Wire};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::access::{Authentication, ClientLimits, Hosts, Origins};
use crate::ingress::{Ingress, SecretSource};
use crate::listen::limits::Limits;
use crate::listen::tls::Tls;
use crate::observe::meters::Meters;
use crate::statements::{MaybeStatements, Statements};
use crate::tokens::Token;

/// The settings of the server.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    pub access: Authentication,
    /// Token for the internal routes, used between parts of the system.
    pub internal: Option<Token>,
    pub hosts: Hosts,
    pub origins: Origins,
    pub tls: Option<Arc<Tls>>,
    pub limits: Limits,
    pub figures: MetricsRoute,
    pub pages: Pages,
    pub spans: Spans,
    /// The protection of the connections of browsers to a proxy in front of the server.
    pub public_wire: Wire,
}

/// Switch for the metrics route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsRoute {
    Shown,
    Hidden,
}

/// Switch for the web interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    Shown,
    Hidden,
}

/// Switch for the export of request spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spans {
    Exported,
    Hidden,
}

impl ServerSettings {
    /// Creates settings with default limits.
    pub fn new(access: Authentication, hosts: Hosts) -> Self {
        Self {
            access,
            internal: None,
            hosts,
            origins: Origins::default(),
            tls: None,
            limits: Limits::default(),
            figures: MetricsRoute::Shown,
            pages: Pages::Shown,
            spans: Spans::Hidden,
            public_wire: Wire::Plain,
        }
    }
}

/// The state shared by all handlers. Cheap to clone: all clones share the same parts.
#[derive(Clone)]
pub struct AppState {
    parts: Arc<AppStateParts>,
}

struct AppStateParts {
    app: App,
    settings: ServerSettings,
    started: Instant,
    draining: CancellationToken,
    client_limits: ClientLimits,
    meters: Meters,
    ingress: Ingress,
    statements: MaybeStatements,
    large_reports: Semaphore,
    end_waits: Semaphore,
    ended_sessions: EndedSessions,
}

/// Maximum number of large reports processed at once.
const LARGE_REPORTS_MAX: usize = 2;
/// Maximum number of requests that wait for the end of an execution at once.
const END_WAITS_MAX: usize = 5000;

impl AppState {
    /// Creates the state of a server for the operations of `app`, which the embedded worker shares.
    pub fn new(app: App, settings: ServerSettings) -> Self {
        let secrets = Arc::new(app.secrets().clone());
        let ingress = Ingress::new(secrets, settings.limits.message_bytes_max);
        let parts = AppStateParts {
            app,
            client_limits: ClientLimits::new(&settings),
            settings,
            started: Instant::now(),
            draining: CancellationToken::new(),
            meters: Meters::default(),
            ingress,
            statements: None,
            large_reports: Semaphore::new(LARGE_REPORTS_MAX),
            end_waits: Semaphore::new(END_WAITS_MAX),
            ended_sessions: EndedSessions::default(),
        };
        Self { parts: Arc::new(parts) }
    }

    /// Replaces the stored credentials as the source of subscription secrets. Call before the state
    /// is shared.
    pub fn with_secrets(mut self, secrets: Arc<dyn SecretSource>) -> Self {
        let parts = Arc::get_mut(&mut self.parts).expect("nobody else holds the state yet");
        parts.ingress = Ingress::new(secrets, parts.settings.limits.message_bytes_max);
        self
    }

    /// Enables manual SQL. Call before the state is shared.
    pub fn with_statements(mut self, statements: Arc<dyn Statements>) -> Self {
        let parts = Arc::get_mut(&mut self.parts).expect("nobody else holds the state yet");
        parts.statements = Some(statements);
        self
    }

    /// Returns the sessions of browsers that have logged out.
    pub(crate) fn ended_sessions(&self) -> &EndedSessions {
        &self.parts.ended_sessions
    }

    /// Waits for a permit to process a large report. A parsed report takes many times its length in
    /// memory until it is written.
    pub(crate) async fn large_report(&self) -> SemaphorePermit<'_> {
        self.parts.large_reports.acquire().await.expect("it is never closed")
    }

    /// Returns a permit to wait for the end of an execution; `None` if too many requests wait.
    pub(crate) fn end_wait(&self) -> Option<SemaphorePermit<'_>> {
        self.parts.end_waits.try_acquire().ok()
    }

    /// Returns the runner of manual SQL, if enabled.
    pub(crate) fn statements(&self) -> Option<&dyn Statements> {
        self.parts.statements.as_deref()
    }

    /// Returns the state for receiving posted messages.
    pub(crate) fn ingress(&self) -> &Ingress {
        &self.parts.ingress
    }

    /// Starts the drain: the server is not ready for new requests, and streams end.
    pub fn drain(&self) {
        self.parts.draining.cancel();
    }

    pub(crate) fn draining(&self) -> &CancellationToken {
        &self.parts.draining
    }

    /// Returns the operations that the routes call.
    pub fn app(&self) -> &App {
        &self.parts.app
    }

    pub(crate) fn control(&self) -> &Control {
        self.parts.app.control()
    }

    pub(crate) fn bus(&self) -> &dyn Bus {
        self.parts.app.bus()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.parts.app.now()
    }

    pub(crate) fn next_id(&self) -> i64 {
        self.parts.app.next_id()
    }

    pub(crate) fn settings(&self) -> &ServerSettings {
        &self.parts.settings
    }

    /// True if the web interface is served.
    pub fn shows_pages(&self) -> bool {
        self.settings().pages == Pages::Shown
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.parts.started.elapsed()
    }

    pub(crate) fn meters(&self) -> &Meters {
        &self.parts.meters
    }

    /// Returns the rate limits per client.
    pub(crate) fn client_limits(&self) -> &ClientLimits {
        &self.parts.client_limits
    }

    pub(crate) fn vault(&self) -> &Vault {
        self.parts.app.vault()
    }
}
