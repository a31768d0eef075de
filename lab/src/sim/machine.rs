//! Model of a machine: the costs of processors (hosts), paths and node ports.
//!
//! All times are picoseconds, all rates the time of a byte. A machine file (TOML) gives every number with its unit and
//! its source; [`Machine::parse`] refuses numbers that are missing, negative or unknown.

use std::collections::BTreeMap;

use super::figures::{Figures, MachineFigure};
use super::links::Links;
use super::storage::Storage;
use tributary::error::{Error, Result};

/// Key under `links` that is not a figure.
const LINKS_KIND: &str = "links.kind";

/// The model of a machine and its MPI library.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Name of the machine on the command line.
    pub name: String,
    /// Description of the machine in one line.
    pub about: String,
    /// Default number of ranks per node.
    pub ranks_per_node: usize,
    /// Number of sockets of a node; a node's ranks fill them one after the other.
    pub sockets: usize,
    /// Costs of a rank's processor.
    pub host: Host,
    /// Costs of messages between two ranks of a socket, between two sockets of a node, and between two nodes.
    pub paths: [Path; 3],
    /// Costs of the ports of a node, which the node's ranks share.
    pub node: Node,
    /// Number of processors that all ranks share; `None` if every rank has its own.
    pub processors: Option<usize>,
    /// Links between the nodes, if they are known.
    pub links: Option<Links>,
    /// True if messages occupy [`Machine::links`]; false in a machine file.
    pub hold_links: bool,
    /// Size in bytes above which messages wait for their receiver (rendezvous).
    pub eager_limit: u64,
    /// Cost of the first message between two ranks on different nodes; `None` costs nothing.
    pub connection: Option<Connection>,
    /// Random variation of costs.
    pub noise: Noise,
    /// Processor cost of file requests; 0 if the machine file does not give it.
    pub requests: Requests,
    /// File servers; without them, file I/O takes no time.
    pub storage: Option<Storage>,
    /// Numbers as written in the machine file, by path.
    pub figures: BTreeMap<String, MachineFigure>,
}

/// Costs of a rank's processor for messages, in picoseconds. A processor does one thing at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Host {
    /// Time for posting a send.
    pub send: f64,
    /// Time for each byte of an eager message, at the sender.
    pub send_byte: f64,
    /// Time for posting a receive, without the search of the unexpected messages.
    pub post_receive: f64,
    /// Time for processing an arrived message, without the search of the posted receives.
    pub receive: f64,
    /// Time for each byte of an eager message, at the receiver.
    pub receive_byte: f64,
    /// Time for an acknowledgement, a clear-to-send or a local completion.
    pub control: f64,
    /// Time for the first use of a request object: charged when a rank has more requests outstanding than ever before.
    pub first_use: f64,
    /// Time for checking one request of the wait set, whenever one may have completed.
    pub check: f64,
    /// Time for copying or combining a byte in memory.
    pub copy_byte: f64,
    /// Time for a copy or reduction of a schedule, whatever its size: the call, and lines of memory that no cache holds.
    pub copy: f64,
    /// Time at either end of a message above the eager limit, for registering its memory and starting the transfer.
    pub rendezvous: f64,
    /// Time at either end for each byte of a message above the eager limit, where processors move its bytes, as with TCP.
    pub rendezvous_byte: f64,
    /// tau: time for inspecting one entry of a matching queue.
    pub walk: Walk,
}

/// tau, in picoseconds, as a function of the queue's length: `near` up to `knee` entries, `far` from `end` on, linear
/// between.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Walk {
    /// Time for an entry of a short queue, which a cache holds.
    pub near: f64,
    /// Time for an entry of a long queue.
    pub far: f64,
    /// Largest number of entries of a short queue.
    pub knee: f64,
    /// Smallest number of entries of a long queue.
    pub end: f64,
}

impl Walk {
    /// Returns tau of a queue of `length` entries, in picoseconds.
    #[inline]
    pub fn entry(&self, length: usize) -> f64 {
        let length = length as f64;
        if length <= self.knee {
            self.near
        } else if length >= self.end {
            self.far
        } else {
            self.near + (self.far - self.near) * (length - self.knee) / (self.end - self.knee)
        }
    }
}

/// Costs of a message from one rank's memory to another's, by protocol: the max-rate model without its node limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Path {
    /// Cost of messages of up to [`Path::short_limit`] bytes.
    pub short: CostLine,
    /// Cost of messages above the short limit, up to the eager limit.
    pub eager: CostLine,
    /// Cost of messages above the eager limit.
    pub rendezvous: CostLine,
    /// Size of the largest short message, in bytes.
    pub short_limit: u64,
}

