//! Every page in both themes: accessible, small, restricted to this server, and no wider than a
//! telephone.

use super::axe;
use super::driver::{Browser, Scripts};
use super::inspect::ColorScheme;
use super::pages::{VisitedPage, VisitedSites};

/// Maximum transfer of a page with everything it loads, in bytes.
const TRANSFER_MAX: u64 = 300_000;
/// The width of a small telephone, in pixels.
const TELEPHONE: i64 = 390;
const DESKTOP: i64 = 1440;
const HEIGHT: i64 = 900;

/// Checks every page with axe-core in a theme.
fn check_accessibility(scheme: ColorScheme) {
    let sites = VisitedSites::new();
    let browser = Browser::new(Scripts::On);
    browser.resize(DESKTOP, HEIGHT);
    browser.prefer(scheme);
    let script = axe::script();
    let mut findings = Vec::new();
    for page in sites.pages() {
        browser.visit(&page);
        let found = browser.findings(&script);
        findings.extend(found.into_iter().map(|it| format!("{}: {it}", page.name)));
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn axe_has_no_serious_finding_on_any_page_in_the_light_theme() {
    check_accessibility(ColorScheme::Light);
}

#[test]
fn axe_has_no_serious_finding_on_any_page_in_the_dark_theme() {
    check_accessibility(ColorScheme::Dark);
}

#[test]
fn every_page_is_small_and_loads_nothing_from_elsewhere() {
    let sites = VisitedSites::new();
    let browser = Browser::new(Scripts::On);
    // Without its cache the browser transfers every file for every page.
    browser.devtools("Network.setCacheDisabled", &serde_json::json!({ "cacheDisabled": true }));
    let mut faults = Vec::new();
    for page in sites.pages() {
        browser.requests();
        browser.visit(&page);
        // A page that answers with an error status is an entry of the console.
        let is_error = ["not-found", "execution-no-position"].contains(&page.name.as_str());
        let errors = browser.console_errors();
        if !is_error && !errors.is_empty() {
            faults.push(format!("{}: {errors:?}", page.name));
        }
        faults.extend(transfer_faults(&sites, &browser, &page));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the faults of the requests that a page has sent.
fn transfer_faults(sites: &VisitedSites, browser: &Browser, page: &VisitedPage) -> Vec<String> {
    let requests = browser.requests();
    let mut faults = Vec::new();
    let mut fault = |text: String| faults.push(format!("{}: {text}", page.name));
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
        // A response below this size gains nothing from compression.
        if !is_packed && request.transferred > 2000 {
            fault(format!("{} is not compressed", request.url));
        }
    }
    let transferred: u64 = requests.iter().map(|it| it.transferred).sum();
    if transferred == 0 || transferred > TRANSFER_MAX {
        fault(format!("transfers {transferred} bytes"));
    }
    faults
}

#[test]
fn no_page_is_wider_than_a_telephone() {
    let sites = VisitedSites::new();
    let browser = Browser::new(Scripts::On);
    browser.resize(TELEPHONE, HEIGHT);
    let mut wide = Vec::new();
    for page in sites.pages() {
        browser.visit(&page);
        let width = browser.evaluate("return document.documentElement.scrollWidth");
        if width.as_i64().is_none_or(|it| it > TELEPHONE) {
            wide.push(format!("{}: {width}", page.name));
        }
    }
    assert!(wide.is_empty(), "pages wider than {TELEPHONE} pixels:\n{}", wide.join("\n"));
}
