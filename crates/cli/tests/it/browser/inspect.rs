//! A look inside the browser: emulated screens and themes, scripts, pictures, and the requests that
//! pages send.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::driver::Browser;

/// The colours that the system of the visitor prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColorScheme {
    Light,
    Dark,
}

impl ColorScheme {
    pub(super) const ALL: [Self; 2] = [Self::Light, Self::Dark];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// Maximum height of a picture, in pixels.
const PICTURE_HEIGHT_MAX: i64 = 2600;

/// A request that a page has sent, with its response.
#[derive(Debug, Default)]
pub(super) struct SentRequest {
    pub(super) url: String,
    /// The names of the response's headers in lower case, and their values.
    pub(super) headers: Vec<(String, String)>,
    /// The bytes of headers and body as they were transferred.
    pub(super) transferred: u64,
}

impl SentRequest {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Browser {
    /// Sends a command of the DevTools protocol.
    pub(super) fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Prefers a colour scheme, and no motion.
    pub(super) fn prefer(&self, scheme: ColorScheme) {
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme.name() },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Asks for pages in a language.
    pub(super) fn ask_for_language(&self, language: &str) {
        self.devtools("Network.enable", &json!({}));
        let headers = json!({ "headers": { "Accept-Language": language } });
        self.devtools("Network.setExtraHTTPHeaders", &headers);
    }

    pub(super) fn resize(&self, width: i64, height: i64) {
        let screen =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", &screen);
    }

    /// Evaluates the body of a function in the page.
    pub(super) fn evaluate(&self, body: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// Evaluates the body of a function in the page until it calls its last argument.
    pub(super) fn evaluate_async(&self, body: &str, args: &Value) -> Value {
        self.post("/execute/async", &json!({ "script": body, "args": args }))
    }

    /// Returns a picture of the page as PNG, on a screen that is as high as the page.
    pub(super) fn picture(&self) -> Vec<u8> {
        let size = self.evaluate("return [innerWidth, document.documentElement.scrollHeight]");
        let number = |place: usize| size[place].as_i64().unwrap_or_default();
        self.resize(number(0), number(1).min(PICTURE_HEIGHT_MAX));
        let taken = self.devtools("Page.captureScreenshot", &json!({ "format": "png" }));
        let data = taken["data"].as_str().unwrap_or_else(|| panic!("no picture: {taken}"));
        BASE64_STANDARD.decode(data).expect("a picture is base64")
    }

    /// Returns the requests that pages have sent since the last call.
    pub(super) fn requests(&self) -> Vec<SentRequest> {
        let entries = self.post("/se/log", &json!({ "type": "performance" }));
        let entries = entries.as_array().cloned().unwrap_or_default();
        let mut sent: Vec<(String, SentRequest)> = Vec::new();
        for entry in &entries {
            let message = entry["message"].as_str().unwrap_or_default();
            let message: Value = serde_json::from_str(message).unwrap_or_default();
            note(&mut sent, &message["message"]);
        }
        sent.into_iter().map(|(_, request)| request).collect()
    }

    /// Checks that no script has failed and that nothing was asked of another host than `site`.
    #[track_caller]
    pub(super) fn assert_clean(&self, site: &str) {
        assert_eq!(self.console_errors(), Vec::<String>::new());
        let foreign: Vec<String> = self.requests().into_iter().map(|it| it.url).collect();
        let foreign: Vec<&String> = foreign.iter().filter(|it| !it.starts_with(site)).collect();
        assert!(foreign.is_empty(), "requests to other hosts: {foreign:?}");
    }
}

/// Adds an entry of the performance log to the requests it belongs to.
fn note(sent: &mut Vec<(String, SentRequest)>, message: &Value) {
    let parameters = &message["params"];
    let id = parameters["requestId"].as_str().unwrap_or_default().to_owned();
    match message["method"].as_str() {
        Some("Network.requestWillBeSent") => {
            let url = parameters["request"]["url"].as_str().unwrap_or_default().to_owned();
            // The address of a new tab, and values inside of a page, are not requests.
            if url.starts_with("http") || url.starts_with("ws") {
                sent.push((id, SentRequest { url, ..SentRequest::default() }));
            }
        }
        Some("Network.responseReceived") => {
            let headers = parameters["response"]["headers"].as_object().cloned();
            let headers = headers.unwrap_or_default().into_iter().map(|(name, value)| {
                (name.to_lowercase(), value.as_str().unwrap_or_default().to_owned())
            });
            if let Some((_, request)) = sent.iter_mut().rfind(|(known, _)| *known == id) {
                request.headers = headers.collect();
            }
        }
        Some("Network.loadingFinished") => {
            // DevTools counts bytes as a floating-point number.
            let bytes = parameters["encodedDataLength"].as_f64().unwrap_or_default();
            if let Some((_, request)) = sent.iter_mut().rfind(|(known, _)| *known == id) {
                request.transferred = format!("{bytes:.0}").parse().unwrap_or_default();
            }
        }
        Some(_) | None => {}
    }
}
