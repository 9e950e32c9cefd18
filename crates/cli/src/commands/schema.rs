//! `noetl schema`: prints the JSON Schema of the language.

use crate::failure::{Exit, Failure};
use crate::output::pretty;
use crate::terminal::Terminal;

pub(crate) fn schema(terminal: &mut Terminal) -> Result<Exit, Failure> {
    terminal.data(&pretty(&noetl_playbook::schema()))?;
    Ok(Exit::Completed)
}
