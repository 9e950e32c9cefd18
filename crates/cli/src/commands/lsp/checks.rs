//! The checks of the language server that start interpreters and read files.

use noetl_lsp::{BackgroundChecks, EditedTest};
use noetl_playbook::{CodeFault, CodeLanguage, Diagnostic, TargetWorkers};

use crate::commands::test::{parse_tests, playbook_of, problem, with_called};
use crate::input::called_playbooks::PlaybookFile;
use crate::input::code_syntax::CodeSyntax;
use crate::show::failure::Failure;

/// The checks of `noetl lint` about code, and of `noetl test` about test files.
pub(super) struct EditorChecks {
    pub(super) syntax: CodeSyntax,
}

impl BackgroundChecks for EditorChecks {
    fn code_faults(&mut self, language: CodeLanguage, texts: &[&str]) -> Vec<Option<CodeFault>> {
        match self.syntax.faults(language, texts) {
            Ok(faults) => faults,
            Err(error) => {
                tracing::warn!("{}", self.syntax.note(language, &error));
                vec![None; texts.len()]
            }
        }
    }

    fn test_findings(&mut self, test: &EditedTest) -> Result<Vec<Diagnostic>, String> {
        let read = || -> Result<_, Failure> {
            let file = playbook_of(&test.file, test.text.as_bytes())?;
            let is_beside = file.with_extension("test.yaml") == test.file
                || file.with_extension("test.yml") == test.file;
            let playbook = match test.playbook.as_ref().filter(|_| is_beside) {
                Some(text) => {
                    PlaybookFile::of_text(&file, text.clone().into_bytes(), TargetWorkers::Any)?
                }
                None => PlaybookFile::read(&file, TargetWorkers::Any)?,
            };
            with_called(playbook)
        };
        let (playbook, library) = read().map_err(|failure| match failure {
            Failure::Invalid(_) => "the playbook is not valid, so its tests cannot run".to_owned(),
            Failure::BadInput(_) | Failure::Broken(_) => problem(&failure),
        })?;
        let read = parse_tests(&test.file, test.text.as_bytes(), &playbook, &library);
        Ok(read.err().map(|problems| problems.diagnostics().to_vec()).unwrap_or_default())
    }
}
