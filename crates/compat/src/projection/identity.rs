//! The stage, frame, command, loop and business object that an event is about.

use std::borrow::Cow;

use serde_json::Value;

use super::ReplayEvent;
use super::event::text_of;

type Id<'a> = Option<Cow<'a, str>>;

/// The kind and id of a business object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectId {
    pub(crate) kind: String,
    pub(crate) id: String,
}

impl ObjectId {
    pub(crate) fn key(&self) -> String {
        format!("{}/{}", self.kind, self.id)
    }
}

impl ReplayEvent<'_> {
    pub(crate) fn stage(&self) -> Id<'_> {
        self.one_of(self.stage_id.as_deref(), "stage", "stage_id")
    }

    pub(crate) fn frame(&self) -> Id<'_> {
        self.one_of(self.frame_id.as_deref(), "frame", "frame_id")
    }

    pub(crate) fn command(&self) -> Id<'_> {
        let column = self.command_id.as_deref().map(Cow::Borrowed);
        column.or_else(|| self.meta_text("command_id"))
    }

    pub(crate) fn loop_id(&self) -> Id<'_> {
        ["loop_id", "loop_event_id", "__loop_epoch_id"].iter().find_map(|key| self.meta_text(key))
    }

    pub(crate) fn worker(&self) -> Id<'_> {
        let column = self.worker_id.as_deref().map(Cow::Borrowed);
        column.or_else(|| self.meta_text("worker_id"))
    }

    fn one_of<'a>(&'a self, column: Option<&'a str>, kind: &str, key: &str) -> Id<'a> {
        let aggregate = || self.aggregate.as_ref()?.of_kind(kind);
        column.or_else(aggregate).map(Cow::Borrowed).or_else(|| self.meta_text(key))
    }

    pub(crate) fn object(&self) -> Option<ObjectId> {
        let nested = self.meta.get("business_object");
        let find = |nested_keys: [&str; 2], keys: [&str; 2]| {
            let nested = nested_keys.iter().find_map(|key| nested?.get(key));
            let found = nested.or_else(|| keys.iter().find_map(|key| self.meta.get(*key)));
            found.map(|value: &Value| text_of(value).into_owned())
        };
        let kind = find(["object_type", "type"], ["business_object_type", "object_type"]);
        let id = find(["object_id", "id"], ["business_object_id", "object_id"]);
        if let (Some(kind), Some(id)) = (&kind, &id) {
            return Some(ObjectId { kind: kind.clone(), id: id.clone() });
        }
        let aggregate = self.aggregate.as_ref().filter(|it| it.kind == "business_object")?;
        let path = aggregate.of_kind("business_object")?;
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (its_kind, its_id) = match parts.as_slice() {
            [first, rest @ ..] if !rest.is_empty() => ((*first).to_owned(), rest.join("/")),
            _ => ("business_object".to_owned(), aggregate.id.clone().into_owned()),
        };
        Some(ObjectId { kind: kind.unwrap_or(its_kind), id: id.unwrap_or(its_id) })
    }
}
