//! Damages texts, for tests of parsers.

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Texts that replace characters of a good text.
const PIECES: [&str; 14] = [
    "",
    "0",
    "-1",
    "1e308",
    "1e-320",
    "18446744073709551615",
    "9223372036854775808",
    "null",
    "[]",
    "{}",
    "\"",
    "\n",
    "\u{0}",
    "é",
];

/// Returns a strategy for texts made from `good`: with replaced pieces, cut off, or repeated.
pub fn damaged(good: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let piece = (any::<Index>(), 0_usize..6, select(&PIECES[..]));
    let cut = prop::option::weighted(0.2, any::<Index>());
    (prop::collection::vec(piece, 1..4), cut, 1_usize..3).prop_map(move |(pieces, cut, times)| {
        let mut bytes = good.repeat(times).into_bytes();
        for (at, length, piece) in pieces {
            let at = at.index(bytes.len() + 1);
            // A whole number, where there is one.
            let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let end = bytes.len().min(at + digits.max(length));
            bytes.splice(at..end, piece.bytes());
        }
        bytes.truncate(cut.map_or(usize::MAX, |cut| cut.index(bytes.len() + 1)));
        bytes
    })
}
