//! The commands of a replayed log. A long log has hundreds of thousands, so each is stored
//! compactly: event ids, and indexes into a table of shared texts.
//!
//! Invariant: commands are ordered by their ids as text; checksums depend on the order.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use super::ReplayEvent;
use super::state::Word;

/// A command in the shape of the API response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectedCommand<'a> {
    pub command_id: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_command_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_locator: Option<Cow<'a, str>>,
    pub status: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_event_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_event_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_event_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_event_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_id: Option<i64>,
}

/// All commands of a replay, by id.
#[derive(Clone, Default, Deserialize)]
#[serde(from = "BTreeMap<String, ProjectedCommand<'static>>")]
pub struct Commands {
    entries: BTreeMap<Box<str>, CommandEntry>,
    texts: TextTable,
}

/// The stored fields of one command, without its id.
#[derive(Clone, Copy)]
struct CommandEntry {
    status: TextIndex,
    stage: Option<TextIndex>,
    frame: Option<TextIndex>,
    parent: Option<TextIndex>,
    worker: Option<TextIndex>,
    locator: Option<TextIndex>,
    issued: OptionalEventId,
    claimed: OptionalEventId,
    started: OptionalEventId,
    terminal: OptionalEventId,
    last: OptionalEventId,
}

const _: () =
    assert!(size_of::<CommandEntry>() == 64, "a million events have a quarter of a million");

/// An optional event id in eight bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct OptionalEventId(i64);

impl OptionalEventId {
    /// The value for "no event"; event ids are never negative.
    const NONE: Self = Self(i64::MIN);

    fn of(id: Option<i64>) -> Self {
        id.map_or(Self::NONE, Self)
    }

    fn get(self) -> Option<i64> {
        (self != Self::NONE).then_some(self.0)
    }
}

/// The index of a text, from 1.
type TextIndex = NonZeroU32;

/// A table of interned texts.
#[derive(Clone, Default)]
struct TextTable {
    all: Vec<Word>,
    places: BTreeMap<Word, TextIndex>,
}

impl TextTable {
    fn place_of(&mut self, text: &str) -> TextIndex {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let word: Word = Arc::from(text);
        self.all.push(word.clone());
        let place = u32::try_from(self.all.len()).ok().and_then(TextIndex::new);
        let place = place.expect("fewer texts than fit in memory, and this is one");
        self.places.insert(word, place);
        place
    }

    fn maybe(&mut self, text: Option<impl AsRef<str>>) -> Option<TextIndex> {
        text.map(|text| self.place_of(text.as_ref()))
    }

    /// Replaces a known text if the event has one, else keeps it.
    fn update(&mut self, known: &mut Option<TextIndex>, told: Option<impl AsRef<str>>) {
        if let Some(told) = told {
            *known = Some(self.place_of(told.as_ref()));
        }
    }

    fn at(&self, place: TextIndex) -> Cow<'_, str> {
        let index = usize::try_from(place.get() - 1).expect("it was the length of a list");
        Cow::Borrowed(&self.all[index])
    }
}

impl Commands {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the commands in the order of their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ProjectedCommand<'_>> {
        self.entries.iter().map(|(id, entry)| self.shown(id, entry))
    }

    fn shown<'a>(&'a self, id: &'a str, entry: &CommandEntry) -> ProjectedCommand<'a> {
        let text = |place: Option<TextIndex>| place.map(|place| self.texts.at(place));
        ProjectedCommand {
            command_id: Cow::Borrowed(id),
            stage_id: text(entry.stage),
            frame_id: text(entry.frame),
            parent_command_id: text(entry.parent),
            worker_id: text(entry.worker),
            worker_locator: text(entry.locator),
            status: self.texts.at(entry.status),
            issued_event_id: entry.issued.get(),
            claimed_event_id: entry.claimed.get(),
            started_event_id: entry.started.get(),
            terminal_event_id: entry.terminal.get(),
            last_event_id: entry.last.get(),
        }
    }

    /// Applies an event to the command that the event is about.
    pub(crate) fn see(&mut self, event: &ReplayEvent<'_>) {
        let Some(id) = event.command() else { return };
        let Self { entries, texts } = self;
        if !entries.contains_key(&*id) {
            entries.insert(Box::from(&*id), CommandEntry::new(texts.place_of("UNKNOWN")));
        }
        let entry = entries.get_mut(&*id).expect("it has just been put there");
        let now = OptionalEventId(event.event_id);
        entry.last = now;
        texts.update(&mut entry.stage, event.stage());
        texts.update(&mut entry.frame, event.frame());
        texts.update(&mut entry.parent, event.meta_text("parent_command_id"));
        texts.update(&mut entry.locator, event.meta_text("worker_locator"));
        texts.update(&mut entry.worker, event.worker());
        let Some(what) = event.event_type.strip_prefix("command.") else { return };
        let (mark, otherwise) = match what {
            "issued" => (Some(&mut entry.issued), "PENDING"),
            "claimed" => (Some(&mut entry.claimed), "CLAIMED"),
            "started" => (Some(&mut entry.started), "RUNNING"),
            "completed" => (Some(&mut entry.terminal), "COMPLETED"),
            "failed" => (Some(&mut entry.terminal), "FAILED"),
            "cancelled" => (Some(&mut entry.terminal), "CANCELLED"),
            _ => (None, ""),
        };
        if let Some(mark) = mark {
            *mark = now;
        }
        let status = event.status_or(otherwise);
        if !status.is_empty() {
            entry.status = texts.place_of(status);
        }
    }
}

impl CommandEntry {
    fn new(status: TextIndex) -> Self {
        Self {
            status,
            stage: None,
            frame: None,
            parent: None,
            worker: None,
            locator: None,
            issued: OptionalEventId::NONE,
            claimed: OptionalEventId::NONE,
            started: OptionalEventId::NONE,
            terminal: OptionalEventId::NONE,
            last: OptionalEventId::NONE,
        }
    }
}

impl From<BTreeMap<String, ProjectedCommand<'_>>> for Commands {
    fn from(commands: BTreeMap<String, ProjectedCommand<'_>>) -> Self {
        let mut texts = TextTable::default();
        let entries = commands.into_iter().map(|(id, command)| {
            let entry = CommandEntry {
                status: texts.place_of(&command.status),
                stage: texts.maybe(command.stage_id),
                frame: texts.maybe(command.frame_id),
                parent: texts.maybe(command.parent_command_id),
                worker: texts.maybe(command.worker_id),
                locator: texts.maybe(command.worker_locator),
                issued: OptionalEventId::of(command.issued_event_id),
                claimed: OptionalEventId::of(command.claimed_event_id),
                started: OptionalEventId::of(command.started_event_id),
                terminal: OptionalEventId::of(command.terminal_event_id),
                last: OptionalEventId::of(command.last_event_id),
            };
            (id.into_boxed_str(), entry)
        });
        Self { entries: entries.collect(), texts }
    }
}

impl Serialize for Commands {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|command| (command.command_id.clone(), command)))
    }
}

impl PartialEq for Commands {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
