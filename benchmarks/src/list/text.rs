//! Reads the text form of a list file: `ranks P`, then `rank R` and its lines `OFFSET LENGTH`.

use tributary::Extent;

use crate::error::PatternError;

use super::lists::{LARGEST, ListSection, extent};

/// Maximum number of characters of a word in a message.
const SHOWN: usize = 40;

/// A line that is not empty: its number (from 1), the start of the next line, and its words.
struct WordsLine<'a> {
    number: u64,
    end: usize,
    words: &'a [u8],
}

/// Iterates over the lines that have more than blanks and comments; `before` is the number of the line before the
/// first.
fn lines(bytes: &[u8], before: u64) -> impl Iterator<Item = WordsLine<'_>> {
    let mut end = 0;
    bytes.split_inclusive(|&byte| byte == b'\n').zip(before + 1..).filter_map(move |(line, number)| {
        end += line.len();
        let comment = line.iter().position(|&byte| byte == b'#').unwrap_or(line.len());
        let words = line[..comment].trim_ascii();
        (!words.is_empty()).then_some(WordsLine { number, end, words })
    })
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn shown(word: &[u8]) -> String {
    let cut = if word.len() > SHOWN { "..." } else { "" };
    format!("{}{cut}", word[..word.len().min(SHOWN)].escape_ascii())
}

/// Parses a number from 0 to 2^63 - 1. `what` names the number in errors.
fn number(what: &str, word: &[u8]) -> Result<u64, String> {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(format!("{what} is \"{}\", which is no number", shown(word)));
    }
    let value = digits.iter().try_fold(0u64, |value, digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0')).filter(|&value| value <= LARGEST)
    });
    match value {
        Some(value) if digits.len() == word.len() => Ok(value),
        _ => Err(format!("{what} is {}; allowed: 0 to 2^63 - 1", shown(word))),
    }
}

/// Returns the number behind `keyword`, if a line begins with this keyword.
fn keyword(line: &[u8], keyword: &str) -> Option<Result<u64, String>> {
    let mut words = words(line);
    (words.next() == Some(keyword.as_bytes())).then(|| match (words.next(), words.next()) {
        (Some(word), None) => number(keyword, word),
        _ => Err(format!("is \"{}\"; allowed: {keyword} and one number", shown(line))),
    })
}

/// Finds the position of each rank's lines in the file. O(bytes).
pub(super) fn sections(name: &str, bytes: &[u8]) -> Result<Vec<ListSection>, PatternError> {
    let wrong = |line: u64, problem: String| PatternError::input(name, format!("line {line}"), problem);
    let mut all = lines(bytes, 0);
    let Some(first) = all.next() else {
        return Err(PatternError::input(name, "file", "has no line \"ranks P\": it is empty but for comments"));
    };
    let ranks = match keyword(first.words, "ranks") {
        Some(ranks) => ranks.map_err(|problem| wrong(first.number, problem))?,
        None => {
            let problem = format!("is \"{}\"; a list begins with \"ranks P\", or with TRIBLIST", shown(first.words));
            return Err(wrong(first.number, problem));
        }
    };
    if ranks == 0 {
        return Err(wrong(first.number, "ranks is 0; allowed: 1 or more".to_string()));
    }
    let mut sections: Vec<ListSection> = Vec::new();
    for line in all {
        match (keyword(line.words, "rank"), sections.last_mut()) {
            (Some(rank), _) => {
                let rank = rank.map_err(|problem| wrong(line.number, problem))?;
                follows(rank, sections.len() as u64, ranks).map_err(|problem| wrong(line.number, problem))?;
                sections.push(ListSection { bytes: line.end..line.end, place: line.number });
            }
            (None, Some(section)) => section.bytes.end = line.end,
            (None, None) => {
                let problem = format!("is \"{}\" before the first line \"rank 0\"", shown(line.words));
                return Err(wrong(line.number, problem));
            }
        }
    }
    if (sections.len() as u64) < ranks {
        return Err(PatternError::input(name, "end", format!("rank {} of {ranks} is missing", sections.len())));
    }
    Ok(sections)
}

/// Checks that `rank` is the rank whose list must come next; the error says what is wrong.
fn follows(rank: u64, next: u64, ranks: u64) -> Result<(), String> {
    if rank >= ranks {
        return Err(format!("is rank {rank}; allowed: 0 to {}", ranks - 1));
    }
    if rank < next {
        return Err(format!("is rank {rank} again, behind rank {}", next - 1));
    }
    if rank > next {
        return Err(format!("is rank {rank}; rank {next} is missing before it"));
    }
    Ok(())
}

/// Iterates over the extents of a section that begins behind line `before`.
pub(super) fn entries<'a>(
    name: &'a str,
    bytes: &'a [u8],
    before: u64,
) -> impl Iterator<Item = Result<Extent, PatternError>> + 'a {
    lines(bytes, before).map(move |line| {
        entry(line.words).map_err(|problem| PatternError::input(name, format!("line {}", line.number), problem))
    })
}

fn entry(line: &[u8]) -> Result<Extent, String> {
    let mut words = words(line);
    match (words.next(), words.next(), words.next()) {
        (Some(offset), Some(len), None) => extent(number("offset", offset)?, number("length", len)?),
        _ => Err(format!("is \"{}\"; allowed: an offset and a length", shown(line))),
    }
}
