//! The host of a process. Processes with the same host name, boot, namespaces and user can map the same memory.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

/// A label of this process's host: equal for processes that can share memory. Never 0.
pub fn label() -> u64 {
    static LABEL: OnceLock<u64> = OnceLock::new();
    *LABEL.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        nix::unistd::gethostname().ok().hash(&mut hasher);
        std::fs::read("/proc/sys/kernel/random/boot_id").ok().hash(&mut hasher);
        for namespace in ["pid", "ipc", "user"] {
            std::fs::read_link(format!("/proc/self/ns/{namespace}")).ok().hash(&mut hasher);
        }
        nix::unistd::getuid().as_raw().hash(&mut hasher);
        hasher.finish().max(1)
    })
}

/// The number of processors that the ranks of this host may use: those that this process may run on. If it is bound to a
/// single one, every rank is assumed to have its own, and all processors count.
pub fn processors() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let own = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let online = nix::unistd::sysconf(nix::unistd::SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
        if own > 1 { own } else { online.and_then(|count| usize::try_from(count).ok()).unwrap_or(1).max(1) }
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn label_and_processors_are_known() {
        assert_eq!(super::label(), super::label());
        assert!(super::processors() >= 1);
    }
}
