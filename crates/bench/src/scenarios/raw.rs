//! The limits by themselves.

use std::path::Path;

use anyhow::Result;

use super::Scenario;
use crate::limits;
use crate::numbers::{median, micros};
use crate::sheet::Sheet;

const COUNT: usize = 500;

pub(super) async fn measure(directory: &Path) -> Result<Sheet> {
    let mut sheet = Sheet::new(Scenario::Raw);
    let flushes = limits::flushes(directory, COUNT)?;
    sheet.figure("a page appended and flushed, median", micros(median(&flushes)), "us");
    let commits = limits::commits(directory, COUNT).await?;
    sheet.figure("a row committed by SQLite, median", micros(median(&commits)), "us");
    Ok(sheet)
}
