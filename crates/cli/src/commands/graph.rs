//! `noetl graph`: draws the steps and arcs of a playbook.

use noetl_playbook::{draw, parse};

use crate::args::{GraphArgs, GraphFormat};
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

pub(crate) fn graph(args: &GraphArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let source = files::read(&args.file)?;
    let checked = parse(&args.file.display().to_string(), &source).map_err(Failure::Invalid)?;
    let drawing = match args.format {
        GraphFormat::Text => draw::text(&checked.playbook),
        GraphFormat::Mermaid => draw::mermaid(&checked.playbook),
        GraphFormat::Svg => draw::svg(&checked.playbook),
    };
    terminal.data(&drawing)?;
    Ok(Exit::Completed)
}
