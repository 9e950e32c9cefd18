//! `noetl schema`: prints the JSON Schema of the language.

use crate::show::failure::{Exit, Failure};
use crate::show::output::pretty;
use crate::show::terminal::Terminal;

pub(crate) fn schema(terminal: &mut Terminal) -> Result<Exit, Failure> {
    terminal.data(&pretty(&noetl_playbook::schema()))?;
    Ok(Exit::Completed)
}
