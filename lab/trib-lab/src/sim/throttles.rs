//! `trib-lab sim throttles`: compares throttles and rank lists on machines where messages occupy the links between
//! nodes.

use std::sync::Arc;

use crate::machines::machine;
use trib::parallel::{parallel_map, processors};
use trib::{Failure, say};
use tributary::exchange::{BALANCED, RankList};
use tributary::hints::RankListHint;
use tributary::schedule::Throttle;
use tributary::{Hints, Topology};
use tributary_benchmarks::e3sm::{E3sm, ElementType, GeneratorOptions};
use tributary_benchmarks::{Btio, BtioOptions, Pattern, PatternError};
use tributary_lab::forecast::{
    AllToMany, AllToManyKernel, AllToManyOptions, CollectiveWrite, CollectiveWriteOptions, FileDivision, MessageCounts,
    MetadataForm, SharedFile,
};
use tributary_lab::sim::{self, Machine};

use crate::cli::sim::ThrottlesOptions;

const PAPER: Throttle = Throttle { limit: Some(32), mode: tributary::schedule::ThrottleMode::Batch };
const CRAY: Throttle = Throttle { limit: Some(50), mode: tributary::schedule::ThrottleMode::Sliding };

/// Limit of outstanding messages, with ranks ordered by number or with nodes in turn.
#[derive(Clone, Copy)]
struct LimitSetting {
    name: &'static str,
    throttle: Throttle,
    nodes_in_turn: bool,
}

/// Settings that are compared, all with the kernel `balanced`. Times are divided by those of the second.
const ROWS: [LimitSetting; 4] = [
    LimitSetting { name: "no limit", throttle: Throttle::NONE, nodes_in_turn: false },
    LimitSetting { name: "batch of 32 (paper)", throttle: PAPER, nodes_in_turn: false },
    LimitSetting { name: "window of 50 (Cray)", throttle: CRAY, nodes_in_turn: false },
    LimitSetting { name: "nodes in turn, 32", throttle: PAPER, nodes_in_turn: true },
];
const BASE: usize = 1;

/// Kind of exchange.
#[derive(Clone, Copy)]
enum ThrottledWork {
    /// Every rank sends to this number of receivers, this number of bytes each.
    AllToMany {
        receivers: usize,
        bytes: (u64, u64),
    },
    /// Collective write of E3SM with this number of aggregators a node.
    E3sm {
        aggregators: usize,
    },
    Btio {
        aggregators: usize,
    },
}

/// Exchange on a machine.
struct ThrottledExchange {
    name: &'static str,
    machine: &'static str,
    nodes: usize,
    work: ThrottledWork,
}

const SMALL: (u64, u64) = (32, 256);
const LARGE: (u64, u64) = (64 << 10, 64 << 10);

const CASES: [ThrottledExchange; 10] = [
    case("32 to 256 B to 42", "summit", 42, ThrottledWork::AllToMany { receivers: 42, bytes: SMALL }),
    case("64 KiB to 42", "summit", 42, ThrottledWork::AllToMany { receivers: 42, bytes: LARGE }),
    case("64 KiB to 168", "summit", 42, ThrottledWork::AllToMany { receivers: 168, bytes: LARGE }),
    case("BTIO, 42 aggregators", "summit", 42, ThrottledWork::Btio { aggregators: 1 }),
    case("32 to 256 B to 64", "cori-knl", 64, ThrottledWork::AllToMany { receivers: 64, bytes: SMALL }),
    case("64 KiB to 64", "cori-knl", 64, ThrottledWork::AllToMany { receivers: 64, bytes: LARGE }),
    case("64 KiB to 256", "cori-knl", 64, ThrottledWork::AllToMany { receivers: 256, bytes: LARGE }),
    case("E3SM F, 64 aggregators", "cori-knl", 64, ThrottledWork::E3sm { aggregators: 1 }),
    case("BTIO, 64 aggregators", "cori-knl", 64, ThrottledWork::Btio { aggregators: 1 }),
    case("BTIO, 256 aggregators", "cori-knl", 64, ThrottledWork::Btio { aggregators: 4 }),
];

const fn case(name: &'static str, machine: &'static str, nodes: usize, work: ThrottledWork) -> ThrottledExchange {
    ThrottledExchange { name, machine, nodes, work }
}

/// Seconds of communication with every setting.
struct Column {
    title: String,
    seconds: Vec<f64>,
}

