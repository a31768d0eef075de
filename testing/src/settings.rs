//! Lists the settings with which every fault and every real pattern is tested.

use std::sync::LazyLock;

use tributary::Hints;
use tributary::hints::DriverName;

/// Every kernel of the registry, and two layers in several forms: a name, and hints.
pub static KERNELS: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    let both = |name: &'static str| (name, &*format!("trib_kernel={name}").leak());
    let mut all: Vec<_> = tributary::exchange::KERNELS.iter().map(|kernel| both(kernel.name)).collect();
    all.extend([
        (
            "two_layer, outer ascending_issend",
            "trib_kernel=two_layer;trib_two_layer_outer=ascending_issend;trib_shared_memory=automatic",
        ),
        (
            "two_layer, outer balanced",
            "trib_kernel=two_layer;trib_two_layer_outer=balanced;trib_shared_memory=automatic",
        ),
        (
            "two_layer, on hosts that agree in memory",
            "trib_kernel=two_layer;trib_two_layer_outer=balanced;\
             trib_shared_memory=enable;nc_num_aggrs_per_node=1",
        ),
        ("hybrid", "trib_kernel_meta=ascending_issend;trib_kernel_data=balanced"),
    ]);
    all
});

/// Every driver of the registry, by the value of the hint.
pub const DRIVERS: [&str; DriverName::ALL.len() - 1] = {
    let (mut all, mut count) = ([""; DriverName::ALL.len() - 1], 0);
    while count < all.len() {
        // The first is none: it stands for the choice by the file system.
        count += 1;
        all[count - 1] = DriverName::ALL[count].as_str();
    }
    all
};

/// Returns true if a kernel of these hints couples the send and the receive of a step, so that the only allowed
/// throttle is 1.
pub fn is_coupled(kernels: &str) -> bool {
    let hints = Hints::parse(kernels).unwrap();
    [hints.metadata_kernel(), hints.data_kernel()].into_iter().any(|hint| hints.outermost(hint).coupled)
}

/// Combines the hints of several texts. Unless a text says otherwise, bytes are exchanged by messages, even if ranks share
/// memory.
pub fn hints(texts: &[&str]) -> Hints {
    Hints::parse(&format!("trib_shared_memory=disable;{}", texts.join(";"))).unwrap()
}
