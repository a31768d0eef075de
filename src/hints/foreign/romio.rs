//! Parses ROMIO's file of hints: a key and a value on each line, `#` in the first column for a comment.
//!
//! Source: ROMIO's users guide, "Systemwide Hints". If a key is on two lines, the first counts, as in ROMIO. ROMIO ignores lines
//! that it cannot parse; here they are errors.

use crate::error::{Error, Result};

/// Returns the hints (key, value) of a text, each with its line number, from 1. An error names `file` and the line.
pub fn parse(text: &str, file: &str) -> Vec<(usize, Result<(String, String)>)> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let meant = numbered.filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
    let parts = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [key, value] => Some((key.to_string(), value.to_string())),
        _ => None,
    };
    let damaged = |number, line: &str| {
        Error::argument(format!("{file}, line {number}"), format!("`{}`", line.trim()), "a key and a value, or # first")
    };
    meant.map(|(number, line)| (number, parts(line).ok_or_else(|| damaged(number, line)))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parse;

    #[test]
    fn good_and_damaged_lines() {
        let text = "# cb_nodes 9\n\ncb_nodes 32\r\n\t romio_cb_write\tenable \ncb_nodes = 4\ncb_nodes32\n";
        let lines: Vec<_> = parse(text, "f").into_iter().map(|(n, l)| (n, l.map_err(|e| e.to_string()))).collect();
        let pair = |key: &str, value: &str| Ok((key.to_string(), value.to_string()));
        let damaged = |n, line: &str| Err(format!("f, line {n}: `{line}`; allowed: a key and a value, or # first"));
        let due = [
            (3, pair("cb_nodes", "32")),
            (4, pair("romio_cb_write", "enable")),
            (5, damaged(5, "cb_nodes = 4")),
            (6, damaged(6, "cb_nodes32")),
        ];
        assert_eq!(lines, due);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"([ \t\r\n#a-z0-9_]|\PC){0,80}") {
            parse(&text, "f");
        }
    }
}
