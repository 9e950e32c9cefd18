//! Every page in both themes: accessible, small, restricted to this server, and no wider than a
//! telephone.

use super::axe::{self, CheckedRules};
use super::driver::{Browser, Scripts};
use super::inspect::ColorScheme;
use super::pages::{OpenedPart, VisitedPage, VisitedSites};

/// Maximum transfer of a page with everything it loads, in bytes.
const TRANSFER_MAX: u64 = 300_000;
/// The width of a small telephone, in pixels.
const TELEPHONE: i64 = 390;
const DESKTOP: i64 = 1440;
const HEIGHT: i64 = 900;

/// Names of the pages that answer with an error status, which is an entry of the console.
const ERROR_PAGES: [&str; 4] =
    ["not-found", "execution-no-position", "execution-deleted", "denied"];

#[test]
fn every_page_of_an_execution_is_accessible_small_and_fits_a_telephone() {
    survey(|page| page.name.starts_with("execution-"));
}

#[test]
fn every_other_page_is_accessible_small_and_fits_a_telephone() {
    survey(|page| !page.name.starts_with("execution-"));
}

#[test]
fn every_page_can_be_read_without_scripts() {
    let sites = VisitedSites::new();
    let browser = Browser::new(Scripts::Off);
    let mut faults = Vec::new();
    // The palette and the list of keys are made by scripts.
    let is_served = |page: &VisitedPage| match page.opened {
        OpenedPart::Palette | OpenedPart::Keys => false,
        OpenedPart::Nothing
        | OpenedPart::Menu
        | OpenedPart::Confirmation
        | OpenedPart::ReaderSession => true,
    };
    for page in sites.pages().into_iter().filter(is_served) {
        browser.visit(&page);
        let (heading, text) = (browser.text("main h1"), browser.text("main"));
        let errors = browser.console_errors();
        if !errors.is_empty() && !ERROR_PAGES.contains(&page.name.as_str()) {
            faults.push(format!("{}: errors in the console: {errors:?}", page.name));
        }
        for request in browser.requests().iter().filter(|it| !sites.is_own(&it.url)) {
            faults.push(format!("{}: asks another host: {}", page.name, request.url));
        }
        if heading.trim().is_empty() {
            faults.push(format!("{}: has no heading", page.name));
        }
        if text.trim().len() <= heading.trim().len() {
            faults.push(format!("{}: says nothing but `{heading}`", page.name));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Looks at pages in both themes and on two screens, and loads each of them once.
fn survey(is_chosen: impl Fn(&VisitedPage) -> bool) {
    let sites = VisitedSites::new();
    let browser = Browser::new(Scripts::On);
    // Without its cache the browser transfers every file for every page.
    browser.devtools("Network.setCacheDisabled", &serde_json::json!({ "cacheDisabled": true }));
    let script = axe::script();
    let mut faults = Vec::new();
    for page in sites.pages().into_iter().filter(is_chosen) {
        let mut fault = |text: &str| faults.push(format!("{}: {text}", page.name));
        browser.resize(DESKTOP, HEIGHT);
        browser.prefer(ColorScheme::Light);
        browser.requests();
        browser.visit(&page);
        let errors = browser.console_errors();
        if !errors.is_empty() && !ERROR_PAGES.contains(&page.name.as_str()) {
            fault(&format!("errors in the console: {errors:?}"));
        }
        transfer_faults(&sites, &browser, &page).iter().for_each(|it| fault(it));
        browser.findings(&script, CheckedRules::All).iter().for_each(|it| fault(it));
        browser.prefer(ColorScheme::Dark);
        browser.findings(&script, CheckedRules::Colors).iter().for_each(|it| fault(it));
        browser.resize(TELEPHONE, HEIGHT);
        let width = browser.evaluate("return document.documentElement.scrollWidth");
        if width.as_i64().is_none_or(|it| it > TELEPHONE) {
            fault(&format!("is {width} pixels wide on a screen of {TELEPHONE}"));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Returns the faults of the requests that a page has sent.
fn transfer_faults(sites: &VisitedSites, browser: &Browser, page: &VisitedPage) -> Vec<String> {
    let requests = browser.requests();
    let mut faults = Vec::new();
    let mut fault = |text: String| faults.push(text);
    for request in requests.iter().filter(|it| !sites.is_own(&it.url)) {
        fault(format!("asks another host: {}", request.url));
    }
    let document = requests.iter().find(|it| it.url == page.address);
    match document.and_then(|it| it.header("content-security-policy")) {
        Some(policy) if policy.starts_with("default-src 'none'") && !policy.contains("unsafe") => {}
        Some(_) | None => fault("has no strict content security policy".to_owned()),
    }
    for request in &requests {
        let is_packed = request.header("content-encoding") == Some("gzip");
        // A response below this size gains nothing from compression. A refusal is answered before the
        // request reaches the pages, and is not compressed.
        let is_refusal = page.name == "denied" && request.url == page.address;
        if !is_packed && !is_refusal && request.transferred > 2000 {
            fault(format!("{} is not compressed", request.url));
        }
    }
    let transferred: u64 = requests.iter().map(|it| it.transferred).sum();
    if transferred == 0 || transferred > TRANSFER_MAX {
        fault(format!("transfers {transferred} bytes"));
    }
    faults
}
