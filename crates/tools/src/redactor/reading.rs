//! How a text is read while it is searched: a byte at a time, each with its place in the text.

/// The most white space between two characters of wrapped base64 or hex: a line end and an
/// indentation.
const WRAP_BYTES_MAX: usize = 64;

/// A way to read a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Every byte.
    AsWritten,
    /// Percent-encoding and the escapes of JSON are decoded, in any mixture.
    Decoded,
    /// White space is left out, and the URL-safe alphabet of base64 becomes the standard one.
    Compact,
}

/// A byte that was read, and its place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) byte: u8,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What one byte of a text leads to.
pub(super) enum Step {
    Read(Read),
    /// Nothing that was read before belongs together with what follows.
    Break,
}

/// Reads a text in one of the ways.
#[derive(Debug)]
pub(super) enum Reader {
    AsWritten,
    Decoded(Decoder),
    Compact(Compactor),
}

impl Reader {
    pub(super) fn new(reading: Reading) -> Self {
        match reading {
            Reading::AsWritten => Reader::AsWritten,
            Reading::Decoded => Reader::Decoded(Decoder::default()),
            Reading::Compact => Reader::Compact(Compactor::default()),
        }
    }

    /// Takes the byte at a place and gives what it leads to.
    pub(super) fn push(&mut self, byte: u8, at: usize, give: &mut impl FnMut(Step)) {
        match self {
            Reader::AsWritten => give(Step::Read(Read { byte, start: at, end: at + 1 })),
            Reader::Decoded(decoder) => decoder.push(byte, at, give),
            Reader::Compact(compactor) => compactor.push(byte, at, give),
        }
    }

    /// Gives what is still held back at the end of a text.
    pub(super) fn finish(&mut self, give: &mut impl FnMut(Step)) {
        match self {
            Reader::AsWritten | Reader::Compact(_) => {}
            Reader::Decoded(decoder) => decoder.give_up(give),
        }
    }

    /// The place of the first byte that is held back.
    pub(super) fn held_from(&self) -> Option<usize> {
        match self {
            Reader::AsWritten | Reader::Compact(_) => None,
            Reader::Decoded(decoder) => {
                (decoder.length > 0 || decoder.high.is_some()).then(|| decoder.first())
            }
        }
    }
}

/// The longest escape, `\u00e9`.
const ESCAPE_BYTES_MAX: usize = 6;

/// Decodes `%2F`, `\n`, `\/` and `\u00e9`.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// An escape that has begun.
    escape: [u8; ESCAPE_BYTES_MAX],
    length: usize,
    start: usize,
    /// The first half of a character that JSON writes as two escapes, with its place.
    high: Option<(u16, usize)>,
}

impl Decoder {
    fn push(&mut self, byte: u8, at: usize, give: &mut impl FnMut(Step)) {
        if self.length == 0 {
            if byte == b'%' || byte == b'\\' {
                self.start = at;
                self.escape[0] = byte;
                self.length = 1;
            } else {
                self.high = None;
                give(Step::Read(Read { byte, start: at, end: at + 1 }));
            }
            return;
        }
        if !self.goes_on(byte) {
            self.give_up(give);
            return self.push(byte, at, give);
        }
        self.escape[self.length] = byte;
        self.length += 1;
        self.decode(at + 1, give);
    }

    /// Returns whether a byte can follow in the escape.
    fn goes_on(&self, byte: u8) -> bool {
        match (&self.escape[..self.length], byte) {
            ([b'\\'], _) => b"nrtbfu\"\\/".contains(&byte),
            _ => byte.is_ascii_hexdigit(),
        }
    }

    /// Gives the character that the escape means, once it is whole.
    fn decode(&mut self, end: usize, give: &mut impl FnMut(Step)) {
        let start = self.start;
        let byte = match &self.escape[..self.length] {
            [b'%', high, low] => value_of(*high) << 4 | value_of(*low),
            [b'\\', b'n'] => b'\n',
            [b'\\', b'r'] => b'\r',
            [b'\\', b't'] => b'\t',
            [b'\\', b'b'] => 8,
            [b'\\', b'f'] => 12,
            [b'\\', b'u', digits @ ..] if digits.len() == 4 => {
                let unit =
                    digits.iter().fold(0, |unit, digit| unit << 4 | u16::from(value_of(*digit)));
                self.length = 0;
                return self.decode_unit(unit, start, end, give);
            }
            [b'\\', plain] if *plain != b'u' => *plain,
            _ => return,
        };
        self.length = 0;
        self.high = None;
        give(Step::Read(Read { byte, start, end }));
    }

    /// Gives the character of a UTF-16 code unit, or of it and the one before.
    fn decode_unit(&mut self, unit: u16, start: usize, end: usize, give: &mut impl FnMut(Step)) {
        let before = self.high.take();
        if (0xd800..0xdc00).contains(&unit) {
            self.high = Some((unit, start));
            return;
        }
        let (units, start) = match before {
            Some((high, start)) => (vec![high, unit], start),
            None => (vec![unit], start),
        };
        for character in char::decode_utf16(units).flatten() {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                give(Step::Read(Read { byte, start, end }));
            }
        }
    }

    /// Gives the bytes of an escape that is none.
    fn give_up(&mut self, give: &mut impl FnMut(Step)) {
        self.high = None;
        for (at, byte) in (self.start..).zip(&self.escape[..self.length]) {
            give(Step::Read(Read { byte: *byte, start: at, end: at + 1 }));
        }
        self.length = 0;
    }

    fn first(&self) -> usize {
        self.high.map_or(self.start, |(_, start)| start)
    }
}

/// The value of a hex digit.
fn value_of(digit: u8) -> u8 {
    match digit {
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => digit - b'0',
    }
}

/// Leaves white space out, also where JSON writes it as `\n`.
#[derive(Debug, Default)]
pub(super) struct Compactor {
    /// How many bytes were left out since the last one that was read.
    left_out: usize,
    after_backslash: bool,
}

impl Compactor {
    fn push(&mut self, byte: u8, at: usize, give: &mut impl FnMut(Step)) {
        let was_escape = std::mem::take(&mut self.after_backslash) && b"nrt".contains(&byte);
        if was_escape || byte.is_ascii_whitespace() || byte == b'\\' {
            self.after_backslash = byte == b'\\';
            self.left_out += 1;
            if self.left_out > WRAP_BYTES_MAX {
                give(Step::Break);
            }
            return;
        }
        self.left_out = 0;
        let byte = match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => byte,
        };
        if byte.is_ascii_alphanumeric() || b"+/=".contains(&byte) {
            give(Step::Read(Read { byte, start: at, end: at + 1 }));
        } else {
            give(Step::Break);
        }
    }
}
