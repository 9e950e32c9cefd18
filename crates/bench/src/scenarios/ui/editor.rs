//! The time that the server takes to answer the editor after a key.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, COOKIE, SET_COOKIE};

use super::{PageReader, TIMES, add_durations, between};
use crate::database::MeasuredDatabase;
use crate::numbers::len;
use crate::playbooks::layered;
use crate::sheet::Sheet;
use crate::system::{MeasuredSystem, WorkerLocation};

/// The largest accepted time for the answer to a key, in milliseconds.
const ANSWER_MAX: f64 = 50.0;
/// The number of steps of the text; each has about three lines.
const STEPS: u64 = 340;
const LINES: usize = 1000;

/// Measures the analysis of a long text: colours, findings, graph and inputs.
pub(super) async fn measure(database: &MeasuredDatabase, sheet: &mut Sheet) -> Result<()> {
    let system = MeasuredSystem::start(database, WorkerLocation::None).await?;
    let editor = OpenEditor::new(&system).await?;
    let text = layered(STEPS, "bench/edited");
    ensure!(text.lines().count() >= LINES, "the text has {LINES} lines");
    let mut durations = Vec::new();
    for key in 0..TIMES {
        // Each key makes another text, as typing a comment does.
        let typed = format!("{text}# {}\n", "x".repeat(usize::try_from(key)?));
        durations.push(editor.analyze(&typed).await?);
    }
    sheet.figure("text in the editor, size", len(text.as_bytes()) / 1000.0, "kB");
    let what = format!("answer to a key in a text of {LINES} lines");
    add_durations(sheet, &what, &durations, ANSWER_MAX);
    system.stop()
}

/// A page with the editor: the cookie and the token that its forms send.
struct OpenEditor {
    reader: PageReader,
    cookie: String,
    token: String,
}

impl OpenEditor {
    async fn new(system: &MeasuredSystem) -> Result<Self> {
        let reader = PageReader::new(system);
        let page = reader.client.get(format!("{}playbooks/new", reader.base)).send().await?;
        let cookie = page.headers().get(SET_COOKIE).context("the page stores a cookie")?;
        let cookie = cookie.to_str()?.split(';').next().unwrap_or_default().to_owned();
        let text = page.text().await?;
        let token = between(&text, "name=\"form_token\" value=\"", "\"");
        let token = token.context("the page has a form")?.to_owned();
        Ok(Self { reader, cookie, token })
    }

    /// Sends a text as the editor does; returns how long the answer took.
    async fn analyze(&self, text: &str) -> Result<Duration> {
        let address = format!("{}editor/analysis", self.reader.base);
        let fields = [("form_token", self.token.as_str()), ("content", text)];
        let form = Url::parse_with_params(&address, fields)?.query().unwrap_or_default().to_owned();
        let begun = Instant::now();
        let request = self.reader.client.post(address).header(COOKIE, &self.cookie);
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let response = request.body(form).send().await?;
        let status = response.status();
        let answer = response.text().await?;
        ensure!(status.is_success() && answer.contains("\"is_valid\":true"), "{status}: {answer}");
        Ok(begun.elapsed())
    }
}
