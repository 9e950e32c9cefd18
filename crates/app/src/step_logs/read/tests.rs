//! Tests of positions of logs.

use super::*;

#[test]
fn a_position_is_read_as_it_is_written() {
    let position = LogPosition { chunk: 12, seq: 34 };
    assert_eq!(position.to_string().parse(), Ok(position));
    for text in ["", "12", "12.", ".", "a.b", "-1.2", "1.2.3", "99999999999999999999.1"] {
        assert_eq!(text.parse::<LogPosition>(), Err(NotALogPosition(text.to_owned())));
    }
}