impl Path {
    /// Returns the cost line of the protocol for a message of `bytes` bytes.
    #[inline]
    pub fn line(&self, bytes: u64, eager_limit: u64) -> &CostLine {
        if bytes <= self.short_limit {
            &self.short
        } else if bytes <= eager_limit {
            &self.eager
        } else {
            &self.rendezvous
        }
    }
}

/// Cost of a message as a line: a latency and a time for each byte, in picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CostLine {
    /// alpha: latency, without the work of the processors.
    pub latency: f64,
    /// beta: time for each byte.
    pub byte: f64,
}

/// Costs of the ports that the ranks of a node share, in picoseconds. A message to another node passes both nodes'
/// ports.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Node {
    /// Time of a message that leaves the node.
    pub inject: f64,
    /// Time of a byte that leaves the node.
    pub inject_byte: f64,
    /// Time of a message that enters the node.
    pub eject: f64,
    /// Time of a byte that enters the node.
    pub eject_byte: f64,
    /// Number of bytes from one rank to another after which other ranks have their turn at the port, as connections of TCP
    /// share a link; 0 if messages leave the node whole, one after the other.
    pub segment: f64,
}

/// Cost of the first message between two ranks on different nodes, in picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Connection {
    /// Time at the sender, before the message leaves.
    pub send: f64,
    /// Time at the receiver, before the message is processed.
    pub receive: f64,
    /// Time at the receiver for each connection that the receiver has already.
    pub held: f64,
}

/// Random variation of costs: standard deviations relative to the mean (main paper, section III.B: normal noise).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Noise {
    /// Standard deviation of the processor's time for a message.
    pub host: f64,
    /// Standard deviation of a message's latency.
    pub latency: f64,
}

/// Time that a rank computes for each request (extent) of a collective write, in picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Requests {
    /// Time for finding and recording the aggregator of a request, or for finding its position in a window.
    pub visit: f64,
    /// Time for passing a request through one level of a heap that merges sorted lists.
    pub merge: f64,
}

impl Machine {
    /// Returns a machine without any costs, on which the terms of one formula can be set.
    pub fn free() -> Self {
        Self {
            name: "free".to_string(),
            about: "nothing costs anything".to_string(),
            ranks_per_node: 1,
            sockets: 1,
            host: Host::default(),
            paths: [Path::default(); 3],
            node: Node::default(),
            processors: None,
            links: None,
            hold_links: false,
            eager_limit: u64::MAX,
            connection: None,
            noise: Noise::default(),
            requests: Requests::default(),
            storage: None,
            figures: BTreeMap::new(),
        }
    }

    /// Returns the links, if messages occupy them.
    pub fn held_links(&self) -> Option<&Links> {
        self.links.as_ref().filter(|_| self.hold_links)
    }

    /// Parses `text`, a machine file; `name` is for errors.
    ///
    /// # Errors
    /// The text is not TOML; a figure is missing, negative, or without unit or source; a key is unknown.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let table: toml::Table = text.parse().map_err(|cause: toml::de::Error| {
            let line = cause.span().map_or(0, |span| text[..span.start].lines().count().max(1));
            Error::argument(format!("machine {name}: line {line}"), cause.message(), "TOML")
        })?;
        let mut figures = Figures::new(name, &table);
        let about = table.get("about").and_then(toml::Value::as_str);
        let about = about.ok_or_else(|| figures.error("about", "missing", "a line of text"))?.to_string();
        let machine = Self {
            name: name.to_string(),
            about,
            ranks_per_node: whole(&mut figures, "ranks_per_node")?,
            sockets: whole(&mut figures, "sockets")?,
            host: host(&mut figures)?,
            paths: [
                path(&mut figures, "path.socket")?,
                path(&mut figures, "path.node")?,
                path(&mut figures, "path.network")?,
            ],
            node: Node {
                inject: figures.time("node.inject")?,
                inject_byte: figures.byte("node.inject_byte")?,
                eject: figures.time("node.eject")?,
                eject_byte: figures.byte("node.eject_byte")?,
                segment: if figures.has("node.segment") { figures.size("node.segment")? } else { 0.0 },
            },
            processors: figures.has("processors").then(|| whole(&mut figures, "processors")).transpose()?,
            links: figures.has("links").then(|| links(&mut figures, &table)).transpose()?,
            hold_links: false,
            eager_limit: figures.size("eager_limit")? as u64,
            connection: figures.has("connection").then(|| connection(&mut figures)).transpose()?,
            noise: Noise { host: figures.count("noise.host")?, latency: figures.count("noise.latency")? },
            requests: figures.has("requests").then(|| requests(&mut figures)).transpose()?.unwrap_or_default(),
            storage: Storage::parse(&mut figures)?,
            figures: BTreeMap::new(),
        };
        if machine.host.walk.end < machine.host.walk.knee {
            return Err(figures.error("host.walk.end", machine.host.walk.end, "host.walk.knee or more"));
        }
        figures.nothing_else(&["about", LINKS_KIND, "storage.driver"])?;
        Ok(Self { figures: figures.read, ..machine })
    }
}

