//! Accidents by seed: random programs in virtual time, whose bytes and errors are compared with an exact model of MPI's rules.

pub mod model;
pub mod program;
pub mod run;

pub use program::{Call, Program};
pub use run::{Verdict, judge};

/// Returns a program that fails as well and has less of everything.
pub fn shrink(program: &Program) -> Program {
    let mut least = program.clone();
    let fails = |program: &Program| judge(program).wrong.is_some();
    loop {
        let before = least.clone();
        for smaller in smaller(&before) {
            if smaller != least && fails(&smaller) {
                least = smaller;
                break;
            }
        }
        if least == before {
            return least;
        }
    }
}

/// Returns programs with one thing less.
fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let calls = program.calls.len();
    for part in [calls / 2, calls / 4, 1] {
        if part > 0 {
            for at in (0..calls).step_by(part).rev() {
                let mut less = program.clone();
                less.calls.drain(at..(at + part).min(calls));
                all.push(less);
            }
        }
    }
    for at in 0..program.hints.len() {
        let mut less = program.clone();
        less.hints.remove(at);
        all.push(less);
    }
    for kind in 0..6 {
        let mut less = program.clone();
        let faults = &mut less.faults;
        let kinds = [&mut faults.short, &mut faults.interrupted, &mut faults.io, &mut faults.space, &mut faults.open, &mut faults.slow];
        let [a, b, c, d, e, f] = kinds;
        *[a, b, c, d, e, f][kind] = 0;
        all.push(less);
    }
    let one_host = Program { hosts: vec![0; program.hosts.len()], ..program.clone() };
    all.push(one_host);
    if program.hosts.len() > 1 {
        let last = program.hosts.len() - 1;
        let mut less = program.clone();
        less.hosts.pop();
        for call in &mut less.calls {
            match call {
                Call::Write(pieces, _) | Call::Read(pieces, _) => drop(pieces.pop()),
                Call::WriteAt(rank, _) | Call::ReadAt(rank, _) if *rank == last => *call = Call::Agree,
                _ => {}
            }
        }
        all.push(less);
    }
    all
}
