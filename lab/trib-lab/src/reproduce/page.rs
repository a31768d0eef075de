//! Makes one self-contained HTML page of findings and figures.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use trib::Failure;
use tributary_lab::papers::Verdict;

use super::findings::{Finding, Found};
use super::{plot, table};

const STYLE: &str = "\
body { font: 15px/1.5 Helvetica, Arial, sans-serif; color: #1f2328; max-width: 1080px; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .45em .6em; border-bottom: 1px solid #d0d7de; }
td:nth-child(3) { white-space: pre-line; }
.where, .more, .paper { color: #57606a; }
.verdict { font-weight: bold; white-space: nowrap; }
.good { color: #116329; } .bad { color: #a40e26; }
figure { margin: 2em 0; } figcaption { color: #57606a; } svg { max-width: 100%; height: auto; }";

/// Returns the page as HTML.
///
/// # Errors
/// A figure that cannot be drawn.
pub fn html(found: &[Found<'_>]) -> Result<String, Failure> {
    let sections = found.iter().map(section).collect::<Result<Vec<_>, _>>()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Tributary: the papers, reproduced" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "The papers, reproduced" }
                p { "The claims of five papers, checked by measurement or simulation with " code { "trib-lab reproduce" } ". A claim that \
                is not reproduced stays, with the reason." }
                p { b { (table::summary(found)) } }
                nav { ul { @for found in found { li { a href={ "#" (found.paper.id) } { (found.paper.title) } } } } }
                @for section in sections { (section) }
            }
        }
    };
    Ok(page.into_string())
}

fn section(found: &Found<'_>) -> Result<Markup, Failure> {
    let paper = found.paper;
    let figures = found.figures.iter().map(|drawn| Ok((drawn.figure, plot::svg(drawn)?)));
    let figures = figures.collect::<Result<Vec<_>, Failure>>()?;
    Ok(html! {
        h2 id=(paper.id) { (paper.title) }
        p.paper { (paper.authors) ". " (paper.venue) " " (paper.year) "." }
        @if !found.findings.is_empty() {
            table {
                thead { tr { th { "claim" } th { "what the paper says" } th { "found" } th { "bound" } th { "verdict" } } }
                tbody { @for finding in &found.findings { (row(finding)) } }
            }
        }
        @for (figure, svg) in figures {
            figure {
                (PreEscaped(svg))
                figcaption { b { (figure.place) } ": " (figure.title) }
            }
        }
    })
}

fn row(finding: &Finding<'_>) -> Markup {
    let claim = finding.claim;
    let good = finding.verdict == Verdict::Reproduced;
    html! {
        tr {
            td { code { (claim.id) } }
            td {
                span.where { (claim.place) ": " } (claim.says)
                @if let Some(note) = &claim.note { div.more { "Simulated: " (note) } }
                @if let Some(reason) = &claim.reason { div.more { "Why not: " (reason) } }
            }
            td { (table::values(&finding.values, &claim.unit)) }
            td { (claim.expect.to_string()) }
            td { span class={ "verdict " (if good { "good" } else { "bad" }) } {
                (finding.verdict.to_string()) @if finding.verdict != claim.verdict { " (changed)" }
            } }
        }
    }
}
