//! `noetl schema`: prints the JSON Schemas of playbooks and of their tests.

use crate::args::{SchemaArgs, SchemaKind};
use crate::show::failure::{Exit, Failure};
use crate::show::output::pretty;
use crate::show::terminal::Terminal;

pub(crate) fn schema(args: &SchemaArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let schema = match args.kind {
        SchemaKind::Playbook => noetl_playbook::schema(),
        SchemaKind::Test => noetl_playbook::test_schema(),
    };
    terminal.data(&pretty(&schema))?;
    Ok(Exit::Completed)
}
