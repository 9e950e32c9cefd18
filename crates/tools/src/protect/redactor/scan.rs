//! The search of a text in one reading, with an automaton that is fed one byte at a time.

use std::collections::VecDeque;
use std::ops::Range;

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};

use super::reading::{DecodedByte, ReadMode, ReaderOutput, TextReader};
use super::secrets::Pattern;

/// The automaton of all secrets in one reading.
pub(super) struct Searcher {
    reading: ReadMode,
    automaton: NFA,
    /// The edges of each pattern, by pattern index.
    edges: Vec<Edges>,
    start: StateID,
    /// The length of the longest pattern, plus one byte that it may share with its neighbour.
    reach: usize,
}

impl Searcher {
    pub(super) fn new(reading: ReadMode, patterns: impl IntoIterator<Item = Pattern>) -> Self {
        let (texts, edges): (Vec<String>, Vec<Edges>) =
            patterns.into_iter().map(|pattern| (pattern.text, pattern.edges)).unzip();
        let automaton = NFA::builder().match_kind(MatchKind::Standard).build(&texts);
        let automaton = automaton.expect("credentials are bounded");
        let start = automaton.start_state(Anchored::No).expect("it is built for both");
        let reach = automaton.max_pattern_len() + 1;
        Self { reading, automaton, edges, start, reach }
    }
}

/// The characters beside a match that also contain bits of the secret, as in base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edges {
    /// True if the character before the match contains bits of the secret.
    pub(super) shares_first: bool,
    pub(super) tail: Tail,
}

impl Edges {
    pub(super) const NONE: Self = Self { shares_first: false, tail: Tail::None };
}

/// The characters after a match that also contain bits of the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tail {
    None,
    /// Any number of `=`.
    Padding,
    /// A character that contains bits of the secret, optionally followed by padding.
    Shared,
}

/// The progress of searching one text in one reading.
#[derive(Debug)]
pub(super) struct SecretScan {
    reader: TextReader,
    search: Search,
}

#[derive(Debug)]
struct Search {
    state: StateID,
    /// The positions of the bytes that a partially matched secret may contain, the latest last.
    starts: VecDeque<usize>,
    /// The end of the last byte.
    end: usize,
    tail: Tail,
}

impl SecretScan {
    pub(super) fn new(searcher: &Searcher) -> Self {
        let search =
            Search { state: searcher.start, starts: VecDeque::new(), end: 0, tail: Tail::None };
        Self { reader: TextReader::new(searcher.reading), search }
    }

    /// Reads the byte at position `at` and adds the secrets that end there to `found`.
    pub(super) fn push(
        &mut self,
        searcher: &Searcher,
        byte: u8,
        at: usize,
        found: &mut Vec<Range<usize>>,
    ) {
        let search = &mut self.search;
        self.reader.push(byte, at, &mut |step| search.take(searcher, step, found));
    }

    /// Ends the text and adds the secrets that end with it to `found`.
    pub(super) fn finish(&mut self, searcher: &Searcher, found: &mut Vec<Range<usize>>) {
        let search = &mut self.search;
        self.reader.finish(&mut |step| search.take(searcher, step, found));
    }

    /// Returns the position before which no further secret can be found, at most `scanned`.
    pub(super) fn settled(&self, scanned: usize) -> usize {
        let begun = self.search.starts.front().copied();
        let held = self.reader.held_from();
        scanned.min(begun.unwrap_or(scanned)).min(held.unwrap_or(scanned))
    }
}

impl Search {
    fn take(&mut self, searcher: &Searcher, step: ReaderOutput, found: &mut Vec<Range<usize>>) {
        let read = match step {
            ReaderOutput::Byte(read) => read,
            ReaderOutput::Break => {
                self.state = searcher.start;
                self.starts.clear();
                self.tail = Tail::None;
                return;
            }
        };
        self.take_tail(read, found);
        self.end = read.end;
        if self.starts.len() == searcher.reach {
            self.starts.pop_front();
        }
        self.starts.push_back(read.start);
        let automaton = &searcher.automaton;
        self.state = automaton.next_state(Anchored::No, self.state, read.byte);
        if automaton.is_special(self.state) && automaton.is_match(self.state) {
            self.take_matches(searcher, found);
        } else if self.state == searcher.start {
            self.starts.drain(..self.starts.len() - 1);
        }
    }

    /// Adds the secrets that end with the last byte.
    fn take_matches(&mut self, searcher: &Searcher, found: &mut Vec<Range<usize>>) {
        let automaton = &searcher.automaton;
        for index in 0..automaton.match_len(self.state) {
            let pattern = automaton.match_pattern(self.state, index);
            let edges = searcher.edges[pattern.as_usize()];
            let mut length = automaton.pattern_len(pattern);
            if edges.shares_first && length < self.starts.len() {
                length += 1;
            }
            add(found, self.starts[self.starts.len() - length]..self.end);
            self.tail = self.tail.max(edges.tail);
        }
    }

    /// Adds a byte after a match if it contains bits of the secret.
    fn take_tail(&mut self, read: DecodedByte, found: &mut Vec<Range<usize>>) {
        let is_part = match self.tail {
            Tail::None => false,
            Tail::Padding => read.byte == b'=',
            Tail::Shared => true,
        };
        if is_part {
            // The range overlaps the secret, so that both are replaced as one.
            add(found, self.end - 1..read.end);
        }
        self.tail = if is_part { Tail::Padding } else { Tail::None };
    }
}

/// Adds a range; merges it with the last one if they overlap.
fn add(found: &mut Vec<Range<usize>>, place: Range<usize>) {
    match found.last_mut() {
        Some(last) if place.start < last.end && last.start < place.end => {
            *last = last.start.min(place.start)..last.end.max(place.end);
        }
        Some(_) | None => found.push(place),
    }
}
