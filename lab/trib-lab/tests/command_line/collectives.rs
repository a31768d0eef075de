//! Tests `trib-lab hsumma`.

use crate::program::{error, json, said};

#[test]
fn hsumma_is_right_and_its_communication_stands_apart() {
    let arguments = ["hsumma", "--ranks", "6", "--groups", "1x3", "--n", "48", "--block", "4", "--outer-block", "8"];
    let table = said(&arguments);
    assert!(
        table.contains("48 x 48, on 2 x 3 ranks, broadcast binomial") && table.contains("communication s"),
        "{table}"
    );
    let all = json(&[&arguments[..], &["--json"]].concat());
    for name in ["summa", "hsumma"] {
        assert_eq!(all[name]["verified"], true);
        for key in ["communication", "computation", "total"] {
            assert!(all[name]["seconds"][key].as_f64().unwrap() >= 0.0, "{name} {key}");
        }
    }
    assert_eq!((&all["summa"]["groups"], &all["hsumma"]["groups"]), (&[1, 1][..].into(), &[1, 3][..].into()));
}

#[test]
fn what_does_not_fit_hsumma_is_named() {
    for (arguments, expected) in [
        (&["--grid", "3x5"][..], "grid: 3x5; allowed: rows and columns whose product is 16"),
        (&["--groups", "3x2"], "rows of groups: 3; allowed: a divisor of 4"),
        (&["--groups", "2"], "2 numbers of 1 or more, separated by x"),
        (&["--n", "510"], "n: 510; allowed: a multiple of 4"),
        (&["--block", "24"], "outer block: 24; allowed: a divisor of 128"),
        (&["--block", "24", "--outer-block", "64"], "block: 24; allowed: a divisor of 64"),
        (&["--broadcast", "radio"], "allowed: flat, chain, pipeline"),
        (&["--segment", "12"], "allowed: a multiple of 8 above 0"),
    ] {
        let line = error(&[&["hsumma"], arguments].concat());
        assert!(line.contains(expected), "{line}");
    }
}
