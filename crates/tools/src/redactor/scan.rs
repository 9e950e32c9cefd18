//! The search of a text in one reading, by an automaton that is fed a byte at a time.

use std::collections::VecDeque;
use std::ops::Range;

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};

use super::reading::{Read, Reader, Reading, Step};
use super::secrets::Pattern;

/// The automaton of all secrets in one reading.
pub(super) struct Searcher {
    reading: Reading,
    automaton: NFA,
    /// By pattern.
    edges: Vec<Edges>,
    start: StateID,
    /// The bytes of the longest pattern, and of one more that it may share with its neighbour.
    reach: usize,
}

impl Searcher {
    pub(super) fn new(reading: Reading, patterns: impl IntoIterator<Item = Pattern>) -> Self {
        let (texts, edges): (Vec<String>, Vec<Edges>) =
            patterns.into_iter().map(|pattern| (pattern.text, pattern.edges)).unzip();
        let automaton = NFA::builder().match_kind(MatchKind::Standard).build(&texts);
        let automaton = automaton.expect("credentials are bounded");
        let start = automaton.start_state(Anchored::No).expect("it is built for both");
        let reach = automaton.max_pattern_len() + 1;
        Self { reading, automaton, edges, start, reach }
    }
}

/// The characters beside a secret that tell of it, too, as base64 has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edges {
    /// True if the character before the secret has some of its bits.
    pub(super) shares_first: bool,
    pub(super) tail: Tail,
}

impl Edges {
    pub(super) const NONE: Self = Self { shares_first: false, tail: Tail::None };
}

/// The characters after a secret that tell of it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tail {
    None,
    /// `=`, as often as it comes.
    Padding,
    /// A character with some bits of the secret, then perhaps padding.
    Shared,
}

/// Where the search of one text in one reading has got to.
#[derive(Debug)]
pub(super) struct Scan {
    reader: Reader,
    search: Search,
}

#[derive(Debug)]
struct Search {
    state: StateID,
    /// The places of the bytes that a secret which has begun may contain, the latest last.
    starts: VecDeque<usize>,
    /// The end of the last byte.
    end: usize,
    tail: Tail,
}

impl Scan {
    pub(super) fn new(searcher: &Searcher) -> Self {
        let search =
            Search { state: searcher.start, starts: VecDeque::new(), end: 0, tail: Tail::None };
        Self { reader: Reader::new(searcher.reading), search }
    }

    /// Takes the byte at a place and adds the secrets that end there.
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

    /// Ends the text and adds the secrets that end with it.
    pub(super) fn finish(&mut self, searcher: &Searcher, found: &mut Vec<Range<usize>>) {
        let search = &mut self.search;
        self.reader.finish(&mut |step| search.take(searcher, step, found));
    }

    /// The place up to which no more secrets are found, of the bytes up to `scanned`.
    pub(super) fn settled(&self, scanned: usize) -> usize {
        let begun = self.search.starts.front().copied();
        let held = self.reader.held_from();
        scanned.min(begun.unwrap_or(scanned)).min(held.unwrap_or(scanned))
    }
}

impl Search {
    fn take(&mut self, searcher: &Searcher, step: Step, found: &mut Vec<Range<usize>>) {
        let read = match step {
            Step::Read(read) => read,
            Step::Break => {
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

    /// Adds a byte that tells of the secret before it.
    fn take_tail(&mut self, read: Read, found: &mut Vec<Range<usize>>) {
        let is_part = match self.tail {
            Tail::None => false,
            Tail::Padding => read.byte == b'=',
            Tail::Shared => true,
        };
        if is_part {
            // It overlaps the secret, so that both are replaced as one.
            add(found, self.end - 1..read.end);
        }
        self.tail = if is_part { Tail::Padding } else { Tail::None };
    }
}

/// Adds a place, as part of the last one where they overlap.
fn add(found: &mut Vec<Range<usize>>, place: Range<usize>) {
    match found.last_mut() {
        Some(last) if place.start < last.end && last.start < place.end => {
            *last = last.start.min(place.start)..last.end.max(place.end);
        }
        Some(_) | None => found.push(place),
    }
}
