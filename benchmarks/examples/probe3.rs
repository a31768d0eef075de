use std::sync::Arc;
use tributary::forecast::*;
use tributary::{Hints, Topology, sim, access::Extents};
use tributary_benchmarks::{Btio, BtioOptions, Pattern, PatternError, machines};
fn main() {
    let base = "trib_driver=lustre; striping_unit=1M; striping_factor=64; trib_lustre_round=stripe; trib_placement=stride:64";
    let ranks = 4096;
    let topology = Topology::blocks(ranks, 64).unwrap();
    let btio = Btio::new(ranks, BtioOptions { grid: 1024, iterations: 1 }).unwrap();
    let strided = |r: usize| Extents::strided(r as u64 * 256, 256, 4096 * 256, 64 * 8);
    for which in ["btio", "strided"] {
        let end = if which == "btio" { btio.totals().file_size } else { 4096 * 256 * 64 * 8 };
        let file = SharedFile::of(&topology, &Hints::parse(base).unwrap(), (0, end)).unwrap();
        let division = Division { domains: file.domains.clone(), range: (0, end), sample: 4, lists: Lists::Pairs };
        let census = Arc::new(Census::gather::<PatternError>(ranks, division, |r| if which == "btio" { Ok(btio.rank_access(r, 0)?.file) } else { Ok(strided(r)?) }, || ()).unwrap());
        for variant in ["as is", "no connections", "no walk"] {
            let mut machine = machines::named("cori-knl").unwrap();
            if variant != "as is" { machine.connection = None; }
            if variant == "no walk" { machine.host.walk.near = 0.0; machine.host.walk.far = 0.0; }
            for kernel in ["ascending_issend", "balanced", "two_layer", "balanced; trib_throttle_meta=1; trib_throttle_data=1", "balanced; trib_throttle_meta=4096; trib_throttle_data=4096"] {
                let hints = Hints::parse(&format!("{base}; trib_kernel_meta={}; trib_kernel_data={kernel}", kernel.split(';').next().unwrap())).unwrap();
                let o = CollectiveWriteOptions { topology: topology.clone(), aggregators: file.aggregators.clone(), hints, striping: Some(file.striping), write_behind: false, blocks: true };
                let w = CollectiveWrite::new(&machine, o, census.clone()).unwrap();
                let out = sim::run(&machine, &topology, &w, 0, |_| ()).unwrap();
                let p = w.outcome(&out.phases).last;
                println!("{which} {variant}: {kernel}: metadata {:.3} data {:.3} unexpected {} posted {}", p.metadata, p.data, out.longest_unexpected, out.longest_posted);
            }
        }
    }
}
