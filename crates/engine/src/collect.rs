//! The output of a loop: the outputs of its items, assembled as JSON from the log.
//!
//! A loop may have millions of items, so their outputs are read once, never held as parsed values,
//! and written in their stored form.

use std::collections::BTreeMap;

use noetl_model::{CommandId, Event, ItemCounts, Payload, PayloadRef, Recorded, RunId, Seq};

/// A loop whose items have all ended.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopEnd {
    pub run: RunId,
    /// The events of the loop's items come after this one.
    pub after: Seq,
    pub counts: ItemCounts,
    /// Outputs of items that ended in the decision that ends the loop and are not in the log yet.
    pub produced: BTreeMap<u64, Payload>,
}

/// The output of a loop.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopOutput {
    Value(Payload),
    /// The output exceeds the largest payload size.
    TooLarge,
}

/// Collects the outputs of a loop's items from the events of its execution.
#[derive(Debug)]
pub struct LoopCollector {
    end: LoopEnd,
    /// The item of each open command.
    working: BTreeMap<CommandId, u64>,
    /// The output of each open item's latest command.
    latest: BTreeMap<u64, Payload>,
    pieces: BTreeMap<u64, ItemOutput>,
}

/// The output of one item.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemOutput {
    Json(Box<[u8]>),
    Stored(PayloadRef),
}

impl ItemOutput {
    fn of(output: &Payload) -> Self {
        match output {
            Payload::Inline(value) => {
                let json = serde_json::to_vec(&**value).expect("a JSON value has a JSON text");
                ItemOutput::Json(json.into())
            }
            Payload::Ref(reference) => ItemOutput::Stored(*reference),
        }
    }

    fn len(&self) -> Option<usize> {
        match self {
            ItemOutput::Json(json) => Some(json.len()),
            ItemOutput::Stored(reference) => usize::try_from(reference.size).ok(),
        }
    }
}

impl LoopCollector {
    pub fn new(end: LoopEnd) -> Self {
        Self { end, working: BTreeMap::new(), latest: BTreeMap::new(), pieces: BTreeMap::new() }
    }

    pub fn see(&mut self, recorded: &Recorded) {
        let event = &recorded.event;
        if let Event::CommandIssued { command, task, .. } = event {
            if let (true, Some(index)) = (task.run == self.end.run, task.place.item()) {
                self.working.insert(*command, index);
            }
        } else if let Event::CommandCompleted { command, .. }
        | Event::CommandFailed { command, .. } = event
        {
            self.keep(*command, event.output());
        } else if let Event::IterationCompleted { run, index, output, .. } = event
            && *run == self.end.run
        {
            let latest = self.latest.remove(index);
            if let Some(output) = output.as_ref().or(latest.as_ref()) {
                self.pieces.insert(*index, ItemOutput::of(output));
            }
        }
    }

    /// Returns everything collected, including the outputs of the current decision.
    pub fn finish(self) -> CollectedItems {
        let Self { end, mut pieces, .. } = self;
        pieces.extend(end.produced.iter().map(|(index, output)| (*index, ItemOutput::of(output))));
        CollectedItems { counts: end.counts, pieces }
    }

    fn keep(&mut self, command: CommandId, output: Option<&Payload>) {
        if let (Some(index), Some(output)) = (self.working.remove(&command), output) {
            self.latest.insert(index, output.clone());
        }
    }
}

/// The outputs of a loop's items; an item without a piece has failed or was never begun.
#[derive(Debug)]
pub struct CollectedItems {
    counts: ItemCounts,
    pub pieces: BTreeMap<u64, ItemOutput>,
}

/// An upper bound for the keys, brackets and numbers of a loop's output.
const FRAME_LEN: usize = 128;
const NOTHING: &[u8] = b"null";

impl CollectedItems {
    /// Returns an upper bound for the size of the output; `None` if it overflows.
    pub fn len_max(&self) -> Option<usize> {
        let total = usize::try_from(self.counts.total).ok()?;
        let gaps = total.checked_mul(NOTHING.len() + 1)?;
        let len =
            self.pieces.values().try_fold(gaps, |len, piece| len.checked_add(piece.len()?))?;
        // `results` and `data` are the same list.
        len.checked_mul(2)?.checked_add(FRAME_LEN)
    }

