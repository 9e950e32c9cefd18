//! The values of the page of the system.

use noetl_app::{ConnectionFigures, DashboardCounts, LastRetention, SettingInForce, Tables};
use noetl_bus::Reach;
use noetl_control::Skew;

use crate::error::PageError;
use crate::request::PageRequest;

#[derive(Debug)]
pub(super) struct SystemView {
    /// The error is safe to show.
    pub(super) answers: Result<(), String>,
    pub(super) writable: Result<(), String>,
    pub(super) shards: usize,
    pub(super) connections: Option<ConnectionFigures>,
    pub(super) tables: Tables,
    pub(super) bus: Reach,
    pub(super) unsent: u64,
    pub(super) skew: Option<Skew>,
    pub(super) key_version: String,
    pub(super) counts: DashboardCounts,
    /// The rules of the retention, in order.
    pub(super) rules: Vec<String>,
    /// The last round of the retention in this process.
    pub(super) retention: Option<LastRetention>,
    /// The settings of the process; none for a visitor who may not administer it.
    pub(super) settings: Vec<SettingInForce>,
}

impl SystemView {
    pub(super) async fn load(page: &PageRequest) -> Result<Self, PageError> {
        let app = page.app();
        Ok(Self {
            answers: app.store_answers().await,
            writable: app.store_is_writable().await,
            shards: app.store_shards(),
            connections: app.store_connections(),
            tables: app.store_tables().await?,
            bus: app.bus().reach(),
            unsent: app.unsent_messages().await?,
            skew: app.control().clock_skew(),
            key_version: app.vault().key_version(),
            counts: app.dashboard_counts().await?,
            settings: match page.visitor.may.admin {
                true => app.settings_in_force().to_vec(),
                false => Vec::new(),
            },
            rules: app.retention_rules().iter().map(ToString::to_string).collect(),
            retention: app.last_retention(),
        })
    }
}
