//! The host of a process. Processes with the same host name, boot, namespaces and user can map the same memory, if their
//! builds of the library lay it out alike.

use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use tributary_base::fingerprint;

use super::layout::MEMORY_LAYOUT;
use crate::world::jobs;
use crate::world::process::per_process;

/// Returns a label of this process's host: equal for processes that can share memory, never 0.
pub fn label() -> u64 {
    per_process! {
        static LABEL: OnceLock<u64> = OnceLock::new();
    }
    *LABEL.get_or_init(|| {
        let name = nix::unistd::gethostname().unwrap_or_default().into_vec();
        let namespaces = ["pid", "ipc", "user"].map(|namespace| {
            std::fs::read_link(format!("/proc/self/ns/{namespace}")).unwrap_or_default().into_os_string().into_vec()
        });
        let user = nix::unistd::getuid().as_raw().to_le_bytes();
        let layout = MEMORY_LAYOUT.to_le_bytes();
        let parts = [&name, boot().unwrap_or_default(), &user, &layout];
        fingerprint(parts.into_iter().chain(namespaces.iter().map(Vec::as_slice))).max(1)
    })
}

/// Returns an identifier that changes with each start of this machine.
pub(super) fn boot() -> Option<&'static [u8]> {
    per_process! {
        static BOOT: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    }
    BOOT.get_or_init(|| std::fs::read("/proc/sys/kernel/random/boot_id").ok()).as_deref()
}

/// Returns (number of processors that this process may run on, number of processors of the machine, at least as many).
/// Asks the system only once, because that takes about twenty system calls.
pub(super) fn own_and_online() -> (usize, usize) {
    per_process! {
        static COUNTS: OnceLock<(usize, usize)> = OnceLock::new();
    }
    *COUNTS.get_or_init(|| {
        let own = jobs::cores();
        let online = nix::unistd::sysconf(nix::unistd::SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
        (own, online.and_then(|count| usize::try_from(count).ok()).unwrap_or(own).max(own))
    })
}

/// Returns the number of processors that the ranks of this host may use: the processors that this process may run on.
/// If this process is bound to a single one, every rank is assumed to have its own, and all processors count.
pub fn processors() -> usize {
    match own_and_online() {
        (1, online) => online,
        (own, _) => own,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn label_and_processors_are_known() {
        assert_eq!(super::label(), super::label());
        assert!(super::processors() >= 1);
    }
}