    /// Returns a writer for the output; the pieces have to be written in order.
    pub fn writer(&self) -> LoopWriter {
        let mut json = Vec::with_capacity(self.len_max().unwrap_or_default());
        json.extend_from_slice(br#"{"results":["#);
        LoopWriter { counts: self.counts, next: 0, begun: json.len(), json }
    }
}

/// Writes `{results, data, stats}` of a loop.
#[derive(Debug)]
pub struct LoopWriter {
    counts: ItemCounts,
    /// The next item to be written.
    next: u64,
    /// The byte position where the list begins.
    begun: usize,
    json: Vec<u8>,
}

impl LoopWriter {
    /// Writes the JSON of an item at its index.
    pub fn put(&mut self, index: u64, json: &[u8]) {
        self.skip_to(index);
        if index < self.counts.total {
            self.add(json);
        }
    }

    /// Returns the complete output.
    pub fn finish(mut self) -> Vec<u8> {
        self.skip_to(self.counts.total);
        let list = self.begun..self.json.len();
        self.json.extend_from_slice(br#"],"data":["#);
        self.json.extend_from_within(list);
        let ItemCounts { total, completed, failed } = self.counts;
        let stats =
            format!(r#"],"stats":{{"total":{total},"completed":{completed},"failed":{failed}}}}}"#);
        self.json.extend_from_slice(stats.as_bytes());
        self.json
    }

    fn skip_to(&mut self, index: u64) {
        while self.next < index.min(self.counts.total) {
            self.add(NOTHING);
        }
    }

    fn add(&mut self, json: &[u8]) {
        if self.next > 0 {
            self.json.push(b',');
        }
        self.json.extend_from_slice(json);
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use noetl_model::Digest;
    use serde_json::json;

    use super::*;

    fn end(total: u64, produced: impl IntoIterator<Item = (u64, Payload)>) -> CollectedItems {
        let counts = ItemCounts { total, completed: 1, failed: 2 };
        let produced = produced.into_iter().collect();
        LoopCollector::new(LoopEnd { run: RunId(1), after: Seq(1), counts, produced }).finish()
    }

    #[track_caller]
    fn check(total: u64, produced: impl IntoIterator<Item = (u64, Payload)>, expected: &str) {
        let collected = end(total, produced);
        let (len_max, mut writer) = (collected.len_max(), collected.writer());
        for (index, piece) in collected.pieces {
            match piece {
                ItemOutput::Json(json) => writer.put(index, &json),
                ItemOutput::Stored(_) => writer.put(index, b"\"stored\""),
            }
        }
        let written = String::from_utf8(writer.finish()).unwrap();
        assert_eq!(written, expected);
        assert!(len_max.is_some_and(|max| written.len() <= max));
    }

    fn stored(size: u64) -> Payload {
        Payload::Ref(PayloadRef { digest: Digest::of(b""), size })
    }

    #[test]
    fn items_are_in_their_places_and_those_without_output_are_null() {
        check(
            4,
            [(2, Payload::inline(json!({ "b": 1, "a": "é" }))), (1, stored(8))],
            r#"{"results":[null,"stored",{"b":1,"a":"é"},null],"data":[null,"stored",{"b":1,"a":"é"},null],"stats":{"total":4,"completed":1,"failed":2}}"#,
        );
    }

    #[test]
    fn no_items_make_empty_lists() {
        check(0, [], r#"{"results":[],"data":[],"stats":{"total":0,"completed":1,"failed":2}}"#);
    }

    #[test]
    fn the_largest_size_of_a_loop_output_is_known_before_its_values_are_loaded() {
        let size = 40 << 20;
        assert!(end(2, [(0, stored(size)), (1, stored(size))]).len_max() > Some(160 << 20));
        assert_eq!(end(u64::MAX, []).len_max(), None);
        assert_eq!(end(1, [(0, stored(u64::MAX))]).len_max(), None);
    }
}
