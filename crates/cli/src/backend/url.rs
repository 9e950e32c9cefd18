//! Parts of URLs.

/// Percent-encodes a path segment or a value of a query.
pub(crate) fn segment(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_path_cannot_become_two() {
        assert_eq!(segment("a/b?c d"), "a%2Fb%3Fc%20d");
        assert_eq!(segment("plain-1.x_y~"), "plain-1.x_y~");
    }
}
