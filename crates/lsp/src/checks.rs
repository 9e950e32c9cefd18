//! Checks that take longer than a keystroke: embedded code, and test files with their playbooks.
//!
//! They run on a thread of their own, once no key was pressed for a moment, and only for the newest
//! text of each document. Results about code are kept by its text, so that a change elsewhere does not
//! hide them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, after, bounded, never};
use noetl_playbook::{
    CodeFault, CodeLanguage, Diagnostic, EmbeddedCode, LintLevels, LintedDocument,
};

/// The time without a change before the checks begin.
const QUIET: Duration = Duration::from_millis(200);
/// The most texts of code whose results are kept.
const KNOWN_CODE_MAX: usize = 4096;

/// A test file to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedTest {
    pub file: PathBuf,
    pub text: String,
    /// The text of the playbook beside it, if the editor has it open.
    pub playbook: Option<String>,
}

/// The checks of a program that can start interpreters and read files. A call may take long: it delays
/// no answer.
pub trait BackgroundChecks: Send {
    /// Returns the syntax error of each text of code, in order; `None` where there is none.
    fn code_faults(&mut self, language: CodeLanguage, texts: &[&str]) -> Vec<Option<CodeFault>>;

    /// Returns the findings about a test file, or the reason why it cannot be checked.
    fn test_findings(&mut self, test: &EditedTest) -> Result<Vec<Diagnostic>, String>;
}

/// A part of code: its language and its text.
type CodeText = (CodeLanguage, String);
/// The findings about a test file, or the reason why there are none.
pub(crate) type TestFindings = Result<Vec<Diagnostic>, String>;

/// The parts of a document that are to be checked.
enum WantedCheck {
    Code(Vec<CodeText>),
    Test(EditedTest),
}

/// The results of a batch, by the addresses of the documents.
pub(crate) struct CheckAnswers {
    code: Vec<(CodeText, Option<CodeFault>)>,
    tests: Vec<(String, EditedTest, TestFindings)>,
    /// The documents of the batch.
    documents: Vec<String>,
}

/// The results so far, and the documents that wait for a check.
pub(crate) struct CheckQueue {
    /// The severities that the project chose.
    levels: LintLevels,
    known: HashMap<CodeText, Option<CodeFault>>,
    /// The newest findings about each open test file, with its text.
    tests: HashMap<String, (String, TestFindings)>,
    wanted: BTreeMap<String, WantedCheck>,
    /// The time to check the documents that wait.
    due: Receiver<Instant>,
    /// The thread that checks; `None` if there are no checks.
    checker: Option<Sender<BTreeMap<String, WantedCheck>>>,
    answers: Receiver<CheckAnswers>,
    is_busy: bool,
}

impl CheckQueue {
    /// Starts the thread that checks.
    pub(crate) fn start(checks: Option<Box<dyn BackgroundChecks>>, levels: LintLevels) -> Self {
        let (checker, answers) = match checks {
            Some(checks) => {
                // One batch at a time: the next one is sent after the answer.
                let (questions, waiting) = bounded(1);
                let (answered, answers) = bounded(1);
                std::thread::spawn(move || check_batches(checks, &waiting, &answered));
                (Some(questions), answers)
            }
            None => (None, never()),
        };
        Self {
            levels,
            known: HashMap::new(),
            tests: HashMap::new(),
            wanted: BTreeMap::new(),
            due: never(),
            checker,
            answers,
            is_busy: false,
        }
    }

    pub(crate) fn levels(&self) -> &LintLevels {
        &self.levels
    }

    /// Fires when the documents that wait are to be checked.
    pub(crate) fn due(&self) -> &Receiver<Instant> {
        &self.due
    }

    pub(crate) fn answers(&self) -> &Receiver<CheckAnswers> {
        &self.answers
    }

    /// Adds the known faults of the code in a document. If the other parts are to be checked, queues
    /// them under the address of the document.
    pub(crate) fn add_code_faults(&self, document: &mut LintedDocument) -> Vec<CodeText> {
        let key = |code: &EmbeddedCode, text: &str| (code.language, text.to_owned());
        document.add_faults(|code| {
            code.fault(|text| self.known.get(&key(code, text)).map(Option::as_ref))
        });
        let parts = document.code().iter();
        let texts = parts.flat_map(|code| code.readings().map(|text| key(code, text)));
        texts.filter(|part| !self.known.contains_key(part)).collect()
    }

