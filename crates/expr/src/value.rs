//! Variables as values of the template engine: positions in a shared JSON value, read on demand.
//!
//! A [`ValueNode`] is a list or map inside a variable. It holds its path to the root instead of a
//! copy, so reading `workload.url` costs the depth of the path, not the size of the workload.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectExt, ObjectRepr};
use serde_json::{Map, Value as Json};

/// The length from which a string is copied once per rendering instead of on every access, in
/// bytes.
const LONG_TEXT: usize = 1024;

/// A list or map at some position in a variable.
pub(crate) enum ValueNode {
    Root(Root),
    Item(Arc<ValueNode>, usize),
    Member(Arc<ValueNode>, Box<str>),
}

/// A variable that is a list or map.
pub(crate) struct Root {
    json: Arc<Json>,
    /// Long strings that have been read, by their address in the variable.
    texts: Mutex<BTreeMap<usize, Value>>,
}

/// Returns the results if the value is the output of a loop. Such a map can also be used as a list.
pub fn loop_results(json: &Json) -> Option<&Vec<Json>> {
    let map = json.as_object().filter(|map| map.len() == 3 && map.contains_key("data"))?;
    map.get("stats").filter(|stats| stats.is_object())?;
    map.get("results")?.as_array()
}

/// Converts a variable to a value of the template engine.
pub(crate) fn from_variable(json: &Arc<Json>) -> Value {
    scalar(json).unwrap_or_else(|| {
        Value::from_object(ValueNode::Root(Root {
            json: Arc::clone(json),
            texts: Mutex::default(),
        }))
    })
}

/// Converts JSON that an expression has parsed to a value of the template engine.
pub(crate) fn from_json(json: Json) -> Value {
    from_variable(&Arc::new(json))
}

fn scalar(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => Value::from(()),
        Json::Bool(it) => Value::from(*it),
        Json::String(it) => Value::from(it.as_str()),
        Json::Number(it) => match (it.as_i64(), it.as_u64(), it.as_f64()) {
            (Some(it), _, _) => Value::from(it),
            (None, Some(it), _) => Value::from(it),
            (None, None, Some(it)) => Value::from(it),
            (None, None, None) => Value::from(()),
        },
        Json::Array(_) | Json::Object(_) => return None,
    })
}

impl ValueNode {
    /// The list or map at this position.
    pub(crate) fn json(&self) -> &Json {
        const THERE: &str = "a node is only made for a value that is there";
        match self {
            Self::Root(root) => &root.json,
            Self::Item(parent, index) => parent.json().get(*index).expect(THERE),
            Self::Member(parent, key) => parent.json().get(&**key).expect(THERE),
        }
    }

    /// Returns the approximate size in bytes; stops counting soon after `limit`.
    pub(crate) fn size(&self, limit: usize) -> usize {
        size(self.json(), limit)
    }

    fn item(self: &Arc<Self>, index: usize) -> Option<Value> {
        if loop_results(self.json()).is_some() {
            return Arc::new(Self::Member(Arc::clone(self), "results".into())).item(index);
        }
        let json = self.json().as_array()?.get(index)?;
        let place = || Value::from_object(Self::Item(Arc::clone(self), index));
        Some(self.scalar(json).unwrap_or_else(place))
    }

    fn member(self: &Arc<Self>, key: &str) -> Option<Value> {
        let json = self.json().as_object()?.get(key)?;
        let place = || Value::from_object(Self::Member(Arc::clone(self), key.into()));
        Some(self.scalar(json).unwrap_or_else(place))
    }

    /// Converts a scalar of this variable; a long string is converted once and shared.
    fn scalar(&self, json: &Json) -> Option<Value> {
        match json {
            Json::String(text) if text.len() >= LONG_TEXT => {
                let mut texts = self.root().texts.lock().unwrap_or_else(PoisonError::into_inner);
                let text = texts.entry(text.as_ptr().addr()).or_insert_with(|| Value::from(text));
                Some(text.clone())
            }
            _ => scalar(json),
        }
    }

    /// Returns the items if the value is a list, or the output of a loop.
    fn items(&self) -> Option<&Vec<Json>> {
        let json = self.json();
        json.as_array().or_else(|| loop_results(json))
    }

    fn root(&self) -> &Root {
        match self {
            Self::Root(root) => root,
            Self::Item(parent, _) | Self::Member(parent, _) => parent.root(),
        }
    }
}

/// Returns the approximate size of a value in bytes; stops counting soon after `limit`.
pub(crate) fn size(json: &Json, limit: usize) -> usize {
    const VALUE_SIZE: usize = 16;
    let add = |total: usize, more: &Json| match limit.checked_sub(total) {
        Some(rest) => total + size(more, rest),
        None => total,
    };
    VALUE_SIZE
        + match json {
            Json::Null | Json::Bool(_) | Json::Number(_) => 0,
            Json::String(text) => text.len(),
            Json::Array(items) => items.iter().fold(0, add),
            Json::Object(members) => members
                .iter()
                .fold(0, |total: usize, (key, it)| add(total.saturating_add(key.len()), it)),
        }
}

impl Object for ValueNode {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        if self.items().is_some() { ObjectRepr::Seq } else { ObjectRepr::Map }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str() {
            Some(key) => self.member(key),
            None => self.item(key.as_usize()?),
        }
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.member(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.items() {
            Some(items) => Enumerator::Seq(items.len()),
            None => self.mapped_enumerator(|node| {
                let keys = node.json().as_object().into_iter().flat_map(Map::keys);
                Box::new(keys.map(|key| Value::from(key.as_str())))
            }),
        }
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        let members = || self.json().as_object().map_or(0, Map::len);
        Some(self.items().map_or_else(members, Vec::len))
    }
}

impl fmt::Debug for ValueNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.json())
    }
}
