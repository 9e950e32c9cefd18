//! Pictures of every page, for people who look at a change of a page.

use std::path::PathBuf;

use super::driver::{Browser, Scripts};
use super::inspect::ColorScheme;
use super::pages::VisitedSites;

/// The variable with the directory of the pictures.
const DIRECTORY: &str = "NOETL_SHOTS";
/// The variable with a part of the names of the pictures to take; all without it.
const ONLY: &str = "NOETL_SHOTS_ONLY";

/// The variable with the language of the pages; English without it.
const LANGUAGE: &str = "NOETL_SHOTS_LANGUAGE";

/// Sizes of screens, in pixels.
const SCREENS: [(i64, i64); 3] = [(1440, 900), (1024, 768), (390, 844)];

#[test]
#[ignore = "takes pictures: cargo xtask ui --shots DIR"]
fn every_page_has_its_pictures_taken() {
    let directory = std::env::var_os(DIRECTORY).expect("NOETL_SHOTS names a directory");
    let directory = PathBuf::from(directory);
    let only = std::env::var(ONLY).unwrap_or_default();
    std::fs::create_dir_all(&directory).expect("the directory can be made");
    let sites = VisitedSites::new();
    let browser = Browser::new(Scripts::On);
    if let Ok(language) = std::env::var(LANGUAGE) {
        browser.ask_for_language(&language);
    }
    let pages = sites.pages().into_iter().filter(|page| page.name.contains(&only));
    for page in pages {
        for scheme in ColorScheme::ALL {
            browser.prefer(scheme);
            for (width, height) in SCREENS {
                browser.resize(width, height);
                browser.visit(&page);
                let file = format!("{}-{width}-{}.png", page.name, scheme.name());
                std::fs::write(directory.join(file), browser.picture()).expect("it is written");
            }
        }
    }
}