    /// Returns the findings about a test file, if its newest text was checked.
    pub(crate) fn test_findings(&self, uri: &str, text: &str) -> Option<&TestFindings> {
        self.tests.get(uri).filter(|(checked, _)| checked == text).map(|(_, found)| found)
    }

    /// Queues the code of a document, in place of what was queued before.
    pub(crate) fn want_code(&mut self, uri: &str, code: Vec<CodeText>) {
        if code.is_empty() {
            self.wanted.remove(uri);
        } else {
            self.want(uri, WantedCheck::Code(code));
        }
    }

    pub(crate) fn want_test(&mut self, uri: &str, test: EditedTest) {
        self.want(uri, WantedCheck::Test(test));
    }

    fn want(&mut self, uri: &str, wanted: WantedCheck) {
        if self.checker.is_none() {
            return;
        }
        self.wanted.insert(uri.to_owned(), wanted);
        if !self.is_busy {
            self.due = after(QUIET);
        }
    }

    /// Forgets a document that was closed.
    pub(crate) fn forget(&mut self, uri: &str) {
        self.wanted.remove(uri);
        self.tests.remove(uri);
    }

    /// Sends the documents that wait to the thread that checks.
    pub(crate) fn send(&mut self) {
        self.due = never();
        let batch = std::mem::take(&mut self.wanted);
        let Some(checker) = self.checker.as_ref().filter(|_| !batch.is_empty()) else { return };
        // The thread ends only with a panic; diagnostics go on without its checks.
        self.is_busy = checker.send(batch).is_ok();
    }

    /// Keeps the results of a batch; returns the documents that they are about.
    pub(crate) fn learn(&mut self, answers: CheckAnswers) -> Vec<String> {
        self.is_busy = false;
        if !self.wanted.is_empty() {
            self.due = after(QUIET);
        }
        if self.known.len() + answers.code.len() > KNOWN_CODE_MAX {
            self.known.clear();
        }
        self.known.extend(answers.code);
        for (uri, test, found) in answers.tests {
            self.tests.insert(uri, (test.text, found));
        }
        answers.documents
    }

    /// Notes that the thread that checks has ended.
    pub(crate) fn stop(&mut self) {
        (self.checker, self.answers, self.due) = (None, never(), never());
    }
}

/// Checks batch after batch, until nobody asks any more.
fn check_batches(
    mut checks: Box<dyn BackgroundChecks>,
    waiting: &Receiver<BTreeMap<String, WantedCheck>>,
    answered: &Sender<CheckAnswers>,
) {
    for batch in waiting {
        let answers = checked(&mut *checks, batch);
        if answered.send(answers).is_err() {
            return;
        }
    }
}

fn checked(
    checks: &mut dyn BackgroundChecks,
    batch: BTreeMap<String, WantedCheck>,
) -> CheckAnswers {
    let documents = batch.keys().cloned().collect();
    let (mut parts, mut tests) = (Vec::new(), Vec::new());
    for (uri, wanted) in batch {
        match wanted {
            WantedCheck::Code(code) => parts.extend(code),
            WantedCheck::Test(test) => {
                let found = checks.test_findings(&test);
                tests.push((uri, test, found));
            }
        }
    }
    let mut code = Vec::with_capacity(parts.len());
    for language in CodeLanguage::ALL {
        let texts: Vec<&str> =
            parts.iter().filter(|it| it.0 == language).map(|it| it.1.as_str()).collect();
        if texts.is_empty() {
            continue;
        }
        let faults = checks.code_faults(language, &texts);
        code.extend(texts.iter().map(|text| (language, (*text).to_owned())).zip(faults));
    }
    CheckAnswers { code, tests, documents }
}

/// Returns the file of a `file:` address.
pub(crate) fn file_of(uri: &str) -> Option<PathBuf> {
    let encoded = uri.strip_prefix("file://")?;
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    let text = String::from_utf8(bytes).ok()?;
    Path::new(&text).is_absolute().then(|| PathBuf::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_address() {
        let check = |uri, file| assert_eq!(file_of(uri), Option::map(file, PathBuf::from));
        check("file:///a/b%20c/gr%C3%BC%C3%9Fe.yaml", Some("/a/b c/grüße.yaml"));
        check("untitled:a.yaml", None);
        check("file:///a%2", None);
    }
}
