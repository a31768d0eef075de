//! Which ranks are on one host and can map the same memory: those whose host name, boot and namespaces are the same.

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

/// How many processors the ranks of this host may use, as far as this one knows: those that it may run on; where it is bound
/// to a single one, all, since every rank is then taken to have its own.
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
    fn a_process_is_on_the_host_it_is_on() {
        assert_eq!(super::label(), super::label());
        assert!(super::processors() >= 1);
    }
}
