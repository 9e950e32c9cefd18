//! The readings in which a text is searched: each yields bytes with their positions in the text.

/// The maximum white space between two characters of wrapped base64 or hex: a line end and an
/// indentation.
const WRAP_BYTES_MAX: usize = 64;

/// A way to read a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadMode {
    /// All bytes unchanged.
    AsWritten,
    /// Percent-encoding and JSON escapes are decoded, in any mixture.
    Decoded,
    /// White space is skipped, and the URL-safe alphabet of base64 is mapped to the standard one.
    Compact,
}

/// A decoded byte and its position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DecodedByte {
    pub(super) byte: u8,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// An output of a reader.
pub(super) enum ReaderOutput {
    Byte(DecodedByte),
    /// A gap: earlier and later bytes do not belong together.
    Break,
}

/// The state of reading a text in one of the readings.
#[derive(Debug)]
pub(super) enum TextReader {
    AsWritten,
    Decoded(Decoder),
    Compact(Compactor),
}

impl TextReader {
    pub(super) fn new(reading: ReadMode) -> Self {
        match reading {
            ReadMode::AsWritten => TextReader::AsWritten,
            ReadMode::Decoded => TextReader::Decoded(Decoder::default()),
            ReadMode::Compact => TextReader::Compact(Compactor::default()),
        }
    }

    /// Reads the byte at position `at` and passes the resulting steps to `give`.
    pub(super) fn push(&mut self, byte: u8, at: usize, give: &mut impl FnMut(ReaderOutput)) {
        match self {
            TextReader::AsWritten => {
                give(ReaderOutput::Byte(DecodedByte { byte, start: at, end: at + 1 }))
            }
            TextReader::Decoded(decoder) => decoder.push(byte, at, give),
            TextReader::Compact(compactor) => compactor.push(byte, at, give),
        }
    }

    /// Passes the bytes that are still held back at the end of a text to `give`.
    pub(super) fn finish(&mut self, give: &mut impl FnMut(ReaderOutput)) {
        match self {
            TextReader::AsWritten | TextReader::Compact(_) => {}
            TextReader::Decoded(decoder) => decoder.give_up(give),
        }
    }

    /// The position of the first byte that is held back.
    pub(super) fn held_from(&self) -> Option<usize> {
        match self {
            TextReader::AsWritten | TextReader::Compact(_) => None,
            TextReader::Decoded(decoder) => {
                (decoder.length > 0 || decoder.high.is_some()).then(|| decoder.first())
            }
        }
    }
}

/// The length of the longest escape, `\u00e9`.
const ESCAPE_BYTES_MAX: usize = 6;

/// Decodes `%2F`, `\n`, `\/` and `\u00e9`.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// An incomplete escape.
    escape: [u8; ESCAPE_BYTES_MAX],
    length: usize,
    start: usize,
    /// A UTF-16 high surrogate from the preceding escape, with its position.
    high: Option<(u16, usize)>,
}

impl Decoder {
    fn push(&mut self, byte: u8, at: usize, give: &mut impl FnMut(ReaderOutput)) {
        if self.length == 0 {
            if byte == b'%' || byte == b'\\' {
                self.start = at;
                self.escape[0] = byte;
                self.length = 1;
            } else {
                self.high = None;
                give(ReaderOutput::Byte(DecodedByte { byte, start: at, end: at + 1 }));
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

    /// True if a byte can continue the escape.
    fn goes_on(&self, byte: u8) -> bool {
        match (&self.escape[..self.length], byte) {
            ([b'\\'], _) => b"nrtbfu\"\\/".contains(&byte),
            _ => byte.is_ascii_hexdigit(),
        }
    }

    /// Passes the character of a complete escape to `give`.
    fn decode(&mut self, end: usize, give: &mut impl FnMut(ReaderOutput)) {
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
        give(ReaderOutput::Byte(DecodedByte { byte, start, end }));
    }

    /// Passes the character of a UTF-16 code unit, or of a surrogate pair, to `give`.
    fn decode_unit(
        &mut self,
        unit: u16,
        start: usize,
        end: usize,
        give: &mut impl FnMut(ReaderOutput),
    ) {
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
                give(ReaderOutput::Byte(DecodedByte { byte, start, end }));
            }
        }
    }

    /// Passes the bytes of an invalid escape to `give` unchanged.
    fn give_up(&mut self, give: &mut impl FnMut(ReaderOutput)) {
        self.high = None;
        for (at, byte) in (self.start..).zip(&self.escape[..self.length]) {
            give(ReaderOutput::Byte(DecodedByte { byte: *byte, start: at, end: at + 1 }));
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

/// Skips white space, also in the form of JSON escapes such as `\n`.
#[derive(Debug, Default)]
pub(super) struct Compactor {
    /// The number of bytes skipped since the last byte that was passed on.
    left_out: usize,
    after_backslash: bool,
}

impl Compactor {
    fn push(&mut self, byte: u8, at: usize, give: &mut impl FnMut(ReaderOutput)) {
        let was_escape = std::mem::take(&mut self.after_backslash) && b"nrt".contains(&byte);
        if was_escape || byte.is_ascii_whitespace() || byte == b'\\' {
            self.after_backslash = byte == b'\\';
            self.left_out += 1;
            if self.left_out > WRAP_BYTES_MAX {
                give(ReaderOutput::Break);
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
            give(ReaderOutput::Byte(DecodedByte { byte, start: at, end: at + 1 }));
        } else {
            give(ReaderOutput::Break);
        }
    }
}
