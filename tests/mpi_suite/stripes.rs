//! Tests stripes of new files on a stand-in for Lustre (`testing/c/lustre.c`), through the operating system's own
//! calls.

use std::path::Path;

use tributary::drivers::Layout;
use tributary::error::{FileOperation, IoClass};
use tributary::{Endpoint, Error, File, Hints, Mode};
use tributary_testing::fault_sweep::preloadable;
use tributary_testing::installed::mpicc;
use tributary_testing::mpiexec::{directory, under_mpiexec_with, world};

/// Compiles the stand-in for Lustre and returns its path; empty on ranks.
fn passes_for_lustre() -> String {
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lustre.{}", mpicc().replace('/', "-")));
    match std::env::var_os("LD_PRELOAD") {
        Some(_) => String::new(),
        None => preloadable(&mpicc(), "lustre", &made).display().to_string(),
    }
}

#[test]
fn a_new_file_has_the_hinted_stripes_and_what_a_file_tells_wins() {
    let test = "stripes::a_new_file_has_the_hinted_stripes_and_what_a_file_tells_wins";
    under_mpiexec_with(test, &[1, 3], &[("LD_PRELOAD", &passes_for_lustre())], || {
        let (_world, endpoint) = world();
        let mut endpoint = Endpoint::new(Box::new(endpoint));
        let folder = directory().join("lustre");
        // Whichever rank comes first; rank 0, which makes the files, need not wait for the others.
        let _ = std::fs::create_dir(&folder);
        for (name, mode, hints, unit, factor) in [
            ("new", Mode::Create, "striping_unit=128k;striping_factor=3", 131_072, 3),
            ("new", Mode::Create, "striping_unit=1000;striping_factor=2", 131_072, 3),
            ("new", Mode::Read, "striping_factor=2", 131_072, 3),
            ("wide", Mode::Update, "striping_factor=100", 1 << 20, 4),
            ("plain", Mode::Create, "", 1 << 20, 1),
        ] {
            let hints = Hints::parse(hints).unwrap();
            let file = File::open(endpoint, folder.join(name), mode, hints).unwrap();
            let Layout { unit: own_unit, factor: own_factor, .. } = file.settings().layout;
            assert_eq!((own_unit, own_factor), (unit, factor), "{name}");
            endpoint = file.close().unwrap();
        }
        let refused = Hints::parse("striping_factor=2").unwrap();
        match File::open(endpoint, folder.join("refused"), Mode::Create, refused).err().unwrap() {
            Error::Io { rank: 0, operation, class: IoClass::NoSpace, .. } => {
                assert_eq!(operation, FileOperation::SetStripes)
            }
            other => panic!("{other}"),
        }
        assert!(!folder.join("refused").exists());
    });
}
