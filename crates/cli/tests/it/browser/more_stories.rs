//! More stories of visitors: comparing two executions of the list, dragging the handle of the scrubber,
//! playing, ticking all rows, and counting durations.

use serde_json::{Value, json};

use super::driver::{Browser, Scripts};
use super::seed::SeededSite;
use crate::sandbox::eventually;

#[test]
fn two_executions_of_the_list_are_compared() {
    let site = SeededSite::new();
    for scripts in [Scripts::On, Scripts::Off] {
        let browser = Browser::new(scripts);
        browser.open(&format!("{}/ui/executions?playbook=shop/orders", site.url()));
        browser.click("tbody tr:nth-child(1) a.choose");
        eventually("the second one is asked for", || {
            browser.text(".hint").contains("Choose the execution to compare with")
        });
        browser.click("tbody tr:nth-child(2) a.choose");
        eventually("both are compared", || {
            browser.address().contains("/compare?") && browser.text("main").contains("ship")
        });
        assert!(browser.text("main").contains("Where they part"), "{}", browser.text("main"));
        browser.assert_clean(&site.url());
    }
}

/// Returns the middle of an element and its width.
fn place(browser: &Browser, selector: &str) -> (i64, i64, i64) {
    let script = format!(
        "const place = document.querySelector({selector:?}).getBoundingClientRect(); \
         return [place.left, place.top + place.height / 2, place.width].map(Math.round)"
    );
    let found = browser.evaluate(&script);
    let number = |index: usize| found[index].as_i64().unwrap_or_else(|| panic!("{found}"));
    (number(0), number(1), number(2))
}

#[test]
fn the_handle_of_the_scrubber_is_dragged_and_the_page_follows() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions/{}", site.url(), site.completed));
    browser.evaluate("document.querySelector('#scrubber').scrollIntoView({ block: 'end' })");
    let (left, top, width) = place(&browser, "#scrub-at");
    let mouse = |kind: &str, x: i64| {
        let parameters = json!({ "type": kind, "x": x, "y": top, "button": "left", "buttons": 1, "clickCount": 1 });
        browser.devtools("Input.dispatchMouseEvent", &parameters);
    };
    mouse("mousePressed", left + width - 4);
    for part in [8, 6, 5] {
        mouse("mouseMoved", left + width * part / 10);
    }
    mouse("mouseReleased", left + width / 2);
    let shown =
        || browser.evaluate("return Number(document.querySelector('#scrubber').dataset.position)");
    let last = browser.evaluate("return Number(document.querySelector('#scrubber').dataset.last)");
    let last = last.as_i64().expect("a number");
    eventually("the page shows the middle", || {
        let shown = shown().as_i64().unwrap_or_default();
        (last * 4 / 10..=last * 6 / 10).contains(&shown)
            && browser.text(".says-event").contains(&format!("Event {shown} of {last}"))
    });
    assert!(browser.address().contains("at="), "{}", browser.address());

    // Playing goes on from there, at the chosen speed.
    browser.evaluate("document.querySelector('[data-speed]').value = '5'");
    browser.click("[data-play]");
    eventually("the end is played", || shown().as_i64() == Some(last));
    browser.assert_clean(&site.url());
}

#[test]
fn all_rows_of_the_page_are_ticked_at_once() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions?playbook=shop/orders", site.url()));
    browser.click("[data-tick-all] input");
    let unticked = "return document.querySelectorAll('[name=id]:not(:checked)').length";
    assert_eq!(browser.evaluate(unticked), 0);
    let ticked = browser.evaluate("return document.querySelectorAll('[name=id]:checked').length");
    browser.click("#selection button[value=rerun]");
    eventually("their number is asked about", || {
        browser.text(".bulk-question .count").starts_with(&ticked.to_string())
    });
}

#[test]
fn durations_of_open_work_are_counted_without_an_answer_of_the_server() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions/{}", site.url(), site.approval));
    let drawn = "const time = document.querySelector('.says [data-grows]'); \
                 return [time.dataset.grows, time.textContent]";
    let before: Value = browser.evaluate(drawn);
    eventually("the duration goes on", || {
        let now = browser.evaluate(drawn);
        now[0] == before[0] && now[1] != before[1]
    });
    browser.assert_clean(&site.url());
}
