//! `cargo xtask ui`: pictures of every page of the web interface.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::{cargo, provision};

const USAGE: &str = "\
Usage: cargo xtask ui --shots DIR [--only PART] [--language LANGUAGE]

Writes a picture of every page to DIR: at 1440, 1024 and 390 pixels, light and dark, from a server
with seeded content. --only takes the pages whose name contains PART; --language de asks for pages in
German.";

/// The test that takes the pictures.
const PICTURES: &str = "browser::shots::every_page_has_its_pictures_taken";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let (mut directory, mut only, mut language) = (None, String::new(), None);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value =
            || words.next().with_context(|| format!("`{word}` needs a value\n\n{USAGE}"));
        match word.as_str() {
            "--shots" => directory = Some(PathBuf::from(value()?)),
            "--only" => only = value()?.clone(),
            "--language" => language = Some(value()?.clone()),
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(());
            }
            other => bail!("no such option: `{other}`\n\n{USAGE}"),
        }
    }
    let directory = directory.with_context(|| USAGE.to_owned())?;
    let directory = std::path::absolute(&directory).context("find the directory")?;
    provision::programs()?;
    let mut test = cargo::cargo();
    test.args(["test", "--package", "noetl-cli", "--test", "it", "--", "--ignored", "--exact"]);
    test.arg(PICTURES).env("NOETL_SHOTS", &directory).env("NOETL_SHOTS_ONLY", only);
    if let Some(language) = language {
        test.env("NOETL_SHOTS_LANGUAGE", language);
    }
    cargo::run(&mut test)?;
    println!("pictures: {}", directory.display());
    Ok(())
}
