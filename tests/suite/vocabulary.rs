//! Five words that had several meanings each have one at most in the product's source (docs/how-it-works/vocabulary.md).

use std::path::Path;

use tributary_testing::layers::sources_below;

/// Folders of the product's source.
const FOLDERS: [&str; 8] = [
    "src",
    "base/src",
    "abi/src",
    "drivers/src",
    "bindings/mpiio/src",
    "bindings/common/src",
    "bindings/c/src",
    "bindings/gio/src",
];

/// The word, the maximum number of its uses, the only meaning, and what to say for others.
const WORDS: [(&str, usize, &str, &str); 5] = [
    ("behind", 20, "write-behind", "past an offset, after another in an order, the next definition"),
    ("words", 5, "text", "integers, fields, handles"),
    ("again", 8, "in messages: once more", "reused, repeated, reopened, a second time"),
    ("alone", 5, "in messages: without other ranks", "independent, a single rank, on its own core"),
    ("told", 0, "none", "sent, reported, known, printed"),
];

#[test]
fn five_words_have_one_meaning_each() {
    let mut files = Vec::new();
    FOLDERS.iter().for_each(|folder| sources_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut files));
    assert!(files.len() > 250, "{} files", files.len());
    let mut wrong = Vec::new();
    for (word, most, meaning, instead) in WORDS {
        let mut places = Vec::new();
        for file in &files {
            let text = std::fs::read_to_string(file).unwrap();
            for (number, line) in text.lines().enumerate() {
                let all = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
                let uses = all.filter(|part| part.eq_ignore_ascii_case(word)).count();
                places.extend(std::iter::repeat_n(format!("{}:{}", file.display(), number + 1), uses));
            }
        }
        if places.len() > most {
            let places = places.join("\n");
            wrong.push(format!("\"{word}\" means {meaning}, at most {most} times; or say: {instead}\n{places}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
