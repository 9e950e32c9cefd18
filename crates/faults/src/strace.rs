//! Lines of strace: a call, its arguments and its result.

use std::collections::BTreeMap;

/// A finished system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SystemCall {
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
    /// The returned number; negative if the call failed.
    pub(crate) result: i64,
    /// The line where the call began, and the line where it ended.
    pub(crate) begun: usize,
    pub(crate) ended: usize,
}

/// Parses the output of `strace -f -y -xx`, in the order in which the calls began.
pub(crate) fn system_calls(text: &str) -> Vec<SystemCall> {
    let mut calls = Vec::new();
    let mut unfinished: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some(beginning) = rest.strip_suffix(" <unfinished ...>") {
            unfinished.insert(process, (number, beginning));
        } else if let Some((_, end)) =
            rest.split_once(" resumed>").filter(|_| rest.starts_with("<... "))
        {
            let Some((begun, beginning)) = unfinished.remove(process) else { continue };
            calls.extend(parse(&format!("{beginning}{end}"), begun, number));
        } else {
            calls.extend(parse(rest, number, number));
        }
    }
    // A call that never returned may have been done in part.
    calls.extend(
        unfinished
            .values()
            .filter_map(|(begun, text)| parse(&format!("{text}) = 0"), *begun, usize::MAX)),
    );
    calls.sort_by_key(|call| call.begun);
    calls
}

fn parse(text: &str, begun: usize, ended: usize) -> Option<SystemCall> {
    let (name, rest) = text.split_once('(')?;
    let (args, result) = rest.rsplit_once(" = ")?;
    let args = args.trim_end().strip_suffix(')')?;
    let result = result.split([' ', '<']).next()?.parse().ok()?;
    let args = args.split(", ").map(str::to_owned).collect();
    Some(SystemCall { name: name.to_owned(), args, result, begun, ended })
}

/// Returns the path of an argument such as `7<\x2f\x74>`, or of a text such as `"\x2f\x74"`.
pub(crate) fn path_of(arg: &str) -> Option<String> {
    let bytes = match arg.split_once('<') {
        Some((_, rest)) => unescaped(rest.strip_suffix('>')?)?,
        None => bytes_of(arg)?,
    };
    String::from_utf8(bytes).ok()
}

/// Returns the bytes of a text such as `"\x2f\x74"`.
pub(crate) fn bytes_of(arg: &str) -> Option<Vec<u8>> {
    unescaped(arg.strip_prefix('"')?.strip_suffix('"')?)
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(4);
    digits
        .map(|escape| match escape {
            [b'\\', b'x', high, low] => Some(16 * nibble(*high)? + nibble(*low)?),
            _ => None,
        })
        .collect()
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_overlap_begin_and_end_on_their_lines() {
        let text = "7  fdatasync(3<\\x2f\\x61> <unfinished ...>\n\
                    8  pwrite64(3<\\x2f\\x61>, \"\\x00\\xff\", 2, 16) = 2\n\
                    7  <... fdatasync resumed>) = 0\n\
                    8  mkdir(\"\\x2f\\x62\", 0777) = -1 EEXIST (File exists)\n\
                    8  +++ exited with 0 +++\n";
        let calls = system_calls(text);
        let seen: Vec<_> =
            calls.iter().map(|it| (it.name.as_str(), it.begun, it.ended, it.result)).collect();
        assert_eq!(seen, [("fdatasync", 0, 2, 0), ("pwrite64", 1, 1, 2), ("mkdir", 3, 3, -1)]);
        assert_eq!(path_of(&calls[0].args[0]).as_deref(), Some("/a"));
        assert_eq!(bytes_of(&calls[1].args[1]), Some(vec![0, 255]));
        assert_eq!(calls[1].args[3], "16");
    }
}
