use proptest::prelude::*;

use super::*;
use crate::exchange::KERNELS;
use crate::schedule::ThrottleMode;

/// For every key: allowed values other than the default, and values that are not allowed.
const VALUES: &[(&str, &[&str], &[&str])] = &[
    ("cb_nodes", &["1", "64"], &["0", "-1", "", "many"]),
    ("cb_buffer_size", &["1", "4194304"], &["0", "4Mbit", "-4", "1e6"]),
    ("cb_config_list", &["*:1", "*:17"], &["*:0", "node3:1", "node1,node2", "*:1,*:2"]),
    ("striping_unit", &["1048576"], &["0", "-1", "wide"]),
    ("striping_factor", &["1", "65532"], &["0", "-1", "65533"]),
    ("start_iodevice", &["0", "65534"], &["65535", "-2", "any"]),
    ("overstriping_ratio", &["2", "65532"], &["0", "-1", "65533", "auto"]),
    ("romio_cb_write", &["enable", "disable"], &["true", "1", ""]),
    ("romio_cb_read", &["enable", "disable"], &["yes"]),
    ("romio_ds_write", &["enable", "disable"], &["no"]),
    ("romio_ds_read", &["enable", "disable"], &["auto"]),
    ("direct_write", &["enable", "disable"], &["true", ""]),
    ("trib_announce_writes", &["true"], &["enable", "1"]),
    ("trib_aggregators_fixed", &["true"], &["enable", "1"]),
    ("romio_no_indep_rw", &["true"], &["enable", "1"]),
    ("nc_num_aggrs_per_node", &["1", "4"], &["-1", "x"]),
    ("trib_kernel", &["balanced", "two_layer"], &["common", ""]),
    ("trib_kernel_meta", &["auto", "ascending_isend", "spread_out", "two_layer"], &["two-layer", "bruck", ""]),
    ("trib_kernel_data", &["ascending_issend", "pairwise"], &["automatic"]),
    ("trib_throttle", &["none", "8"], &["common", ""]),
    ("trib_throttle_meta", &["default", "none", "1", "4294967295"], &["-1", "4294967296", "all"]),
    ("trib_throttle_data", &["none", "16"], &["1.5"]),
    ("trib_throttle_mode", &["batch", "window"], &["sliding"]),
    ("trib_rank_list", &["node_round_robin", "3,1,2,0"], &["", "random", "1,,2", "0-3"]),
    ("trib_two_layer_outer", &["balanced", "pairwise"], &["two_layer"]),
    ("trib_driver", &["posix", "lustre", "gpfs", "nfs"], &["ufs", "pvfs2"]),
    (
        "trib_placement",
        &["stride:64", "spread", "lowest_per_node", "list:0,4,8"],
        &["stride:0", "stride", "list:", "far"],
    ),
    ("trib_overlap", &["rank_order"], &["first"]),
    ("trib_machine", &["machine.json", "/etc/trib/a machine"], &["a;b", "a#b"]),
    ("trib_tiny_call", &["0", "4096"], &["-1", "tiny"]),
    ("trib_ranks_per_node", &["42"], &["-42"]),
    ("trib_write_buffers", &["1", "8"], &["0"]),
    ("trib_write_behind", &["auto", "4096"], &["-1", "later"]),
    ("trib_direct_min", &["1048576"], &["0"]),
    ("trib_shared_memory", &["enable", "disable"], &["yes", ""]),
    ("trib_host_domains", &["enable", "disable"], &["yes", ""]),
    ("trib_stall_timeout", &["0", "1"], &["-1", "long"]),
    ("trib_on_failure", &["return"], &["exit", ""]),
];

