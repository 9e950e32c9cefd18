//! A browser for one test: chromedriver on a port of its own, spoken to by WebDriver.

use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::net::TcpStream;
use std::num::NonZeroU16;
use std::process::{ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sandbox::eventually;
use crate::server::Process;

/// The execution of scripts in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scripts {
    On,
    Off,
}

/// The value of Chromium's setting that blocks scripts.
const BLOCKED: u8 = 2;
/// Attempts to start the driver.
const DRIVER_STARTS_MAX: usize = 5;
/// The most elements in a row that a live page replaces before something is done with them.
const STALE_MAX: usize = 5;
/// The key under which WebDriver returns elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub(super) struct Browser {
    port: u16,
    session: String,
    /// The output of the driver, which ends if nobody reads it.
    _output: Lines<BufReader<ChildStdout>>,
    _driver: Process,
    /// The directory of temporary files, which Chromium does not remove itself.
    _scratch: TempDir,
}

/// Starts the driver on a free port; `None` if another process took the port before the driver had
/// bound it for both versions of IP.
fn start_driver(scratch: &TempDir) -> Option<(Process, Lines<BufReader<ChildStdout>>, u16)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .env("TMPDIR", scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromedriver is installed: see `cargo xtask test`");
    let mut output = BufReader::new(driver.stdout.take().expect("it is piped")).lines();
    let driver = Process(driver);
    // The first line has the port that was asked for, which is zero.
    let port = output.by_ref().map_while(Result::ok).find_map(|line| {
        let port = line.rsplit_once("on port ")?.1.trim_end_matches('.');
        port.parse::<NonZeroU16>().ok()
    })?;
    Some((driver, output, port.get()))
}

impl Browser {
    pub(super) fn new(scripts: Scripts) -> Self {
        let scratch = tempfile::tempdir().expect("a directory");
        let started = (0..DRIVER_STARTS_MAX).find_map(|_| start_driver(&scratch));
        let (driver, output, port) = started.expect("chromedriver says its port");
        let blocked = match scripts {
            Scripts::On => json!({}),
            Scripts::Off => {
                json!({ "profile.managed_default_content_settings.javascript": BLOCKED })
            }
        };
        let options = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--lang=en"],
            "prefs": blocked,
        });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        let begun = call(port, "POST", "/session", &wanted);
        let session = begun["sessionId"].as_str().unwrap_or_else(|| panic!("no session: {begun}"));
        let session = session.to_owned();
        Self { port, session, _output: output, _driver: driver, _scratch: scratch }
    }

    pub(super) fn open(&self, address: &str) {
        self.post("/url", &json!({ "url": address }));
    }

    pub(super) fn reload(&self) {
        self.post("/refresh", &json!({}));
    }

    /// Waits until the address of the page meets a condition: a click returns before a form or link
    /// has been followed.
    pub(super) fn arrives(&self, what: &str, holds: impl Fn(&str) -> bool) {
        eventually(what, || holds(&self.address()));
    }

    pub(super) fn address(&self) -> String {
        let answer = call(self.port, "GET", &self.path("/url"), &Value::Null);
        answer.as_str().unwrap_or_default().to_owned()
    }

    /// Returns the text of the first element that matches; empty if there is none.
    pub(super) fn text(&self, selector: &str) -> String {
        let Some(element) = self.find(selector) else { return String::new() };
        let path = self.path(&format!("/element/{element}/text"));
        call(self.port, "GET", &path, &Value::Null).as_str().unwrap_or_default().to_owned()
    }

    /// Clicks an element in the middle of the window, where nothing that is fixed covers it.
    pub(super) fn click(&self, selector: &str) {
        let into_view =
            format!("document.querySelector({selector:?})?.scrollIntoView({{ block: 'center' }})");
        self.evaluate(&into_view);
        self.act(selector, "click", &json!({}));
    }

    /// Writes into the field that matches.
    pub(super) fn write(&self, selector: &str, text: &str) {
        self.act(selector, "value", &json!({ "text": text }));
    }

    /// Does something with the first element that matches. A live page may replace it after it was found.
    fn act(&self, selector: &str, action: &str, body: &Value) {
        let mut answer = Value::Null;
        for _ in 0..STALE_MAX {
            let element = self.find(selector).unwrap_or_else(|| panic!("there is no {selector}"));
            answer = self.post(&format!("/element/{element}/{action}"), body);
            if answer["error"] != "stale element reference" {
                break;
            }
        }
        assert!(answer.is_null(), "{action} of {selector} fails: {answer}");
    }

    /// Returns the name of the window that commands go to.
    pub(super) fn window(&self) -> String {
        let answer = call(self.port, "GET", &self.path("/window"), &Value::Null);
        answer.as_str().unwrap_or_default().to_owned()
    }

    /// Opens a tab; commands go to it.
    pub(super) fn open_tab(&self) {
        let opened = self.post("/window/new", &json!({ "type": "tab" }));
        self.show_window(opened["handle"].as_str().unwrap_or_default());
    }

    pub(super) fn show_window(&self, name: &str) {
        self.post("/window", &json!({ "handle": name }));
    }

    /// Deletes the cookies of the page, as an expired session is one that the browser no longer has.
    pub(super) fn forget_cookies(&self) {
        call(self.port, "DELETE", &self.path("/cookie"), &Value::Null);
    }

    /// Presses keys on the page.
    pub(super) fn press(&self, keys: &str) {
        let presses = keys.chars().flat_map(|key| {
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        });
        let presses: Vec<Value> = presses.collect();
        let actions = json!({ "actions": [{ "type": "key", "id": "keys", "actions": presses }] });
        self.post("/actions", &actions);
    }

    /// Presses a key while another one is held.
    pub(super) fn chord(&self, held: char, key: char) {
        let presses = [("keyDown", held), ("keyDown", key), ("keyUp", key), ("keyUp", held)];
        let presses = presses.map(|(kind, key)| json!({ "type": kind, "value": key.to_string() }));
        let actions = json!({ "actions": [{ "type": "key", "id": "keys", "actions": presses }] });
        self.post("/actions", &actions);
    }

    /// Inserts a text at the cursor, as pasting does.
    pub(super) fn insert(&self, text: &str) {
        self.devtools("Input.insertText", &json!({ "text": text }));
    }

    /// Returns the errors in the console since the last call.
    pub(super) fn console_errors(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({ "type": "browser" }));
        let entries = entries.as_array().cloned().unwrap_or_default();
        let errors = entries.iter().filter(|entry| entry["level"] == "SEVERE");
        errors.map(|entry| entry["message"].to_string()).collect()
    }

    pub(super) fn find(&self, selector: &str) -> Option<String> {
        let wanted = json!({ "using": "css selector", "value": selector });
        let found = self.post("/elements", &wanted);
        found[0][ELEMENT].as_str().map(str::to_owned)
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Value {
        call(self.port, "POST", &self.path(path), body)
    }

    fn path(&self, path: &str) -> String {
        format!("/session/{}{path}", self.session)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        call(self.port, "DELETE", &self.path(""), &Value::Null);
    }
}

/// Sends a request of WebDriver; returns the value of its answer.
fn call(port: u16, method: &str, path: &str, body: &Value) -> Value {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("chromedriver listens");
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .expect("chromedriver reads");
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("chromedriver answers");
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("chromedriver answers");
    let answer: Value = serde_json::from_slice(&body).expect("chromedriver speaks JSON");
    answer["value"].clone()
}