/// Simulates all cases and prints the table.
pub fn run(options: &ThrottlesOptions) -> Result<(), Failure> {
    let cases = &CASES[..options.cases.unwrap_or(CASES.len()).min(CASES.len())];
    let bar = trib::progress((cases.len() * ROWS.len()) as u64, "runs");
    let columns = parallel_map(cases, processors(), |case| case.simulate(|| bar.inc(1)));
    bar.finish_and_clear();
    say(table(&columns.into_iter().collect::<Result<Vec<_>, _>>()?))
}

impl ThrottledExchange {
    fn simulate(&self, done: impl Fn()) -> Result<Column, Failure> {
        let mut machine = machine(self.machine)?;
        machine.hold_links = true;
        // Connections exist already, as in the second exchange of a program.
        machine.connection = None;
        let topology = Topology::blocks(self.nodes * machine.ranks_per_node, machine.ranks_per_node)?;
        let exchanged = match self.work {
            ThrottledWork::AllToMany { receivers, bytes } => CountedExchange::AllToMany(receivers, bytes),
            ThrottledWork::E3sm { aggregators } | ThrottledWork::Btio { aggregators } => {
                self.counted(&machine, &topology, aggregators)?
            }
        };
        let mut seconds = Vec::with_capacity(ROWS.len());
        for setting in ROWS {
            seconds.push(exchanged.seconds(&machine, &topology, setting)?);
            done();
        }
        Ok(Column { title: format!("{}: {}", self.machine, self.name), seconds })
    }

    /// Returns the messages of a collective write; the file is divided as the paper's drivers do.
    fn counted(&self, machine: &Machine, topology: &Topology, aggregators: usize) -> Result<CountedExchange, Failure> {
        let ranks = topology.ranks();
        let pattern: Box<dyn Pattern> = match self.work {
            ThrottledWork::Btio { .. } => Box::new(Btio::new(ranks, BtioOptions { grid: 1024, iterations: 1 })?),
            _ => Box::new(E3sm::generated(ranks, GeneratorOptions::default(), ElementType::Float)?),
        };
        let stride = machine.ranks_per_node / aggregators;
        let hints = match self.machine {
            "summit" => format!("trib_driver=gpfs; cb_buffer_size=16M; cb_nodes={}", self.nodes * aggregators),
            _ => format!(
                "trib_driver=lustre; striping_unit=1M; striping_factor={}; cb_buffer_size=1M; trib_placement=stride:{stride}",
                self.nodes * aggregators
            ),
        };
        let hints = Hints::parse(&hints)?;
        let range = (0, pattern.totals().file_size);
        let file = SharedFile::of(topology, &hints, range)?;
        let division = FileDivision { file, sample: 2, lists: MetadataForm::Packed };
        let access = |rank| pattern.rank_access(rank, 0).map(|access| access.file);
        let counts = Arc::new(MessageCounts::gather::<PatternError>(ranks, division, access, || ())?);
        Ok(CountedExchange::Write(Box::new((hints, counts))))
    }
}

/// Messages of an exchange, counted.
enum CountedExchange {
    AllToMany(usize, (u64, u64)),
    Write(Box<(Hints, Arc<MessageCounts>)>),
}

impl CountedExchange {
    /// Returns the seconds of communication: of the slowest rank, or of the aggregator that ends last.
    fn seconds(&self, machine: &Machine, topology: &Topology, setting: LimitSetting) -> Result<f64, Failure> {
        let LimitSetting { throttle, nodes_in_turn, .. } = setting;
        match self {
            Self::AllToMany(receivers, bytes) => {
                let options = AllToManyOptions {
                    topology: topology.clone(),
                    receivers: *receivers,
                    way: AllToManyKernel::Flat(&BALANCED),
                    throttle: Some(throttle),
                    iterations: 1,
                    bytes: *bytes,
                };
                let rank_list = match nodes_in_turn {
                    true => RankList::node_round_robin(topology),
                    false => RankList::Identity,
                };
                let workload = AllToMany::with_rank_list(options, rank_list)?;
                Ok(sim::run(machine, topology, &workload, 0, |_| ())?.seconds().total)
            }
            Self::Write(written) => {
                let (hints, counts) = &**written;
                let mut hints = hints.clone();
                let limit = throttle.limit.map_or("none".to_string(), |limit| limit.to_string());
                for (key, value) in [
                    ("trib_throttle_meta", limit.as_str()),
                    ("trib_throttle_data", &limit),
                    ("trib_throttle_mode", if throttle == CRAY { "window" } else { "batch" }),
                ] {
                    hints.set(key, value)?;
                }
                if nodes_in_turn {
                    hints.rank_list = RankListHint::NodeRoundRobin;
                }
                let options = CollectiveWriteOptions {
                    topology: topology.clone(),
                    hints,
                    io: false,
                    write_behind: false,
                    blocks: false,
                    empty_steps: false,
                };
                let workload = CollectiveWrite::new(machine, options, counts.clone())?;
                let outcome = sim::run(machine, topology, &workload, 0, |_| ())?;
                let last = workload.outcome(&outcome.phases).last;
                Ok(last.metadata + last.data)
            }
        }
    }
}

