//! Matches names against shell patterns.

/// Returns true if `pattern` matches all of `name`: `*` matches any characters (`/` too), `?` one character, `[a-z]`
/// one of these, `[!a-z]` one of the others; `\` escapes the next character, and a `[` without `]` matches itself.
/// O(|pattern| |name|).
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Position in `pattern` after the last star, and position in `name` of the first character that the star does not match yet.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            p += 1;
            star = Some((p, n));
        } else if let Some(taken) = one(&pattern[p..], name[n]) {
            p += taken;
            n += 1;
        } else if let Some((after, first)) = star {
            (p, n) = (after, first + 1);
            star = Some((after, first + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&rest| rest == '*')
}

/// Returns the number of characters at the beginning of `pattern` that together match `character`; `None` if they do
/// not match.
fn one(pattern: &[char], character: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['\\', itself, ..] => (*itself == character).then_some(2),
        ['[', rest @ ..] if closing(rest).is_some() => {
            let end = closing(rest)?;
            let (negated, set) = match &rest[..end] {
                ['!' | '^', set @ ..] => (true, set),
                set => (false, set),
            };
            (in_set(set, character) != negated).then_some(end + 2)
        }
        [itself, ..] => (*itself == character).then_some(1),
        [] => None,
    }
}

/// Returns true if `pattern` surely matches every name that `other` matches. Compares only the simple cases: a pattern of letters
/// and `*`, and an `other` without sets and escapes. Then each wildcard of `other` lies in a part that a `*` matches.
pub fn covers(pattern: &str, other: &str) -> bool {
    let is_simple = !pattern.contains(['?', '[', '\\']) && !other.contains(['[', '\\']);
    pattern == other || (is_simple && matches(pattern, other))
}

/// Returns the position of the `]` that closes a set `[...]`; a `]` at the first position belongs to the set.
fn closing(set: &[char]) -> Option<usize> {
    let first = 1 + usize::from(matches!(set, ['!' | '^', ..]));
    set.iter().skip(first).position(|&c| c == ']').map(|at| at + first)
}

fn in_set(mut set: &[char], character: char) -> bool {
    loop {
        let (is, rest) = match set {
            [low, '-', high, rest @ ..] => ((*low..=*high).contains(&character), rest),
            [one, rest @ ..] => (*one == character, rest),
            [] => return false,
        };
        if is {
            return true;
        }
        set = rest;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{covers, matches};

    #[test]
    fn patterns() {
        for (pattern, name, is) in [
            ("*", "", true),
            ("*", "/scratch/out.nc", true),
            ("*.nc", "/scratch/out.nc", true),
            ("*.nc", "out.nc4", false),
            ("wrfout*", "wrfout_d01", true),
            ("wrfout*", "/run/wrfout_d01", false),
            ("*/dump.*", "/a/b/dump.7", true),
            ("file?", "file1", true),
            ("file?", "file", false),
            ("f[a-c]x", "fbx", true),
            ("f[!a-c]x", "fbx", false),
            ("f[]x]", "f]", true),
            ("f[x", "f[x", true),
            (r"\*.nc", "*.nc", true),
            (r"\*.nc", "a.nc", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), is, "{pattern} {name}");
        }
        // With unbounded backtracking, this would not end.
        assert!(!matches(&"a*".repeat(2000), &"a".repeat(1999)));
        // A set as long as an environment variable can be takes no stack.
        assert!(matches(&format!("[{}b]", "a".repeat(2_000_000)), "b"));
    }

    #[test]
    fn a_pattern_that_covers_another() {
        for (pattern, other, is) in [
            ("/scratch/*", "/scratch/*.nc", true),
            ("/scratch/*.nc", "/scratch/*", false),
            ("/scratch/*", "/scratch/run?/out", true),
            ("*", "[ab]", false),
            ("[ab]", "[ab]", true),
            ("a?", "ab", false),
            ("*b", "[ab]", false),
        ] {
            assert_eq!(covers(pattern, other), is, "{pattern} {other}");
        }
    }

    /// Matches by the recursion of textbooks, for comparison.
    fn slow(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => slow(rest, name) || (!name.is_empty() && slow(pattern, &name[1..])),
            ([b'?', rest @ ..], [_, others @ ..]) => slow(rest, others),
            ([a, rest @ ..], [b, others @ ..]) => a == b && slow(rest, others),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn stars_and_marks(pattern in "[ab*?]{0,8}", name in "[ab]{0,8}") {
            prop_assert_eq!(matches(&pattern, &name), slow(pattern.as_bytes(), name.as_bytes()));
        }

        #[test]
        fn what_a_pattern_covers_it_matches(pattern in "[ab*?]{0,4}", other in "[ab*?]{0,6}", name in "[ab]{0,6}") {
            prop_assert!(!covers(&pattern, &other) || !matches(&other, &name) || matches(&pattern, &name));
        }

        #[test]
        fn no_pattern_makes_it_panic(pattern in r"([]\[!^*?\\a-]|\PC){0,20}", name in r"([]\[a-]|\PC){0,20}") {
            matches(&pattern, &name);
        }
    }
}
