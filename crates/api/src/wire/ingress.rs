//! Bodies of the routes through which messages come in.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct IngressAccepted {
    pub status: &'static str,
    pub execution_id: String,
}

/// What a gateway needs to take messages in our place.
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
    /// A scheme with nothing else said.
    pub fn of(scheme: &'static str) -> Self {
        Self { scheme, header: None, secret: None, audience: None, service_account: None }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct IngressDispatch {
    pub playbook: String,
    pub payload_from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_pool: Option<String>,
}
