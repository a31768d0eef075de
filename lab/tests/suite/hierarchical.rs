//! Tests hierarchies of collective algorithms: any groups, any algorithms, any number of levels.

use crate::payload;
use std::collections::HashMap;

use crate::collective_suite::Case;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::Topology;
use tributary::fabric::{Memory, Message};
use tributary::schedule::{Buffer, ReduceOp, Schedule, Span};
use tributary_lab::collectives::{ALGORITHMS, Groups, IN_PLACE, InPlace, Operation, Scheme, hierarchical};
use tributary_testing::validate::{Delivery, run};

const OPERATIONS: [Operation; 3] = [Operation::Broadcast, Operation::Reduce, Operation::Allreduce];

fn of(operation: Operation) -> Vec<&'static InPlace> {
    IN_PLACE.iter().copied().filter(|algorithm| algorithm.algorithm.operation == operation).collect()
}

fn case(ranks: usize, root: usize, len: u64, segment: u64) -> Case {
    Case { topology: Topology::blocks(ranks, 3).unwrap(), root, sizes: vec![len; ranks], segment, groups: None }
}

fn schedules(scheme: &Scheme, case: &Case) -> Vec<Schedule> {
    (0..case.ranks()).map(|rank| scheme.schedule(&case.problem(rank)).unwrap()).collect()
}

fn check(scheme: &Scheme, case: &Case) {
    let all = schedules(scheme, case);
    all.iter().for_each(|schedule| payload::free_of_races(schedule, &scheme.to_string()));
    if scheme.operation() == Operation::Broadcast && case.sizes[case.root] > 0 {
        let wanted = |to| Delivery { from: case.root, from_offset: 0, to, to_offset: 0, len: case.sizes[case.root] };
        let wanted: Vec<_> = (0..case.ranks()).map(wanted).collect();
        run(all.clone(), &wanted).unwrap_or_else(|what| panic!("{scheme} of {} ranks: {what}", case.ranks()));
    }
    payload::check(scheme.operation(), &scheme.to_string(), case, all);
}

#[test]
fn every_pair_of_algorithms_and_any_number_of_groups() {
    for operation in OPERATIONS {
        for ranks in [1, 2, 3, 7, 12, 16, 19] {
            for groups in 1..=ranks {
                for (i, &inner) in of(operation).iter().enumerate() {
                    for (j, &outer) in of(operation).iter().enumerate() {
                        let scheme = hierarchical(Groups::Count(groups), inner, outer).unwrap();
                        check(&scheme, &case(ranks, (i * 5 + j + groups) % ranks, 8 * (groups as u64 * 3 % 11), 16));
                    }
                }
            }
        }
    }
}

#[test]
fn one_group_and_one_a_rank_are_the_algorithm_itself() {
    for operation in OPERATIONS {
        for &base in &of(operation) {
            for ranks in 1..=20 {
                let case = case(ranks, ranks * 2 / 3, 200, 64);
                for groups in [1, ranks] {
                    let scheme = hierarchical(Groups::Count(groups), base, base).unwrap();
                    for (rank, schedule) in schedules(&scheme, &case).iter().enumerate() {
                        let plain = (base.algorithm.schedule)(&case.problem(rank));
                        assert_eq!(schedule.dump(), plain.dump(), "{scheme}, rank {rank} of {ranks}");
                        assert_eq!(*schedule, plain);
                    }
                }
            }
        }
    }
}

#[test]
fn random_hierarchies_of_several_levels() {
    let mut random = SmallRng::seed_from_u64(31);
    for turn in 0..400 {
        let ranks: usize = if turn % 20 == 0 { random.random_range(65..600) } else { random.random_range(1..65) };
        let operation = OPERATIONS[turn % 3];
        let labels: Vec<usize> = (0..ranks).map(|_| random.random_range(0..ranks.div_ceil(4))).collect();
        let topology = Topology::listed(&labels).unwrap();
        let scheme = random_scheme(&mut random, operation, &topology, 3, true);
        let len = 8 * random.random_range(0..40);
        let mut case = case(ranks, random.random_range(0..ranks), len, 8 * random.random_range(1..8));
        case.topology = topology;
        check(&scheme, &case);
    }
}

fn random_scheme(random: &mut SmallRng, operation: Operation, topology: &Topology, levels: u32, top: bool) -> Scheme {
    if levels == 0 || (!top && random.random_range(0..3) == 0) {
        let all = of(operation);
        return all[random.random_range(0..all.len())].into();
    }
    let groups = match random.random_range(0..3) {
        0 => Groups::Nodes(topology.clone()),
        _ => Groups::Count(random.random_range(1..=topology.ranks())),
    };
    let inner = random_scheme(random, operation, topology, levels - 1, false);
    let outer = random_scheme(random, operation, topology, levels - 1, false);
    hierarchical(groups, inner, outer).unwrap()
}

/// Memory that records, for each byte, the ranks that it was combined from, in order.
#[derive(Default)]
struct Order(HashMap<(Buffer, u64), Vec<u8>>);

impl Memory for Order {
    fn read(&mut self, span: Span) -> tributary::Result<Message> {
        Ok(Message::copy_from_slice(&self.0[&(span.buffer, span.offset)]))
    }

