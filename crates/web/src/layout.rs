//! The frame of every page: head, navigation, choices of the visitor, and the page's content.

mod icons;

use maud::{DOCTYPE, Markup, html};

use crate::assets;
use crate::form::TOKEN_FIELD;
use crate::preferences::{Language, Theme, TimeStyle};
use crate::request::PageRequest;

pub(crate) use icons::{Icon, icon};

/// Title and place of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageHead<'a> {
    pub(crate) title: &'a str,
    pub(crate) place: NavPlace,
}

/// The entry of the navigation that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavPlace {
    Overview,
    Executions,
    Playbooks,
    Waiting,
    Schedules,
    Subscriptions,
    Feeds,
    Workers,
    Credentials,
    System,
    Tokens,
    Audit,
    /// A page that is in no entry, such as the search.
    None,
    /// A page for visitors who have not logged in: it is shown without the navigation and the search.
    Outside,
}

/// An entry of the navigation: its place, address, word, icon and the key that goes there after `g`.
struct Entry {
    place: NavPlace,
    address: &'static str,
    word: &'static str,
    icon: Icon,
    key: &'static str,
    /// True for a page that only administrators may see.
    is_admin: bool,
}

impl Entry {
    const fn for_admins(self) -> Self {
        Self { is_admin: true, ..self }
    }

    fn is_shown(&self, page: &PageRequest) -> bool {
        !self.is_admin || page.visitor.may.admin
    }
}

const ENTRIES: &[Entry] = &[
    entry(NavPlace::Overview, "/ui/", "nav.overview", Icon::Overview, "o"),
    entry(NavPlace::Executions, "/ui/executions", "nav.executions", Icon::Execution, "e"),
    entry(NavPlace::Playbooks, "/ui/playbooks", "nav.playbooks", Icon::Playbook, "p"),
    entry(NavPlace::Waiting, "/ui/waiting", "nav.waiting", Icon::Waiting, "a"),
    entry(NavPlace::Schedules, "/ui/schedules", "nav.schedules", Icon::Schedule, "s"),
    entry(
        NavPlace::Subscriptions,
        "/ui/subscriptions",
        "nav.subscriptions",
        Icon::Subscription,
        "u",
    ),
    entry(NavPlace::Feeds, "/ui/feeds", "nav.feeds", Icon::Feed, "f"),
    entry(NavPlace::Workers, "/ui/workers", "nav.workers", Icon::Worker, "w"),
    entry(NavPlace::Credentials, "/ui/credentials", "nav.credentials", Icon::Credential, "c"),
    entry(NavPlace::System, "/ui/system", "nav.system", Icon::System, "y"),
    entry(NavPlace::Tokens, "/ui/tokens", "nav.tokens", Icon::Token, "t").for_admins(),
    entry(NavPlace::Audit, "/ui/audit", "nav.audit", Icon::Audit, "l").for_admins(),
];

const fn entry(
    place: NavPlace,
    address: &'static str,
    word: &'static str,
    icon: Icon,
    key: &'static str,
) -> Entry {
    Entry { place, address, word, icon, key, is_admin: false }
}

/// Draws a whole page.
pub(crate) fn page(page: &PageRequest, head: &PageHead<'_>, content: &Markup) -> Markup {
    let theme = match page.preferences.theme {
        Theme::System => None,
        Theme::Light | Theme::Dark => Some(page.preferences.theme.as_str()),
    };
    let is_outside = head.place == NavPlace::Outside;
    html! {
        (DOCTYPE)
        html lang=(page.preferences.language.as_str()) data-theme=[theme]
            data-times=(page.preferences.times.as_str()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (head.title) " · noetl" }
                link rel="icon" type="image/svg+xml" href=(assets::address("favicon.svg"));
                link rel="stylesheet" href=(assets::address("page.css"));
                link rel="stylesheet" href=(assets::address("execution.css"));
                link rel="stylesheet" href=(assets::address("compare.css"));
                link rel="stylesheet" href=(assets::address("editor.css"));
                script type="module" src=(assets::address("page.js")) {}
            }
            body.outside[is_outside] {
                (icons::symbols())
                a.skip href="#content" { (page.t("nav.skip")) }
                (top_bar(page, is_outside))
                @if !is_outside { (navigation(page, head.place)) }
                main #content tabindex="-1" { (content) }
                @if !is_outside { (palette(page)) }
                (key_list(page))
                span #copy-word hidden { (page.t("nav.copy")) }
                span #search-word hidden { (page.t("exec.search_value")) }
                span #path-word hidden { (page.t("exec.copy_path")) }
                p #connection role="status" hidden data-text=(page.t("nav.no_connection")) {}
            }
        }
    }
}

fn top_bar(page: &PageRequest, is_outside: bool) -> Markup {
    html! {
        header.top {
            a.brand href="/ui/" { (icon(Icon::Brand)) span { "noetl" } }
            @if !is_outside { (find_form(page)) }
            details.menu {
                summary aria-label=(page.t("nav.choices")) { (icon(Icon::Choices)) }
                (choices(page))
            }
        }
    }
}

fn find_form(page: &PageRequest) -> Markup {
    html! {
        form.find action="/ui/find" method="get" role="search" {
            label.hidden for="find" { (page.t("nav.find")) }
            input #find name="q" type="search" placeholder=(page.t("nav.find_place"))
                autocomplete="off" spellcheck="false";
            kbd aria-hidden="true" { "/" }
        }
    }
}