/// Returns the table in Markdown: seconds with the paper's throttle, and the other settings' times as parts of these.
fn table(columns: &[Column]) -> String {
    let mut text = String::from("| case | batch of 32, s |");
    ROWS.iter()
        .enumerate()
        .filter(|(row, _)| *row != BASE)
        .for_each(|(_, setting)| text += &format!(" {} |", setting.name));
    text += &format!("\n|---|--:|{}\n", "--:|".repeat(ROWS.len() - 1));
    for Column { title, seconds } in columns {
        text += &format!("| {title} | {:.4} |", seconds[BASE]);
        let others = seconds.iter().enumerate().filter(|(row, _)| *row != BASE);
        others.for_each(|(_, other)| text += &format!(" {:.2} |", other / seconds[BASE]));
        text.push('\n');
    }
    text.trim_end().to_string()
}

/// Draws a table that [`table`] made: a line for each case, a dot for each setting. Only a test uses it.
#[cfg(test)]
mod picture {
    use svg::Document;
    use svg::node::element::{Circle, Title};
    use trib::numbers::tick;
    use trib::picture::axis::Axis;
    use trib::picture::ink::{DARK, NOBODY, at, block, line, of_rank, words};

    use crate::generated;

    const LEFT: f64 = 230.0;
    const LINE: f64 = 30.0;
    const TOP: f64 = 56.0;

    fn cells(line: &str) -> Vec<&str> {
        line.trim_matches('|').split('|').map(str::trim).collect()
    }

    /// Returns the settings and, for each case, the time of each setting divided by the time of the paper's.
    fn numbers(page: &str) -> (Vec<&str>, Vec<(&str, Vec<f64>)>) {
        let mut lines =
            page.lines().skip_while(|line| !line.starts_with("| case |")).take_while(|line| line.starts_with('|'));
        let settings = cells(lines.next().unwrap())[2..].to_vec();
        let case = |line| {
            let cells = cells(line);
            (cells[0], cells[2..].iter().map(|cell| cell.parse().unwrap()).collect())
        };
        (settings, lines.skip(1).map(case).collect())
    }

    fn svg(page: &str) -> String {
        let (settings, cases) = numbers(page);
        let (axis, bottom) = (Axis::linear((0.0, 2.05), (LEFT, 804.0)), TOP + LINE * cases.len() as f64);
        let dot = |x: f64, y: f64, index| {
            Circle::new().set("cx", at(x)).set("cy", at(y)).set("r", 5).set("fill", of_rank(index))
        };
        let title = Title::new("Time of communication over that of a batch of 32");
        let mut whole = Document::new().set("viewBox", format!("0 0 804 {}", at(bottom + 46.0)));
        whole = whole.set("font-family", "Helvetica, Arial, sans-serif").add(title);
        whole = whole.add(block(0.0, 0.0, 804.0, bottom + 46.0, "#ffffff", 1.0));
        for (index, name) in settings.iter().enumerate() {
            let (x, y) = (20.0 + (index % 4) as f64 * 195.0, 20.0 + (index / 4) as f64 * 20.0);
            whole = whole.add(dot(x, y - 4.0, index)).add(words(x + 10.0, y, 13, "start", DARK, *name));
        }
        for value in axis.ticks() {
            let (x, stroke) = (axis.at(value), if value == 1.0 { DARK } else { NOBODY });
            whole = whole.add(line((x, TOP), (x, bottom), stroke));
            whole = whole.add(words(x, bottom + 18.0, 13, "middle", DARK, tick(value)));
        }
        whole = whole.add(words(LEFT, bottom + 38.0, 13, "start", DARK, "time over that of a batch of 32"));
        for (row, (name, ratios)) in cases.iter().enumerate() {
            let y = TOP + LINE * (row as f64 + 0.5);
            whole = whole.add(words(LEFT - 12.0, y + 4.0, 13, "end", DARK, *name));
            for (index, ratio) in ratios.iter().enumerate() {
                whole = whole.add(dot(axis.at(*ratio), y, index).set("fill-opacity", "0.8"));
            }
        }
        format!("{whole}\n")
    }

    #[test]
    fn the_picture_is_current() {
        let page = std::fs::read_to_string(generated::at_root("lab/docs/throttles.md")).unwrap();
        generated::assert_current("lab/docs/throttles.svg", &svg(&page), "the table of lab/docs/throttles.md");
    }
}
