//! The OpenAPI document: generated from the routes, with the parts common to all of them added.

use axum::http::Method;
use serde_json::{Value, json};
use utoipa::OpenApi as _;
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};

use crate::access::{needed, scope_names};
use crate::routes::UnroutedOperations;

/// Returns the OpenAPI document as JSON.
pub(crate) fn of(routes: OpenApi) -> Value {
    let info = InfoBuilder::new()
        .title("noetl")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Runs playbooks. Errors are problem documents (RFC 9457)."))
        .build();
    let mut document = OpenApiBuilder::new().info(info).build();
    document.merge(routes);
    document.merge(UnroutedOperations::openapi());
    let mut document = serde_json::to_value(document).expect("a description is JSON");
    document["components"]["securitySchemes"] = json!({
        "token": { "type": "http", "scheme": "bearer", "description": SCHEME },
    });
    document["components"]["schemas"]["Problem"] = problem();
    let paths = document["paths"].as_object_mut().expect("paths are an object");
    for (path, item) in paths {
        for (method, operation) in item.as_object_mut().expect("operations are an object") {
            if let Ok(method) = method.to_uppercase().parse() {
                complete(&method, path, operation);
            }
        }
    }
    document
}

const SCHEME: &str = "A token that the operator has set. Without any, a server that listens on its own \
    machine only asks for none.";

/// Adds the error response and the required scopes to an operation.
fn complete(method: &Method, path: &str, operation: &mut Value) {
    operation["responses"]["default"] = json!({
        "description": "What went wrong, as a problem document",
        "content": { "application/problem+json": {
            "schema": { "$ref": "#/components/schemas/Problem" }
        }},
    });
    match needed(method, path) {
        None => operation["security"] = json!([]),
        Some(needed) => {
            operation["security"] = json!([{ "token": [] }]);
            operation["x-scopes"] = json!(scope_names(needed));
        }
    }
}

fn problem() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "description": "Why a request was not answered as hoped (RFC 9457)",
        "required": ["type", "title", "status", "detail", "code", "error"],
        "properties": {
            "type": text("`urn:noetl:problem:` and the code"),
            "title": text("The status in words"),
            "status": { "type": "integer", "description": "The status as a number" },
            "detail": text("What went wrong, and the way out"),
            "code": text("What programs branch on; never changes"),
            "error": text("The same as `detail`, for older clients"),
        },
    })
}
