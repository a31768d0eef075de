//! The few elements of HTML that a page has. What they make is XML, too: every element ends.

use std::fmt::Write;

/// Text as it stands in a page: no character of it is markup, and none that a page may not have is in it.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(letter),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// A table that the keyboard can scroll. Columns from `numbers` on are of numbers, as far as `words`.
pub fn table(name: &str, header: &[&str], numbers: std::ops::Range<usize>, rows: &[Vec<String>]) -> String {
    let class = |column: usize| if numbers.contains(&column) { " class=\"number\"" } else { "" };
    let mut out = format!("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>", escape(name));
    out.push_str("<thead><tr>");
    for (column, title) in header.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(column), escape(title));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(out, "<td{}>{}</td>", class(column), escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody></table></div>\n"
}

/// A paragraph.
pub fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// A list.
pub fn list(items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escape(item))).collect();
    format!("<ul>\n{items}</ul>\n")
}

/// Something that is shown when the reader opens it; `body` is markup.
pub fn details(title: &str, body: &str) -> String {
    format!("<details><summary>{}</summary>\n{body}</details>\n", escape(title))
}

/// A time in the unit that fits it.
pub fn time(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_string(),
        at if at >= 1.0 => format!("{at:.3} s"),
        at if at >= 1e-3 => format!("{:.3} ms", at * 1e3),
        at => format!("{:.1} us", at * 1e6),
    }
}

/// A part of a whole in percent.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0} %", 100.0 * part / whole) } else { "0 %".to_string() }
}

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// So many of a thing.
pub fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_markup() {
        assert_eq!(escape("<a href=\"x\">&'\u{1}\n"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\u{fffd}\n");
        assert_eq!((grouped(0), grouped(999), grouped(1_234_567)), ("0".into(), "999".into(), "1 234 567".into()));
        assert_eq!([0.0, 2e-6, 0.25, 3.0].map(time), ["0 s", "2.0 us", "250.000 ms", "3.000 s"]);
    }
}