    fn write(&mut self, _from: usize, span: Span, message: Message) -> tributary::Result<()> {
        self.0.insert((span.buffer, span.offset), message.to_vec());
        Ok(())
    }

    fn copy(&mut self, from: Span, to: Span) -> tributary::Result<()> {
        let bytes = self.read(from)?;
        self.write(0, to, bytes)
    }

    fn reduce(&mut self, from: Span, to: Span, _with: ReduceOp) -> tributary::Result<()> {
        let other = self.read(from)?;
        self.0.entry((to.buffer, to.offset)).or_default().extend(other);
        Ok(())
    }
}

#[test]
fn in_order_binary_keeps_the_order() {
    let in_order = of(Operation::Reduce).into_iter().find(|it| it.algorithm.name == "in_order_binary").unwrap();
    for ranks in 1..50 {
        for root in 0..ranks {
            let case = case(ranks, root, 8, 8);
            let mut memory: Vec<_> =
                (0..ranks).map(|rank| Order([((Buffer::Send, 0), vec![rank as u8])].into())).collect();
            payload::execute(schedules(&in_order.into(), &case), &mut memory);
            let all: Vec<u8> = (0..ranks as u8).collect();
            assert_eq!(memory[root].0[&(Buffer::Receive, 0)], all, "root {root} of {ranks}");
        }
    }
}

/// Checks that a broadcast by node enters every other node once: n - 1 messages between nodes.
#[test]
fn few_messages_between_nodes() {
    for &base in &of(Operation::Broadcast)[..2] {
        let case = case(20, 7, 64, 64);
        let scheme = hierarchical(Groups::Nodes(case.topology.clone()), base, base).unwrap();
        let between: usize = schedules(&scheme, &case)
            .iter()
            .enumerate()
            .flat_map(|(rank, schedule)| schedule.ops().iter().map(move |op| (rank, op.action)))
            .filter(|(rank, action)| match action {
                tributary::schedule::Action::Send { to, .. } => {
                    case.topology.node_of(*rank) != case.topology.node_of(*to)
                }
                _ => false,
            })
            .count();
        assert_eq!(between, case.topology.nodes() - 1);
    }
}

#[test]
fn what_cannot_be_is_named() {
    let (flat, reduce) = (of(Operation::Broadcast)[0], of(Operation::Reduce)[0]);
    let text = |result: tributary::Result<Scheme>| result.unwrap_err().to_string();
    assert_eq!(text(hierarchical(Groups::Count(0), flat, flat)), "groups: 0; allowed: 1 or more");
    let mixed = "algorithm among leaders: flat; allowed: an algorithm of Broadcast, like that inside";
    assert_eq!(text(hierarchical(Groups::Count(2), flat, reduce)), mixed);
    let refused = |groups, case: &Case| {
        let scheme = hierarchical(groups, flat, flat).unwrap();
        let all: Vec<_> =
            (0..case.ranks()).map(|rank| scheme.schedule(&case.problem(rank)).unwrap_err().to_string()).collect();
        assert!(all.iter().all(|text| *text == all[0]));
        all[0].clone()
    };
    let good = case(6, 5, 8, 8);
    assert_eq!(refused(Groups::Count(7), &good), "groups: 7; allowed: 1 to 6, the number of ranks");
    let nodes = Groups::Nodes(Topology::blocks(5, 2).unwrap());
    assert_eq!(refused(nodes, &good), "ranks of the topology to group by: 5; allowed: 6, the number of ranks");
    assert_eq!(refused(Groups::Count(2), &case(6, 6, 8, 8)), "root: 6; allowed: 0 to 5");
    assert_eq!(refused(Groups::Count(2), &case(6, 0, 8, 0)), "segment: 0; allowed: a multiple of 8 above 0");
    assert_eq!(refused(Groups::Count(2), &case(6, 0, 8, 12)), "segment: 12; allowed: a multiple of 8 above 0");
    let torn = case(6, 0, 12, 8);
    let scheme = Scheme::from(reduce).schedule(&torn.problem(1)).unwrap_err().to_string();
    assert_eq!(scheme, "bytes to combine: 12; allowed: a multiple of 8");
    let short = Case { sizes: vec![8; 5], ..good };
    assert_eq!(refused(Groups::Count(2), &short), "number of sizes: 5; allowed: 6, one a rank");
}

#[test]
fn names_say_what_is_where() {
    let (flat, binomial) = (of(Operation::Broadcast)[0], of(Operation::Broadcast)[1]);
    let inner = hierarchical(Groups::Count(2), flat, binomial).unwrap();
    let scheme = hierarchical(Groups::Nodes(Topology::blocks(4, 2).unwrap()), inner, flat).unwrap();
    let (flat, second) = (flat.algorithm.name, binomial.algorithm.name);
    assert_eq!(scheme.to_string(), format!("hierarchical(nodes, hierarchical(2, {flat}, {second}), {flat})"));
}

/// Checks that every algorithm from which a hierarchy can be made is in the registry, once.
#[test]
fn all_in_place_are_registered() {
    for algorithm in IN_PLACE {
        let same = |other: &&&tributary_lab::collectives::Algorithm| std::ptr::eq(**other, &algorithm.algorithm);
        assert_eq!(ALGORITHMS.iter().filter(same).count(), 1, "{}", algorithm.algorithm.name);
    }
}
