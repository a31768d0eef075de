//! Target: texts of hints, which are ours (`TRIB_HINTS`, and the file that `TRIB_HINTS_FILE` names), ROMIO's file, or
//! Cray's variable.

use tributary::Hints;
use tributary::hints::internals::{cray, romio};

use crate::one_line;

pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    ours(&text);
    let lines = romio(&text);
    assert!(lines.len() <= text.lines().count());
    assert!(lines.windows(2).all(|pair| pair[0].0 < pair[1].0), "numbers of lines ascend");
    for (_, line) in lines {
        if let Some((key, value)) = one_line(line) {
            assert!([&key, &value].iter().all(|word| !word.is_empty() && !word.contains(char::is_whitespace)));
        }
    }
    let name = text.lines().last().unwrap_or_default();
    if let Some(hints) = one_line(cray(&text, name)) {
        assert!(hints.iter().all(|(key, _)| !key.is_empty()));
    }
}

/// Checks that hints which are accepted are the same after printing and parsing, and that a text which is refused
/// changes nothing.
fn ours(text: &str) {
    let mut hints = Hints::default();
    if one_line(hints.apply(text)).is_none() {
        assert_eq!(hints, Hints::default(), "a text that is refused changes nothing");
        return;
    }
    let table = hints.table();
    let mut again = Hints::default();
    let mut whole = String::new();
    for row in &table {
        again.set(row.key, &row.value).unwrap_or_else(|error| panic!("its own value: {error}"));
        whole += &format!("{}={}\n", row.key, row.value);
    }
    assert_eq!(again, hints);
    assert_eq!(Hints::parse(&whole).expect("its own text"), hints);
}

pub fn seeds() -> Vec<Vec<u8>> {
    let all = Hints::default().table().into_iter().map(|row| format!("{}={}", row.key, row.value));
    [
        all.collect::<Vec<_>>().join(";"),
        "cb_nodes=4; cb_buffer_size=4MiB  # small machine\n trib_kernel_data=pairwise; trib_throttle_data=2"
            .to_string(),
        "# cb_nodes 9\n\ncb_nodes 32\n\t romio_cb_write\tenable \ncb_config_list *:*\n".to_string(),
        "wrfout*:cb_nodes=8:striping_factor=6,\n*.nc:cb_config_list=*:8:cb_nodes=4 , [!a-c]?*:romio_cb_write=enable,"
            .to_string(),
    ]
    .map(String::into_bytes)
    .to_vec()
}