#[test]
fn every_key_takes_what_it_allows_and_refuses_the_rest() {
    assert!(KEYS.iter().map(|row| row.key).eq(VALUES.iter().map(|values| values.0)), "a hint without values to test");
    for (key, good, bad) in VALUES {
        let default = Hints::default();
        for value in *good {
            let mut hints = default.clone();
            hints.set(key, value).unwrap();
            assert_ne!(hints, default, "{key}={value}");
            assert_eq!(hints.get(key).as_deref(), Some(*value), "{key}");
        }
        for value in *bad {
            let mut hints = default.clone();
            let error = hints.set(key, value).unwrap_err();
            assert!(
                matches!(&error, Error::Hint { key: k, value: v, allowed, .. } if k == key && v == value && !allowed.is_empty()),
                "{error}"
            );
            assert_eq!(hints, default);
        }
    }
}

#[test]
fn values_survive_text_and_serde() {
    for (key, good, _) in VALUES {
        for value in good.iter() {
            let hints = Hints::parse(&format!("{key}={value}")).unwrap();
            let text: String = hints.table().iter().map(|row| format!("{}={};", row.key, row.value)).collect();
            assert_eq!(Hints::parse(&text).unwrap(), hints);
            assert_eq!(crate::wire::from_bytes(&crate::wire::to_bytes(&hints)), Some(hints.clone()));
            let json = serde_json::to_string(&hints).unwrap();
            assert_eq!(serde_json::from_str::<Hints>(&json).unwrap(), hints);
        }
    }
    let short: Hints = serde_json::from_str(r#"{"trib_kernel_data": "two_layer"}"#).unwrap();
    assert_eq!(short, Hints::parse("trib_kernel_data=two_layer").unwrap());
    assert!(serde_json::from_str::<Hints>(r#"{"trib_kernel_data": "bruck"}"#).is_err());
    assert!(serde_json::from_str::<Hints>(r#"{"kernel_data": "pairwise"}"#).is_err());
}

#[test]
fn text_with_comments_blanks_and_keys_of_others() {
    let hints = Hints::parse(
        "# a comment; cb_nodes=9\n cb_nodes = 3 ; ; nc_driver=mpiio\nCB_NODES=x\r\n\
         TRIB_KERNEL=x; cb_nodes=4 # 5; cb_nodes=6\n trib_driver=LUSTRE",
    );
    let wanted = Hints { cb_nodes: Some(4), driver: DriverName::Lustre, ..Hints::default() };
    assert_eq!(hints.unwrap(), wanted);
    assert_eq!(Hints::parse("").unwrap(), Hints::default());
    assert_eq!(Hints::default().get("nc_driver"), None);
}

#[test]
fn a_driver_gets_its_hints() {
    assert_eq!(Hints::default().for_driver(), crate::drivers::DriverHints::default());
    let text = "cb_nodes=2;cb_config_list=*:3;cb_buffer_size=4;striping_unit=5;striping_factor=6;start_iodevice=0;overstriping_ratio=4;direct_write=enable;trib_announce_writes=true;trib_placement=stride:7";
    let due = crate::drivers::DriverHints {
        striping_unit: Some(5),
        striping_factor: Some(6),
        start_iodevice: Some(0),
        overstriping_ratio: 4,
        cb_nodes: Some(2),
        cb_config_list: Some(3),
        cb_buffer_size: 4,
        direct_write: Some(true),
        announces_writes: true,
        placement: PlacementHint::Stride(7),
    };
    assert_eq!(Hints::parse(text).unwrap().for_driver(), due);
}

#[test]
fn a_text_with_an_error_changes_nothing() {
    for (text, says) in [
        ("cb_nodes=3;cb_nodes", "hints: cb_nodes; allowed: key=value"),
        ("cb_nodes=3;cb_nodes=0", "hint cb_nodes: `0` is not allowed; allowed: auto|1 or more"),
        ("cb_nodes=3;trib_kernel_mta=pairwise", "did you mean trib_kernel_meta?"),
        (
            "cb_nodes=3;trib_frobnicate=1",
            "known keys: trib_announce_writes, trib_aggregators_fixed, trib_kernel, trib_kernel_meta,",
        ),
    ] {
        let mut hints = Hints::default();
        let error = hints.apply(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(!error.contains('\n'));
        assert_eq!(hints, Hints::default());
    }
}

#[test]
fn the_environment_wins_over_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hints");
    std::fs::write(&path, "cb_nodes=2\ncb_buffer_size=1M\n").unwrap();
    let variables = |text: Option<&'static str>| {
        let path = path.clone();
        move |name: &str| match name {
            "TRIB_HINTS" => text.map(OsString::from),
            "TRIB_HINTS_FILE" => Some(path.clone().into_os_string()),
            _ => None,
        }
    };
    let hints = Hints::from_variables(variables(Some("cb_nodes=7"))).unwrap();
    assert_eq!((hints.cb_nodes, hints.cb_buffer_size), (Some(7), Some(1 << 20)));
    assert_eq!(Hints::from_variables(variables(None)).unwrap().cb_nodes, Some(2));
    assert_eq!(Hints::from_variables(|_| None).unwrap(), Hints::default());
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Hints::from_variables(variables(None)), Err(Error::Argument { .. })));
}

#[test]
fn throttles() {
    let throttle = |text: &str| {
        let hints = Hints::parse(text).unwrap();
        (hints.throttle_meta(), hints.throttle_data())
    };
    assert_eq!(throttle(""), (Throttle::sliding(50), Throttle::sliding(50)));
    assert_eq!(throttle("trib_throttle_mode=batch"), (Throttle::batch(32), Throttle::batch(32)));
    assert_eq!(throttle("trib_kernel_meta=ascending_isend").0, Throttle::NONE);
    assert_eq!(throttle("trib_kernel_meta=ascending_issend;trib_throttle_meta=8").0, Throttle::batch(8));
    assert_eq!(throttle("trib_kernel_data=spread_out;trib_throttle_mode=window").1, Throttle::sliding(50));
    assert_eq!(throttle("trib_throttle_data=none;trib_throttle_mode=window").1, Throttle::NONE);
    assert_eq!(throttle("trib_throttle_data=0").1, Throttle::NONE);
    assert_eq!(throttle("trib_kernel_data=two_layer").1, Throttle::NONE);
    assert_eq!(throttle("trib_kernel_data=two_layer;trib_two_layer_outer=balanced").1, Throttle::sliding(50));
    assert_eq!(throttle("trib_kernel=ascending_isend"), (Throttle::NONE, Throttle::NONE));
    assert_eq!(throttle("trib_throttle=4;trib_throttle_data=none"), (Throttle::batch(4), Throttle::NONE));
    assert_eq!(throttle("trib_throttle=4;trib_throttle_meta=common").0, Throttle::batch(4));
    assert_eq!(throttle("trib_throttle_meta=4"), (Throttle::batch(4), Throttle::sliding(50)));
    assert_eq!(throttle("trib_throttle_data=4;trib_throttle_mode=window").1, Throttle::sliding(4));
}

#[test]
fn hints_are_checked_against_the_ranks() {
    for text in [
        "",
        "trib_rank_list=3,0,2,1",
        "trib_placement=list:3,0",
        "trib_placement=list:3,0;cb_nodes=2",
        "cb_nodes=99",
        "trib_kernel_data=pairwise;trib_throttle_meta=7",
    ] {
        Hints::parse(text).unwrap().check(4).unwrap();
    }
    for (text, says) in [
        ("trib_rank_list=3,0,2", "a list of 3 ranks"),
        ("trib_rank_list=3,0,2,1,4", "rank 4"),
        ("trib_rank_list=3,0,2,2", "rank 2 twice"),
        ("trib_placement=list:0,4", "ranks below 4"),
        ("trib_placement=list:0,0", "rank 0 twice"),
        ("trib_placement=list:0,1;cb_nodes=3", "hint cb_nodes"),
    ] {
        let error = Hints::parse(text).unwrap().check(4).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn kernels_spell_themselves() {
    let all: Vec<_> = KernelHint::all().map(|kernel| kernel.to_string()).collect();
    assert_eq!(KernelHint::allowed(), format!("auto|{}", all.join("|")));
    for kernel in KernelHint::all().chain([KernelHint::Auto]) {
        assert_eq!(kernel.to_string().parse(), Ok(kernel));
        assert_eq!(serde_json::to_value(kernel).unwrap(), kernel.to_string());
    }
    assert_eq!(serde_json::to_value(ThrottleMode::Sliding).unwrap(), "window");
}

/// Checks each coupled kernel in the metadata phase, in the data phase and between two layers.
#[test]
fn a_coupled_kernel_takes_no_throttle_but_its_own() {
    for kernel in KERNELS.iter().filter(|kernel| kernel.coupled) {
        let hints = |phase: &str, throttle: &str| {
            let flat = format!("trib_kernel_{phase}={kernel};trib_throttle_{phase}={throttle}");
            let layers =
                format!("trib_kernel_{phase}=two_layer;trib_two_layer_outer={kernel};trib_throttle_{phase}={throttle}");
            [flat, layers].map(|text| Hints::parse(&text).unwrap())
        };
        for phase in ["meta", "data"] {
            for throttle in ["default", "1"] {
                for hints in hints(phase, throttle) {
                    hints.check(4).unwrap();
                    let kept = if phase == "meta" { hints.throttle_meta() } else { hints.throttle_data() };
                    assert_eq!(kept, Throttle::batch(1));
                }
            }
            for throttle in ["2", "none"] {
                for hints in hints(phase, throttle) {
                    let error = hints.check(4).unwrap_err().to_string();
                    assert!(
                        error.contains(&format!("hint trib_throttle_{phase}")) && error.contains(kernel.name),
                        "{error}"
                    );
                }
            }
        }
    }
}

/// Every hint has a sentence that says when a user sets it.
#[test]
fn every_hint_says_when_it_is_set() {
    for row in Hints::default().table() {
        assert!(row.when.ends_with('.') && !row.when.contains('\n'), "{}: {:?}", row.key, row.when);
    }
}

/// The table marks the hints that have an effect only if ranks exchange data by messages.
#[test]
fn hints_of_exchanges_say_so() {
    let (of_exchanges, others): (Vec<&str>, Vec<&str>) =
        KEYS.iter().map(|row| row.key).partition(|key| Hints::is_only_of_exchanges(key));
    assert!(of_exchanges.contains(&"cb_nodes") && others.contains(&"cb_buffer_size"), "{of_exchanges:?}");
    let kinds = ["trib_kernel_", "trib_throttle_", "trib_two_layer_"];
    assert!(others.iter().all(|key| kinds.iter().all(|kind| !key.starts_with(kind))), "{others:?}");
    assert!(!Hints::is_only_of_exchanges("no such hint"));
}

/// The Levenshtein distance by the recursion of textbooks, for comparison.
fn slow_edits(a: &[u8], b: &[u8]) -> usize {
    match (a, b) {
        ([], rest) | (rest, []) => rest.len(),
        ([x, a_rest @ ..], [y, b_rest @ ..]) => (slow_edits(a_rest, b_rest) + usize::from(x != y))
            .min(slow_edits(a_rest, b) + 1)
            .min(slow_edits(a, b_rest) + 1),
    }
}

proptest! {
    #[test]
    fn edits_is_levenshtein(a in "[abc]{0,5}", b in "[abc]{0,5}") {
        prop_assert_eq!(edits(&a, &b), slow_edits(a.as_bytes(), b.as_bytes()));
    }

    #[test]
    fn no_text_makes_it_panic(text in "([a-z_=;#,:*0-9]|trib_|\n|\\PC){0,60}") {
        let _ = Hints::parse(&text).map(|hints| hints.check(3));
    }

    #[test]
    fn no_value_makes_it_panic(key in 0..KEYS.len(), value in "(stride:|list:|[*:,0-9kMGTiB]){0,12}") {
        let mut hints = Hints::default();
        if hints.set(KEYS[key].key, &value).is_ok() {
            let kept = hints.get(KEYS[key].key).unwrap();
            let text = format!("{}={kept}", KEYS[key].key);
            prop_assert_eq!(Hints::parse(&text), Ok(hints));
        }
    }
}
