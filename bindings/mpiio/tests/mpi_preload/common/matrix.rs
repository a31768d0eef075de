//! The settings with which every program runs. Everything that a program prints, and every byte that it writes, must
//! equal a run without the library.

use std::collections::BTreeMap;

use tributary_testing::settings::DRIVERS;

use super::launch::{Launch, Outcome};
use super::report::{Report, accelerated};

const KERNELS: [&str; 3] = ["ascending_issend", "balanced", "two_layer"];
/// Hints with sizes so small that every program needs several rounds, several aggregators, and members of two
/// pretended nodes.
const SMALL: &str = "striping_unit=4096; striping_factor=3; cb_nodes=2; cb_buffer_size=8192; trib_ranks_per_node=2; \
                     nc_num_aggrs_per_node=1; trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable";

/// Hints that treat ranks as those of several hosts, two on each: calls begin with a reduction and a broadcast over
/// the hosts, in which little data and large pieces are done.
const HOSTS: &str = "trib_shared_memory=enable; trib_ranks_per_node=2";

/// Hints with which collective writes leave their bytes behind: of ranks of several hosts, and in messages.
const BEHIND: [&str; 2] = [
    "trib_shared_memory=enable; trib_ranks_per_node=2; trib_write_behind=16M",
    "trib_shared_memory=disable; trib_ranks_per_node=2; trib_write_behind=1M; cb_buffer_size=8192; romio_cb_write=enable",
];

/// A kernel for both phases, and a driver.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub kernel: &'static str,
    pub driver: &'static str,
}

impl Setting {
    /// Returns every kernel with every driver: for views, which lead everywhere in the file, and requests, which come
    /// in any order.
    pub fn all() -> Vec<Self> {
        let with = |kernel| DRIVERS.into_iter().map(move |driver| Self { kernel, driver });
        KERNELS.into_iter().flat_map(with).collect()
    }

    /// Returns settings that have every kernel and every driver once: for all other programs.
    pub fn few() -> Vec<Self> {
        let most = KERNELS.len().max(DRIVERS.len());
        let all = KERNELS.into_iter().cycle().zip(DRIVERS.into_iter().cycle()).take(most);
        all.map(|(kernel, driver)| Self { kernel, driver }).collect()
    }

    /// Returns the setting as a text for TRIB_HINTS.
    pub fn hints(&self) -> String {
        let Self { kernel, driver } = self;
        format!("trib_kernel_meta={kernel}; trib_kernel_data={kernel}; trib_driver={driver}; {SMALL}")
    }

    /// Returns true if the engine had this setting for every file that it opened.
    fn is_in(&self, report: &Report) -> bool {
        let all =
            [(&report.kernel_meta, self.kernel), (&report.kernel_data, self.kernel), (&report.driver, self.driver)];
        all.iter().all(|(told, set)| told.as_deref().is_none_or(|told| told == *set))
    }
}

/// Runs `launch` without the library, then with it: with default hints and with each of `settings`. Output and files
/// must be equal, and the engine must have run each of the functions `calls` (without MPI_File_). Returns the run
/// without the library.
///
/// # Panics
/// Panics if something differs.
pub fn same_as_without(launch: &Launch, settings: &[Setting], calls: &[impl AsRef<str>]) -> Outcome {
    let plain = launch.run();
    assert!(plain.reports.is_empty(), "a report without the library: {:?}", plain.reports);
    with_library(launch, settings, calls, |outcome, what| same(outcome, &plain, what));
    plain
}

/// # Panics
/// Panics if output or files of two runs, `with` the library and `without`, differ; `what` names the setting.
pub fn same(with: &Outcome, without: &Outcome, what: &str) {
    assert_eq!(with.stdout, without.stdout, "{what}: output with the library (left) and without\n{}", with.stderr);
    compare_files(&with.files, &without.files, what);
}

/// Runs `launch` with the library: with default hints, as on several hosts, with write-behind, and with each of `settings`; passes each
/// outcome to `judge`. The engine must have run each of the functions `calls`.
///
/// # Panics
/// Panics if a run fails, or if `judge` panics.
pub fn with_library(launch: &Launch, settings: &[Setting], calls: &[impl AsRef<str>], judge: impl Fn(&Outcome, &str)) {
    let with = launch.clone().with_library();
    let defaults = ("defaults".to_string(), with.clone(), None);
    let others = [HOSTS, BEHIND[0], BEHIND[1]].map(|hints| (hints.to_string(), with.clone().hints(hints), None));
    let forced = settings.iter().map(|setting| {
        let hints = setting.hints();
        (hints.clone(), with.clone().hints(&hints), Some(setting))
    });
    for (what, launch, setting) in [defaults].into_iter().chain(others).chain(forced) {
        let outcome = launch.run();
        judge(&outcome, &what);
        for call in calls {
            let call = call.as_ref();
            let ran = accelerated(&outcome.reports, call) > 0;
            assert!(ran, "{what}: {call} was never run by the engine\n{}", outcome.stderr);
        }
        if let Some(setting) = setting {
            let other = outcome.reports.iter().find(|report| !setting.is_in(report));
            assert!(other.is_none(), "{what}: {other:?}");
        }
    }
}

/// # Panics
/// Panics if the files differ; the message has the first byte that differs.
pub fn compare_files(with: &BTreeMap<String, Vec<u8>>, without: &BTreeMap<String, Vec<u8>>, what: &str) {
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(with), names(without), "{what}: files with the library (left) and without");
    for (name, bytes) in with {
        let other = &without[name];
        assert_eq!(bytes.len(), other.len(), "{what}: bytes of {name} with the library (left) and without");
        if let Some(at) = bytes.iter().zip(other).position(|(a, b)| a != b) {
            let differing = bytes.iter().zip(other).filter(|(a, b)| a != b).count();
            panic!("{what}: {name} differs at byte {at}, in {differing} of {} bytes", bytes.len());
        }
    }
}
