//! The settings that every program runs with. Everything that it prints, and every byte that it writes, must be equal to a
//! run without the library.

use std::collections::BTreeMap;

use tributary_testing::settings::DRIVERS;

use super::launch::{Launch, Outcome};
use super::report::{Report, accelerated};

const KERNELS: [&str; 3] = ["ascending_issend", "balanced", "two_layer"];
/// So small that every program needs several rounds, several aggregators, and members of two pretended nodes.
const SMALL: &str = "striping_unit=4096; striping_factor=3; cb_nodes=2; cb_buffer_size=8192; trib_ranks_per_node=2; \
                     nc_num_aggrs_per_node=1; trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable";

/// As ranks of several hosts, two on each: calls begin with a sweep, in which little data and large pieces are done.
const HOSTS: &str = "trib_shared_memory=enable; trib_ranks_per_node=2";

/// A kernel for both phases, and a driver.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub kernel: &'static str,
    pub driver: &'static str,
}

impl Setting {
    /// Every kernel with every driver: for views, which lead everywhere, and requests, which come in any order.
    pub fn all() -> Vec<Self> {
        let with = |kernel| DRIVERS.into_iter().map(move |driver| Self { kernel, driver });
        KERNELS.into_iter().flat_map(with).collect()
    }

    /// Every kernel and every driver once: for all other programs.
    pub fn few() -> Vec<Self> {
        let most = KERNELS.len().max(DRIVERS.len());
        let all = KERNELS.into_iter().cycle().zip(DRIVERS.into_iter().cycle()).take(most);
        all.map(|(kernel, driver)| Self { kernel, driver }).collect()
    }

    /// As TRIB_HINTS has it.
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

/// Runs `launch` without the library, then with it: under its defaults and under each of `settings`. Output and files must
/// be equal, and the engine must have run each of the functions `calls` (without MPI_File_). Returns the run without.
///
/// # Panics
/// When something differs.
pub fn same_as_without(launch: &Launch, settings: &[Setting], calls: &[impl AsRef<str>]) -> Outcome {
    let plain = launch.run();
    assert!(plain.reports.is_empty(), "a report without the library: {:?}", plain.reports);
    with_library(launch, settings, calls, |outcome, what| same(outcome, &plain, what));
    plain
}

/// # Panics
/// When output or files of two runs, `with` the library and `without`, differ; `what` says how it was set.
pub fn same(with: &Outcome, without: &Outcome, what: &str) {
    assert_eq!(with.stdout, without.stdout, "{what}: output with the library (left) and without\n{}", with.stderr);
    compare_files(&with.files, &without.files, what);
}

/// Runs `launch` with the library, under its defaults, as on several hosts, and under each of `settings`, and hands each outcome to `judge`.
/// The engine must have run each of the functions `calls`.
///
/// # Panics
/// When a run fails, or `judge` does.
pub fn with_library(launch: &Launch, settings: &[Setting], calls: &[impl AsRef<str>], judge: impl Fn(&Outcome, &str)) {
    let with = launch.clone().with_library();
    let defaults = ("defaults".to_string(), with.clone(), None);
    let hosts = (HOSTS.to_string(), with.clone().hints(HOSTS), None);
    let forced = settings.iter().map(|setting| {
        let hints = setting.hints();
        (hints.clone(), with.clone().hints(&hints), Some(setting))
    });
    for (what, launch, setting) in [defaults, hosts].into_iter().chain(forced) {
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
/// When the files differ, with the first byte that does.
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