fn choices(page: &PageRequest) -> Markup {
    let chosen = page.preferences;
    html! {
        div.menu-panel {
            form method="post" action="/ui/preferences" data-form="choices" {
                (form_fields(page))
                (choice(page, "theme", "choices.theme", Theme::ALL.iter().map(|it| (it.as_str(), theme_word(*it))),
                    chosen.theme.as_str()))
                (choice(page, "language", "choices.language", Language::ALL.iter().map(|it| (it.as_str(), language_word(*it))),
                    chosen.language.as_str()))
                (choice(page, "times", "choices.times", TimeStyle::ALL.iter().map(|it| (it.as_str(), times_word(*it))),
                    chosen.times.as_str()))
                button type="submit" { (page.t("choices.apply")) }
            }
            button.plain type="button" data-open="keys" hidden { (page.t("keys.title")) " " kbd { "?" } }
            @if page.has_login() && page.visitor.may.read {
                form method="post" action="/ui/logout" {
                    (form_fields(page))
                    button.plain type="submit" { (page.t("login.leave")) }
                }
            }
        }
    }
}

fn choice<'a>(
    page: &PageRequest,
    name: &str,
    label: &str,
    options: impl Iterator<Item = (&'a str, &'a str)>,
    chosen: &str,
) -> Markup {
    html! {
        label { span { (page.words.t(label)) }
            select name=(name) {
                @for (value, word) in options {
                    option value=(value) selected[value == chosen] { (page.words.t(word)) }
                }
            }
        }
    }
}

fn theme_word(theme: Theme) -> &'static str {
    match theme {
        Theme::System => "choices.system",
        Theme::Light => "choices.light",
        Theme::Dark => "choices.dark",
    }
}

fn language_word(language: Language) -> &'static str {
    match language {
        Language::English => "choices.english",
        Language::German => "choices.german",
    }
}

fn times_word(times: TimeStyle) -> &'static str {
    match times {
        TimeStyle::Utc => "choices.utc",
        TimeStyle::Local => "choices.local",
        TimeStyle::Relative => "choices.relative",
    }
}

/// Draws the hidden fields of a form: its token, and the page to return to.
pub(crate) fn form_fields(page: &PageRequest) -> Markup {
    html! {
        input type="hidden" name=(TOKEN_FIELD) value=(page.form_token());
        input type="hidden" name="return_to" value=(page.address);
    }
}

fn navigation(page: &PageRequest, place: NavPlace) -> Markup {
    html! {
        nav.places aria-label=(page.t("nav.places")) {
            ul {
                @for entry in ENTRIES.iter().filter(|entry| entry.is_shown(page)) {
                    li {
                        a href=(entry.address) aria-current=[(entry.place == place).then_some("page")]
                            data-go=(entry.key) {
                            (icon(entry.icon)) span { (page.words.t(entry.word)) }
                        }
                    }
                }
            }
        }
    }
}

/// Draws the palette, which a script opens and fills with results of `/ui/find`.
fn palette(page: &PageRequest) -> Markup {
    html! {
        dialog #palette aria-label=(page.t("nav.find")) data-action-word=(page.t("find.action")) {
            input type="search" autocomplete="off" spellcheck="false" role="combobox"
                aria-expanded="true" aria-controls="palette-results" aria-autocomplete="list"
                aria-label=(page.t("nav.find")) placeholder=(page.t("nav.find_place"));
            ul #palette-results role="listbox" aria-label=(page.t("find.results")) {}
        }
    }
}

/// The keys that work on every page, with the words for them.
const KEYS: &[(&str, &str)] = &[
    ("?", "keys.list"),
    ("/", "keys.find"),
    ("Ctrl K", "keys.find"),
    ("j k", "keys.rows"),
    ("Enter", "keys.open"),
    ("Esc", "keys.close"),
];

/// The keys of the page of an execution.
const EXECUTION_KEYS: &[(&str, &str)] = &[
    ("← →", "keys.event"),
    ("Shift ← →", "keys.step"),
    ("Home End", "keys.ends"),
    ("Tab ← → ↑ ↓", "keys.graph"),
    ("PgUp PgDn", "keys.graph_order"),
];

fn key_list(page: &PageRequest) -> Markup {
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { (page.t("keys.title")) }
            dl.keys {
                @for (key, word) in KEYS {
                    div { dt { kbd { (key) } } dd { (page.words.t(word)) } }
                }
                @for (key, word) in EXECUTION_KEYS {
                    div { dt { kbd { (key) } } dd { (page.words.t(word)) } }
                }
                @for entry in ENTRIES.iter().filter(|entry| entry.is_shown(page)) {
                    div { dt { kbd { "g " (entry.key) } } dd { (page.words.t(entry.word)) } }
                }
            }
            form method="dialog" { button type="submit" { (page.t("keys.close")) } }
        }
    }
}

/// Returns the addresses and words of the navigation that a visitor sees, for the palette.
pub(crate) fn places(page: &PageRequest) -> impl Iterator<Item = (&'static str, &'static str)> {
    let shown = ENTRIES.iter().filter(|entry| entry.is_shown(page));
    shown.map(|entry| (entry.address, entry.word))
}
