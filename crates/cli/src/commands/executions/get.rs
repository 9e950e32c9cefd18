//! `noetl executions get`: shows one execution in full.

use noetl_model::LogOrigin;

use crate::args::GetArgs;
use crate::backend::{self, execution_page};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::document;
use crate::show::output::execution::{document_of, output_of, text};
use crate::show::output::foreign::{self, ForeignDocument};
use crate::show::terminal::{CAREFUL, FAINT, Terminal, paint};

pub(crate) async fn get(
    args: &GetArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (known, reader) = backend::chosen(&args.client, args.execution, config).await?;
    match known.origin {
        LogOrigin::Native => {}
        LogOrigin::Imported | LogOrigin::Subscription => {
            let document = ForeignDocument::of(&known);
            return terminal.show(args.output, &document, |_| foreign::text(&known));
        }
    }
    let summary = known.summary;
    let overview = reader.overview(&summary).await?;
    let shown = match args.output.document() {
        Some(format) => document(format, &document_of(&overview, &*reader).await?),
        None => {
            let hint = reader.hint(overview.execution, overview.status()).await;
            let hint = hint.map(|hint| format!("\n{}\n", paint(CAREFUL, hint)));
            let shown = text(&overview, &output_of(&overview, &*reader).await?);
            let page = execution_page(reader.location(), overview.execution, config).await;
            let page = page.map(|page| format!("\n{}\n", paint(FAINT, format!("page: {page}"))));
            shown + hint.unwrap_or_default().as_str() + page.unwrap_or_default().as_str()
        }
    };
    terminal.data(&shown)?;
    Ok(Exit::Completed)
}
