//! Card on which every picture is drawn, with a title, the contents and notes. The card is opaque, so that it looks the
//! same on light and dark pages.

use svg::Document;
use svg::node::element::{Rectangle, Title};

use trib::picture::ink::{self, DARK, GREY, words};

/// Width of the card in pixels.
const WIDTH: f64 = 980.0;
/// Left edge of strips in pixels.
pub const LEFT: f64 = 104.0;
/// Right edge of strips in pixels.
pub const RIGHT: f64 = 920.0;
/// Number of characters in a line of text.
const LINE: usize = 135;

/// Card that is being drawn, and the position of the next item.
pub struct Sheet {
    nodes: Vec<Box<dyn svg::Node>>,
    /// Vertical position of the next item in pixels.
    pub y: f64,
}

impl Sheet {
    /// Returns a card with a title and, below it, its subject.
    pub fn new(title: String, subject: &str) -> Self {
        let mut sheet = Self { nodes: vec![Box::new(Title::new(&title).set("id", "title"))], y: 32.0 };
        sheet.add(words(24.0, 32.0, 16, "start", DARK, title).set("font-weight", "bold"));
        for line in wrapped(subject) {
            sheet.y += 19.0;
            sheet.add(words(24.0, sheet.y, 12, "start", GREY, line));
        }
        sheet
    }

    /// Adds an element to the picture.
    pub fn add(&mut self, node: impl Into<Box<dyn svg::Node>>) {
        self.nodes.push(node.into());
    }

    /// Adds a heading to the card.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.y += 30.0;
        self.add(words(24.0, self.y, 13, "start", DARK, text).set("font-weight", "bold"));
        self.y += 12.0;
    }

    /// Adds notes below a picture.
    pub fn notes(&mut self, text: &str) {
        for line in wrapped(text) {
            self.add(words(24.0, self.y, 11, "start", GREY, line));
            self.y += 16.0;
        }
        self.y -= 16.0;
    }

    /// Returns the whole card, as SVG.
    pub fn finish(self) -> String {
        let height = self.y + 24.0;
        let back = Rectangle::new().set("x", 1).set("y", 1).set("width", WIDTH - 2.0);
        let back = back.set("height", ink::at(height - 2.0)).set("rx", 10);
        let back = back.set("fill", "#ffffff").set("stroke", "#d0d7de").set("stroke-width", "1.5");
        let whole = Document::new()
            .set("viewBox", format!("0 0 {WIDTH} {}", ink::at(height)))
            .set("width", WIDTH)
            .set("height", ink::at(height))
            .set("font-family", "Helvetica, Arial, sans-serif")
            .set("role", "img")
            .set("aria-labelledby", "title")
            .add(back);
        format!("{}\n", self.nodes.into_iter().fold(whole, Document::add))
    }
}

/// Returns the words of a text in lines of limited length.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].len() + word.len() >= LINE {
            lines.push(word.to_string());
        } else {
            let space = if lines[last].is_empty() { "" } else { " " };
            lines[last] += &format!("{space}{word}");
        }
    }
    lines
}
