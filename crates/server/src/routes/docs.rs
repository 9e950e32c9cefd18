//! The API documentation page, served from the binary; nothing is loaded from elsewhere.

use axum::http::{HeaderName, header};
use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::AppState;

/// Content security policy: only the page's own files.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

type Asset = ([(HeaderName, &'static str); 2], &'static str);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(show_documentation))
        .route("/api/docs/page.css", get(async || asset("text/css", PAGE_CSS)))
        .route("/api/docs/page.js", get(async || asset("text/javascript", PAGE_JS)))
}

const PAGE: &str = include_str!("../../assets/docs.html");
const PAGE_CSS: &str = include_str!("../../assets/docs.css");
const PAGE_JS: &str = include_str!("../../assets/docs.js");

/// Shows the API documentation page.
#[utoipa::path(
    get, path = "/api/docs", tag = "health",
    responses((status = 200, content_type = "text/html", body = String))
)]
async fn show_documentation() -> Asset {
    asset("text/html; charset=utf-8", PAGE)
}

fn asset(kind: &'static str, content: &'static str) -> Asset {
    ([(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, POLICY)], content)
}
