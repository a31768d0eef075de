//! Writes findings as JSON: one object per paper.

use serde_json::{Value, json};

use super::findings::{Finding, Found};

/// Returns the findings of all papers as a JSON array.
pub fn array(found: &[Found<'_>]) -> Value {
    found.iter().map(paper).collect()
}

fn paper(found: &Found<'_>) -> Value {
    let paper = found.paper;
    let figures = found.figures.iter().map(|drawn| {
        let figure = drawn.figure;
        json!({ "id": figure.id, "where": figure.place, "title": figure.title, "drawing": drawn.drawing })
    });
    json!({
        "paper": paper.id,
        "title": paper.title,
        "authors": paper.authors,
        "venue": paper.venue,
        "year": paper.year,
        "claims": found.findings.iter().map(claim).collect::<Value>(),
        "figures": figures.collect::<Value>(),
    })
}

fn claim(finding: &Finding<'_>) -> Value {
    let claim = finding.claim;
    let values = finding.values.iter().map(|(name, value)| json!({ "name": name, "value": value }));
    json!({
        "id": claim.id,
        "where": claim.place,
        "says": claim.says,
        "measure": claim.measure.name,
        "unit": claim.unit,
        "bound": claim.expect,
        "values": values.collect::<Value>(),
        "verdict": finding.verdict,
        "found_last": claim.verdict,
        "reason": claim.reason,
        "note": claim.note,
        "seconds": finding.seconds,
    })
}
