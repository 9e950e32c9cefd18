//! `noetl graph`: draws the steps and arcs of a playbook.

use std::path::Path;

use noetl_playbook::{draw, parse};

use super::catalog;
use crate::args::{GraphArgs, GraphFormat};
use crate::config::Config;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

pub(crate) async fn graph(
    args: &GraphArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let source = if files::is_file_name(&args.target) {
        files::read(Path::new(&args.target))?
    } else {
        let registered = catalog::find(&args.target, &args.client, config).await?;
        registered.content.unwrap_or_default().into_bytes()
    };
    let checked = parse(&args.target, &source).map_err(Failure::Invalid)?;
    let drawing = match args.format {
        GraphFormat::Text => draw::text(&checked.playbook),
        GraphFormat::Mermaid => draw::mermaid(&checked.playbook),
        GraphFormat::Dot => draw::dot(&checked.playbook),
        GraphFormat::Svg => draw::svg(&checked.playbook),
    };
    terminal.data(&drawing)?;
    Ok(Exit::Completed)
}
