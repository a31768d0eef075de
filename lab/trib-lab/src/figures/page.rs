//! Makes one self-contained HTML page of figures and numbers.

use maud::{DOCTYPE, PreEscaped, html};

use super::panels::Figure;
use super::rows::Results;
use super::summary::Median;
use super::table;

const STYLE: &str = "\
body { font: 15px/1.5 Helvetica, Arial, sans-serif; color: #1f2328; max-width: 1080px; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3em .6em; border-bottom: 1px solid #d0d7de; }
th:nth-child(n+5), td:nth-child(n+5) { text-align: right; }
.note { color: #a40e26; }
figure { margin: 2em 0; } svg { max-width: 100%; height: auto; }";

/// Returns the page as HTML.
pub fn html(results: &Results, medians: &[Median], figures: &[(Figure, String)]) -> String {
    let machine = &results.machine;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Collective writes on " (machine) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Collective writes on " (machine) }
                p {
                    "Figures 4 and 5 of " i { "Improving All-to-Many Personalized Communication in Two-Phase I/O" }
                    " (Kang et al., SC 2020), measured on " (machine) ". Phases are those of the slowest rank, of the run \
                     with the median time. Hybrid: lists by the balanced algorithm, data in ascending order. Not divided: \
                     a program on plain MPI-IO wrote, without the library and with it preloaded; its time is known as a \
                     whole, includes setting the view, and is to be compared with these two bars only."
                }
                @for note in &results.notes { p.note { (note) } }
                @for (figure, svg) in figures { figure id=(figure.name) { (PreEscaped(svg)) } }
                table {
                    thead { tr { @for name in table::HEAD { th { (name) } } } }
                    tbody { @for median in medians { tr { @for cell in table::cells(median) { td { (cell) } } } } }
                }
            }
        }
    };
    page.into_string()
}