fn whole(figures: &mut Figures<'_>, path: &str) -> Result<usize> {
    let value = figures.count(path)?;
    if value < 1.0 || value.fract() != 0.0 {
        return Err(figures.error(path, value, "a whole number, 1 or more"));
    }
    Ok(value as usize)
}

fn host(figures: &mut Figures<'_>) -> Result<Host> {
    Ok(Host {
        send: figures.time("host.send")?,
        send_byte: figures.byte("host.send_byte")?,
        post_receive: figures.time("host.post_receive")?,
        receive: figures.time("host.receive")?,
        receive_byte: figures.byte("host.receive_byte")?,
        control: figures.time("host.control")?,
        first_use: figures.time("host.first_use")?,
        check: figures.time("host.check")?,
        copy_byte: figures.byte("host.copy_byte")?,
        copy: optional(figures, "host.copy")?,
        rendezvous: optional(figures, "host.rendezvous")?,
        rendezvous_byte: if figures.has("host.rendezvous_byte") { figures.byte("host.rendezvous_byte")? } else { 0.0 },
        walk: Walk {
            near: figures.time("host.walk.near")?,
            far: figures.time("host.walk.far")?,
            knee: figures.count("host.walk.knee")?,
            end: figures.count("host.walk.end")?,
        },
    })
}

/// Returns the time at `path`; 0 if the file does not give it.
fn optional(figures: &mut Figures<'_>, path: &str) -> Result<f64> {
    if figures.has(path) { figures.time(path) } else { Ok(0.0) }
}

fn path(figures: &mut Figures<'_>, at: &str) -> Result<Path> {
    let mut line = |protocol: &str| {
        Ok::<_, Error>(CostLine {
            latency: figures.time(&format!("{at}.{protocol}.latency"))?,
            byte: figures.byte(&format!("{at}.{protocol}.byte"))?,
        })
    };
    let (short, eager, rendezvous) = (line("short")?, line("eager")?, line("rendezvous")?);
    let short_limit = figures.size(&format!("{at}.short_limit"))? as u64;
    Ok(Path { short, eager, rendezvous, short_limit })
}

fn links(figures: &mut Figures<'_>, table: &toml::Table) -> Result<Links> {
    let kind = table.get("links").and_then(|links| links.get("kind")).and_then(toml::Value::as_str);
    let links = match kind {
        Some("dragonfly") => Links::Dragonfly {
            groups: whole(figures, "links.groups")?,
            routers: whole(figures, "links.routers")?,
            nodes: whole(figures, "links.nodes")?,
            between: whole(figures, "links.between")?,
            local: figures.byte("links.local")?,
            global: figures.byte("links.global")?,
        },
        Some("fat-tree") => {
            let (radix, levels) = (whole(figures, "links.radix")?, whole(figures, "links.levels")?);
            if !radix.is_multiple_of(2) {
                return Err(figures.error("links.radix", radix, "an even number"));
            }
            Links::FatTree { radix, levels, byte: figures.byte("links.byte")? }
        }
        other => return Err(figures.error(LINKS_KIND, other.unwrap_or("missing"), "dragonfly|fat-tree")),
    };
    match links.count() {
        Some(_) => Ok(links),
        None => Err(figures.error("links", "too many", format!("{} at most", Links::MOST))),
    }
}

fn connection(figures: &mut Figures<'_>) -> Result<Connection> {
    Ok(Connection {
        send: figures.time("connection.send")?,
        receive: figures.time("connection.receive")?,
        held: figures.time("connection.held")?,
    })
}

fn requests(figures: &mut Figures<'_>) -> Result<Requests> {
    Ok(Requests { visit: figures.time("requests.visit")?, merge: figures.time("requests.merge")? })
}
