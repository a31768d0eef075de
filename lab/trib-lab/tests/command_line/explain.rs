//! Tests `trib-lab explain`: a capture on a simulated machine.

use crate::program::{error, json, said};

const BTIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/captures/btio.tribcap");

#[test]
fn a_machine_gives_a_prediction_and_one_hint() {
    let on_several = ["explain", BTIO, "--machine", "summit", "--ranks-per-node", "4"];
    let predicted = json(&[&on_several[..], &["--json"]].concat());
    let phases = predicted["phases"].as_array().unwrap();
    let total = phases.last().unwrap();
    assert_eq!((&total["phase"], &predicted["machine"]), (&"total".into(), &"summit".into()), "{predicted}");
    let sum: f64 = phases[..phases.len() - 1].iter().map(|phase| phase["predicted"].as_f64().unwrap()).sum();
    let all = total["predicted"].as_f64().unwrap();
    assert!(all > 0.0 && (sum - all).abs() < 1e-9 * all.max(1.0), "{predicted}");
    assert!(predicted["tried"].as_u64().unwrap() > 20, "{predicted}");
    let text = said(&on_several);
    assert!(text.contains("Predicted against measured: call 0 on summit"), "{text}");
    match predicted["best"]["hint"].as_str() {
        Some(hint) => {
            assert!(predicted["best"]["gain"].as_f64().unwrap() > 1.0 && text.contains(hint), "{predicted}: {text}")
        }
        None => assert!(text.contains("would be faster for call 0"), "{text}"),
    }
    assert!(error(&["explain", BTIO, "--machine", "abacus"]).contains("abacus"));
    assert!(error(&["explain", "nowhere.tribcap", "--machine", "summit"]).contains("nowhere.tribcap"));
}

/// Checks a capture of one host: its ranks share memory, also on the simulated machine, unless they are put on several
/// nodes.
#[test]
fn nothing_is_predicted_where_nothing_is_sent() {
    let on_one = ["explain", BTIO, "--machine", "summit"];
    let predicted = json(&[&on_one[..], &["--json"]].concat());
    assert!(predicted["phases"].as_array().unwrap().is_empty() && predicted["best"].is_null(), "{predicted}");
    let says =
        "Of call 0 nothing would be sent between ranks (16 ranks on one node of summit, where they share memory).";
    assert!(said(&on_one).contains(says));
}
