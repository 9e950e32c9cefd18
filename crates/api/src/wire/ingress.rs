//! Bodies of the routes that receive messages.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct IngressAccepted {
    pub status: &'static str,
    /// The execution that the message started, or whose step took it as a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<String>,
}

/// The settings a gateway needs to receive messages in place of this server.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct IngressConfig {
    pub listener: String,
    pub catalog_path: String,
    pub source: &'static str,
    pub subscription_id: String,
    pub verify: IngressVerify,
    pub dispatch: IngressDispatch,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub directives: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct IngressVerify {
    #[serde(rename = "type")]
    pub scheme: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<String>,
}

impl IngressVerify {
    /// Creates a verification with a scheme and no other settings.
    pub fn of(scheme: &'static str) -> Self {
        Self { scheme, header: None, secret: None, audience: None, service_account: None }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct IngressDispatch {
    /// The playbook that a message starts; none if it becomes a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playbook: Option<String>,
    pub payload_from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_pool: Option<String>,
}
